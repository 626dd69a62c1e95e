/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A flow through everything, or all that is warm, put together from ways through it.  For each edge of a loop a unit goes from
 * the loop's header to the edge along one tree, and from there back along another; all units are added up in two passes over the
 * trees.  A call is one step on such a way.  What its callee runs meanwhile is found once for each callee, of units from the
 * entry to where it returns.  In a region of what was seen to run not all callers are returned to from the same places: there it
 * is several callees.
 *
 * Callees come before their callers, who call at least as often as the callee's edges need; how often they do is added up in the
 * other order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/flow/scc.h"
#include "correct/infer/interior_impl.h"
#include "correct/model/effort.h"
#include "profiler/base/groups.h"
#include "profiler/base/mem.h"

/* Of what flows through a block; more is not rounding. */
static const double most_unbalanced = 1e-9;

uint32_t interior_step(const struct finder *f, uint32_t edge)
{
	const struct problem_edge *e = &f->p->edges[edge];

	if (e->call < 0)
		return e->to;
	if (e->kind == FLOW_RET || f->callees.v[f->of[edge]].need == 0)
		return NONE;
	return f->p->edges[f->rets[f->ret0[e->call]]].to;
}

static void add_units(struct finder *f, uint32_t edge, double n)
{
	f->flow[edge] += n;
	if (f->p->edges[edge].call >= 0)
		f->callees.v[f->of[edge]].brought += n;
}

/* ---- callees ---- */

static void finder_fini(struct finder *f)
{
	for (size_t i = 0; i < f->callees.n; i++) {
		vec_fini(&f->callees.v[i].units);
		free(f->callees.v[i].share);
	}
	vec_fini(&f->callees);
	free(f->out0);
	free(f->ret0);
	free(f->rets);
	free(f->of);
	free(f->comp);
	free(f->order);
}

/* Edges are in the order of their blocks. */
static void finder_init(struct finder *f, const struct problem *p, double *flow)
{
	size_t n = p->n_blocks;
	struct groups rets;

	groups_make(&rets, p->n_edges, n, e, p->edges[e].kind == FLOW_RET ? p->edges[e].call : -1);
	*f = (struct finder){ .p = p,
		              .flow = flow,
		              .out0 = mem_calloc(n + 2, sizeof(*f->out0)),
		              .ret0 = rets.first,
		              .rets = rets.of,
		              .of = mem_calloc(p->n_edges + 1, sizeof(*f->of)),
		              .comp = mem_calloc(n + 1, sizeof(*f->comp)) };
	for (size_t e = 0; e < p->n_edges; e++)
		f->out0[p->edges[e].from + 1]++;
	for (size_t b = 0; b < n; b++)
		f->out0[b + 1] += f->out0[b];
}

/* Are two calls returned to from the same blocks? */
static bool returned_alike(const struct finder *f, uint32_t a, uint32_t b)
{
	uint32_t n = f->ret0[a + 1] - f->ret0[a];

	if (f->ret0[b + 1] - f->ret0[b] != n)
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (f->p->edges[f->rets[f->ret0[a] + k]].from != f->p->edges[f->rets[f->ret0[b] + k]].from)
			return false;
	return true;
}

/* Is the block of a call that can be made warm, or one that it is returned to? */
static bool call_is_warm(const struct finder *f, size_t edge)
{
	uint32_t call = (uint32_t)f->p->edges[edge].call;
	bool warm = !f->warm || f->warm[call];

	if (f->warm && !f->can[edge])
		return false;
	for (uint32_t k = f->ret0[call]; !warm && k < f->ret0[call + 1]; k++)
		warm = f->warm[f->p->edges[f->rets[k]].to];
	return warm;
}

static void find_callees(struct finder *f)
{
	const struct problem *p = f->p;
	uint32_t *first = mem_malloc((p->n_blocks + 1) * sizeof(*first));

	memset(first, 0xff, (p->n_blocks + 1) * sizeof(*first));
	for (size_t e = 0; e < p->n_edges; e++) {
		uint32_t entry = p->edges[e].to, call = (uint32_t)p->edges[e].call, c = first[entry];

		if (p->edges[e].call < 0 || p->edges[e].kind != FLOW_CALL)
			continue;
		while (c < f->callees.n && !returned_alike(f, f->callees.v[c].call, call))
			c = f->callees.v[c].next;
		if (c >= f->callees.n) {
			c = (uint32_t)f->callees.n;
			vec_add(&f->callees,
			        (struct callee){ .entry = entry, .call = call, .next = first[entry] });
			first[entry] = c;
		}
		f->of[e] = c;
		f->callees.v[c].n_calls++;
		f->callees.v[c].called_warm |= call_is_warm(f, e);
	}
	free(first);
}

/*
 * Components of steps; with `calls` also of the edges into callees, whether they are known to return or not.  Returns of a recursion
 * lead from all that its functions end in, as memcpy(), back into them: with `calls` they are steps over its calls, too.
 */
