/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Columns of the kernel matrix of a support vector machine.
 *
 * get_Q() fills a column with values of a kernel function chosen at run time:
 * kernel_rbf() is reached through a member pointer and calls dot(), which has a
 * loop of its own over two sparse vectors, and exp(), which divides.  Four real
 * functions, one repeated region: what is slow in one is seen in the next.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static uint64_t lcg_state = 20010424;

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

namespace svm
{

/* Of our own, so that the checksum is the same with every C library. */
__attribute__((noinline)) double exp(double x)
{
	const double ln2_hi = 6.93147180369123816490e-01, ln2_lo = 1.90821492927058770002e-10;
	double kd, r, r2, even, odd;
	uint64_t bits;
	double scale;

	if (x < -700)
		return 0;
	if (x > 700)
		x = 700;
	kd = (double)(int64_t)(x * 1.44269504088896338700 + (x < 0 ? -0.5 : 0.5));
	r = (x - kd * ln2_hi) - kd * ln2_lo;
	/* Pade approximation of order (5,5): e^r = (even + odd) / (even - odd) */
	r2 = r * r;
	even = 30240 + r2 * (3360 + r2 * 30);
	odd = r * (15120 + r2 * (420 + r2));
	bits = (uint64_t)((int64_t)kd + 1023) << 52;
	memcpy(&scale, &bits, sizeof(scale));
	return scale * ((even + odd) / (even - odd));
}

/* A sparse vector: index, value; an index of -1 ends it. */
struct Entry {
	int index;
	double value;
};

class Kernel
{
      protected:
	std::vector<const Entry *> x;
	std::vector<double> x_square;
	double gamma;
	double (Kernel::*kernel_function)(int i, int j) const;

	static double dot(const Entry *a, const Entry *b);
	double kernel_linear(int i, int j) const;
	double kernel_rbf(int i, int j) const;

      public:
	Kernel(const std::vector<const Entry *> &rows, double g, bool linear) : x(rows), gamma(g)
	{
		for (const Entry *row : x)
			x_square.push_back(dot(row, row));
		kernel_function = linear ? &Kernel::kernel_linear : &Kernel::kernel_rbf;
	}
};

__attribute__((noinline)) double Kernel::dot(const Entry *a, const Entry *b)
{
	double sum = 0;

	while (a->index != -1 && b->index != -1) {
		if (a->index == b->index) {
			sum += a->value * b->value;
			a++;
			b++;
		} else if (a->index > b->index) {
			b++;
		} else {
			a++;
		}
	}
	return sum;
}

double Kernel::kernel_linear(int i, int j) const
{
	return dot(x[i], x[j]);
}

double Kernel::kernel_rbf(int i, int j) const
{
	return exp(-gamma * (x_square[i] + x_square[j] - 2 * dot(x[i], x[j])));
}

class SVC_Q : public Kernel
{
	std::vector<signed char> y;

      public:
	SVC_Q(const std::vector<const Entry *> &rows, const std::vector<signed char> &labels, bool linear)
	    : Kernel(rows, 0.5, linear), y(labels)
	{
	}
	void get_Q(int i, int start, int len, float *data) const;
};

/* The hot loop: one column of Q. */
__attribute__((noinline)) void SVC_Q::get_Q(int i, int start, int len, float *data) const
{
	for (int j = start; j < len; j++)
		data[j] = (float)(y[i] * y[j] * (this->*kernel_function)(i, j));
}

} // namespace svm

/* Rows as in a genomic data set: eight features, some of them missing. */
static std::vector<svm::Entry> make_entries(int n_rows)
{
	std::vector<svm::Entry> entries;

	for (int r = 0; r < n_rows; r++) {
		for (int f = 1; f <= 8; f++)
			if (lcg_below(10) < 8)
				entries.push_back({ f, 2 * lcg_real() - 1 });
		entries.push_back({ -1, 0 });
	}
	return entries;
}

/* In an order of its own: a working set is a choice of rows from the file. */
static std::vector<const svm::Entry *> choose_rows(const std::vector<svm::Entry> &entries)
{
	std::vector<const svm::Entry *> rows;
	const svm::Entry *first = entries.data();

	for (size_t k = 0; k < entries.size(); k++)
		if (entries[k].index == -1) {
			rows.push_back(first);
			first = &entries[k] + 1;
		}
	for (size_t k = rows.size() - 1; k > 0; k--)
		std::swap(rows[k], rows[lcg_below((uint32_t)k + 1)]);
	return rows;
}

int main(int argc, char **argv)
{
	const int n_rows = 9000;
	int columns = argc > 1 ? atoi(argv[1]) : 124;
	std::vector<svm::Entry> entries = make_entries(n_rows);
	std::vector<const svm::Entry *> rows = choose_rows(entries);
	std::vector<signed char> labels;
	std::vector<float> q(n_rows);
	double sum = 0;

	for (int r = 0; r < n_rows; r++)
		labels.push_back(lcg_below(3) == 0 ? 1 : -1);
	svm::SVC_Q matrix(rows, labels, argc > 2 && strcmp(argv[2], "linear") == 0);
	for (int c = 0; c < columns; c++) {
		matrix.get_Q((int)lcg_below(n_rows), 0, n_rows, q.data());
		sum += q[lcg_below(n_rows)] + q[lcg_below(n_rows)];
	}
	printf("libsvm: %d columns, checksum %.9f\n", columns, sum);
	return 0;
}
