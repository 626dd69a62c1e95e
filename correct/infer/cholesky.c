/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/cholesky.h"

#include <math.h>
#include <string.h>

/* Two numbers at a time: what every x86-64 and aarch64 can. */
typedef double pair __attribute__((vector_size(16)));

enum { WIDE = 2, COLUMNS = 4 };

static inline pair load(const double *p)
{
	pair v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static double dot(const double *a, const double *b, size_t n)
{
	pair sum = { 0, 0 }, more = { 0, 0 };
	size_t k = 0;
	double rest = 0;

	for (; k + 2 * WIDE <= n; k += 2 * WIDE) {
		sum += load(a + k) * load(b + k);
		more += load(a + k + WIDE) * load(b + k + WIDE);
	}
	for (; k < n; k++)
		rest += a[k] * b[k];
	sum += more;
	return sum[0] + sum[1] + rest;
}

/* The products of two rows a, b with four rows of l, over the first n columns; n is even. */
static void dots(const double *a, const double *b, const double *l, size_t d, size_t n,
                 double out[2][COLUMNS])
{
	pair s[2][COLUMNS] = { 0 };

	for (size_t k = 0; k < n; k += WIDE) {
		pair x = load(a + k), y = load(b + k);

		for (int c = 0; c < COLUMNS; c++) {
			pair z = load(l + (size_t)c * d + k);

			s[0][c] += x * z;
			s[1][c] += y * z;
		}
	}
	for (int c = 0; c < COLUMNS; c++) {
		out[0][c] = s[0][c][0] + s[0][c][1];
		out[1][c] = s[1][c][0] + s[1][c][1];
	}
}

/* Columns [j, j + 4) of row `row`, given its products with those rows up to column j. */
static void finish_columns(double *row, const double *l, size_t d, size_t j, const double *sum)
{
	for (size_t c = 0; c < COLUMNS; c++) {
		const double *other = l + (j + c) * d;
		double v = row[j + c] - sum[c];

		for (size_t k = j; k < j + c; k++)
			v -= row[k] * other[k];
		row[j + c] = v / other[j + c];
	}
}

static int finish_row(double *h, size_t d, size_t i, size_t from)
{
	double *row = h + i * d, v;

	for (size_t c = from; c < i; c++)
		row[c] = (row[c] - dot(row, h + c * d, c)) / h[c * d + c];
	v = row[i] - dot(row, row, i);
	if (!(v > 0) || !isfinite(v))
		return -1;
	row[i] = sqrt(v);
	return 0;
}

int cholesky_factor(double *h, size_t d)
{
	for (size_t i = 0; i < d; i += 2) {
		double *a = h + i * d, *b = i + 1 < d ? a + d : a, sum[2][COLUMNS];
		size_t j = 0;

		for (; j + COLUMNS <= i; j += COLUMNS) {
			dots(a, b, h + j * d, d, j, sum);
			finish_columns(a, h, d, j, sum[0]);
			if (b != a)
				finish_columns(b, h, d, j, sum[1]);
		}
		if (finish_row(h, d, i, j) < 0 || (b != a && finish_row(h, d, i + 1, j) < 0))
			return -1;
	}
	return 0;
}

int cholesky_factor_hessian(double *h, size_t d)
{
	for (size_t k = 0; k < d; k++)
		h[k * d + k] *= 1 + 1e-10;
	return cholesky_factor(h, d);
}

/* y -= f x */
static void subtract(double *y, double f, const double *x, size_t n)
{
	pair ff = { f, f };
	size_t k = 0;

	for (; k + WIDE <= n; k += WIDE) {
		pair v = load(y + k) - ff * load(x + k);

		memcpy(y + k, &v, sizeof(v));
	}
	for (; k < n; k++)
		y[k] -= f * x[k];
}

void cholesky_solve(const double *l, size_t d, double *x)
{
	for (size_t i = 0; i < d; i++)
		x[i] = (x[i] - dot(l + i * d, x, i)) / l[i * d + i];
	for (size_t i = d; i-- > 0;) {
		x[i] /= l[i * d + i];
		subtract(x, x[i], l + i * d, i);
	}
}

void cholesky_invert(const double *l, size_t d, double *out)
{
	memset(out, 0, d * d * sizeof(*out));
	for (size_t i = 0; i < d; i++) {
		double *row = out + i * d;

		for (size_t k = 0; k < i; k++)
			subtract(row, l[i * d + k], out + k * d, k + 1);
		for (size_t k = 0; k < i; k++)
			row[k] /= l[i * d + i];
		row[i] = 1 / l[i * d + i];
	}
}
