/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_RUNS_H
#define SKIDPROF_CALIBRATE_RUNS_H

/*
 * Repeated runs of one piece of code in two lengths.  What starting, stopping
 * and reading the counter cost is the same in both and falls out of their
 * difference (trap 5).
 */
#include "profiler/calibrate/cliff.h"

enum { RUNS_MAX = 96 };

struct runs {
	double few[RUNS_MAX], many[RUNS_MAX]; /* cycles */
	size_t n;
	uint64_t n_few, n_many; /* iterations */
};

/*
 * Which quantile of a cliff's runs is its truth.  What disturbs a run makes it
 * longer, so a low one is; but where every run walks over other memory, the
 * lowest is a lucky one (trap 6), and where runs draw lots (random branches),
 * so is anything below the median.
 */
double runs_quantile(const struct cliff *c);

/* Cycles of an iteration by that quantile, and half of its 95% interval.  Sorts the runs. */
void runs_read(struct runs *r, double q, double *response, double *spread);

#endif
