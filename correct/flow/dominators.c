/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/dominators.h"

#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

struct making {
	const struct flow_graph *g;
	const struct flow_func *fn;
	struct local_flow *out;
	uint32_t *order;  /* [fn's blocks] local number, by place in fn's list; LOCAL_NONE: not reached */
	uint8_t *entered; /* the same: from outside the function */
};

/* Place of a block in the function's list, LOCAL_NONE if it is another's. */
static uint32_t place_of(const struct making *m, uint32_t block)
{
	const uint32_t *list = m->g->func_blocks + m->fn->block0;
	uint32_t lo = sorted_count(m->fn->n_blocks, k, list[k] < block);

	return lo < m->fn->n_blocks && list[lo] == block ? lo : LOCAL_NONE;
}

/* Edges that stay: calls are stepped over. */
static bool stays(const struct flow_edge *e)
{
	return e->kind != FLOW_CALL && e->kind != FLOW_RET && !e->away;
}

/* The entry, and what is jumped to from elsewhere. */
static void find_entries(struct making *m)
{
	const uint32_t *list = m->g->func_blocks + m->fn->block0;

	for (uint32_t i = 0; i < m->fn->n_blocks; i++) {
		const struct flow_block *b = &m->g->blocks[list[i]];

		m->entered[i] = list[i] == m->fn->entry || b->n_in == 0;
		for (uint32_t k = 0; k < b->n_in && !m->entered[i]; k++) {
			const struct flow_edge *e = &m->g->edges[m->g->in[b->in0 + k]];

			/* A return is come to over its call, which is stepped over. */
			m->entered[i] = e->kind == FLOW_CALL || e->away ||
			                (e->kind != FLOW_RET && place_of(m, e->from) == LOCAL_NONE);
		}
	}
}

/* A search in depth: the blocks on the way, and the next edge of each to look at. */
struct walk {
	uint32_t *stack, *at, depth;
	uint8_t *seen; /* [fn's blocks] */
	uint32_t *post, done;
};

static void enter(struct walk *w, uint32_t place)
{
	w->seen[place] = 1;
	w->at[w->depth] = 0;
	w->stack[w->depth++] = place;
}

/* Everything that is reached from a block and was not seen before, in postorder. */
static void walk_from(const struct making *m, struct walk *w, uint32_t root)
{
	const uint32_t *list = m->g->func_blocks + m->fn->block0;

	enter(w, root);
	while (w->depth) {
		const struct flow_block *b = &m->g->blocks[list[w->stack[w->depth - 1]]];
		uint32_t *at = &w->at[w->depth - 1], next;

		if (*at == b->n_out) {
			w->post[w->done++] = w->stack[--w->depth];
			continue;
		}
		next = stays(&m->g->edges[b->out0 + *at]) ? place_of(m, m->g->edges[b->out0 + *at].to)
		                                          : LOCAL_NONE;
		++*at;
		if (next != LOCAL_NONE && !w->seen[next])
			enter(w, next);
	}
}

/* From every entry; blocks are numbered in reverse postorder. */
static void number_blocks(struct making *m)
{
	const uint32_t *list = m->g->func_blocks + m->fn->block0;
	uint32_t n = m->fn->n_blocks;
	struct walk w = { .stack = mem_calloc(3 * (size_t)n + 1, sizeof(*w.stack)),
		          .seen = mem_calloc(n + 1, 1) };

	w.at = w.stack + n;
	w.post = w.at + n;
	for (uint32_t root = 0; root < n; root++)
		if (m->entered[root] && !w.seen[root])
			walk_from(m, &w, root);
	for (uint32_t i = 0; i < w.done; i++) {
		m->order[w.post[i]] = w.done - 1 - i;
		m->out->block[w.done - 1 - i] = list[w.post[i]];
	}
	m->out->n = w.done;
	free(w.stack);
	free(w.seen);
}

static int by_to(const void *x, const void *y)
{
	const struct local_edge *a = x, *b = y;

	return order_pairs(a->to, a->edge, b->to, b->edge);
}

static void list_edges(struct making *m)
{
	struct local_flow *l = m->out;
	size_t cap = 0;

	for (uint32_t i = 0; i < l->n; i++)
		cap += m->g->blocks[l->block[i]].n_out;
	l->edges = mem_calloc(cap + 1, sizeof(*l->edges));
	for (uint32_t i = 0; i < l->n; i++) {
		const struct flow_block *b = &m->g->blocks[l->block[i]];

		for (uint32_t k = b->out0; k < b->out0 + b->n_out; k++) {
			uint32_t to = stays(&m->g->edges[k]) ? place_of(m, m->g->edges[k].to) : LOCAL_NONE;

			if (to != LOCAL_NONE)
				l->edges[l->n_edges++] = (struct local_edge){ i, m->order[to], k };
		}
	}
	qsort(l->edges, l->n_edges, sizeof(*l->edges), by_to);
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->in0[l->edges[i].to + 1]++;
	for (uint32_t i = 0; i < l->n; i++)
		l->in0[i + 1] += l->in0[i];
}

