/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/crossval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/cholesky.h"
#include "profiler/base/mem.h"

/* With P the inverse of cov, what equation i misses by when only it is left out is (P miss)_i / P_ii, with variance 1 / P_ii. */
double crossval_squares(double *cov, const double *miss, size_t k)
{
	double *inverse, *solved, sum = 0;

	if (cholesky_factor(cov, k) < 0)
		return NAN;
	inverse = mem_calloc(k * k + k + 1, sizeof(*inverse));
	solved = inverse + k * k;
	cholesky_invert(cov, k, inverse);
	memcpy(solved, miss, k * sizeof(*solved));
	cholesky_solve(cov, k, solved);
	for (size_t i = 0; i < k; i++) {
		double precision = 0;

		for (size_t row = i; row < k; row++)
			precision += inverse[row * k + i] * inverse[row * k + i];
		sum += solved[i] * solved[i] / precision;
	}
	free(inverse);
	return sum;
}

/* What rows W[k][d] are predicted to be: cov = W H^-1 W' + 1, and their misses after a step of H^-1 g; x[d] is scratch. */
static void predict(const double *w, size_t k, size_t d, const double *factor, const double *g, double *cov,
                    double *miss, double *x)
{
	for (size_t i = 0; i < k; i++) {
		memcpy(x, w + i * d, d * sizeof(*x));
		cholesky_solve(factor, d, x);
		for (size_t f = 0; f < d; f++)
			miss[i] -= x[f] * g[f];
		for (size_t j = 0; j < k; j++) {
			double sum = i == j;

			for (size_t f = 0; f < d; f++)
				sum += x[f] * w[j * d + f];
			cov[i * k + j] = sum;
		}
	}
}

double crossval_of(const struct posterior *post, const struct posterior *loose, const double *t,
                   const size_t rows[2])
{
	size_t d = post->n_free, k = rows[1] - rows[0];
	double *hessian = mem_calloc(d * d + 2 * d + k * k + k + 1, sizeof(*hessian)), *g, *x, *cov, *miss;
	const double *w = post->r + rows[0] * d;
	double sum = NAN;

	g = hessian + d * d;
	x = g + d;
	cov = x + d;
	miss = cov + k * k;
	posterior_slopes(loose, t, g, hessian);
	if (cholesky_factor_hessian(hessian, d) == 0) {
		for (size_t i = 0; i < k; i++)
			miss[i] = posterior_miss(post, rows[0] + i, t);
		predict(w, k, d, hessian, g, cov, miss, x);
		sum = crossval_squares(cov, miss, k);
	}
	free(hessian);
	return sum;
}
