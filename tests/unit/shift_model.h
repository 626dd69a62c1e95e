/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_UNIT_SHIFT_MODEL_H
#define SKIDPROF_TESTS_UNIT_SHIFT_MODEL_H

/*
 * The shift model of [SKID]: where a sample caused at one instruction of a
 * loop is seen, S cycles later.  i is a cause, j a place seen, both counted
 * from 0 round the loop; c_cyc[j] are the cycles per execution of j.
 *
 * Zero cycles are allowed: an instruction that always retires together with
 * its predecessor is never the place seen.  A loop of no cycles at all can't
 * be walked along, so a sample stays where it was caused.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "correct/skid/dist.h"
#include "profiler/base/err.h"

/* The loop's cycles as prefix sums, made once and asked often. */
struct shift_loop {
	double *end_cyc; /* [n] sum of c_cyc[0..j]; the last one is the loop's period */
	size_t n;
};

/* c_cyc[n], n >= 1, all >= 0 and finite.  Returns 0, -SP_EDOMAIN, -SP_ENOMEM. */
static inline int shift_loop_init(struct shift_loop *l, const double *c_cyc, size_t n)
{
	double sum = 0;

	*l = (struct shift_loop){ 0 };
	if (n == 0)
		return sp_fail(SP_EDOMAIN, "a loop without instructions has no skid");
	for (size_t j = 0; j < n; j++)
		if (!(c_cyc[j] >= 0) || !isfinite(c_cyc[j]))
			return sp_fail(SP_EDOMAIN, "instruction %zu of a loop takes %g cycles", j, c_cyc[j]);
	l->end_cyc = malloc(n * sizeof(*l->end_cyc));
	if (!l->end_cyc)
		return sp_fail(SP_ENOMEM, "out of memory for a loop of %zu instructions", n);
	l->n = n;
	for (size_t j = 0; j < n; j++)
		l->end_cyc[j] = sum += c_cyc[j];
	return 0;
}

static inline void shift_loop_fini(struct shift_loop *l)
{
	free(l->end_cyc);
	l->end_cyc = NULL;
	l->n = 0;
}

/*
 * S as whole laps and a rest in (0, period]: the rest is never 0, because the
 * place seen is the first to reach S, and a whole number of laps is reached
 * at the end of the last one.
 */
static inline uint64_t split_laps(const struct shift_loop *l, double s_cyc, double *rest_cyc)
{
	double period = l->end_cyc[l->n - 1];
	double laps = ceil(s_cyc / period) - 1;

	*rest_cyc = s_cyc - laps * period;
	if (*rest_cyc <= 0) { /* the quotient was rounded up */
		laps -= 1;
		*rest_cyc += period;
	}
	return (uint64_t)laps;
}

/* The first j with end_cyc[j] >= t_cyc; n if there is none. */
static inline size_t first_reaching(const struct shift_loop *l, double t_cyc)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->end_cyc[mid] >= t_cyc)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static inline bool stays(const struct shift_loop *l, double s_cyc)
{
	return s_cyc <= 0 || l->end_cyc[l->n - 1] <= 0;
}

/*
 * [SKID] (1): g, how many instructions further a sample caused at i is seen.  The
 * smallest g >= 1 with  c[i+1] + ... + c[i+g] >= S,  indices round the loop
 * and as many laps as S takes; 0 for S = 0.  O(log n).
 */
static inline uint64_t shift_distance(const struct shift_loop *l, size_t i, double s_cyc)
{
	double period = l->end_cyc[l->n - 1], rest, t;
	uint64_t laps;
	size_t j;

	if (stays(l, s_cyc))
		return 0;
	laps = split_laps(l, s_cyc, &rest);
	t = l->end_cyc[i] + rest;
	j = first_reaching(l, t);
	if (j == l->n) {
		j = first_reaching(l, t - period);
		j = j == l->n ? l->n - 1 : j;
		return laps * l->n + l->n - i + j;
	}
	return laps * l->n + j - i;
}

/* The place seen: (i + g) mod n. */
static inline size_t shift_landing(const struct shift_loop *l, size_t i, double s_cyc)
{
	return (size_t)((i + shift_distance(l, i, s_cyc) % l->n) % l->n);
}

/* One pass: as i goes round the loop the place seen only moves on. */
/* [SKID] (2): seen[n], out: for how many causes i of one lap the place seen is j.  Sums to n.  O(n). */
static inline void shift_counts(const struct shift_loop *l, double s_cyc, double *seen)
{
	double period = l->end_cyc[l->n - 1], rest;
	size_t j = 0, n = l->n;
	bool wrapped = false;

	for (size_t k = 0; k < n; k++)
		seen[k] = stays(l, s_cyc) ? 1 : 0;
	if (stays(l, s_cyc))
		return;
	split_laps(l, s_cyc, &rest);
	for (size_t i = 0; i < n; i++) {
		double t = l->end_cyc[i] + rest - (wrapped ? period : 0);

		while (j < n && l->end_cyc[j] < t)
			j++;
		if (j == n && !wrapped) {
			wrapped = true;
			t -= period;
			for (j = 0; j < n && l->end_cyc[j] < t;)
				j++;
		}
		seen[j < n ? j : n - 1]++;
	}
}

/* [SKID] (2) averaged over S: seen[n], out; work[n] is scratch.  O(SKID_POINTS n). */
static inline void shift_counts_mean(const struct shift_loop *l, const struct skid_dist *d, double *seen,
                                     double *work)
{
	memset(seen, 0, l->n * sizeof(*seen));
	for (size_t k = 0; k < SKID_POINTS; k++) {
		shift_counts(l, d->s_cyc[k], work);
		for (size_t j = 0; j < l->n; j++)
			seen[j] += work[j] / SKID_POINTS;
	}
}

#endif
