/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stages of a scope that follow one another for longer than a stack: where only time was sampled, each stack stands for time,
 * and what a stage ran in its time hangs on a pace that nothing tells.  Within a stage stacks tell the shares.  Instructions a
 * time differ less than branches a time, of which a stack has as many as others: so each stage has its time's share of them.
 */
#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/infer/cost.h"
#include "profiler/base/mem.h"

/* Stages of one scope by their stacks. */
struct stages {
	const struct path *s;
	const struct scope_stacks *r;
	const struct problem *p;
	bool in_parts;               /* loops that stacks stay in are stages, too */
	uint8_t *done;               /* [stacks.n] it belongs to a stage that was looked at */
	struct path_tally mean, one; /* of all, and of one stage */
	double *level;               /* [stacks.n] by what each is to be multiplied; 0 = nothing */
	double *all, *moves;         /* [B] executions in all, and in one stage */
};

static void stages_init(struct stages *st)
{
	size_t n = st->p->n_edges;

	st->in_parts = st->p->stay_share > reason_limit_apart_in_time;
	st->done = mem_calloc(st->r->stacks.n + 1, 1);
	st->level = mem_calloc(st->r->stacks.n + 1, sizeof(*st->level));
	st->mean.edge = mem_calloc(2 * n + 2 * st->p->n_blocks + 1, sizeof(double));
	st->one.edge = st->mean.edge + n;
	st->all = st->one.edge + n;
	st->moves = st->all + st->p->n_blocks;
	for (size_t i = 0; i < st->r->stacks.n; i++)
		path_add_stack(st->s, st->r, &st->r->stacks.v[i], NULL, 1, &st->mean);
}

static void stages_fini(struct stages *st)
{
	free(st->done);
	free(st->level);
	free(st->mean.edge);
}

static uint32_t stage_of(const struct stages *st, size_t i)
{
	uint32_t stage = st->r->stacks.v[i].stage;

	return st->in_parts ? stage : stage / STAGE_PARTS;
}

/* Sums over all stacks of the i-th one's stage. */
static void add_stage(struct stages *st, size_t i)
{
	const uint32_t stage = stage_of(st, i);

	memset(st->one.edge, 0, st->p->n_edges * sizeof(double));
	st->one.insn = 0;
	for (; i < st->r->stacks.n; i++)
		if (!st->done[i] && stage_of(st, i) == stage) {
			path_add_stack(st->s, st->r, &st->r->stacks.v[i], NULL, 1, &st->one);
			st->done[i] = 1;
		}
}

static void to_blocks(const struct problem *p, const double *edge, double *n)
{
	memset(n, 0, p->n_blocks * sizeof(*n));
	for (size_t e = 0; e < p->n_edges; e++)
		n[p->edges[e].to] += edge[e];
}

/* eq. 19.  Of each block a stage has what its stacks have of it: as much more than once, at its pace over the one that its time has. */
static void move_stage(struct stages *st, gsl_rng *rng, double *pace, float *times,
                       const struct solution *out)
{
	const struct problem *p = st->p;

	to_blocks(p, st->one.edge, st->moves);
	for (size_t b = 0; b < p->n_blocks; b++)
		st->moves[b] *= p->blocks[b].n_insn;
	cost_draw_paces(cost_pace_sd(p, st->moves), rng, out->n_draws, pace);
	to_blocks(p, st->one.edge, st->moves);
	for (size_t b = 0; b < p->n_blocks; b++)
		for (size_t i = 0; st->moves[b] > 0 && i < out->n_draws; i++)
			times[i * p->n_blocks + b] += (float)((pace[i] - 1) * st->moves[b] / st->all[b]);
}

/* Each draw keeps its instructions, which are what the scope's time stands for, and each block its mean. */
static void move_draws(const struct problem *p, const float *times, struct solution *out)
{
	double *mean = mem_calloc(p->n_blocks + out->n_draws + 1, sizeof(*mean)), *insn = mean + p->n_blocks;

	for (size_t b = 0; b < p->n_blocks; b++)
		mean[b] = solution_mean(out, p->n_blocks, b);
	for (size_t i = 0; i < out->n_draws; i++) {
		insn[i] = solution_draw_insn(out, p, i);
		for (size_t b = 0; b < p->n_blocks; b++)
			out->draws[i * p->n_blocks + b] *= fmaxf(1 + times[i * p->n_blocks + b], 0);
	}
	solution_fit(out, p, mean, insn);
	free(mean);
}

/* What a stage's stacks stand for comes to so many instructions as there are stacks: each is of as much time. */
static void level_stage(struct stages *st, struct scope_stacks *r, size_t i)
{
	const uint32_t stage = stage_of(st, i);
	double n = 0;

	add_stage(st, i);
	for (size_t k = i; k < r->stacks.n; k++)
		n += stage_of(st, k) == stage ? r->stacks.v[k].insn : 0;
	for (size_t k = i; st->one.insn > 0 && k < r->stacks.n; k++)
		st->level[k] = stage_of(st, k) == stage ? n / st->one.insn : st->level[k];
}

void path_level_stages(const struct path *s, struct scope_stacks *r, const struct problem *p)
{
	struct stages st = { .s = s, .r = r, .p = p };
	double all = 0;

	stages_init(&st);
	for (size_t i = 0; i < r->stacks.n; i++)
		all += r->stacks.v[i].insn;
	for (size_t i = 0; i < r->stacks.n; i++)
		if (!st.done[i])
			level_stage(&st, r, i);
	/* On the scale that they had. */
	for (size_t i = 0; i < r->stacks.n; i++)
		if (st.level[i] > 0)
			r->stacks.v[i].insn *= st.level[i] * st.mean.insn / all;
	stages_fini(&st);
}

static void spread_stages(const struct path *s, const struct scope_stacks *r, const struct problem *p,
                          gsl_rng *rng, struct solution *out)
{
	struct stages st = { .s = s, .r = r, .p = p };
	float *times = mem_calloc(out->n_draws * p->n_blocks + 1, sizeof(*times));
	double *pace = mem_calloc(out->n_draws + 1, sizeof(*pace));
	bool moved = false;

	stages_init(&st);
	to_blocks(p, st.mean.edge, st.all);
	for (size_t i = 0; st.mean.insn > 0 && i < r->stacks.n; i++) {
		if (st.done[i])
			continue;
		add_stage(&st, i);
		if (st.one.insn < st.mean.insn) {
			move_stage(&st, rng, pace, times, out);
			moved = true;
		}
	}
	if (moved)
		move_draws(p, times, out);
	stages_fini(&st);
	free(pace);
	free(times);
}

void path_spread_paces(struct evidence *ev, size_t scope, unsigned long seed, struct solution *out)
{
	const struct path *s = evidence_state(ev, &evidence_path);
	const struct problem *p = s->in.problems[scope];
	const struct scope_stacks *r = &s->scopes[scope];
	gsl_rng *rng;

	if (!out->n_draws || !p->relative || (p->pace > 0 && !p->pace_timed) || !r->stacks.n)
		return;
	rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));
	gsl_rng_set(rng, seed);
	spread_stages(s, r, p, rng, out);
	gsl_rng_free(rng);
}
