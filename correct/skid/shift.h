/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SKID_SHIFT_H
#define SKIDPROF_CORRECT_SKID_SHIFT_H

/*
 * The shift model of [SKID]: where a sample caused at one instruction of a
 * loop is seen, S cycles later.  i is a cause, j a place seen, both counted
 * from 0 round the loop; c_cyc[j] are the cycles per execution of j.
 *
 * Zero cycles are allowed: an instruction that always retires together with
 * its predecessor is never the place seen.  A loop of no cycles at all can't
 * be walked along, so a sample stays where it was caused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The loop's cycles as prefix sums, made once and asked often. */
struct shift_loop {
	double *end_cyc; /* [n] sum of c_cyc[0..j]; the last one is the loop's period */
	size_t n;
};

/* c_cyc[n], n >= 1, all >= 0 and finite.  Returns 0, -SP_EDOMAIN, -SP_ENOMEM. */
int shift_loop_init(struct shift_loop *l, const double *c_cyc, size_t n);
void shift_loop_fini(struct shift_loop *l);

/*
 * eq. 1: g, how many instructions further a sample caused at i is seen.  The
 * smallest g >= 1 with  c[i+1] + ... + c[i+g] >= S,  indices round the loop
 * and as many laps as S takes; 0 for S = 0.  O(log n).
 */
uint64_t shift_distance(const struct shift_loop *l, size_t i, double s_cyc);

/* The place seen: (i + g) mod n. */
size_t shift_landing(const struct shift_loop *l, size_t i, double s_cyc);

/* eq. 2: seen[n], out: for how many causes i of one lap the place seen is j.  Sums to n.  O(n). */
void shift_counts(const struct shift_loop *l, double s_cyc, double *seen);

/* The distribution of the skid S, in cycles: an empirical one, quantiles at (k + 0.5) / SKID_POINTS. */
enum { SKID_POINTS = 64 };
struct skid_dist {
	double s_cyc[SKID_POINTS]; /* ascending, >= 0 */
};

/* eq. 2 averaged over S: seen[n], out; work[n] is scratch.  O(SKID_POINTS n). */
void shift_counts_mean(const struct shift_loop *l, const struct skid_dist *d, double *seen, double *work);

/* Always S: what --skid says. */
void skid_dist_constant(struct skid_dist *d, double s_cyc);

/*
 * A measured skid of which more may have been to come: one interrupt serves all
 * counters that have overflowed, so where it took a sample of another
 * event as well, it may have been that one's, whose wait had then lasted
 * other_cyc cycles (NAN where that can't be told).
 */
struct skid_seen {
	double s_cyc, other_cyc;
	bool shared;
};

/*
 * The n skids as they would be had no interrupt been shared: quantiles of the
 * Kaplan-Meier estimate (J. Am. Stat. Assoc. 53(282), 1958) in ascending
 * order.  A shared interrupt is taken for the end of this skid with the probability
 * that it, and not the other, ended then: its hazard over the sum of both, the two
 * being drawn from one distribution; 1/2 where the other's is not known.  Hazards and
 * probabilities are worked out in turns.  seen is sorted; out may not be seen.
 * Where none is shared they are the same numbers.  Returns 0 or -SP_ENOMEM.
 */
int skid_unshare(struct skid_seen *seen, size_t n, double *out);

/*
 * Quantiles of measured skids (eq. 9: the overshoot of each cycles sample),
 * in any order; negative and non-finite ones are an error of the caller's.
 * Returns 0; -SP_EDOMAIN for n = 0 or such values; -SP_ENOMEM.
 */
int skid_dist_fit(struct skid_dist *d, const double *s_cyc, size_t n);

/* S below which a share q in [0, 1] lies, linear between the points. */
double skid_dist_quantile(const struct skid_dist *d, double q);
double skid_dist_mean(const struct skid_dist *d);

/*
 * The default for a CPU, by the text of perf.data's cpudesc (NULL or "" if
 * unknown).  *basis, out: what it rests on, for the report's first line.
 * True when the S was measured on this kind of core; false when another
 * core's had to do.
 */
bool skid_dist_default(const char *cpudesc, struct skid_dist *d, const char **basis);

#endif
