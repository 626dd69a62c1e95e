/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_MOMENTS_H
#define SKIDPROF_CORRECT_INFER_MOMENTS_H

/*
 * Mean and covariance of the posterior (posterior.h), by expectation propagation (Minka, UAI 2001).  Two kinds of factors are no
 * normal densities: f_e >= 0, and the prior of time of a class (eq. 16).  Each is a function of one number x, and is replaced by
 * the normal density that gives x the same mean and variance, beside all other factors.
 *
 * Why not chains of draws: where hundreds of flows are near zero, each step of a chain ends at the nearest bound, and it hardly
 * moves.  This takes some dozens of d^3 operations, however many flows are near zero.
 */
#include "correct/infer/posterior.h"

struct moments {
	size_t d;
	double *mean;   /* [d] of the free flows */
	double *spread; /* [d][d] W, lower triangle: covariance = W' W */
	bool settled;
};

/*
 * mode  [d] where to begin, inside f > 0.
 *
 * Returns 0, -SP_EDOMAIN where no normal density could be found.
 */
int moments_find(const struct posterior *post, const double *mode, struct moments *out);
void moments_fini(struct moments *m);

/* Draws of the normal density of these moments, no flow below zero: out's draws and edge_flow, its diagnostics NAN. */
void moments_draw(const struct moments *m, const struct posterior *post, gsl_rng *rng,
                  const struct problem *p, struct solution *out);

/*
 * Mean and variance, in and out: of a normal density, and of the same density over
 * x > 0 alone; or of that times the prior of time of class c at x executions.
 */
void moments_positive(double *mean, double *var);
void moments_timed(const struct posterior *post, size_t c, double *mean, double *var);

#endif
