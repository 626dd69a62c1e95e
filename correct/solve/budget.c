/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/solve/budget.h"
#include "correct/model/effort.h"
#include "correct/solve/solve.h"

#include <stdlib.h>

#include "correct/infer/space.h"
#include "profiler/base/mem.h"

/* Some dozens of products of matrices of all free flows (moments.h), and draws of all blocks: scopes of 119 to 599 free flows. */
static const double flows_per_s = 7e7, products_per_s = 1.3e9;

/* Of the budget, for telling regions apart; and what a core of 2024 looks at in a second, in node, cc1 and sqlite3. */
static const double finding_part = 0.5, blocks_per_s = 1e7;

struct rank {
	double heat;
	size_t scope;
};

static int hotter_first(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;

	if (a->heat != b->heat)
		return a->heat > b->heat ? -1 : 1;
	return a->scope < b->scope ? -1 : a->scope > b->scope;
}

double budget_work_s(double n_free, double n_blocks)
{
	double n_draws = n_free <= EFFORT_ALL_DRAWS ? EFFORT_DRAWS : EFFORT_LARGE_DRAWS;

	return n_free * n_free * n_free / flows_per_s +
	       n_draws * n_free * (n_free + n_blocks) / products_per_s;
}

void budget_cut_fini(struct budget_cut *cut)
{
	free(cut->usable);
	free(cut->flow);
	*cut = (struct budget_cut){ 0 };
}

int budget_cut(const struct work *w, size_t scope, struct budget_cut *cut)
{
	struct problem *p = w->scope_problems[scope];
	int err;

	if (cut->usable)
		return 0;
	cut->usable = mem_calloc(p->n_edges + 1, sizeof(*cut->usable));
	cut->flow = mem_calloc(p->n_edges + 1, sizeof(*cut->flow));
	err = cold_cut(p, w->regions_ran, w->ran.block, cut->usable, cut->flow, &cut->n_unseen);
	if (err < 0)
		budget_cut_fini(cut);
	return err;
}

static void work_of(const struct work *w, size_t s, struct budget_cut *cut, double *work_s)
{
	const struct problem *p = w->scope_problems[s];
	size_t n_free = 0;
	int err = budget_cut(w, s, cut);

	if (err == 0)
		space_size(p, cut->usable, &n_free);
	/* What is too large to be solved is refused at once, and what has too few samples. */
	if (err == 0)
		err = solve_judge_size(p, cut->usable, w->sums.paths);
	*work_s = err < 0 || w->scopes.v[s].region->n_untrimmed
	                  ? 0
	                  : budget_work_s((double)n_free, (double)p->n_blocks);
}

uint64_t budget_blocks(double budget_s)
{
	return (uint64_t)(finding_part * budget_s * blocks_per_s);
}

void budget_plan(const struct work *w, struct budget *out)
{
	size_t n = w->scopes.n;
	struct rank *ranks = mem_calloc(n + 1, sizeof(*ranks));
	double left_s = w->opts->budget_s;

	*out = (struct budget){ mem_calloc(n + 1, sizeof(*out->order)),
		                mem_calloc(n + 1, sizeof(*out->reached)),
		                mem_calloc(n + 1, sizeof(*out->cuts)) };
	for (size_t s = 0; s < n; s++)
		ranks[s] = (struct rank){ w->scope_problems[s]->total_insn, s };
	if (n)
		qsort(ranks, n, sizeof(*ranks), hotter_first);
	/* A scope that has no room leaves it to smaller ones that come after it. */
	for (size_t i = 0; i < n; i++) {
		double work_s;

		out->order[i] = ranks[i].scope;
		work_of(w, ranks[i].scope, &out->cuts[ranks[i].scope], &work_s);
		out->reached[ranks[i].scope] = work_s <= left_s;
		left_s -= work_s <= left_s ? work_s : 0;
	}
	free(ranks);
}

void budget_fini(struct budget *b, size_t n_scopes)
{
	for (size_t s = 0; b->cuts && s < n_scopes; s++)
		budget_cut_fini(&b->cuts[s]);
	free(b->cuts);
	free(b->order);
	free(b->reached);
}
