/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/score.h"

#include <math.h>

/* One term of eq. 21. */
static double eps_term(double x, double total_x, double y, double total_y)
{
	return 0.5 * fabs(x / total_x - y / total_y);
}

bool score_inside(const struct score_row *r)
{
	return r->lo <= r->truth && r->truth <= r->hi;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* A row of weight in the truth: its errors count. */
static void add_scored(const struct score_row *r, struct score *s)
{
	s->mean_err_raw += fabs(r->raw_err);
	s->mean_err_fixed += fabs(r->fixed_err);
	s->worst_err_raw = larger(s->worst_err_raw, fabs(r->raw_err));
	s->worst_err_fixed = larger(s->worst_err_fixed, fabs(r->fixed_err));
	s->n_scored++;
	s->n_intervals += isfinite(r->lo) && isfinite(r->hi);
	s->n_inside += score_inside(r);
}

static void finish(struct score *s)
{
	if (s->n_scored) {
		s->mean_err_raw /= (double)s->n_scored;
		s->mean_err_fixed /= (double)s->n_scored;
	} else {
		s->mean_err_raw = s->mean_err_fixed = s->worst_err_raw = s->worst_err_fixed = NAN;
	}
	if (!(s->truth > 0) || !(s->raw > 0))
		s->eps_raw = NAN;
	if (!(s->truth > 0) || !(s->fixed > 0))
		s->eps_fixed = NAN;
}

void compare_score(struct score_row *rows, size_t n, double min_share, struct score *out)
{
	struct score s = { 0 };

	for (size_t i = 0; i < n; i++) {
		s.truth += rows[i].truth;
		s.raw += rows[i].raw;
		s.fixed += rows[i].fixed;
	}
	for (size_t i = 0; i < n; i++) {
		struct score_row *r = &rows[i];

		r->raw_err = r->truth > 0 ? r->raw / r->truth - 1 : NAN;
		r->fixed_err = r->truth > 0 ? r->fixed / r->truth - 1 : NAN;
		r->truth_share = s.truth > 0 ? r->truth / s.truth : NAN;
		r->scored = r->truth > 0 && r->truth >= min_share * s.truth;
		s.eps_raw += eps_term(r->raw, s.raw, r->truth, s.truth);
		s.eps_fixed += eps_term(r->fixed, s.fixed, r->truth, s.truth);
		if (r->scored)
			add_scored(r, &s);
	}
	finish(&s);
	*out = s;
}
