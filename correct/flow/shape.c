/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/shape.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/peel.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

void shape_room_init(struct shape_room *room, const struct flow_graph *g)
{
	room->block_in = mem_calloc(g->n_blocks + 1, 1);
	room->edge_in = mem_calloc(g->n_edges + 1, 1);
	room->own = mem_calloc(g->n_blocks + 1, 1);
	room->local = mem_calloc(g->n_blocks + 1, sizeof(*room->local));
	nest_room_init(&room->nest, g->n_blocks);
}

void shape_room_fini(struct shape_room *room)
{
	free(room->block_in);
	free(room->edge_in);
	free(room->own);
	free(room->local);
	nest_room_fini(&room->nest);
	*room = (struct shape_room){ 0 };
}

void shape_fini(struct shape *s)
{
	const struct flow_graph *g = s->view->g;
	const struct shape_room *room = s->room;

	for (size_t i = 0; i < s->all.n; i++) {
		const struct flow_block *b = &g->blocks[s->all.v[i]];

		room->block_in[s->all.v[i]] = 0;
		memset(room->edge_in + b->out0, 0, b->n_out);
	}
	for (size_t i = 0; i < s->own.n; i++)
		room->own[s->own.v[i]] = 0;
	vec_fini(&s->all);
	vec_fini(&s->own);
	vec_fini(&s->blocks);
	vec_fini(&s->edges);
	vec_fini(&s->skips);
	vec_fini(&s->headers);
}

void shape_add_block(struct shape *s, uint32_t block)
{
	if (s->room->block_in[block])
		return;
	vec_add(&s->all, block);
	s->room->block_in[block] = 1;
}

void shape_add_loop(struct shape *s, uint32_t comp, bool is_main)
{
	const struct nest *n = s->nest;
	uint32_t header = nest_header(s->view, n, comp);

	s->recursive |= n->recursive[comp];
	/* What two loops share the last of them says. */
	for (uint32_t i = n->first[comp]; i < n->first[comp + 1]; i++) {
		vec_add(&s->own, n->member[i]);
		s->room->own[n->member[i]] = !n->recursive[comp];
	}
	vec_add(&s->headers, header);
	s->n_main += is_main;
}

bool shape_lacks_callee(const struct shape *s, uint32_t call)
{
	const struct flow_graph *g = s->view->g;
	const struct flow_block *b = &g->blocks[call];
	bool any = false;

	for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
		if (g->edges[e].kind != FLOW_CALL)
			continue;
		if (!s->room->edge_in[e])
			return true;
		any = true;
	}
	return !any;
}

/* Where a loop is left it is not repeated. */
static bool stays(const struct shape *s, const struct flow_edge *e)
{
	return !s->room->own[e->from] || nest_comp(s->nest, e->from) == nest_comp(s->nest, e->to);
}

static bool may_carry(const struct shape *s, uint32_t edge)
{
	const struct flow_edge *e = &s->view->g->edges[edge];
	const uint8_t *block_in = s->room->block_in;

	if (!block_in[e->from] || !block_in[e->to])
		return false;
	switch ((enum flow_edge_kind)e->kind) {
	case FLOW_SKIP: /* whether it does is decided by the callees, later */
		return stays(s, e);
	case FLOW_RET:
		return s->view->edge_in[edge] && block_in[e->call];
	case FLOW_CALL:
		return s->view->edge_in[edge];
	default:
		return s->view->edge_in[edge] && stays(s, e);
	}
}

static void choose_edges(struct shape *s)
{
	const struct flow_graph *g = s->view->g;

	vec_room(&s->blocks, s->all.n + 1);
	memcpy(s->blocks.v, s->all.v, s->all.n * sizeof(*s->all.v));
	s->blocks.n = s->all.n;
	qsort(s->blocks.v, s->blocks.n, sizeof(*s->blocks.v), order_u32);
	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct flow_block *b = &g->blocks[s->blocks.v[i]];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			bool skip = g->edges[e].kind == FLOW_SKIP;

			if (!may_carry(s, e))
				continue;
			if (skip)
				vec_add(&s->skips, e);
			else
				vec_add(&s->edges, e);
			s->room->edge_in[e] = !skip;
		}
	}
}

