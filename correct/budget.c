/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/budget.h"

#include <math.h>
#include <stdlib.h>

#include "correct/infer/space.h"
#include "profiler/base/err.h"

/* Some dozens of products of matrices of all free flows (moments.h), and draws of all blocks. */
enum { DRAWS = 1200 };
static const double flows_per_s = 1.6e7, products_per_s = 1.3e9;

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
	return n_free * n_free * n_free / flows_per_s + DRAWS * n_free * (n_free + n_blocks) / products_per_s;
}

static int work_of(const struct work *w, size_t s, double *work_s)
{
	struct problem *p = w->scope_problems[s];
	bool *usable = calloc(p->n_edges + 1, sizeof(*usable));
	double *flow = calloc(p->n_edges + 1, sizeof(*flow));
	size_t n_free = 0;
	uint32_t n_unseen;
	int err = usable && flow ? solve_cut(w, p, usable, flow, &n_unseen)
	                         : sp_fail(SP_ENOMEM, "out of memory for %zu edges", p->n_edges);

	if (err == 0)
		err = space_size(p, usable, &n_free);
	/* What is too large to be solved is refused at once, and what has too few samples. */
	if (err == 0)
		err = solve_judge_size(p, usable, w->sums.paths);
	*work_s = err < 0 ? 0 : budget_work_s((double)n_free, (double)p->n_blocks);
	free(usable);
	free(flow);
	return err == -SP_ENOMEM ? err : 0;
}

uint64_t budget_blocks(double budget_s)
{
	return (uint64_t)(finding_part * budget_s * blocks_per_s);
}

int budget_plan(const struct work *w, struct budget *out)
{
	size_t n = w->scopes.n;
	struct rank *ranks = calloc(n + 1, sizeof(*ranks));
	double left_s = w->opts->budget_s;
	int err = 0;

	*out = (struct budget){ calloc(n + 1, sizeof(*out->order)), calloc(n + 1, sizeof(*out->reached)) };
	if (!ranks || !out->order || !out->reached)
		err = sp_fail(SP_ENOMEM, "out of memory for %zu scopes", n);
	for (size_t s = 0; err == 0 && s < n; s++)
		ranks[s] = (struct rank){ w->scope_problems[s]->total_insn, s };
	if (err == 0 && n)
		qsort(ranks, n, sizeof(*ranks), hotter_first);
	/* A scope that has no room leaves it to smaller ones that come after it. */
	for (size_t i = 0; err == 0 && i < n; i++) {
		double work_s;

		out->order[i] = ranks[i].scope;
		err = work_of(w, ranks[i].scope, &work_s);
		out->reached[ranks[i].scope] = work_s <= left_s;
		left_s -= work_s <= left_s ? work_s : 0;
	}
	free(ranks);
	return err;
}

void budget_fini(struct budget *b)
{
	free(b->order);
	free(b->reached);
}
