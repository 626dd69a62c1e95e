/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_UNIT_FLOW_GRAPHS_H
#define SKIDPROF_TESTS_UNIT_FLOW_GRAPHS_H

/* Graphs by hand: blocks are numbers, functions ranges of blocks that begin with the entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correct/flow/build.h"
#include "correct/flow/nest.h"
#include "correct/flow/region.h"

static inline int compare_hand_edges(const void *x, const void *y)
{
	const struct flow_edge *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* entry[n_funcs] ascending, entry[0] == 0. Edges are copied and sorted. */
static inline struct flow_graph *graph_by_hand(uint32_t n_blocks, const uint32_t *entry, size_t n_funcs,
                                               const struct flow_edge *edges, size_t n_edges)
{
	struct flow_graph *g = calloc(1, sizeof(*g));

	g->n_blocks = g->n_insns = n_blocks;
	g->n_edges = n_edges;
	g->n_funcs = n_funcs;
	g->blocks = calloc(n_blocks + 1, sizeof(*g->blocks));
	g->insns = calloc(n_blocks + 1, sizeof(*g->insns));
	g->edges = calloc(n_edges + 1, sizeof(*g->edges));
	g->funcs = calloc(n_funcs + 1, sizeof(*g->funcs));
	memcpy(g->edges, edges, n_edges * sizeof(*edges));
	qsort(g->edges, n_edges, sizeof(*edges), compare_hand_edges);
	for (uint32_t i = 0, f = 0; i < n_blocks; i++) {
		while (f + 1 < n_funcs && entry[f + 1] <= i)
			f++;
		g->blocks[i] = (struct flow_block){
			.vaddr = 16 * i, .end_vaddr = 16 * i + 16, .func = f, .insn0 = i, .n_insn = 1
		};
		g->insns[i] = (struct insn){ .vaddr = 16 * i, .size_bytes = 16 };
	}
	for (uint32_t f = 0; f < n_funcs; f++)
		g->funcs[f] = (struct flow_func){ .entry = entry[f], .vaddr = 16 * entry[f] };
	flow_index_edges(g);
	return g;
}

/* A view of all of a graph that lists its blocks, with room of its own. */
static inline struct nest_view view_of_all(const struct flow_graph *g, const uint8_t *block_in,
                                           const uint8_t *edge_in, const uint8_t *closed)
{
	uint32_t *blocks = calloc(g->n_blocks + 1, sizeof(*blocks));
	struct nest_room *room = calloc(1, sizeof(*room));

	for (uint32_t b = 0; b < g->n_blocks; b++)
		blocks[b] = b;
	nest_room_init(room, g->n_blocks);
	return (struct nest_view){ g, block_in, edge_in, closed, blocks, g->n_blocks, room };
}

static inline void view_of_all_free(const struct nest_view *view)
{
	nest_room_fini(view->room);
	free(view->room);
	free((uint32_t *)view->blocks);
}

/* Regions when every block has weight 1. */
static inline struct flow_regions *regions_of(const struct flow_graph *g, double min_share)
{
	double *w = calloc(g->n_blocks + 1, sizeof(*w));
	struct flow_regions *r = NULL;

	for (size_t i = 0; i < g->n_blocks; i++)
		w[i] = 1;
	r = flow_regions_find(g, NULL, w, min_share, 0, NULL);
	free(w);
	return r;
}

#define J(a, b)                                            \
	{                                                  \
		.from = (a), .to = (b), .kind = FLOW_TAKEN \
	}
#define F(a, b)                                           \
	{                                                 \
		.from = (a), .to = (b), .kind = FLOW_FALL \
	}
/* A call at block a, to function entry e, whose block r returns to s. */
#define CALL(a, e)                                                     \
	{                                                              \
		.from = (a), .to = (e), .kind = FLOW_CALL, .call = (a) \
	}
#define RET(r, s, a)                                                  \
	{                                                             \
		.from = (r), .to = (s), .kind = FLOW_RET, .call = (a) \
	}
#define SKIP(a, s)                                                     \
	{                                                              \
		.from = (a), .to = (s), .kind = FLOW_SKIP, .call = (a) \
	}
#define COUNT(x) (sizeof(x) / sizeof(*(x)))

#endif
