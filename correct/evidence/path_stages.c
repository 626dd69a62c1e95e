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

/* What a stage's stacks stand for comes to so many instructions as there are stacks, on the scale that they had: each is of as much time. */
void path_level_stages(const struct path *s, struct scope_stacks *r, const struct problem *p)
{
	uint32_t n_stages = 1;
	double *n, *insn, all = 0, all_insn = 0;

	for (size_t i = 0; i < r->stacks.n; i++)
		if (r->stacks.v[i].stage >= n_stages)
			n_stages = r->stacks.v[i].stage + 1;
	n = mem_calloc(2 * (size_t)n_stages, sizeof(*n));
	insn = n + n_stages;
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		n[stage_of(p, st)] += st->insn;
		insn[stage_of(p, st)] += insn_of(s, r, st);
		all += st->insn;
		all_insn += insn_of(s, r, st);
	}
	for (size_t i = 0; i < r->stacks.n && all_insn > 0; i++) {
		const uint32_t stage = stage_of(p, &r->stacks.v[i]);

		r->stacks.v[i].insn *= (insn[stage] > 0 ? n[stage] / insn[stage] : 1) * all_insn / all;
	}
	free(n);
}
