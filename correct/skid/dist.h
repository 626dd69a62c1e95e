/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SKID_DIST_H
#define SKIDPROF_CORRECT_SKID_DIST_H

/* The distribution of the skid S, in cycles: as measured, as given, or a default by CPU. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The distribution of the skid S, in cycles: an empirical one, quantiles at (k + 0.5) / SKID_POINTS. */
enum { SKID_POINTS = 64 };
struct skid_dist {
	double s_cyc[SKID_POINTS]; /* ascending, >= 0 */
};

/* Always S: what --skid says. */
void skid_dist_constant(struct skid_dist *d, double s_cyc);

/*
 * A measured skid of which more may have been to come: one interrupt serves all counters that have overflowed, so where it took a
 * sample of another event as well, it may have been that one's.
 */
struct skid_seen {
	double s_cyc;
	bool shared;
};

/*
 * The n skids as they would be had no interrupt been shared: quantiles of the Kaplan-Meier estimate (J. Am. Stat. Assoc. 53(282),
 * 1958) in ascending order.  A shared interrupt is taken for the end of half a skid: either wait may be the one that ended then.
 * seen is sorted; out may not be seen.  Where none is shared they are the same numbers.
 */
void skid_unshare(struct skid_seen *seen, size_t n, double *out);

/*
 * Quantiles of measured skids (the overshoot of each cycles sample), in any order; negative and non-finite ones are an error of
 * the caller's. Returns 0; -SP_EDOMAIN for n = 0 or such values.
 */
int skid_dist_fit(struct skid_dist *d, const double *s_cyc, size_t n);

/* S below which a share q in [0, 1] lies, linear between the points. */
double skid_dist_quantile(const struct skid_dist *d, double q);
double skid_dist_mean(const struct skid_dist *d);

/*
 * Samples that come every gap_cyc cycles: how many overflows each hides, in the mean.  One that comes before the interrupt of
 * the one before has none of its own (eq. 5).  1, at most: more can't be told.
 */
double skid_dist_hidden(const struct skid_dist *d, double gap_cyc);

/*
 * The default for a CPU, by the text of perf.data's cpudesc (NULL or "" if unknown).  *basis, out: what it rests on, for the
 * report's first line.  True when the S was measured on this kind of core; false when another core's had to do.
 */
bool skid_dist_default(const char *cpudesc, struct skid_dist *d, const char **basis);

#endif
