/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/solve/solve.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/*
 * Scopes without a pace of their own have the program's, known to what the n others differ by.  Few say little of that,
 * and one says nothing: one more counts that is off by the whole pace.  Of timed paths few scopes have any, and so few squares
 * are no variance: Student's t has n degrees of freedom.
 */
static void lend_pace(struct work *w, double sd)
{
	for (size_t s = 0; s < w->scopes.n; s++) {
		struct problem *p = w->scope_problems[s];

		if (p->pace > 0)
			continue;
		p->total_insn *= w->pace;
		p->insn_per_sample *= w->pace;
		p->total_sd = hypot(p->total_sd, sd * p->total_cyc);
	}
}

/*
 * Samples of cycles come evenly: of the time of a scope they miss half the square of what each differs by from the one before, as
 * with stacks (eq. 9).  Where they are in it by chance that is the binomial's, and next to nothing where it runs for long.
 */
static void add_time_noise(struct work *w)
{
	for (size_t s = 0; s < w->scopes.n; s++) {
		struct problem *p = w->scope_problems[s];
		double pace = p->pace > 0 ? p->pace : w->pace;

		p->total_sd = hypot(p->total_sd, pace * p->cyc_per_sample * sqrt((p->n_crossings + 1) / 2));
	}
}

/*
 * What no instructions were counted of stands for as many as a cycle has in the whole program: its raw count.  Of an instruction that
 * goes on from sample to sample that would be more than any function has.
 */
static void set_raw(struct work *w)
{
	for (size_t i = 0; i < w->sums.n; i++)
		w->sums.v[i].insn = w->pace * (w->sums.v[i].cyc - w->sums.v[i].still_cyc);
	for (size_t r = 0; r < w->regions->n; r++) {
		struct problem *p = w->problems[r];

		p->total_insn *= w->pace;
		p->insn_per_sample *= w->pace;
		for (size_t i = 0; i < p->n_insns; i++)
			p->seen_insn[i] = w->pace * p->seen_cyc[i];
	}
	/* Scopes have paces of their own, and the time in them no longer the whole program's. */
	for (size_t s = 0; s < w->scopes.n; s++)
		w->problems[w->scopes.v[s].parent]->total_insn +=
		        w->scope_problems[s]->total_insn - w->pace * w->scope_problems[s]->total_cyc;
}

void pace_set(struct work *w)
{
	double insn = 0, cyc = 0, squares = 0, n = 0;

	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct problem *p = w->scope_problems[s];

		n += p->pace > 0;
		insn += p->pace > 0 ? p->total_insn : 0;
		cyc += p->pace > 0 ? p->total_cyc : 0;
	}
	if (!(cyc > 0))
		return;
	w->pace = insn / cyc;
	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct problem *p = w->scope_problems[s];

		if (p->pace > 0)
			squares += p->total_cyc * (p->pace - w->pace) * (p->pace - w->pace);
	}
	lend_pace(w,
	          sqrt((n * squares / cyc + w->pace * w->pace) / (n + 1)) *
	                  (w->pace_timed ? gsl_cdf_tdist_Pinv(0.95, n) / gsl_cdf_ugaussian_Pinv(0.95) : 1));
	add_time_noise(w);
	set_raw(w);
}
