/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/evidence.h"
#include "correct/solve/solve.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "correct/model/model.h"

static void set_scope(struct problem *p, double pace, double sd)
{
	if (!p->relative || p->pace > 0 || !(pace > 0) || !(p->total_cyc > 0))
		return;
	p->pace = pace;
	p->total_insn = pace * p->total_cyc;
	p->total_sd = sd * p->total_cyc;
	p->insn_per_sample *= pace;
}

/*
 * Instructions of each scope by the paces of its moments.  The rest of the time has the mean of these, or of all paths where it is
 * much, known to what paces differ by.
 */
static void set_by_moments(struct work *w, struct evidence *ev)
{
	const double all_ns = w->sums.events[w->rec->cyc_event].period_sum;
	double told = 0, insn = 0, var = 0, rest, half;

	for (size_t s = 0; s < w->scopes.n; s++) {
		struct problem *p = w->scope_problems[s];
		double pace, sd;

		if (!path_timed_pace(ev, s, w->opts->seed + s, &pace, &sd))
			continue;
		told += p->total_cyc;
		insn += p->total_cyc * pace;
		var += p->total_cyc * sd * p->total_cyc * sd;
		set_scope(p, pace, sd);
	}
	if (!(all_ns > 0))
		return;
	rest = fmax(1 - told / all_ns, 0);
	if (insn > 0 && rest <= model->timed_missed)
		w->timed.rate = insn / told;
	half = gsl_cdf_ugaussian_Pinv(0.95) *
	       hypot(sqrt(var) / all_ns, rest * hypot(model->pace_spread, w->timed.spread) * w->timed.rate);
	w->timed.lo = fmax(w->timed.rate - half, 0);
	w->timed.hi = w->timed.rate + half;
}

void timed_pace_set(struct work *w, struct evidence *ev)
{
	const size_t n = w->scope_problems ? w->scopes.n : 0;

	if (!w->rec->paths.v.n)
		return;
	timed_paths_rate(&w->rec->paths, &w->timed);
	/* Paths are of the whole recording, and of what a clock sampled; without the core's frequency there are no cycles. */
	w->pace_timed = n && w->timed.rate > 0 && w->rec->relative && w->rec->cyc_is_even &&
	                !w->rec->filter && w->sums.core_hz > 0;
	for (size_t s = 0; s < n; s++)
		w->scope_problems[s]->pace_timed = w->pace_timed;
	if (w->pace_timed)
		set_by_moments(w, ev);
}
