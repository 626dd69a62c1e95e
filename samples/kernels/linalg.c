/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products of matrices and vectors. */
#include "kernels.h"

enum { N = 28, M = 40 };

static double a[N][N] __attribute__((aligned(64))), b[N][N] __attribute__((aligned(64)));
static double c[N][N] __attribute__((aligned(64)));
static double big[M][M] __attribute__((aligned(64))), second[M][M] __attribute__((aligned(64)));
static double x[M] __attribute__((aligned(64))), y[M] __attribute__((aligned(64)));
static double p[M] __attribute__((aligned(64))), q[M] __attribute__((aligned(64)));

static void init(void)
{
	kernel_fill(&a[0][0], (size_t)N * N, 1);
	kernel_fill(&b[0][0], (size_t)N * N, 2);
	kernel_fill(&c[0][0], (size_t)N * N, 3);
	kernel_fill(&big[0][0], (size_t)M * M, 4);
	kernel_fill(&second[0][0], (size_t)M * M, 5);
	kernel_fill(x, M, 6);
	kernel_fill(y, M, 7);
	kernel_fill(p, M, 8);
	kernel_fill(q, M, 9);
}

KERNEL kernel_gemm(void)
{
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++)
			c[i][j] *= 0.5;
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				c[i][j] += 1.25 * a[i][k] * b[k][j];
	}
}

/* The textbook's order: down a column of b. */
KERNEL kernel_dotgemm(void)
{
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++) {
			double sum = 0;

			for (int k = 0; k < N; k++)
				sum += a[i][k] * b[k][j];
			c[i][j] = sum;
		}
	}
}

KERNEL kernel_syrk(void)
{
	for (int i = 0; i < N; i++) {
		for (int j = 0; j <= i; j++)
			c[i][j] *= 0.5;
		for (int k = 0; k < N; k++)
			for (int j = 0; j <= i; j++)
				c[i][j] += 1.25 * a[i][k] * a[j][k];
	}
}

KERNEL kernel_trmm(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double sum = b[i][j];

			for (int k = i + 1; k < N; k++)
				sum += a[k][i] * b[k][j];
			c[i][j] = 0.75 * sum;
		}
}

KERNEL kernel_mvt(void)
{
	for (int i = 0; i < M; i++) {
		double sum = 0;

		for (int j = 0; j < M; j++)
			sum += big[i][j] * x[j];
		p[i] = sum;
	}
	for (int i = 0; i < M; i++) {
		double sum = 0;

		for (int j = 0; j < M; j++)
			sum += big[j][i] * y[j];
		q[i] = sum;
	}
}

KERNEL kernel_atax(void)
{
	for (int j = 0; j < M; j++)
		q[j] = 0;
	for (int i = 0; i < M; i++) {
		double sum = 0;

		for (int j = 0; j < M; j++)
			sum += big[i][j] * x[j];
		for (int j = 0; j < M; j++)
			q[j] += big[i][j] * sum;
	}
}

KERNEL kernel_bicg(void)
{
	for (int j = 0; j < M; j++)
		p[j] = 0;
	for (int i = 0; i < M; i++) {
		double sum = 0;

		for (int j = 0; j < M; j++) {
			p[j] += y[i] * big[i][j];
			sum += big[i][j] * x[j];
		}
		q[i] = sum;
	}
}

KERNEL kernel_gesummv(void)
{
	for (int i = 0; i < M; i++) {
		double left = 0, right = 0;

		for (int j = 0; j < M; j++) {
			left += big[i][j] * x[j];
			right += second[i][j] * x[j];
		}
		q[i] = 1.5 * left + 1.25 * right;
	}
}

const struct kernel kernels_linalg[] = {
	KERNEL_ROW(gemm, init, c, N *N *N),
	KERNEL_ROW(dotgemm, init, c, N *N *N),
	KERNEL_ROW(syrk, init, c, N *N *N / 2),
	KERNEL_ROW(trmm, init, c, N *N *N / 2),
	KERNEL_ROW(mvt, init, q, 2 * M * M),
	KERNEL_ROW(atax, init, q, 2 * M * M),
	KERNEL_ROW(bicg, init, q, M *M),
	KERNEL_ROW(gesummv, init, q, M *M),
	{ NULL },
};
