/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From solutions of scopes to those of regions: executions of a block are added up over the scopes it is in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "correct/solve/solve.h"
#include "profiler/base/mem.h"

/* Where none were counted, those of its time at the program's pace (eq. 10); where that is not known, either, the time itself. */
static double seen_in(const struct work *w, const struct problem *p, size_t b)
{
	const double pace = w->pace > 0 ? w->pace : 1;
	double sum = 0;

	for (uint32_t i = p->blocks[b].insn0; i < p->blocks[b].insn0 + p->blocks[b].n_insn; i++)
		sum += p->relative ? pace * p->seen_cyc[i] : p->seen_insn[i];
	return sum;
}

static double drawn_in(const struct solution *s, const struct problem *p, size_t b)
{
	return solution_mean(s, p->n_blocks, b) * p->blocks[b].n_insn;
}

/*
 * [B] instructions of a region's blocks that no scope accounts for, those that one does but is not sure of, and those that may be of
 * such scopes although those tell none.
 */
struct rest {
	double *raw, *unsure, *untold;
};

struct worst_scope {
	enum problem_verdict verdict;
	double insn;
};

static bool is_unsure(const struct solution *s)
{
	return s->verdict == VERDICT_UNRELIABLE || !s->n_draws;
}

/*
 * What a scope adds to what of its region no scope accounts for, or one that is not sure of it.  That this one tells less than the
 * mean of a block means nothing.
 */
static void add_to_rest(const struct work *w, const struct problem *scope, const struct solution *from,
                        size_t b, size_t at, struct rest *rest)
{
	double told = from->n_draws ? drawn_in(from, scope, b) : seen_in(w, scope, b);
	double mean = scope->total_insn / fmax((double)scope->n_insns, 1);

	if (from->n_draws)
		rest->raw[at] -= seen_in(w, scope, b);
	if (is_unsure(from))
		rest->untold[at] += fmax(mean * scope->blocks[b].n_insn - told, 0);
	if (from->verdict == VERDICT_UNRELIABLE)
		rest->unsure[at] += drawn_in(from, scope, b);
	else if (from->doubt)
		rest->unsure[at] += (double)from->doubt[b] * scope->blocks[b].n_insn;
}

/* What a scope adds to each draw of its region; without draws of its own, its raw counts. */
static void add_scope(const struct work *w, const struct problem *region, const struct problem *scope,
                      const struct solution *from, size_t shift, struct rest *rest, struct solution *to)
{
	long *at = mem_calloc(scope->n_blocks + 1, sizeof(*at));
	/* Through n draws, each once: a prime that does not divide n, which is below 7 x 11 x 13 x 17. */
	const size_t n = from->n_draws, stride = n % 7 ? 7 : n % 11 ? 11 : n % 13 ? 13 : 17;

	for (size_t b = 0; b < scope->n_blocks; b++) {
		at[b] = problem_block_at(region, scope->blocks[b].graph_block);
		if (at[b] >= 0)
			add_to_rest(w, scope, from, b, (size_t)at[b], rest);
	}
	/* Chains of one seed: draws of two scopes must not be paired in order. */
	for (size_t i = 0; i < to->n_draws && from->n_draws; i++) {
		const float *draw = from->draws + (i * stride + shift) % from->n_draws * scope->n_blocks;
		float *sum = to->draws + i * region->n_blocks;

		for (size_t b = 0; b < scope->n_blocks; b++)
			if (at[b] >= 0 && draw[b] > 0)
				sum[at[b]] += draw[b];
	}
	free(at);
}

static void add_raw(const struct problem *region, size_t b, double insn, struct solution *to)
{
	const double n = insn / fmax(region->blocks[b].n_insn, 1);

	for (size_t i = 0; i < to->n_draws; i++)
		to->draws[i * region->n_blocks + b] += (float)n;
}

/* What is said of a region is the reason of its worst scope, the largest of these; whether it counts, judge_doubt() tells. */
static void join(struct solution *to, const struct problem *scope, const struct solution *from,
                 struct worst_scope *worst)
{
	if (from->verdict > worst->verdict ||
	    (from->verdict == worst->verdict && scope->total_insn > worst->insn)) {
		*worst = (struct worst_scope){ from->verdict, scope->total_insn };
		memcpy(to->why, from->why, sizeof(to->why));
	}
	to->n_free += from->n_free;
	to->n_rank += from->n_rank;
	to->n_unseen += from->n_unseen;
	to->called_insn += from->called_insn;
	to->untaken_insn += from->untaken_insn;
	to->total_sd = hypot(to->total_sd, from->total_sd);
	to->evidence |= from->evidence;
}

/* A small part that is raw or unsure is a doubt about the functions it lies in; a large one is the region's. */
static void judge_doubt(const struct problem *p, const struct rest *rest, enum problem_verdict worst,
                        struct solution *to)
{
	double sum = 0;

