/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The share of one function in what others run, by contexts: chains of callers that paths show. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "report/assemble/context_walk.h"
#include "report/inclusive/impl.h"

/* 90% of a variable lie within so many standard deviations where these are known by the parts of paths (Student's t; z_of_90). */
static const double t_of_parts = 1.753;

/* Whose are the contexts below a root?  All are func's where what any of them runs is. */
enum owner { OTHERS, OPEN, ITS };

static void add_context(const struct profile_context *c, context_sums *to)
{
	/* Once for each context below a function, for each function. */
	double *restrict sum = to[c->func];
	const double *restrict part = c->without;

	for (int k = 0; k < CONTEXT_PARTS; k++)
		sum[k] += part[k];
	sum[CONTEXT_PARTS] += c->insn;
}

/* Where jumps may have taken a function from stacks: [*n] of it. */
static const struct profile_hidden *find_hidden(const struct profile *p, uint32_t func, size_t *n)
{
	size_t first = sorted_count(p->n_hidden, k, p->hidden[k].func < func);

	*n = sorted_count(p->n_hidden, k, p->hidden[k].func <= func) - first;
	return p->hidden + first;
}

static bool is_hidden(const struct profile *p, const struct profile_hidden *hidden, size_t n,
                      const struct profile_context *c)
{
	for (size_t i = 0; i < n; i++)
		if (hidden[i].callee == c->func && hidden[i].caller == p->contexts[c->parent].func)
			return true;
	return false;
}

static void find_owners(const struct profile *p, uint32_t func, struct owners *o)
{
	size_t n_hidden;
	const struct profile_hidden *hidden = find_hidden(p, func, &n_hidden);

	for (size_t g = 0; g < p->n_funcs; g++)
		if (o->any[g] > 0) {
			memset(o->its[g], 0, sizeof(o->its[g]));
			memset(o->open[g], 0, sizeof(o->open[g]));
		}
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];

		o->of[i] = c->func == func ? ITS
		           : c->parent != UINT32_MAX
		                   ? o->of[c->parent] == OTHERS && is_hidden(p, hidden, n_hidden, c)
		                             ? OPEN
		                             : o->of[c->parent]
		           : o->all[c->func] > 0 ? ITS
		           : o->any[c->func] > 0 ? OPEN
		                                 : OTHERS;
		/* What func calls on a path is in any. */
		if (o->of[i] != OTHERS)
			add_context(c, o->of[i] == ITS ? o->its : o->open);
	}
}

/* What paths that lead back to a caller's caller, or another's, tell of g. */
static double told_of(const struct owners *o, size_t g, int part)
{
	double told = o->told[g][part] - o->open[g][part];

	return told > inclusive_small * o->told[g][part] ? told : 0;
}

/* One look at all calls: of functions that no path tells func has what it has of their callers, as these call. */
static bool pass_shares(const struct profile *p, uint32_t func, struct owners *o)
{
	bool change = false;

	for (uint32_t g = 0; g < p->n_funcs; g++) {
		double its = 0, all = 0;

		if (g == func || !(o->any[g] > 0) || o->all[g] > 0 || told_of(o, g, CONTEXT_PARTS) > 0)
			continue;
		for (uint32_t i = o->sets.first[g]; i < o->sets.first[g + 1]; i++) {
			its += p->calls[i].share * o->by_calls[p->calls[i].caller];
			all += p->calls[i].share;
		}
		if (!(all > 0))
			continue;
		change |= fabs(its / all - o->by_calls[g]) > inclusive_small;
		o->by_calls[g] = its / all;
	}
	return change;
}

static void share_by_calls(const struct profile *p, uint32_t func, struct owners *o)
{
	for (size_t g = 0; g < p->n_funcs; g++) {
		double told = told_of(o, g, CONTEXT_PARTS);

		o->by_calls[g] = !(o->any[g] > 0)             ? 0
		                 : g == func || o->all[g] > 0 ? 1
		                 : told > 0                   ? o->its[g][CONTEXT_PARTS] / told
		                                              : 0;
	}
	for (int round = 0; round < EFFORT_SPREAD_ROUNDS && pass_shares(p, func, o); round++)
		;
}

/* func's share of what g runs: least, likely, most. */
static void its_share(const struct owners *o, size_t g, int part, double out[3])
{
	double all = o->told[g][part], its, open, told = told_of(o, g, part);

	out[0] = out[1] = out[2] = 0;
	if (!(o->any[g] > 0))
		return;
	its = o->its[g][part];
	open = o->open[g][part];
	if (all > 0) {
		out[0] = its / all;
		out[1] = told > 0 ? its / told : o->by_calls[g];
		out[2] = (its + open) / all;
	} else {
		out[0] = o->all[g] > 0;
		out[1] = o->by_calls[g];
		out[2] = 1;
	}
}

