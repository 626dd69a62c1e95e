/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steepest-edge pricing of a simplex method for linear programs.
 *
 * entered4X() walks the nonzeros of a pivot row.  For each it needs the dot
 * product of a sparse column and a dense work vector: Column::operator*, a
 * small function that the compiler puts in place.  Its loads (a gather from
 * the work vector, a column somewhere in megabytes) are slow, so a profiler's
 * samples land wherever retirement waits, and the two functions swap blame.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static uint64_t lcg_state = 20060801;

static uint32_t lcg_next()
{
	lcg_state = lcg_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(lcg_state >> 33);
}

static uint32_t lcg_below(uint32_t n)
{
	return (uint32_t)(((uint64_t)lcg_next() * n) >> 31);
}

static double lcg_real()
{
	return lcg_next() * (1.0 / 2147483648.0);
}

class DenseVector
{
	double *v;

      public:
	explicit DenseVector(size_t n) : v(new double[n])
	{
	}
	DenseVector(const DenseVector &) = delete;
	DenseVector &operator=(const DenseVector &) = delete;
	~DenseVector()
	{
		delete[] v;
	}
	double &operator[](size_t i)
	{
		return v[i];
	}
	const double &operator[](size_t i) const
	{
		return v[i];
	}
};

struct Nonzero {
	double value;
	uint32_t row;
};

/* A column of the matrix: some nonzeros in storage shared with the others. */
class Column
{
	const Nonzero *first;
	int count;

      public:
	Column(const Nonzero *f, int n) : first(f), count(n)
	{
	}

	double operator*(const DenseVector &w) const
	{
		const Nonzero *e = first;
		double sum = 0;

		for (int left = count; left > 0; left--, e++)
			sum += e->value * w[e->row];
		return sum;
	}
};

class Matrix
{
	std::vector<Nonzero> storage;
	std::vector<Column> columns;

      public:
	Matrix(uint32_t n_cols, uint32_t n_rows)
	{
		std::vector<uint32_t> start(n_cols + 1);

		for (uint32_t c = 0; c < n_cols; c++)
			start[c + 1] = start[c] + 1 + lcg_below(3) + (c % 3 == 0 ? lcg_below(7) : 0);
		storage.reserve(start[n_cols]);
		for (uint32_t k = 0; k < start[n_cols]; k++)
			storage.push_back({ lcg_real() - 0.5, lcg_below(n_rows) });
		columns.reserve(n_cols);
		for (uint32_t c = 0; c < n_cols; c++)
			columns.emplace_back(&storage[start[c]], (int)(start[c + 1] - start[c]));
	}
	const Column &vector(uint32_t c) const
	{
		return columns.data()[c];
	}
};

class SteepestEdge
{
	const Matrix &matrix;
	DenseVector penalty;
	uint32_t n_weights;
	double delta = 0.4, infinity = 9.0;

      public:
	unsigned long n_low = 0, n_high = 0;

	SteepestEdge(const Matrix &m, uint32_t n) : matrix(m), penalty(n), n_weights(n)
	{
		for (uint32_t i = 0; i < n; i++)
			penalty[i] = 1.0;
	}

	void entered4X(const std::vector<uint32_t> &pivots, const DenseVector &pivot_row,
	               const DenseVector &work, double scale, double pivot_norm);

	double total() const
	{
		double sum = 0;

		for (uint32_t i = 0; i < n_weights; i++)
			sum += penalty[i];
		return sum;
	}
};

/* The hot loop: new weights for all columns that the pivot row touches. */
__attribute__((noinline)) void SteepestEdge::entered4X(const std::vector<uint32_t> &pivots,
                                                       const DenseVector &pivot_row, const DenseVector &work,
                                                       double scale, double pivot_norm)
{
	const uint32_t *index = pivots.data();

	for (int j = (int)pivots.size() - 1; j >= 0; j--) {
		uint32_t i = index[j];
		double xi = scale * pivot_row[i];
		double x = penalty[i] + xi * (xi * pivot_norm - 2 * (matrix.vector(i) * work));

		if (x < delta) {
			x = delta;
			n_low++;
		} else if (x > infinity) {
			x = 1.0;
			n_high++;
		}
		penalty[i] = x;
	}
}

int main(int argc, char **argv)
{
	const uint32_t n_cols = 40000, n_rows = 12000, n_pivots = 16000;
	int rounds = argc > 1 ? atoi(argv[1]) : 230;
	Matrix matrix(n_cols, n_rows);
	SteepestEdge pricer(matrix, n_cols);
	DenseVector pivot_row(n_cols), work(n_rows);
	std::vector<uint32_t> pivots(n_pivots);

	for (uint32_t i = 0; i < n_cols; i++)
		pivot_row[i] = 2 * lcg_real() - 1;
	for (uint32_t i = 0; i < n_rows; i++)
		work[i] = 2 * lcg_real() - 1;
	for (uint32_t &p : pivots)
		p = lcg_below(n_cols);
	for (int r = 0; r < rounds; r++) {
		pricer.entered4X(pivots, pivot_row, work, 0.8 + 0.4 * lcg_real(), 0.7);
		/* A basis change: a few rows of the work vector and of the pattern move. */
		for (int k = 0; k < 400; k++) {
			work[lcg_below(n_rows)] = 2 * lcg_real() - 1;
			pivots[lcg_below(n_pivots)] = lcg_below(n_cols);
		}
	}
	printf("soplex: weights %.6f, %lu raised, %lu reset\n", pricer.total(), pricer.n_low, pricer.n_high);
	return 0;
}
