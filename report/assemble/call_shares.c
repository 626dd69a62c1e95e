/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose calls a function's are. */
#include <math.h>
#include <stdlib.h>

#include "correct/flow/scc.h"
#include "profiler/base/mem.h"
#include "report/assemble/calls.h"

static bool of_itself(const struct profile_call *c)
{
	return c->caller == c->callee;
}

/*
 * By the calls that are known, less a function's of itself.  Callers of whom it is known that they call and not how often have
 * what those leave, or as much as any where that is not known either.
 */
static void divide_known(const struct profile *p, struct profile_call *calls, size_t n)
{
	double known = 0,
	       all = p->funcs[calls[0].callee].calls.n_terms ? p->funcs[calls[0].callee].calls.n : NAN;
	size_t n_known = 0, n_open = 0;

	for (size_t i = 0; i < n; i++) {
		const struct profile_call *c = &calls[i];

		if (of_itself(c))
			all -= c->n;
		else if (!isnan(c->n))
			known += c->n, n_known++;
		else
			n_open += c->taken;
	}
	for (size_t i = 0; i < n; i++) {
		struct profile_call *c = &calls[i];
		double rest = all > 0 ? fmax(1 - known / all, 0) : NAN;

		c->share = 0;
		if (of_itself(c))
			continue;
		if (!n_open)
			c->share = known > 0 && !isnan(c->n) ? c->n / known : 0;
		else if (isnan(rest))
			c->share = c->taken ? 1.0 / (double)(n_open + n_known) : 0;
		else if (!isnan(c->n))
			c->share = known > 0 ? (1 - rest) * c->n / known : 0;
		else
			c->share = c->taken ? rest / (double)n_open : 0;
	}
}

/* The functions that call each other: component of each, malloc'd. */
static void find_cycles(const struct profile *p, uint32_t **comp, uint32_t *n_comps)
{
	uint32_t n = (uint32_t)p->n_funcs;
	uint32_t *off = mem_calloc(n + 2, sizeof(*off)), *to = mem_calloc(p->n_calls + 1, sizeof(*to));

	*comp = mem_calloc(n + 1, sizeof(**comp));
	for (size_t i = 0; i < p->n_calls; i++)
		off[p->calls[i].caller + 2] += p->calls[i].share > 0;
	for (uint32_t f = 2; f < n + 2; f++)
		off[f] += off[f - 1];
	for (size_t i = 0; i < p->n_calls; i++)
		if (p->calls[i].share > 0)
			to[off[p->calls[i].caller + 1]++] = p->calls[i].callee;
	scc_find(&(struct scc_graph){ n, off, to }, *comp, n_comps);
	free(off);
	free(to);
}

/* Calls from outside into functions that call each other. */
struct entries {
	bool known; /* some are */
	/* Calls that the code has, and whose number nothing tells, or that is too small to be seen; and those of unseen code. */
	uint32_t possible, unseen;
};

static bool is_open(const struct profile_call *c, const uint32_t *comp)
{
	return !(c->n > 0) && c->share <= 0 && comp[c->caller] != comp[c->callee];
}

/* Code that was never seen is thought of only where no other can have called. */
static bool is_possible_entry(const struct profile_call *c, const uint32_t *comp, const struct entries *e)
{
	return is_open(c, comp) && (!c->unseen || !e->possible);
}

static void count_entries(const struct profile *p, const uint32_t *comp, struct entries *of)
{
	for (size_t i = 0; i < p->n_calls; i++) {
		const struct profile_call *c = &p->calls[i];
		struct entries *e = &of[comp[c->callee]];

		e->known = e->known || (c->share > 0 && comp[c->caller] != comp[c->callee]);
		e->possible += is_open(c, comp) && !c->unseen;
		e->unseen += is_open(c, comp) && c->unseen;
	}
}

/* One function's calls, to which those from outside belong: how many nothing tells, so half of them are, each as many. */
static void let_in(struct profile_call *calls, size_t n, const uint32_t *comp, const struct entries *e)
{
	double possible = 0, inside = 0;

	for (size_t i = 0; i < n; i++) {
		possible += is_possible_entry(&calls[i], comp, e);
		inside += calls[i].share;
	}
	for (size_t i = 0; i < n && possible > 0; i++) {
		calls[i].guessed = is_possible_entry(&calls[i], comp, e);
		calls[i].share = calls[i].guessed ? (inside > 0 ? 0.5 : 1) / possible : 0.5 * calls[i].share;
	}
}

static size_t next_callee(const struct profile *p, size_t i)
{
	uint32_t callee = p->calls[i].callee;

	while (i < p->n_calls && p->calls[i].callee == callee)
		i++;
	return i;
}

/* One round: whether anything changed. */
static bool find_entries(struct profile *p)
{
	uint32_t *comp = NULL, n_comps = 0;
	struct entries *of = NULL;
	bool change = false;

	find_cycles(p, &comp, &n_comps);
	of = mem_calloc(n_comps + 1, sizeof(*of));
	count_entries(p, comp, of);
	for (size_t i = 0, j; i < p->n_calls; i = j) {
		const struct entries *e = &of[comp[p->calls[i].callee]];

		j = next_callee(p, i);
		if (e->known || !(e->possible + e->unseen))
			continue;
		let_in(p->calls + i, j - i, comp, e);
		change = true;
	}
	for (size_t f = 0; f < p->n_funcs; f++)
		p->funcs[f].uncalled = !of[comp[f]].known;
	free(of);
	free(comp);
	return change;
}

void calls_divide(struct profile *p)
{
	for (size_t i = 0, j; i < p->n_calls; i = j) {
		j = next_callee(p, i);
		divide_known(p, p->calls + i, j - i);
	}
	while (find_entries(p))
		;
}
