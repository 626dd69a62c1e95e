/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_JOHNSON_H
#define SKIDPROF_CORRECT_FLOW_JOHNSON_H

/* Elementary circuits (Johnson 1975), with a stack of its own. */
#include "correct/flow/expand.h"
#include "correct/flow/loops.h"

struct loop_list {
	VEC(struct flow_loop) v;
	size_t cap;
	uint64_t n_steps; /* edges looked at, over all calls */
	bool capped;
};

/*
 * Append the circuits of x that pass through one of its own blocks, until cap
 * loops are found or so many edges were looked at that it isn't worth going on.
 */
void johnson_find(const struct expanded *x, struct loop_list *out);

#endif
