/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_MOMENTS_H
#define SKIDPROF_CORRECT_INFER_MOMENTS_H

/*
 * Mean and covariance of the posterior (posterior.h) without chains, by
 * expectation propagation (Minka, UAI 2001): every factor that is no normal
 * density, f_e >= 0 and the time of a class (eq. 15), is replaced by the
 * normal one that gives its x the mean and variance which the factor itself
 * gives beside all the others (eq. 24).  Where hundreds of flows are near zero
 * chains of draws would hardly move, for each of their steps ends at the nearest; this costs
 * some dozens of d^3 and does not care.
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
 * Returns 0, -SP_ENOMEM, -SP_EDOMAIN where no normal density could be found.
 */
int moments_find(const struct posterior *post, const double *mode, struct moments *out);
void moments_fini(struct moments *m);

/* Draws of the normal density of these moments, no flow below zero: out's draws and edge_flow, its diagnostics NAN. */
int moments_draw(const struct moments *m, const struct posterior *post, gsl_rng *rng, const struct problem *p,
                 struct solution *out);

/*
 * Mean and variance of x > 0 under a density proportional to the normal one
 * of this mean and variance, both in and out: by itself, or times the time of
 * class c at x executions.
 */
void moments_positive(double *mean, double *var);
void moments_timed(const struct posterior *post, size_t c, double *mean, double *var);

#endif
