/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/divide/regions.h"

#include <math.h>
#include <stdlib.h>

#include "correct/judge/reasons.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"

static double heat_in(const struct flow_regions *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->v[i].weight;
	return sum;
}

/* Of those of so many free flows, whatever of them carries flow, that can be solved: a region has about as many as edges beyond blocks. */
static double heat_to_solve(const struct flow_regions *r, size_t flows)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].n_edges <= EFFORT_SOLVED_EDGES && r->v[i].n_edges <= r->v[i].n_blocks + flows)
			sum += r->v[i].weight;
	return sum;
}

/* A few long bursts, of many branches, are few moments: beside counts, stages in none of them are left in as long as these are small. */
static bool few_moments(const struct work *w)
{
	return !w->rec->relative && w->sums.n_stacks < (uint64_t)model->many &&
	       heat_to_solve(w->regions, (size_t)model->cold_flows) >=
	               (1 - model->little) * heat_in(w->regions);
}

/*
 * Share of the heat in regions that regions of what ran must hold to be taken instead.  Bursts are few, and leave more of
 * large programs out; but nothing is told of a region that is too large (of branch records there are averages), so that
 * regions that hold most of the heat, and more than those that are solved, are better, and weak.
 */
static double least_ran_heat(const struct work *w)
{
	double heat = heat_in(w->regions), nearly_all = (1 - reason_limit_unshown) * heat;

	return w->rec->relative
	               ? fmin(nearly_all, fmax(heat_to_solve(w->regions, EFFORT_FREE_STACKS), heat / 2))
	               : nearly_all;
}

/*
 * Where there are many branch records, regions are made of what these say ran, unless that leaves out loops: an iteration of an
 * outer one may be too rare to be on record.
 */
static void find_regions(struct work *w, const double *weight)
{
	struct flow_regions *ran;
	struct flow_effort whatever = { .most = UINT64_MAX };
	double least;

	w->regions = flow_regions_find(w->graph, NULL, weight, w->opts->min_share, 0, &whatever);
	if (w->sums.paths)
		flow_ran_find(w->graph, w->sums.seen, w->sums.n_seen, w->sums.runs, w->sums.n_runs, &w->ran);
	/* Cold code that a loop could call makes it too large to be solved. */
	if (w->sums.n_branches < model->ran_branches || few_moments(w))
		return;
	least = least_ran_heat(w);
	ran = flow_regions_find(w->graph, &w->ran, weight, w->opts->min_share, least, &w->effort);
	/* A search that spent its part has what it found until then, coarser: it counts if that is nearly all. */
	if (heat_in(ran) >= least) {
		w->ran_share = heat_in(w->regions) > 0 ? heat_in(ran) / heat_in(w->regions) : 1;
		flow_regions_free(w->regions);
		w->regions = ran;
		w->regions_ran = true;
		ran = NULL;
	}
	flow_regions_free(ran);
}

static double samples_at(const struct place_sum *s)
{
	return s->n_insn + s->n_cyc;
}

/* The samples of the function that each place is in, all code without a name between two as one. */
static double *by_function(const struct work *w)
{
	const struct place_sum *v = w->sums.v;
	double *out = mem_calloc(w->sums.n + 1, sizeof(*out));
	long function = -1;

	for (size_t i = 0, first = 0; i < w->sums.n; i++) {
		long at = module_func_at(w->rec->modules[v[i].module], v[i].vaddr);

		if (v[i].module != v[first].module || at != function)
			first = i;
		function = at;
		out[first] += samples_at(&v[i]);
	}
	for (size_t i = 1; i < w->sums.n; i++)
		out[i] = out[i] > 0 ? out[i] : out[i - 1];
	return out;
}

/* Up to so many samples of a function are as good as none: all functions of no more have the least share together. */
static double as_none(const struct work *w, const double *in_function)
{
	double least = 0, sum = 0, few = 0, *of; /* [k]: samples of functions that have k */

	for (size_t i = 0; i < w->sums.n; i++)
		least += model->least * samples_at(&w->sums.v[i]);
	of = mem_calloc((size_t)least + 2, sizeof(*of));
	for (size_t i = 0; i < w->sums.n; i++)
		if (in_function[i] <= least)
			of[(size_t)in_function[i]] += samples_at(&w->sums.v[i]);
	for (; few + 1 <= least && sum + of[(size_t)few + 1] <= least; few++)
		sum += of[(size_t)few + 1];
	free(of);
	return few;
}

/*
 * The places that show which code is hot, in order; returns how many.  Functions of next to no samples are none of it: one in the
 * resolver of symbols, or in a message that is printed once, would make thousands of blocks part of the loop that calls it.
 */
static size_t find_hot(const struct work *w, struct flow_hot *hot)
{
	double *in_function = by_function(w), few = as_none(w, in_function);
	size_t n = 0;

	for (size_t i = 0; i < w->sums.n; i++) {
		const struct place_sum *s = &w->sums.v[i];

		if (in_function[i] > few)
			hot[n++] = (struct flow_hot){ s->module, s->vaddr, samples_at(s) };
	}
	free(in_function);
	return n;
}

int regions_build(struct work *w)
{
	struct flow_input in = { .modules = w->rec->modules,
		                 .n_modules = w->rec->n_modules,
		                 .seen = w->sums.seen,
		                 .n_seen = w->sums.n_seen };
	struct flow_hot *hot = mem_calloc(w->sums.n + 1, sizeof(*hot));
	double *weight = NULL;
	int err;

	in.hot = hot;
	in.n_hot = find_hot(w, hot);
	err = flow_build(&in, &w->graph);
	if (err < 0)
		goto out;
	weight = mem_calloc(w->graph->n_blocks + 1, sizeof(*weight));
	for (size_t i = 0; i < in.n_hot; i++) {
		long b = flow_block_at(w->graph, hot[i].module, hot[i].vaddr);

		if (b >= 0)
			weight[b] += hot[i].weight;
	}
	find_regions(w, weight);
	err = apart_open(w, weight);
out:
	free(hot);
	free(weight);
	return err;
}
