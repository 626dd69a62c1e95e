/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_NEST_H
#define SKIDPROF_CORRECT_FLOW_NEST_H

/*
 * The graph seen "downwards": calls lead into callees, and over them to the block after the call (SKIP), but no return leads
 * back.  Its strongly connected components are the outermost loops: within one function (with what it jumps to), or through the
 * CALL edges of a recursion.
 */
#include "correct/flow/graph.h"

/* Room as large as the graph, which many nests of small parts of it use, one after the other. */
struct nest_room {
	uint32_t *vertex; /* [n_blocks] 1 + a block's vertex in the nest; 0: it has none */
	uint32_t *queue;  /* [n_blocks] for nest_header */
	uint8_t *queued;  /* [n_blocks] the same: 0 */
};

struct nest_view { /* a part of the graph */
	const struct flow_graph *g;
	const uint8_t *block_in; /* [n_blocks] */
	const uint8_t *edge_in;  /* [n_edges] SKIP edges count always */
	const uint8_t *closed;   /* [n_blocks] edges to these blocks are taken away */
	/*
	 * The blocks of the view in which loops are looked for, ascending; loops that lie in them in part are not found.
	 * To outlive the nest.
	 */
	const uint32_t *blocks;
	size_t n_listed;
	struct nest_room *room;
};

struct nest {
	const uint32_t *block; /* [n] of each vertex, ascending */
	uint32_t n;
	uint32_t *off, *to; /* [n + 1], downward edges between vertices */
	uint32_t *edge;     /* graph edge of each */
	uint32_t *comp;     /* [n] of each vertex; edges between components go to smaller numbers */
	uint32_t n_comps;
	uint32_t *first;    /* [n_comps + 1] members of a component: member[first[c] .. first[c + 1]] */
	uint32_t *member;   /* [n] blocks */
	uint8_t *loop;      /* [n_comps] it can repeat */
	uint8_t *recursive; /* [n_comps] it holds a CALL edge */
	struct nest_room *room;
};

void nest_room_init(struct nest_room *room, size_t n_blocks);
void nest_room_fini(struct nest_room *room);

/* Cost: the blocks that are listed, and their edges. */
void nest_find(const struct nest_view *view, struct nest *out);
void nest_fini(struct nest *n);
/* Its edges are not asked for any more. */
void nest_drop_edges(struct nest *n);

/* A block's component, UINT32_MAX where it is not among the nest's. */
static inline uint32_t nest_comp(const struct nest *n, uint32_t block)
{
	uint32_t v = n->room->vertex[block];

	return v ? n->comp[v - 1] : UINT32_MAX;
}

/* Does an edge lead downwards within the view? */
static inline bool nest_downward(const struct nest_view *view, uint32_t edge)
{
	const struct flow_edge *e = &view->g->edges[edge];

	return e->kind != FLOW_RET && view->block_in[e->from] && view->block_in[e->to] &&
	       !view->closed[e->to] && (e->kind == FLOW_SKIP || view->edge_in[edge]);
}

/*
 * The block a loop is entered at; the first one where there are several.  Where
 * no entry is in the view the code of its function tells it, which costs a walk.
 */
uint32_t nest_header(const struct nest_view *view, const struct nest *n, uint32_t comp);

#endif