	to->doubt = mem_calloc(p->n_blocks + 1, sizeof(*to->doubt));
	for (size_t b = 0; b < p->n_blocks; b++) {
		double insn = fmax(rest->raw[b], 0) + rest->unsure[b], n_insn = fmax(p->blocks[b].n_insn, 1);

		to->doubt[b] = (float)((insn + rest->untold[b]) / n_insn);
		sum += insn;
	}
	if (sum > reason_limit_mostly_unsolved * p->total_insn)
		to->verdict = worst == VERDICT_OK ? VERDICT_UNRELIABLE : worst;
	else if (sum > reason_limit_parts_unsolved * p->total_insn)
		to->verdict = reason_verdict_parts_unsolved;
	if (sum > reason_limit_parts_unsolved * p->total_insn && !to->why[0])
		snprintf(to->why, sizeof(to->why), reason_text_parts_unsolved,
		         p->relative ? "a larger --burst-budget" : "-b, or more bursts");
}

/* Share of a region's time that is not in the scope which has most of it. */
static double beside_the_largest(const struct work *w, size_t r)
{
	double most = 0;

	for (size_t s = 0; s < w->scopes.n; s++)
		if (w->scopes.v[s].parent == r)
			most = fmax(most, w->scope_problems[s]->total_cyc);
	return 1 - most / fmax(w->problems[r]->total_cyc, 1);
}

/* The ends of an interval are told by fewer draws in a region that would take memory without end. */
static size_t draws_of(size_t n_draws, size_t n_blocks)
{
	size_t most = EFFORT_DRAW_CELLS / (n_blocks + 1);

	most = most > EFFORT_LEAST_DRAWS ? most : EFFORT_LEAST_DRAWS;
	most = most < EFFORT_DRAWS ? most : EFFORT_DRAWS;
	return n_draws < most ? n_draws : most;
}

static void combine_region(struct work *w, size_t r)
{
	const struct problem *p = w->problems[r];
	struct solution *to = &w->solutions[r];
	struct rest rest = { .raw = mem_calloc(3 * p->n_blocks + 1, sizeof(double)) };
	struct worst_scope worst = { VERDICT_OK, 0 };
	size_t n_draws = 0;

	rest.unsure = rest.raw + p->n_blocks;
	rest.untold = rest.unsure + p->n_blocks;
	for (size_t s = 0; s < w->scopes.n; s++)
		if (w->scopes.v[s].parent == r && w->scope_solutions[s].n_draws > n_draws)
			n_draws = w->scope_solutions[s].n_draws;
	n_draws = draws_of(n_draws, p->n_blocks);
	solution_init(to, p, n_draws);
	for (size_t b = 0; b < p->n_blocks; b++)
		rest.raw[b] = seen_in(w, p, b);
	for (size_t s = 0; s < w->scopes.n; s++) {
		if (w->scopes.v[s].parent != r)
			continue;
		join(to, w->scope_problems[s], &w->scope_solutions[s], &worst);
		to->contradicted |=
		        w->scope_solutions[s].contradicted &&
		        w->scope_problems[s]->total_insn > reason_limit_parts_unsolved * p->total_insn;
		add_scope(w, p, w->scope_problems[s], &w->scope_solutions[s], 13 * s, &rest, to);
		/* That they were there is asked again, what they were is not. */
		free(w->scope_solutions[s].draws);
		w->scope_solutions[s].draws = NULL;
	}
	judge_doubt(p, &rest, worst.verdict, to);
	if (to->contradicted && to->verdict == VERDICT_OK)
		to->verdict = reason_verdict_total_missed;
	/* Most blocks of a large region never run: their pages stay untouched. */
	for (size_t b = 0; b < p->n_blocks; b++)
		if (rest.raw[b] > 0)
			add_raw(p, b, rest.raw[b], to);
	free(rest.raw);
	if (p->relative && (!(w->pace > 0) || w->pace_timed) &&
	    beside_the_largest(w, r) > reason_limit_scopes_apart && !solve_doubt_programs(w, p, to) &&
	    to->verdict <= VERDICT_WEAK)
		solution_doubt(to, REASON_OF(scopes_apart));
}

void combine_scopes(struct work *w)
{
	for (size_t r = 0; r < w->regions->n; r++) {
		size_t only = w->scopes.n;

		for (size_t s = 0; s < w->scopes.n; s++)
			if (w->scopes.v[s].parent == r && w->scopes.v[s].whole)
				only = s;
		if (only < w->scopes.n) {
			w->solutions[r] = w->scope_solutions[only];
			w->scope_solutions[only] = (struct solution){ 0 };
			w->problems[r]->total_insn = w->scope_problems[only]->total_insn;
		} else {
			combine_region(w, r);
		}
	}
}