/* Blocks without an edge are no loop: a header alone, say, and what was peeled off. */
static void drop_lonely(struct shape *s)
{
	const struct flow_graph *g = s->view->g;
	size_t n_blocks = 0, n = 0, n_main = 0;

	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct flow_block *b = &g->blocks[s->blocks.v[i]];

		if (memchr(s->room->edge_in + b->out0, 1, b->n_out))
			s->blocks.v[n_blocks++] = s->blocks.v[i];
		else
			s->room->block_in[s->blocks.v[i]] = 0;
	}
	s->blocks.n = n_blocks;
	for (size_t i = 0; i < s->headers.n; i++) {
		if (!s->room->block_in[s->headers.v[i]])
			continue;
		n_main += i < s->n_main;
		s->headers.v[n++] = s->headers.v[i];
	}
	s->headers.n = n;
	s->n_main = n_main;
}

static void copy_out(struct shape *s, struct flow_region *r)
{
	const struct flow_graph *g = s->view->g;

	r->blocks = mem_malloc((s->blocks.n + 1) * sizeof(*r->blocks));
	r->edges = mem_malloc((s->edges.n + s->skips.n + 1) * sizeof(*r->edges));
	for (size_t i = 0; i < s->blocks.n; i++) {
		uint32_t block = s->blocks.v[i];
		const struct flow_block *b = &g->blocks[block];

		r->blocks[r->n_blocks++] = block;
		r->weight += s->heat[block];
		r->unknown_target |= b->unknown_target;
		r->undecoded |= b->undecoded;
		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			if (!s->room->edge_in[e])
				continue;
			r->edges[r->n_edges++] = e;
			r->guessed |= g->edges[e].guessed;
		}
	}
	r->headers = s->headers.v;
	r->n_headers = s->headers.n;
	r->n_main = s->n_main;
	r->header = s->headers.n ? s->headers.v[0] : 0;
	s->headers.v = NULL;
	s->headers.n = s->headers.cap = 0;
}

/* Heat of the functions that hold a block which may go where we don't know, or that could not be decoded. */
static void weigh_unknown(const struct shape *s, struct flow_region *r)
{
	enum { TARGET = 1, UNDECODED = 2 };
	const struct flow_graph *g = s->view->g;
	uint8_t *func = mem_calloc(g->n_funcs + 1, 1);

	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct flow_block *b = &g->blocks[r->blocks[i]];

		func[b->func] |= (b->unknown_target ? TARGET : 0) | (b->undecoded ? UNDECODED : 0);
	}
	for (size_t i = 0; i < r->n_blocks; i++) {
		uint8_t what = func[g->blocks[r->blocks[i]].func];

		if (what & TARGET)
			r->unknown_weight += s->heat[r->blocks[i]];
		if (what & UNDECODED)
			r->undecoded_weight += s->heat[r->blocks[i]];
	}
	free(func);
}

/* Recursion anywhere inside, and what is not known. */
static void judge(struct shape *s, struct flow_region *r)
{
	struct nest_view inside = { .g = s->view->g,
		                    .block_in = s->room->block_in,
		                    .edge_in = s->room->edge_in,
		                    .closed = s->view->closed,
		                    .blocks = r->blocks,
		                    .n_listed = r->n_blocks,
		                    .room = &s->room->nest };
	struct nest n;

	nest_find(&inside, &n);
	for (uint32_t c = 0; c < n.n_comps; c++)
		r->recursive |= n.recursive[c];
	nest_fini(&n);
	weigh_unknown(s, r);
}

void shape_finish(struct shape *s, struct flow_region *r)
{
	choose_edges(s);
	s->n_edges = s->edges.n;
	peel(s);
	drop_lonely(s);
	copy_out(s, r);
	if (r->n_blocks)
		judge(s, r);
}
