/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stages of a scope that follow one another for longer than a stack: where only time was sampled, each stack stands for time,
 * and what a stage ran in its time hangs on a pace that nothing tells.  Within a stage stacks tell the shares.  Instructions a
 * time differ less than branches a time, of which a stack has as many as others: so each stage has its time's share of them.
 */
#include <stdlib.h>

#include "correct/evidence/path_impl.h"
#include "profiler/base/mem.h"

/* Loops that stacks stay in are stages, too. */
static uint32_t stage_of(const struct problem *p, const struct stack *st)
{
	return p->stay_share > reason_limit_apart_in_time ? st->stage : 0;
}

static double insn_of(const struct path *s, const struct scope_stacks *r, const struct stack *st)
{
	double sum = 0;

	for (uint32_t k = 0; k < st->n_pieces; k++)
		sum += s->all.v[r->pieces.v[st->piece0 + k]].n_insn;
	return st->insn * sum;
}

/* What a stage's stacks stand for comes to so many instructions as there are stacks: each is of as much time.  From the i-th stack on. */
static void level_stage(const struct path *s, const struct scope_stacks *r, const struct problem *p, size_t i,
                        double *level)
{
	const uint32_t stage = stage_of(p, &r->stacks.v[i]);
	double n = 0, insn = 0;

	for (size_t k = i; k < r->stacks.n; k++)
		if (stage_of(p, &r->stacks.v[k]) == stage) {
			n += r->stacks.v[k].insn;
			insn += insn_of(s, r, &r->stacks.v[k]);
		}
	for (size_t k = i; k < r->stacks.n; k++)
		if (stage_of(p, &r->stacks.v[k]) == stage)
			level[k] = insn > 0 ? n / insn : 1;
}

void path_level_stages(const struct path *s, struct scope_stacks *r, const struct problem *p)
{
	double *level = mem_calloc(r->stacks.n + 1, sizeof(*level)), n = 0, insn = 0;

	for (size_t i = 0; i < r->stacks.n; i++) {
		n += r->stacks.v[i].insn;
		insn += insn_of(s, r, &r->stacks.v[i]);
		if (!(level[i] > 0))
			level_stage(s, r, p, i, level);
	}
	/* On the scale that they had. */
	for (size_t i = 0; i < r->stacks.n && insn > 0; i++)
		r->stacks.v[i].insn *= level[i] * insn / n;
	free(level);
}