/* Where the ways to two blocks last met; LOCAL_NONE: outside the function. */
static uint32_t meet(const struct local_flow *l, uint32_t a, uint32_t b)
{
	while (a != b && a != LOCAL_NONE && b != LOCAL_NONE) {
		if (a > b)
			a = l->idom[a];
		else
			b = l->idom[b];
	}
	return a == b ? a : LOCAL_NONE;
}

/* The dominator of a block by those of what leads to it, as far as they are known; false where none is. */
static bool look_back(const struct local_flow *l, const uint8_t *known, uint32_t block, uint32_t *at)
{
	bool any = false;

	for (uint32_t k = l->in0[block]; k < l->in0[block + 1]; k++) {
		uint32_t from = l->edges[k].from;

		if (!known[from])
			continue;
		*at = any ? meet(l, *at, from) : from;
		any = true;
	}
	return any;
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001). */
static void find_dominators(struct making *m)
{
	enum { FOUND = 1, ENTERED = 2 };
	struct local_flow *l = m->out;
	uint8_t *known = mem_calloc(l->n + 1, 1);
	bool changed = true;

	for (uint32_t p = 0; p < m->fn->n_blocks; p++)
		if (m->order[p] != LOCAL_NONE && m->entered[p]) {
			known[m->order[p]] = ENTERED;
			l->idom[m->order[p]] = LOCAL_NONE;
		}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < l->n; i++) {
			uint32_t at;

			if (known[i] == ENTERED || !look_back(l, known, i, &at) ||
			    (known[i] && l->idom[i] == at))
				continue;
			known[i] = FOUND;
			l->idom[i] = at;
			changed = true;
		}
	}
	free(known);
}

bool local_flow_dominates(const struct local_flow *l, uint32_t a, uint32_t b)
{
	while (b != LOCAL_NONE && b > a)
		b = l->idom[b];
	return a == b;
}

/* Into the loop of its header comes all that leads to the block the edge back is from. */
static void grow(const struct local_flow *l, struct local_loop *loop, uint32_t latch, uint32_t *stack)
{
	uint32_t n = 0;

	if (!loop->in[latch]) {
		loop->in[latch] = 1;
		loop->n_in++;
		stack[n++] = latch;
	}
	while (n) {
		uint32_t b = stack[--n];

		for (uint32_t k = l->in0[b]; k < l->in0[b + 1]; k++) {
			uint32_t from = l->edges[k].from;

			if (loop->in[from])
				continue;
			loop->in[from] = 1;
			loop->n_in++;
			stack[n++] = from;
		}
	}
}

static struct local_loop *loop_of(struct local_flow *l, uint32_t header)
{
	struct local_loop *loop;

	if (l->n_loops && l->loops[l->n_loops - 1].header == header)
		return &l->loops[l->n_loops - 1];
	if (l->n_loops == l->loops_cap) {
		uint32_t cap = 2 * l->loops_cap + 8;
		struct local_loop *more = mem_realloc(l->loops, cap * sizeof(*more));

		l->loops = more;
		l->loops_cap = cap;
	}
	loop = &l->loops[l->n_loops];
	*loop = (struct local_loop){ .header = header, .in = mem_calloc(l->n + 1, 1), .n_in = 1 };
	if (!loop->in)
		return NULL;
	loop->in[header] = 1;
	l->n_loops++;
	return loop;
}

static void find_loops(struct local_flow *l)
{
	uint32_t *stack = mem_calloc(l->n + 1, sizeof(*stack));

	for (uint32_t k = 0; k < l->n_edges; k++) {
		const struct local_edge *e = &l->edges[k];
		struct local_loop *loop;

		if (!local_flow_dominates(l, e->to, e->from))
			continue;
		loop = loop_of(l, e->to);
		grow(l, loop, e->from, stack);
	}
	free(stack);
}

const struct local_loop *local_flow_innermost(const struct local_flow *l, uint32_t b)
{
	const struct local_loop *best = NULL;

	for (uint32_t i = 0; i < l->n_loops; i++)
		if (l->loops[i].in[b] && (!best || l->loops[i].n_in < best->n_in))
			best = &l->loops[i];
	return best;
}

int local_flow_new(const struct flow_graph *g, uint32_t f, struct local_flow *out)
{
	const struct flow_func *fn = &g->funcs[f];
	struct making m = { .g = g, .fn = fn, .out = out };
	size_t n = fn->n_blocks;

	*out = (struct local_flow){ .g = g };
	if (n > EFFORT_DOMINATED)
		return -SP_EDOMAIN;
	m.order = mem_malloc((n + 1) * sizeof(*m.order));
	m.entered = mem_calloc(n + 1, 1);
	out->block = mem_calloc(n + 1, sizeof(*out->block));
	out->in0 = mem_calloc(n + 2, sizeof(*out->in0));
	out->idom = mem_calloc(n + 1, sizeof(*out->idom));
	memset(m.order, 0xff, n * sizeof(*m.order));
	find_entries(&m);
	number_blocks(&m);
	list_edges(&m);
	find_dominators(&m);
	find_loops(out);
	free(m.order);
	free(m.entered);
	return 0;
}

void local_flow_fini(struct local_flow *l)
{
	for (uint32_t i = 0; i < l->n_loops; i++)
		free(l->loops[i].in);
	free(l->loops);
	free(l->block);
	free(l->edges);
	free(l->in0);
	free(l->idom);
	*l = (struct local_flow){ 0 };
}
