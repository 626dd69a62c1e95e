/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_LOOPS_H
#define SKIDPROF_CORRECT_FLOW_LOOPS_H

/*
 * Simple loops of a region (elementary circuits, Johnson 1975), for [SKID]'s Algorithm 1.
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
void flow_loops_find(const struct flow_graph *g, const struct flow_region *r, size_t cap,
                     struct flow_loops **out);
void flow_loops_free(struct flow_loops *l);

#endif
