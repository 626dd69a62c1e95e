/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Regions that could not be solved are not left to their raw counts where the
 * recording has branch records: those tell executions without any flow.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/whole.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/solve/solve.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"

struct showing {
	struct whole *whole;
	struct pairs counters; /* see recording_counters */
	struct pairs tasks;
};

/* Marks the blocks of regions that could not be solved; returns how many there are. */
static size_t mark_wanted(const struct work *w, uint8_t *wanted)
{
	size_t n = 0;

	for (size_t r = 0; r < w->regions->n; r++)
		for (size_t b = 0;
		     w->solutions[r].verdict == VERDICT_UNRELIABLE && b < w->problems[r]->n_blocks; b++) {
			uint8_t *at = &wanted[w->problems[r]->blocks[b].graph_block];

			n += !*at;
			*at = 1;
		}
	return n;
}

static void show(void *arg, const struct recording *rec, const struct pd_record *record, struct place place)
{
	struct showing *s = arg;
	struct sample_seen seen = { .rec = rec, .record = record, .scope = -1 };

	(void)place;
	seen.thread = (uint32_t)pairs_must(&s->tasks, record->pid, record->tid);
	seen.counters = (uint32_t)recording_counters(rec, record, &s->counters);
	whole_sample(s->whole, &seen);
}

/* A reason why counts are raw, without saying that they are. */
static int reason_length(const char *why)
{
	static const char raw[] = ": raw counts";
	size_t n = strlen(why);

	if (n >= sizeof(raw) && strcmp(why + n - (sizeof(raw) - 1), raw) == 0)
		n -= sizeof(raw) - 1;
	return (int)n;
}

/* draws[EFFORT_AVERAGE_DRAWS][n_columns] become the solution of p; returns of how many instructions, in the mean. */
static double take_draws(const struct problem *p, const struct whole *whole, const float *draws,
                         size_t n_columns, struct solution *sol)
{
	char why[sizeof(sol->why)];
	double insn = 0;

	snprintf(why, sizeof(why), reason_text_averaged, reason_length(sol->why), sol->why);
	solution_fini(sol);
	solution_init(sol, p, EFFORT_AVERAGE_DRAWS);
	for (size_t i = 0; i < EFFORT_AVERAGE_DRAWS; i++)
		for (size_t b = 0; b < p->n_blocks; b++) {
			float n = draws[i * n_columns + whole_column(whole, p->blocks[b].graph_block)];

			/* Most blocks never run: their pages stay untouched. */
			if (n > 0)
				sol->draws[i * p->n_blocks + b] = n;
			insn += (double)n * p->blocks[b].n_insn / EFFORT_AVERAGE_DRAWS;
		}
	sol->evidence = PROFILE_BY_PATH;
	sol->verdict = reason_verdict_averaged;
	sol->averaged = true;
	memcpy(sol->why, why, sizeof(why));
	return insn;
}

/* Samples of instructions are right in sum, whatever they skid over; without them it is time at the pace of records (eq. 10). */
static double total_of(const struct work *w)
{
	return w->rec->insn_event >= 0
	               ? w->sums.events[w->rec->insn_event].period_sum
	               : (w->pace > 0 ? w->pace : 1) * w->sums.events[w->rec->cyc_event].period_sum;
}

/* Executions of the blocks wanted, n_columns, where the program ran total instructions. */
static int draw_averages(struct work *w, const uint8_t *wanted, size_t n_columns, double total, float **draws,
                         struct whole **whole)
{
	struct showing s = { 0 };
	int err;

	*draws = mem_calloc(EFFORT_AVERAGE_DRAWS * n_columns + 1, sizeof(**draws));
	s.whole = whole_begin(w->rec, w->graph, wanted);
	err = recording_each(w->rec, "averaging branch records", show, &s);
	if (err == 0)
		err = whole_draws(s.whole, total, w->opts->seed, EFFORT_AVERAGE_DRAWS, *draws);
	pairs_fini(&s.counters);
	pairs_fini(&s.tasks);
	*whole = s.whole;
	return err;
}

