/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls that the graph has not: it leaves out cold functions that lead to much code.  What was called once has no sample, and
 * may be the only way to what ran: so of calls that lead to that all are kept, as pairs of functions.
 */
#include "correct/flow/build.h"
#include "profiler/base/mem.h"

struct cold_calls {
	const struct flow_build *b;
	bool *points; /* [fns] of those that did not run: it calls through a pointer, and nothing tells where */
	bool *leads;        /* [fns] it ran or points, or it calls one that leads */
	uint32_t *to;       /* [links] the function it enters, FLOW_NONE if it doesn't */
	struct pairs index; /* (caller, callee): functions */
	VEC(struct flow_cold_call) calls;
};

/* The function a link enters from another, FLOW_NONE if it does not. */
static uint32_t entered(const struct flow_build *b, const struct flow_link *l)
{
	const struct flow_fn *f = flow_callee(b, l);
	uint32_t fn = f ? (uint32_t)(f - b->fns.v) : (uint32_t)FLOW_NONE;

	return fn == b->nodes.v[l->from].fn ? (uint32_t)FLOW_NONE : fn;
}

static void find_pointing(struct cold_calls *c)
{
	const struct flow_build *b = c->b;

	/* Of those that ran the graph's blocks tell it. */
	for (size_t i = 0; i < b->nodes.n; i++) {
		const struct flow_node *n = &b->nodes.v[i];

		c->points[n->fn] |= n->unresolved && !b->fns.v[n->fn].hot && !b->fns.v[n->fn].ran;
	}
}

static void find_leading(struct cold_calls *c)
{
	const struct flow_build *b = c->b;
	bool change = true;

	for (size_t i = 0; i < b->fns.n; i++)
		c->leads[i] = b->fns.v[i].hot || b->fns.v[i].ran || c->points[i];
	while (change) {
		change = false;
		for (size_t l = b->links.n; l-- > 0;) {
			uint32_t to = c->to[l], from = b->nodes.v[b->links.v[l].from].fn;

			if (to == FLOW_NONE || !c->leads[to] || c->leads[from])
				continue;
			c->leads[from] = change = true;
		}
	}
}

static bool is_alive(const struct flow_build *b, uint32_t cut)
{
	return cut != FLOW_NONE && b->cuts.v[cut].alive;
}

static void keep(struct cold_calls *c, const struct flow_link *l, uint32_t to)
{
	const struct flow_build *b = c->b;
	const struct flow_node *from = &b->nodes.v[l->from];

	if ((size_t)pairs_must(&c->index, from->fn, to) < c->calls.n)
		return;
	vec_add(&c->calls, (struct flow_cold_call){ .from_module = from->module,
	                                            .from_vaddr = from->insn.vaddr,
	                                            .to_module = b->fns.v[to].module,
	                                            .to_vaddr = b->fns.v[to].vaddr,
	                                            .from_points = c->points[from->fn],
	                                            .to_points = c->points[to] });
}

void flow_find_cold_calls(const struct flow_build *b, struct flow_graph *g)
{
	struct cold_calls c = { .b = b,
		                .points = mem_calloc(b->fns.n + 1, sizeof(*c.points)),
		                .leads = mem_calloc(b->fns.n + 1, sizeof(*c.leads)),
		                .to = mem_malloc((b->links.n + 1) * sizeof(*c.to)) };

	for (size_t i = 0; i < b->links.n; i++)
		c.to[i] = entered(b, &b->links.v[i]);
	find_pointing(&c);
	find_leading(&c);
	for (size_t i = 0; i < b->links.n; i++) {
		const struct flow_link *l = &b->links.v[i];
		const struct flow_fn *to = c.to[i] == FLOW_NONE ? NULL : &b->fns.v[c.to[i]];

		if (to && c.leads[c.to[i]] &&
		    (!is_alive(b, b->cut_of_node[l->from]) || !is_alive(b, to->entry) || to->cut))
			keep(&c, l, c.to[i]);
	}
	g->cold_calls = c.calls.v;
	g->n_cold_calls = c.calls.n;
	pairs_fini(&c.index);
	free(c.points);
	free(c.leads);
	free(c.to);
}
