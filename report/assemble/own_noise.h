/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_OWN_NOISE_H
#define SKIDPROF_REPORT_ASSEMBLE_OWN_NOISE_H

/*
 * What the own counts of functions leave open of sums of them: functions that call one another are more, or less, together,
 * and those that share what was counted are more where others are less.
 */
#include "report/profile.h"

enum { NOISE_DRAWS = 200 };

struct own_noise {
	const struct profile *p;
	float *v; /* [n_funcs][NOISE_DRAWS] a draw of a physical function's own instructions, less their mean */
	double *alone; /* [n_funcs] standard deviation of those that nothing was drawn of */
	double *wider; /* [n_funcs] by how much intervals are wider than draws; 0: nothing was drawn */
};

/* The owner frees it. */
void own_noise_new(const struct profile *p, struct own_noise *out);
void own_noise_free(struct own_noise *n);

/* Draw d of a region's block, in executions, as it goes with the draws of functions; NAN: none. */
double own_noise_draw(const struct own_noise *n, int32_t region, uint32_t block, size_t d);

/* 90% of a sum of shares[g] of each function's own, to either side. */
double own_noise_half(const struct own_noise *n, const double *shares);

#endif