static void find_comps(struct finder *f, bool calls)
{
	const struct problem *p = f->p;
	uint32_t *off = mem_calloc(p->n_blocks + 2, sizeof(*off)),
	         *to = mem_calloc(2 * p->n_edges + 1, sizeof(*to)), at = 0, n_comps;
	struct groups back;

	groups_make(&back, p->n_edges, p->n_blocks, e,
	            calls && p->edges[e].kind == FLOW_RET ? (int64_t)p->edges[e].recursive - 1 : -1);
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		for (uint32_t k = back.first[b]; k < back.first[b + 1]; k++)
			to[at++] = p->edges[back.of[k]].to;
		for (uint32_t e = f->out0[b]; e < f->out0[b + 1]; e++) {
			const struct problem_edge *edge = &p->edges[e];
			uint32_t step = interior_step(f, e);

			if (calls && edge->call >= 0 && edge->kind == FLOW_CALL) {
				to[at++] = edge->to;
				if (f->ret0[edge->call] < f->ret0[edge->call + 1])
					step = p->edges[f->rets[f->ret0[edge->call]]].to;
			}
			if (step != NONE && !(calls && edge->recursive && edge->kind == FLOW_RET))
				to[at++] = step;
		}
		off[b + 1] = at;
	}
	scc_find(&(struct scc_graph){ (uint32_t)p->n_blocks, off, to }, f->comp, &n_comps);
	groups_fini(&back);
	free(off);
	free(to);
}

/* Components lead from larger to smaller numbers, so a callee's is smaller than its callers'. */
static void order_callees(struct finder *f)
{
	struct groups by_comp;

	groups_make(&by_comp, f->callees.n, f->p->n_blocks, c, f->comp[f->callees.v[c].entry]);
	f->order = by_comp.of;
	free(by_comp.first);
}

/* Does what was reached hold a warm block, or call one that does? */
static bool reached_warm(const struct finder *f, const struct ways *w)
{
	for (size_t i = 0; i < w->reached.n; i++)
		if (!f->warm || f->warm[w->reached.v[i]])
			return true;
	for (size_t k = 0; k < w->taken.n; k++)
		if (f->p->edges[w->taken.v[k]].call >= 0 && f->callees.v[f->of[w->taken.v[k]]].warm)
			return true;
	return false;
}

static int build_callee(struct finder *f, struct ways *w, struct callee *c)
{
	uint32_t ret0 = f->ret0[c->call], n_rets = f->ret0[c->call + 1] - ret0;

	ways_spread(f, w, c->entry, NONE);
	f->n_steps += w->taken.n + 1;
	if (f->n_steps > EFFORT_CALLEE_STEPS)
		return sp_fail(SP_EDOMAIN, reason_text_run_on, f->p->n_blocks);
	c->warm = reached_warm(f, w);
	for (uint32_t k = 0; k < n_rets; k++)
		ways_exit(w, f->p->edges[f->rets[ret0 + k]].from);
	ways_search(f, w);
	if (!w->leads[0])
		return 0;
	/* One that is a single block has no step. */
	w->before[0]++;
	w->after[0]++;
	ways_add_up(f, w);
	c->share = mem_calloc(n_rets + 1, sizeof(*c->share));
	for (uint32_t k = 0; k < n_rets; k++) {
		uint32_t at = w->local[f->p->edges[f->rets[ret0 + k]].from];

		c->share[k] = at == NONE ? 0 : w->after[at] / w->before[0];
	}
	for (uint32_t k = 0; k < w->taken.n; k++)
		if (w->n[k] > 0)
			vec_add(&c->units, (struct unit){ w->taken.v[k], w->n[k] });
	c->need = w->before[0];
	return 0;
}

/*
 * Each that can return, after all that it calls.  Components tell that order but for callees of one, such as where a jump, of
 * an exception or the dynamic linker's, leads back to a caller: what could not be built is tried again.  In f->order they
 * stand as they were built then.
 */
static int build_callees(struct finder *f, struct ways *w)
{
	uint32_t *built = mem_malloc((f->callees.n + 1) * sizeof(*built));
	size_t n_built = 0, before;
	bool again = false;
	int err = 0;

	do {
		before = n_built;
		for (size_t i = 0; i < f->callees.n && err == 0; i++) {
			struct callee *c = &f->callees.v[f->order[i]];

			/* What a second look can't afford stays cut off. */
			if (c->need > 0 || (again && f->n_steps + f->p->n_edges >= EFFORT_CALLEE_STEPS))
				continue;
			err = build_callee(f, w, c);
			if (c->need > 0)
				built[n_built++] = f->order[i];
		}
		again = true;
	} while (err == 0 && n_built > before && n_built < f->callees.n);
	memcpy(f->order, built, n_built * sizeof(*built));
	f->n_built = n_built;
	free(built);
	return err;
}

