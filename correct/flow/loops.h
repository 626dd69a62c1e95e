/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_LOOPS_H
#define SKIDPROF_CORRECT_FLOW_LOOPS_H

/*
 * Simple loops of a region (elementary circuits, Johnson 1975), for [SKID]'s
 * eqs. 3, 4 and 6; and the way past their explosion: a flow in edge space
 * decomposed into at most E loops.
 */
#include "correct/flow/region.h"

struct flow_loop {
	uint32_t *edges; /* [n] graph edge ids in order round the loop */
	size_t n;
};

struct flow_loops {
	struct flow_loop *v;
	size_t n;
	bool capped; /* there are more than were asked for */
};

/*
 * All simple loops, at most `cap`.  Loops that enter a function from one call
 * and return to another are no paths of the program and are left out
 * (except in recursive regions).  Functions count as if they were inlined at
 * each call: a loop that calls a function twice passes its blocks twice, so
 * an edge may occur more than once in `edges`.  Cost is bounded by the cap,
 * not by the graph: 2^20 loops with a cap of 1000 take milliseconds.
 */
int flow_loops_find(const struct flow_graph *g, const struct flow_region *r, size_t cap,
                    struct flow_loops **out);
void flow_loops_free(struct flow_loops *l);

/*
 * Decompose a circulation (edge_flow[n_edges of the region], conserved at
 * every block to 1e-6 of the total) into at most n_edges loops, largest
 * first; count[i] is how often loop i ran (malloc'd, the caller frees).  An
 * edge may occur in a loop more than once.  Loops return to their callers
 * wherever what is left of the flow allows it.
 */
int flow_decompose(const struct flow_graph *g, const struct flow_region *r, const double *edge_flow,
                   struct flow_loops **out, double **count);

#endif