/* Records that do not tell leave things as they were. */
static int forgive(int err)
{
	if (err != -SP_EDOMAIN)
		return err;
	sp_debug("no averages: %s", sp_error_text());
	return 0;
}

/* Nothing tells instructions, and each of its bursts stands for a time: averages are shares. */
static bool is_of_time(const struct work *w)
{
	return w->rec->relative && !(w->pace > 0) && w->sums.n_bursts == w->sums.n_stacks;
}

/* Without instructions records with cycles do: others lean to slow moments, or stand for branches. */
static bool can_average(const struct work *w)
{
	return w->sums.paths && (w->rec->insn_event >= 0 || is_of_time(w) ||
	                         (w->pace > 0 && !w->pace_timed && !w->rec->branch_kind));
}

/* Noise of a region's instructions as its own samples tell them: that of its scopes' totals, and of single samples in no scope. */
static double own_total_sd(const struct work *w, size_t r)
{
	double rest = w->problems[r]->total_insn, var = 0;

	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct problem *p = w->scope_problems[s];
		double unseen = p->unseen_share * p->total_insn;

		if (w->scopes.v[s].parent != r)
			continue;
		var += p->total_sd * p->total_sd + unseen * unseen;
		rest -= p->total_insn;
	}
	return sqrt(var + fmax(rest, 0) * w->problems[r]->insn_per_sample);
}

/* Draws are shares of a region's time, which is known; what ran in it hangs on paces. */
static void share_time(const struct problem *p, const struct whole *whole, uint64_t seed,
                       struct solution *sol)
{
	for (size_t i = 0; i < sol->n_draws; i++)
		solution_set_insn(sol, p, i, p->total_insn);
	whole_spread_paces(whole, p, seed, sol);
	solve_doubt_once(sol);
}

/* How much of the program's stacks lay in a region is chance, where they are few; there are more samples that tell it. */
static void average_region(struct work *w, size_t r, const struct whole *whole, const float *draws,
                           size_t n_columns)
{
	struct problem *p = w->problems[r];
	double sd = own_total_sd(w, r), total = p->total_insn,
	       insn = take_draws(p, whole, draws, n_columns, &w->solutions[r]);

	if (is_of_time(w)) {
		share_time(p, whole, w->opts->seed + r, &w->solutions[r]);
		return;
	}
	p->total_insn = insn;
	if (sd > 0)
		solution_meet_total(&w->solutions[r], p, total, sd, w->opts->seed + r, &p->total_insn);
}

/* Averages know nothing of a region that no stack leads through; a few are no scatter of shares, which are all that there is of time. */
static void average_regions(struct work *w, const struct whole *whole, const float *draws, size_t n_columns)
{
	double *n_stacks = mem_calloc(w->regions->n + 1, sizeof(*n_stacks));

	whole_count_stacks(whole, w->regions, n_stacks);
	for (size_t r = 0; r < w->regions->n; r++)
		if (w->solutions[r].verdict == VERDICT_UNRELIABLE &&
		    n_stacks[r] >= (is_of_time(w) ? model->few : 1))
			average_region(w, r, whole, draws, n_columns);
	free(n_stacks);
}

static int average(struct work *w, const uint8_t *wanted, size_t n_columns)
{
	struct whole *whole = NULL;
	float *draws = NULL;
	int err = draw_averages(w, wanted, n_columns, total_of(w), &draws, &whole);

	if (err == 0)
		average_regions(w, whole, draws, n_columns);
	whole_end(whole);
	free(draws);
	return forgive(err);
}

int average_unsolved(struct work *w)
{
	uint8_t *wanted = mem_calloc(w->graph->n_blocks + 1, 1);
	size_t n = can_average(w) ? mark_wanted(w, wanted) : 0;
	int err = n ? average(w, wanted, n) : 0;

	free(wanted);
	return err;
}
