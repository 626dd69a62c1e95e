/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/expand.h"
#include "correct/model/effort.h"

/* What has no vertex, for there is no room for it. */
#define NO_VERTEX UINT32_MAX

/* The empty stack is no other's: so its key is none of a call. */
void contexts_init(struct contexts *c)
{
	*c = (struct contexts){ 0 };
	pairs_must(&c->at, UINT64_MAX, UINT64_MAX);
	vec_add(&c->v, (struct context){ 0 });
}

uint32_t contexts_enter(struct contexts *c, uint32_t parent, uint32_t call)
{
	uint32_t child = (uint32_t)pairs_must(&c->at, parent, call);

	if (child == c->v.n)
		vec_add(&c->v, (struct context){ parent, call, c->v.v[parent].depth + 1 });
	return child;
}

void contexts_fini(struct contexts *c)
{
	vec_fini(&c->v);
	pairs_fini(&c->at);
}

struct expansion {
	const struct flow_graph *g;
	const uint8_t *own, *edge_in;
	bool matched;
	struct contexts contexts;
	struct pairs vertex_at; /* (context, block) */
	struct expanded x;
};

/* The vertex of a block in a context, NO_VERTEX when there is no room for it. */
static void vertex(struct expansion *x, uint32_t block, uint32_t context, uint32_t *out)
{
	bool full = x->x.vertices.n >= EFFORT_VERTICES && context != CONTEXT_ROOT;
	long at = full ? pairs_find(&x->vertex_at, context, block)
	               : (long)pairs_must(&x->vertex_at, context, block);

	*out = at < 0 ? NO_VERTEX : (uint32_t)at;
	x->x.truncated |= at < 0;
	if (at < (long)x->x.vertices.n)
		return;
	vec_add(&x->x.vertices, (struct expand_vertex){ block, context });
}

/* Where an edge leads from a context; false where it doesn't belong to the loop. */
static bool step(struct expansion *x, uint32_t edge, uint32_t context, uint32_t *to_context)
{
	const struct flow_edge *e = &x->g->edges[edge];

	*to_context = context;
	if (!x->edge_in[edge])
		return false;
	if (x->matched && e->kind == FLOW_CALL) {
		if (x->x.vertices.n >= EFFORT_VERTICES) {
			x->x.truncated = true;
			return false;
		}
		*to_context = contexts_enter(&x->contexts, context, e->call);
		return true;
	}
	if (x->matched && e->kind == FLOW_RET) {
		if (context == CONTEXT_ROOT || x->contexts.v.v[context].call != e->call)
			return false;
		*to_context = x->contexts.v.v[context].parent;
	}
	return *to_context != CONTEXT_ROOT || x->own[e->to];
}

static void expand_vertex(struct expansion *x, uint32_t v)
{
	struct expand_vertex from = x->x.vertices.v[v];
	const struct flow_block *b = &x->g->blocks[from.block];
	uint32_t context, to;

	for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
		if (!step(x, e, from.context, &context))
			continue;
		vertex(x, x->g->edges[e].to, context, &to);
		if (to != NO_VERTEX)
			vec_add(&x->x.edges, (struct expand_edge){ to, e });
	}
}

static void expand_all(struct expansion *x)
{
	VEC(uint32_t) off = { 0 };
	uint32_t unused;

	for (uint32_t i = 0; i < x->g->n_blocks; i++)
		if (x->own[i])
			vertex(x, i, CONTEXT_ROOT, &unused);
	x->x.n_own = (uint32_t)x->x.vertices.n;
	for (uint32_t v = 0; v < x->x.vertices.n; v++) {
		vec_add(&off, (uint32_t)x->x.edges.n);
		expand_vertex(x, v);
	}
	vec_add(&off, (uint32_t)x->x.edges.n);
	x->x.off = off.v;
}

void expand(const struct flow_graph *g, const uint8_t *own, const uint8_t *edge_in, bool matched,
            struct expanded *out)
{
	struct expansion x = { .g = g, .own = own, .edge_in = edge_in, .matched = matched };

	contexts_init(&x.contexts);
	expand_all(&x);
	contexts_fini(&x.contexts);
	pairs_fini(&x.vertex_at);
	*out = x.x;
}

void expanded_fini(struct expanded *x)
{
	vec_fini(&x->vertices);
	vec_fini(&x->edges);
	free(x->off);
	*x = (struct expanded){ 0 };
}