/* ---- all together ---- */

/* Every component is a loop, or one block. */
static void fill_loops(struct finder *f, struct ways *w, bool *done)
{
	memset(done, 0, f->p->n_blocks * sizeof(*done));
	for (uint32_t b = 0; b < f->p->n_blocks; b++) {
		if (done[f->comp[b]])
			continue;
		done[f->comp[b]] = true;
		ways_spread(f, w, b, f->comp[b]);
		ways_exit(w, b);
		ways_search(f, w);
		ways_add_up(f, w);
		for (uint32_t k = 0; k < w->taken.n; k++)
			add_units(f, w->taken.v[k], w->n[k]);
	}
}

/* Callers before their callees; then what is returned to each call. */
static void fill_callees(struct finder *f)
{
	for (size_t i = f->n_built; i-- > 0;) {
		const struct callee *c = &f->callees.v[f->order[i]];

		for (size_t k = 0; k < c->units.n && c->brought > 0; k++)
			add_units(f, c->units.v[k].edge, c->units.v[k].n * c->brought / c->need);
	}
	for (size_t e = 0; e < f->p->n_edges; e++) {
		const struct problem_edge *edge = &f->p->edges[e];
		uint32_t ret0 = f->ret0[edge->call < 0 ? 0 : edge->call];

		if (!(f->flow[e] > 0) || edge->call < 0 || edge->kind != FLOW_CALL)
			continue;
		for (uint32_t k = 0; k < f->ret0[edge->call + 1] - ret0; k++)
			f->flow[f->rets[ret0 + k]] += f->flow[e] * f->callees.v[f->of[e]].share[k];
	}
}

/* Does as much leave each block, and return to each call, as enters?  sum, gross: [2 B], zero. */
static bool balanced(const struct problem *p, const double *flow, double *sum, double *gross)
{
	for (size_t e = 0; e < p->n_edges; e++) {
		const struct problem_edge *edge = &p->edges[e];
		size_t call = p->n_blocks + (size_t)(edge->call < 0 ? 0 : edge->call);

		sum[edge->from] -= flow[e];
		sum[edge->to] += flow[e];
		gross[edge->from] += flow[e];
		gross[edge->to] += flow[e];
		if (edge->call < 0)
			continue;
		sum[call] += edge->kind == FLOW_CALL ? flow[e] : -flow[e];
		gross[call] += flow[e];
	}
	for (size_t i = 0; i < 2 * p->n_blocks; i++)
		if (fabs(sum[i]) > most_unbalanced * gross[i])
			return false;
	return true;
}

static int find(struct finder *f, struct ways *w, bool *done)
{
	int err;

	find_callees(f);
	find_comps(f, true);
	order_callees(f);
	err = build_callees(f, w);
	if (err == 0)
		find_comps(f, false);
	if (err < 0)
		return err;
	fill_loops(f, w, done);
	fill_callees(f);
	return 0;
}

int interior_find(const struct problem *p, const bool *warm, bool *usable, double *flow)
{
	struct finder f = { 0 };
	struct ways w = { 0 };
	double *sums = mem_calloc(4 * p->n_blocks + 1, sizeof(*sums));
	bool *done = mem_calloc(p->n_blocks + 1, sizeof(*done));
	size_t n_used = 0;
	int err;

	memset(flow, 0, p->n_edges * sizeof(*flow));
	finder_init(&f, p, flow);
	ways_init(&w, p);
	f.warm = warm;
	f.can = usable;
	err = find(&f, &w, done);
	if (err < 0)
		goto out;
	for (size_t e = 0; e < p->n_edges; e++) {
		usable[e] = flow[e] > 0;
		n_used += usable[e];
	}
	if (!n_used)
		err = sp_fail(SP_EDOMAIN, "no edge of a region of %zu blocks can carry flow", p->n_blocks);
	else if (!balanced(p, flow, sums, sums + 2 * p->n_blocks))
		err = sp_fail(SP_EDOMAIN, "no circulation found in a region of %zu blocks", p->n_blocks);
out:
	finder_fini(&f);
	ways_fini(&w);
	free(sums);
	free(done);
	return err;
}

/* So short a block may always end with another that is seen in its place. */
enum { SHORT_BLOCK = 3 };

void interior_warm(const struct problem *p, bool *warm)
{
	bool *after = mem_calloc(p->n_blocks + 1, sizeof(*after)),
	     *before = mem_calloc(p->n_blocks + 1, sizeof(*before));

	for (size_t e = 0; e < p->n_edges; e++) {
		after[p->edges[e].to] |= warm[p->edges[e].from];
		before[p->edges[e].from] |= warm[p->edges[e].to];
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		warm[b] |= after[b] && before[b] && p->blocks[b].n_insn <= SHORT_BLOCK;
	free(after);
	free(before);
}
