/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_CHOLESKY_H
#define SKIDPROF_CORRECT_INFER_CHOLESKY_H

/*
 * Cholesky factors of dense matrices, row-major, of some hundred to a few thousand rows: what a region with many free flows spends
 * its time on.  GSL's own BLAS walks such matrices column by column.
 */
#include <stddef.h>

/*
 * h[d][d] = L L', L in its lower triangle; what is above is neither read nor
 * written.  0, or -1 when h is not positive definite.  d^3 / 3 products.
 */
int cholesky_factor(double *h, size_t d);

/* cholesky_factor of a Hessian: its diagonal is raised by 1 part in 1e10, which rounding takes from a flow that nothing bounds. */
int cholesky_factor_hessian(double *h, size_t d);

/* x[d] = inverse(h) x, given h's factor. */
void cholesky_solve(const double *l, size_t d, double *x);

/* out[d][d] = inverse(L), zeros above its diagonal. */
void cholesky_invert(const double *l, size_t d, double *out);

#endif
