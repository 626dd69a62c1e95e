/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear systems: triangular, symmetric, general, Toeplitz. */
#include <math.h>

#include "kernels.h"

enum { N = 28, V = 200 };

static double given[N][N] __attribute__((aligned(64))), a[N][N] __attribute__((aligned(64)));
static double b[N] __attribute__((aligned(64))), x[N] __attribute__((aligned(64)));
static double r[V] __attribute__((aligned(64))), y[V] __attribute__((aligned(64))),
        z[V] __attribute__((aligned(64)));

/* Symmetric, and its diagonal outweighs the rest: every method below is at ease with it. */
static void init(void)
{
	kernel_fill(&given[0][0], (size_t)N * N, 11);
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < i; j++)
			given[i][j] = given[j][i];
		given[i][i] = 2 * N;
	}
	kernel_fill(b, N, 12);
	kernel_fill(r, V, 13);
	for (int i = 0; i < V; i++)
		r[i] /= 2 * V;
}

KERNEL kernel_trisolv(void)
{
	for (int i = 0; i < N; i++) {
		double sum = b[i];

		for (int j = 0; j < i; j++)
			sum -= given[i][j] * x[j];
		x[i] = sum / given[i][i];
	}
}

KERNEL kernel_lu(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			a[i][j] = given[i][j];
	for (int k = 0; k < N; k++)
		for (int i = k + 1; i < N; i++) {
			double m = a[i][k] / a[k][k];

			a[i][k] = m;
			for (int j = k + 1; j < N; j++)
				a[i][j] -= m * a[k][j];
		}
}

KERNEL kernel_cholesky(void)
{
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < i; j++) {
			double sum = given[i][j];

			for (int k = 0; k < j; k++)
				sum -= a[i][k] * a[j][k];
			a[i][j] = sum / a[j][j];
		}
		double sum = given[i][i];

		for (int k = 0; k < i; k++)
			sum -= a[i][k] * a[i][k];
		a[i][i] = __builtin_sqrt(sum);
	}
}

KERNEL kernel_durbin(void)
{
	double alpha = -r[0], beta = 1;

	y[0] = -r[0];
	for (int k = 1; k < V; k++) {
		double sum = 0;

		beta *= 1 - alpha * alpha;
		for (int i = 0; i < k; i++)
			sum += r[k - i - 1] * y[i];
		alpha = -(r[k] + sum) / beta;
		for (int i = 0; i < k; i++)
			z[i] = y[i] + alpha * y[k - i - 1];
		for (int i = 0; i < k; i++)
			y[i] = z[i];
		y[k] = alpha;
	}
}

const struct kernel kernels_solve[] = {
	KERNEL_ROW(trisolv, init, x, N *N / 2),
	KERNEL_ROW(lu, init, a, N *N *N / 3),
	KERNEL_ROW(cholesky, init, a, N *N *N / 6),
	KERNEL_ROW(durbin, init, y, 3 * V * V / 2),
	{ NULL },
};