/* Instructions of func with what it calls, by all paths but each part of them, and by all: least, likely, most. */
static void sum_owners(const struct profile *p, const struct owners *o, double out[CONTEXT_PARTS + 1][3])
{
	double share[3];

	memset(out, 0, (CONTEXT_PARTS + 1) * sizeof(*out));
	for (size_t g = 0; g < p->n_funcs; g++) {
		if (!(o->any[g] > 0) || !(inclusive_own(p, g) > 0))
			continue;
		for (int k = 0; k <= CONTEXT_PARTS; k++) {
			its_share(o, g, k, share);
			for (int i = 0; i < 3; i++)
				out[k][i] += inclusive_own(p, g) * share[i];
		}
	}
}

/* What the callers' numbers of calls leave open of func's: each weighs paths of its own, with what these ran. */
static double variance_of_calls(const struct profile *p, uint32_t func, const struct owners *o)
{
	double var = 0;

	for (size_t i = 0; i < p->n_calls; i++) {
		const struct profile_call *c = &p->calls[i];
		double in_callee[3], in_caller[3];

		if (c->callee == func || !(o->any[c->callee] > 0) || !(c->context_sd > 0) || !(o->ran[i] > 0))
			continue;
		its_share(o, c->callee, CONTEXT_PARTS, in_callee);
		its_share(o, c->caller, CONTEXT_PARTS, in_caller);
		var += pow(inclusive_own(p, c->callee) * o->ran[i] / o->told[c->callee][CONTEXT_PARTS] *
		                   c->context_sd * (in_caller[1] - in_callee[1]),
		           2);
	}
	return var;
}

/* 90% of what it runs, or takes, by itself, to either side: samples of time are as many as fall that way. */
static double own_half(const struct profile *p, const struct owners *o)
{
	double var = 0, period;

	if (inclusive_is_of_insn(p) || p->meta.cyc_event < 0)
		return own_noise_half(o->noise, o->likely);
	period = profile_mean_period(&p->meta.events[p->meta.cyc_event]) * p->meta.cyc_per_event;
	for (size_t g = 0; g < p->n_funcs; g++)
		var += o->likely[g] * o->likely[g] * p->funcs[g].rolled.cyc * period;
	return z_of_90 * sqrt(var);
}

/*
 * eq. 20: by contexts, with the interval that their paths leave, from sums without each part of them, and the counts of calls
 * that they were weighed by.
 */
void owners_count(const struct profile *p, uint32_t func, struct owners *o, struct inclusive *c)
{
	double part[CONTEXT_PARTS + 1][3], share[3], mean = 0, var = 0, half;
	const double *all = part[CONTEXT_PARTS];

	find_owners(p, func, o);
	share_by_calls(p, func, o);
	sum_owners(p, o, part);
	for (int i = 0; i < CONTEXT_PARTS; i++)
		mean += part[i][1] / CONTEXT_PARTS;
	for (int i = 0; i < CONTEXT_PARTS; i++)
		var += (part[i][1] - mean) * (part[i][1] - mean) * (CONTEXT_PARTS - 1) / CONTEXT_PARTS;
	for (size_t g = 0; g < p->n_funcs; g++) {
		its_share(o, g, CONTEXT_PARTS, share);
		o->likely[g] = share[1];
	}
	memset(c->by_status, 0, sizeof(c->by_status));
	for (size_t g = 0; g < p->n_funcs; g++)
		c->by_status[p->funcs[g].rolled_status] += o->likely[g] * inclusive_own(p, g);
	half = hypot(t_of_parts * sqrt(var + variance_of_calls(p, func, o)), own_half(p, o));
	c->lo = fmax(c->lo, all[0] - half);
	c->hi = fmin(c->hi, all[2] + half);
	*(inclusive_is_of_insn(p) ? &c->insn : &c->cyc) = fmin(fmax(all[1], c->lo), c->hi);
}

void owners_free(struct owners *o)
{
	free(o->any);
	free(o->all);
	free(o->likely);
	free(o->by_calls);
	free(o->of);
	free(o->told);
	free(o->its);
	free(o->open);
	vec_fini(&o->uncalled);
	vec_fini(&o->mains);
	free(o->reach);
	free(o->begins);
	free(o->ran);
	free(o->below);
	call_sets_free(&o->sets);
	*o = (struct owners){ 0 };
}

