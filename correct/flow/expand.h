/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_EXPAND_H
#define SKIDPROF_CORRECT_FLOW_EXPAND_H

/*
 * A loop with its callees written out at each call, as if all were inlined: a
 * vertex is a block under a stack of calls.  Every circuit of this graph
 * returns to where it called from, and may pass a function twice in one round.
 */
#include "correct/flow/region.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

enum { CONTEXT_ROOT = 0 };

/* Stacks of calls, each named by a number; CONTEXT_ROOT is the empty one. */
struct context {
	uint32_t parent, call, depth;
};

struct contexts {
	VEC(struct context) v;
	struct pairs at; /* (parent, call) */
};

void contexts_init(struct contexts *c);
uint32_t contexts_enter(struct contexts *c, uint32_t parent, uint32_t call);
void contexts_fini(struct contexts *c);

struct expand_vertex {
	uint32_t block, context;
};

struct expand_edge {
	uint32_t to, edge; /* vertex, graph edge */
};

struct expanded {
	VEC(struct expand_vertex) vertices; /* the loop's own blocks come first */
	uint32_t n_own;
	uint32_t *off; /* [vertices.n + 1] */
	VEC(struct expand_edge) edges;
	bool truncated; /* it would have been too large: some calls are missing */
};

/*
 * own[graph n_blocks]: the loop's blocks.  edge_in[graph n_edges]: the region's
 * edges.  Not matched: all edges among own blocks, returns too (recursion).
 */
void expand(const struct flow_graph *g, const uint8_t *own, const uint8_t *edge_in, bool matched,
            struct expanded *out);
void expanded_fini(struct expanded *x);

#endif
