/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_SCORE_H
#define SKIDPROF_REPORT_SCORE_H

/*
 * Raw and corrected counts held against exact ones.  Relative errors are of
 * absolute counts, eps is of shares:
 *
 *	eps = 1/2 sum_u | x^_u / |x^| - x_u / |x| |                       eq. 21
 *
 * over units u (functions, lines, instructions): the total variation between
 * two distributions, 0 = equal, 1 = disjoint.  [SKID] has no formula for its
 * mis-attribution; this one is ours.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct score_row {
	const char *name;
	const char *full;         /* what text calls it; NULL = its name */
	double truth, raw, fixed; /* instructions */
	double lo, hi;            /* of fixed; NAN = no interval */
	double cyc;
	uint8_t status;                       /* enum profile_status */
	double raw_err, fixed_err;            /* out: signed fractions; NAN where truth is 0 */
	bool scored;                          /* out: at least min_share of the truth */
	double truth_share;                   /* out */
	double ipc_truth, ipc_raw, ipc_fixed; /* NAN where cycles are too few */
};

struct score {
	double truth, raw, fixed;  /* totals */
	double eps_raw, eps_fixed; /* eq. 21; NAN where a total is 0 */
	/* Absolute, over scored rows; NAN if there are none. */
	double mean_err_raw, mean_err_fixed, worst_err_raw, worst_err_fixed;
	size_t n_scored, n_intervals; /* scored rows, and those of them with an interval */
	size_t n_inside;              /* intervals that hold the truth */
};

/* Fill in what is marked out, and the score of all.  min_share: fraction of the truth. */
void compare_score(struct score_row *rows, size_t n, double min_share, struct score *out);

/* Is the truth inside the interval?  false without one. */
bool score_inside(const struct score_row *r);

#endif
