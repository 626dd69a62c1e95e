/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_LEFT_OUT_H
#define SKIDPROF_CORRECT_INFER_LEFT_OUT_H

/*
 * How far off is what nothing exact tells?  Each exact equation is left out
 * in turn and predicted from all else (eq. 23): what those predictions miss by,
 * in units of what they were thought to be known to, is what the other
 * directions are wrong by as well.
 */
#include "correct/infer/posterior.h"

/*
 * The sum of squares of k predictions' misses, each in units of its own
 * noise.  miss[k] is what the equations miss by when none of them is used,
 * cov[k][k] its covariance, their own noise included; cov is destroyed.
 * Returns 0; -SP_EDOMAIN when cov is not positive definite; -SP_ENOMEM.
 */
int left_out_squares(double *cov, const double *miss, size_t k, double *sum);

/*
 * The same of rows [first, first + k) of a posterior at its mode t.  loose: the
 * same posterior without those rows.  Both are linear and normal about t.
 */
int left_out_of(const struct posterior *post, const struct posterior *loose, const double *t,
                const size_t rows[2], double *sum);

#endif
