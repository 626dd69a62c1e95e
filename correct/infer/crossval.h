/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_CROSSVAL_H
#define SKIDPROF_CORRECT_INFER_CROSSVAL_H

/*
 * Cross-validation (eq. 18): how far off is what no exact equation tells?  Each of them is left out once and predicted from all
 * others.  The misses of those predictions, in units of their own standard deviations, are taken for those of the directions that
 * nothing exact fixes.
 */
#include "correct/infer/posterior.h"

/*
 * The sum of squares of k predictions' misses, each in units of its own noise.  miss[k] is what the equations miss by when none of
 * them is used, cov[k][k] its covariance, their own noise included; cov is destroyed.  NAN where cov is not positive definite.
 */
double crossval_squares(double *cov, const double *miss, size_t k);

/*
 * The same of rows [first, first + k) of a posterior at its mode t.  loose: the
 * same posterior without those rows.  Both are linear and normal about t.
 */
double crossval_of(const struct posterior *post, const struct posterior *loose, const double *t,
                   const size_t rows[2]);

#endif
