/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_DOMINATORS_H
#define SKIDPROF_CORRECT_FLOW_DOMINATORS_H

/*
 * The control flow of one function by itself: its blocks, edges, dominators and natural loops.  A call is an edge to the block
 * behind it.  Blocks that can be reached are numbered from 0 in reverse postorder.
 */
#include "correct/flow/graph.h"

enum { LOCAL_NONE = UINT32_MAX };

struct local_edge {
	uint32_t from, to; /* local */
	uint32_t edge;     /* of the graph */
};

struct local_flow {
	const struct flow_graph *g;
	uint32_t n;               /* blocks that are reached */
	uint32_t *block;          /* [n] graph blocks */
	struct local_edge *edges; /* [n_edges] sorted by to */
	uint32_t n_edges, *in0;   /* [n + 1] edges to block i: in0[i] .. in0[i + 1] */
	uint32_t *idom;           /* [n] immediate dominators; LOCAL_NONE where there is none */
	struct local_loop {
		uint32_t header;
		uint8_t *in; /* [n] */
		uint32_t n_in;
	} * loops; /* by header */
	uint32_t n_loops, loops_cap;
};

/* Of function f of the graph.  Returns 0; -SP_EDOMAIN, without a message, where it has more blocks than EFFORT_DOMINATED. */
int local_flow_new(const struct flow_graph *g, uint32_t f, struct local_flow *out);
void local_flow_fini(struct local_flow *l);

/* Does every way to b lead through a?  A block dominates itself. */
bool local_flow_dominates(const struct local_flow *l, uint32_t a, uint32_t b);

/* The smallest loop that a block is in, NULL if none. */
const struct local_loop *local_flow_innermost(const struct local_flow *l, uint32_t b);

#endif