/* A program's first thread has the number of its process, and is the only one that runs main(). */
static void find_begun(const struct profile *p, struct owners *o)
{
	const bool insn = inclusive_is_of_insn(p);
	const long event = insn ? p->meta.insn_event : p->meta.cyc_event;
	double all = 0, begun = 0, period, n;

	for (size_t i = 0; i < p->n_tasks; i++) {
		const double weight = insn ? p->tasks[i].insn : p->tasks[i].cyc;

		all += weight;
		begun += p->tasks[i].tid != p->tasks[i].pid ? weight : 0;
	}
	if (!(begun > 0) || event < 0)
		return;
	period = profile_mean_period(&p->meta.events[event]);
	if (!(period > 0))
		return;
	/* Samples of either are few or many by chance. */
	n = (insn ? p->meta.events[event].total / period : (double)p->meta.events[event].n_samples);
	o->begun = o->most * begun / all;
	o->begun_half = o->most * z_of_90 * sqrt(begun / all * (1 - begun / all) / fmax(n, 1));
}

static void find_mains(const struct profile *p, struct owners *o)
{
	for (uint32_t f = 0; f < p->n_funcs; f++)
		if (strcmp(p->funcs[f].name, "main") == 0)
			vec_add(&o->mains, f);
}

static void find_uncalled(const struct profile *p, struct owners *o)
{
	double *more = o->likely;

	for (uint32_t g = 0; g < p->n_funcs; g++) {
		o->below[g] = inclusive_own(p, g);
		o->most += o->below[g];
	}
	for (int round = 0; round < EFFORT_SPREAD_ROUNDS; round++) {
		for (size_t g = 0; g < p->n_funcs; g++)
			more[g] = inclusive_own(p, g);
		for (size_t i = 0; i < p->n_calls; i++)
			more[p->calls[i].caller] += p->calls[i].share * o->below[p->calls[i].callee];
		for (size_t g = 0; g < p->n_funcs; g++)
			o->below[g] = fmin(more[g], o->most);
	}
	o->unseen =
	        p->n_context_stacks ? fmin(-log(0.1) / (double)p->n_context_stacks, 1) * o->most : INFINITY;
	/* A linker's stubs without names are no function. */
	for (uint32_t g = 0; g < p->n_funcs; g++)
		if (p->funcs[g].uncalled && o->below[g] > 0 &&
		    (inclusive_has_code(p, g) || strcmp(p->funcs[g].name, "[unknown]") != 0))
			vec_add(&o->uncalled, g);
	o->reach = mem_calloc(o->uncalled.n * p->n_funcs + 1, 1);
	o->begins = mem_calloc(o->uncalled.n + 1, sizeof(*o->begins));
	for (size_t i = 0; i < o->uncalled.n; i++) {
		inclusive_find_any(&o->sets, o->uncalled.v[i], o->any);
		o->begins[i] = profile_begins_thread(&p->funcs[o->uncalled.v[i]]);
		for (size_t g = 0; g < p->n_funcs; g++)
			o->reach[i * p->n_funcs + g] = o->any[g] > 0;
		for (size_t k = 0; k < o->mains.n; k++)
			o->begins[i] |= o->any[o->mains.v[k]] > 0 && o->mains.v[k] != o->uncalled.v[i];
	}
}

void owners_new(const struct profile *p, const struct own_noise *noise, struct owners *o)
{
	const size_t n = p->n_funcs + 1;

	*o = (struct owners){ .any = mem_calloc(n, sizeof(*o->any)),
		              .all = mem_calloc(n, sizeof(*o->all)),
		              .likely = mem_calloc(n, sizeof(*o->likely)),
		              .by_calls = mem_calloc(n, sizeof(*o->by_calls)),
		              .noise = noise,
		              .of = mem_calloc(p->n_contexts + 1, 1),
		              .ran = mem_calloc(p->n_calls + 1, sizeof(*o->ran)),
		              .told = mem_calloc(n, sizeof(*o->told)),
		              .its = mem_calloc(n, sizeof(*o->its)),
		              .open = mem_calloc(n, sizeof(*o->open)),
		              .below = mem_calloc(n, sizeof(*o->below)) };
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];
		long call = c->parent == UINT32_MAX
		                    ? -1
		                    : context_find_call(p, p->contexts[c->parent].func, c->func);

		add_context(c, o->told);
		if (call >= 0)
			o->ran[call] += c->insn;
	}
	call_sets_new(p, &o->sets);
	find_mains(p, o);
	find_uncalled(p, o);
	find_begun(p, o);
}
