/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose a function's instructions are, by who calls it: sets of functions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/flow/scc.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "report/inclusive/impl.h"

/* Edges from one function to others, by the one that they begin at: to[first[f] .. first[f + 1]). */
static void sort_edges(const uint32_t (*pairs)[2], size_t n, size_t n_funcs, int from, uint32_t **first,
                       uint32_t **to)
{
	uint32_t *at = mem_calloc(n_funcs + 2, sizeof(*at));

	*to = mem_calloc(n + 1, sizeof(**to));
	for (size_t i = 0; i < n; i++)
		at[pairs[i][from] + 2]++;
	for (size_t f = 2; f < n_funcs + 2; f++)
		at[f] += at[f - 1];
	for (size_t i = 0; i < n; i++)
		(*to)[at[pairs[i][from] + 1]++] = pairs[i][!from];
	*first = at;
}

/* Calls that paths show, each once. */
static void find_seen(const struct profile *p, struct call_sets *s)
{
	struct pairs known = { 0 };
	uint32_t(*seen)[2] = mem_calloc(p->n_contexts + 1, sizeof(*seen));
	size_t n = 0;

	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];
		uint32_t by = c->parent == UINT32_MAX ? c->func : p->contexts[c->parent].func;

		if (by == c->func || (size_t)pairs_must(&known, (uint64_t)by + 1, (uint64_t)c->func + 1) < n)
			continue;
		seen[n][0] = by;
		seen[n++][1] = c->func;
	}
	sort_edges((const uint32_t(*)[2])seen, n, p->n_funcs, 0, &s->seen0, &s->seen);
	sort_edges((const uint32_t(*)[2])seen, n, p->n_funcs, 1, &s->seen_by0, &s->seen_by);
	pairs_fini(&known);
	free(seen);
}

/* By calls that were made, and those that paths show; and by paths that know nothing of who called it. */
static void find_lasting(const struct profile *p, struct call_sets *s)
{
	const uint32_t n = (uint32_t)p->n_funcs;
	uint32_t *off = mem_calloc(n + 2, sizeof(*off)), *to, *comp = mem_calloc(n + 1, sizeof(*comp)),
	         *size = mem_calloc(n + 1, sizeof(*size)), n_comps = 0, k = 0;
	double *open = mem_calloc(n + 1, sizeof(*open));

	to = mem_calloc(p->n_calls + s->seen0[n] + 1, sizeof(*to));
	s->lasts = mem_calloc(n + 1, sizeof(*s->lasts));
	for (uint32_t f = 0; f < n; f++) {
		off[f] = k;
		for (uint32_t i = s->calls0[f]; i < s->calls0[f + 1]; i++) {
			const struct profile_call *c = &p->calls[s->calls[i]];

			if (c->taken || c->share > 0)
				to[k++] = c->callee;
			s->lasts[f] |= c->callee == f && c->taken;
		}
		for (uint32_t i = s->seen0[f]; i < s->seen0[f + 1]; i++)
			to[k++] = s->seen[i];
	}
	off[n] = k;
	scc_find(&(struct scc_graph){ n, off, to }, comp, &n_comps);
	for (size_t i = 0; i < p->n_contexts; i++)
		open[p->contexts[i].func] += p->contexts[i].parent == UINT32_MAX ? p->contexts[i].insn : 0;
	for (uint32_t f = 0; f < n; f++)
		size[comp[f]]++;
	for (uint32_t f = 0; f < n; f++)
		s->lasts[f] |= size[comp[f]] > 1 || open[f] > model->little * p->funcs[f].rolled.insn;
	free(off);
	free(to);
	free(comp);
	free(size);
	free(open);
}

void call_sets_new(const struct profile *p, struct call_sets *s)
{
	uint32_t(*pairs)[2] = mem_calloc(p->n_calls + 1, sizeof(*pairs));

	*s = (struct call_sets){ .p = p,
		                 .first = mem_calloc(p->n_funcs + 2, sizeof(*s->first)),
		                 .members = mem_calloc(p->n_funcs + 1, sizeof(*s->members)),
		                 .queue = mem_calloc(p->n_funcs + 1, sizeof(*s->queue)) };
	for (size_t i = 0; i < p->n_calls; i++) {
		s->first[p->calls[i].callee + 1]++;
		pairs[i][0] = p->calls[i].caller;
		pairs[i][1] = (uint32_t)i;
	}
	for (size_t f = 0; f < p->n_funcs; f++)
		s->first[f + 1] += s->first[f];
	sort_edges((const uint32_t(*)[2])pairs, p->n_calls, p->n_funcs, 0, &s->calls0, &s->calls);
	find_seen(p, s);
	find_lasting(p, s);
	free(pairs);
}

