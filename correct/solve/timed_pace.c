/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/solve/timed_pace.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"

enum { IN_NONE = -1, IN_SEVERAL = -2 };

/* [n_blocks of the graph] the scope that has each block; IN_SEVERAL where they share it. */
static int32_t *map_blocks(const struct work *w)
{
	size_t n = w->graph ? w->graph->n_blocks : 0;
	int32_t *scope = mem_calloc(n + 1, sizeof(*scope));

	for (size_t b = 0; b < n; b++)
		scope[b] = IN_NONE;
	for (size_t s = 0; w->scope_problems && s < w->scopes.n; s++) {
		const struct flow_region *r = w->scopes.v[s].region;

		for (size_t k = 0; k < r->n_blocks; k++)
			scope[r->blocks[k]] = scope[r->blocks[k]] == IN_NONE ? (int32_t)s : IN_SEVERAL;
	}
	return scope;
}

static long block_at(const struct work *w, int32_t module, uint64_t vaddr)
{
	return w->graph && module >= 0 ? flow_block_at(w->graph, (uint32_t)module, vaddr) : -1;
}

/* Instructions of one path in one block, and the scope that has it. */
struct ran {
	int32_t scope;
	uint32_t path;
	long block;
	double insn;
};

static int by_scope(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;

	return (x->scope > y->scope) - (x->scope < y->scope);
}

/* Which scope each run of a path is of; code that several share is of the one that most of the path was in. */
static void place_runs(const struct work *w, const int32_t *scope_of, size_t first, size_t end, double *sums,
                       struct ran *out)
{
	const struct timed_run *runs = w->rec->paths.runs.v;
	size_t most = 0;

	memset(sums, 0, w->scopes.n * sizeof(*sums));
	for (size_t i = first; i < end; i++) {
		long block = block_at(w, runs[i].module, runs[i].vaddr);

		out[i] = (struct ran){ block < 0 ? IN_NONE : scope_of[block], runs[i].path, block,
			               runs[i].insn };
		if (out[i].scope >= 0)
			sums[out[i].scope] += out[i].insn;
	}
	for (size_t s = 1; s < w->scopes.n; s++)
		if (sums[s] > sums[most])
			most = s;
	for (size_t i = first; i < end; i++)
		if (out[i].scope == IN_SEVERAL &&
		    problem_block_at(w->scope_problems[most], (uint32_t)out[i].block) >= 0)
			out[i].scope = (int32_t)most;
}

static void set_scope(struct problem *p, const struct timed_rate *r, double all_ns)
{
	if (!p->relative || p->pace > 0 || !(r->rate > 0) || !(p->total_cyc > 0))
		return;
	p->total_insn = r->rate * all_ns;
	p->pace = p->total_insn / p->total_cyc;
	p->insn_per_sample *= p->pace;
	p->total_sd = (r->hi - r->rate) / gsl_cdf_ugaussian_Pinv(0.95) * all_ns;
}

/*
 * What ran in each scope, by the paths that came there: not by those that began in it, for a program may be in
 * the next loop when the time that counts begins.
 */
static void set_scopes(struct work *w, const int32_t *scope_of, const double *share, double all_ns)
{
	const struct timed_paths *t = &w->rec->paths;
	struct ran *ran = mem_calloc(t->runs.n + 1, sizeof(*ran));
	double *of_scope = mem_calloc(w->scopes.n + 1, sizeof(*of_scope)),
	       *insn = mem_calloc(t->v.n + 1, sizeof(*insn));

	for (size_t i = 0, end; i < t->runs.n; i = end) {
		for (end = i; end < t->runs.n && t->runs.v[end].path == t->runs.v[i].path;)
			end++;
		place_runs(w, scope_of, i, end, of_scope, ran);
	}
	qsort(ran, t->runs.n, sizeof(*ran), by_scope);
	for (size_t i = 0, end; i < t->runs.n; i = end) {
		struct timed_rate r;

		memset(insn, 0, t->v.n * sizeof(*insn));
		for (end = i; end < t->runs.n && ran[end].scope == ran[i].scope; end++)
			insn[ran[end].path] += ran[end].insn;
		if (ran[i].scope < 0)
			continue;
		timed_paths_rate_in(t, (size_t)ran[i].scope, insn, share, w->scopes.n, &r);
		set_scope(w->scope_problems[ran[i].scope], &r, all_ns);
	}
	free(ran);
	free(of_scope);
	free(insn);
}

void timed_pace_set(struct work *w)
{
	struct timed_paths *t = &w->rec->paths;
	size_t n = w->scope_problems ? w->scopes.n : 0;
	double all = w->rec->cyc_event >= 0 ? w->sums.events[w->rec->cyc_event].period_sum : 0;
	double *share;
	int32_t *scope_of;

	if (!t->v.n)
		return;
	share = mem_calloc(n + 1, sizeof(*share));
	scope_of = map_blocks(w);
	for (size_t s = 0; s < n && all > 0; s++)
		share[s] = w->scope_problems[s]->total_cyc / all;
	for (size_t i = 0; i < t->v.n; i++) {
		long block = block_at(w, t->v.v[i].module, t->v.v[i].vaddr);

		t->v.v[i].loop = block < 0 ? IN_NONE : scope_of[block];
	}
	timed_paths_rate(t, share, n, &w->timed);
	/* Paths are of the whole recording, and of what a clock sampled; without the core's frequency there are no cycles. */
	w->pace_timed = n && w->timed.rate > 0 && w->rec->relative && w->rec->cyc_is_even &&
	                !w->rec->filter && w->sums.core_hz > 0;
	for (size_t s = 0; s < n; s++)
		w->scope_problems[s]->pace_timed = w->pace_timed;
	if (w->pace_timed)
		set_scopes(w, scope_of, share, all);
	free(share);
	free(scope_of);
}
