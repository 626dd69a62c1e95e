/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_RATIO_H
#define SKIDPROF_CORRECT_EVIDENCE_RATIO_H

/* Ratios of events to instructions (eq. 6).  Where groups are multiplexed an event was counted in a sample of all intervals. */
#include <stddef.h>
#include <stdint.h>

/* All intervals of one scope, of all groups. */
struct ratios;

/* One interval between two samples of a group, of which n events were counted. */
struct ratio_interval {
	double insn;       /* counted in it */
	const int *events; /* [n] numbers from 0, below EFFORT_EVENTS, the same for all intervals of a run */
	const double *counts;
	size_t n;
};

struct ratios *ratios_new(void);
void ratios_free(struct ratios *r);

/*
 * Intervals that are neighbours in one slot of a group are a run: their noise goes together.  *run is the run that this one goes
 * on with, or UINT32_MAX for a new one, whose number it then gets.
 */
void ratios_add(struct ratios *r, const struct ratio_interval *interval, uint32_t *run);

/*
 * Counts of an event per instruction, with the standard error. total_insn: instructions of the scope.  counted_insn: those of the
 * intervals that counted the event. *out stays as it is where these intervals are fewer than three.
 */
struct ratio {
	double ratio, se, counted_insn;
};
void ratios_of(const struct ratios *r, int event, double total_insn, struct ratio *out);

/*
 * What was counted at once errs together, by which code ran then: out[n][n] are the correlations of the errors of n events'
 * ratios, in the lower triangle.  Of few runs they are shrunk towards none.
 */
void ratios_correlate(const struct ratios *r, const int *events, size_t n, double *out);

#endif