void call_sets_free(struct call_sets *s)
{
	free(s->first);
	free(s->calls0);
	free(s->calls);
	free(s->seen0);
	free(s->seen);
	free(s->seen_by0);
	free(s->seen_by);
	free(s->lasts);
	free(s->members);
	free(s->queue);
}

/* How much of the calls of a function comes from those that are in. */
static double share_in(const struct call_sets *s, uint32_t callee, const double *in)
{
	const struct profile_call *calls = s->p->calls;
	double sum = 0;

	for (uint32_t i = s->first[callee]; i < s->first[callee + 1]; i++)
		sum += in[calls[i].caller] > 0 ? calls[i].share : 0;
	return sum;
}

static void put_in(struct call_sets *s, uint32_t func, double *in)
{
	if (in[func] > 0)
		return;
	in[func] = 1;
	s->members[s->n_members++] = func;
}

void inclusive_find_any(struct call_sets *s, uint32_t func, double *in)
{
	memset(in, 0, s->p->n_funcs * sizeof(*in));
	s->n_members = 0;
	put_in(s, func, in);
	for (size_t m = 0; m < s->n_members; m++) {
		uint32_t f = s->members[m];

		for (uint32_t k = s->calls0[f]; k < s->calls0[f + 1]; k++) {
			const struct profile_call *c = &s->p->calls[s->calls[k]];

			if (c->share > 0 && !(in[c->callee] > 0) &&
			    share_in(s, c->callee, in) > inclusive_small)
				put_in(s, c->callee, in);
		}
		for (uint32_t k = s->seen0[f]; k < s->seen0[f + 1]; k++)
			put_in(s, s->seen[k], in);
	}
}

/* Is it called from outside? */
static bool is_open(const struct call_sets *s, uint32_t func, const double *in)
{
	for (uint32_t k = s->seen_by0[func]; k < s->seen_by0[func + 1]; k++)
		if (!(in[s->seen_by[k]] > 0))
			return true;
	for (uint32_t i = s->first[func]; s->lasts[func] && i < s->first[func + 1]; i++)
		if (!(in[s->p->calls[i].caller] > 0))
			return true;
	return s->first[func] < s->first[func + 1] && share_in(s, func, in) < inclusive_whole;
}

void inclusive_keep_all(struct call_sets *s, uint32_t func, double *in)
{
	size_t n = 0;

	/* Each that goes may open those that it calls. */
	for (size_t m = 0; m < s->n_members; m++)
		if (s->members[m] != func && is_open(s, s->members[m], in)) {
			in[s->members[m]] = 0;
			s->queue[n++] = s->members[m];
		}
	while (n > 0) {
		uint32_t f = s->queue[--n];

		for (uint32_t k = s->calls0[f]; k < s->calls0[f + 1]; k++) {
			uint32_t callee = s->p->calls[s->calls[k]].callee;

			if (callee != func && in[callee] > 0 && is_open(s, callee, in)) {
				in[callee] = 0;
				s->queue[n++] = callee;
			}
		}
		for (uint32_t k = s->seen0[f]; k < s->seen0[f + 1]; k++)
			if (s->seen[k] != func && in[s->seen[k]] > 0) {
				in[s->seen[k]] = 0;
				s->queue[n++] = s->seen[k];
			}
	}
}

double inclusive_own(const struct profile *p, size_t f)
{
	return inclusive_is_of_insn(p) ? p->funcs[f].rolled.insn : p->funcs[f].rolled.cyc;
}

bool inclusive_has_code(const struct profile *p, size_t f)
{
	const struct profile_count *c = &p->funcs[f].rolled;

	return c->raw_insn > 0 || c->insn > 0 || c->cyc > 0;
}

struct inclusive inclusive_sum(const struct profile *p, const double *part)
{
	struct inclusive sum = { 0 };

	for (size_t g = 0; g < p->n_funcs; g++) {
		const struct profile_count *c = &p->funcs[g].rolled;

		if (!(part[g] > 0))
			continue;
		sum.raw_insn += c->raw_insn;
		sum.insn += c->insn;
		sum.cyc += c->cyc;
		sum.by_status[p->funcs[g].rolled_status] += c->insn;
	}
	return sum;
}

struct inclusive inclusive_between(const struct profile *p, const struct inclusive *least,
                                   const struct inclusive *most)
{
	struct inclusive c = *least;
	/* Of functions that ran nothing time tells whether they are the same. */
	bool of_insn = inclusive_is_of_insn(p) && most->insn > 0;
	double high = of_insn ? most->insn : most->cyc, low = of_insn ? least->insn : least->cyc;

	if (high - low > model->little * high)
		c.raw_insn = c.insn = c.cyc = NAN;
	c.lo = inclusive_weight(p, least);
	c.hi = inclusive_weight(p, most);
	return c;
}
