/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_FLOW_IMPL_H
#define SKIDPROF_REPORT_ASSEMBLE_FLOW_IMPL_H

/* The flow of a profile in the making: blocks and ways, and sums over blocks. */
#include "correct/model/effort.h"
#include "profiler/base/vec.h"
#include "report/assemble/assemble_impl.h"

struct flow_part {
	struct assembly *a;
	const struct flow_graph *g;
	uint32_t *number;   /* [graph blocks] profile block, UINT32_MAX = not there */
	uint8_t *in_part;   /* [graph funcs] */
	uint8_t *out, *in;  /* [profile blocks] do its ways tell all that leaves it, or leads to it? */
	uint32_t *in0, *to; /* [profile blocks + 1], [ways]: ways by the block they lead to */
	size_t way_cap, trips_cap, trips_blocks_cap, term_cap;
	size_t n_trips_blocks;
};

/* Does an edge carry flow of a region? */
bool flow_is_kept(const struct flow_part *x, uint32_t edge);

/* Over a call, to where it comes back to; or within a function. */
bool flow_is_way(const struct flow_part *x, const struct flow_edge *e);

struct flow_terms {
	struct profile_term v[EFFORT_TERMS];
	uint32_t n;
	bool too_many;
};

void flow_add_term(struct flow_terms *t, uint32_t block, float weight);
void flow_add_way(const struct profile *p, const struct profile_way *way, float weight, struct flow_terms *t);

/* Keep a sum in the profile: where its terms begin. */
void flow_keep(struct flow_part *x, const struct profile_term *terms, uint32_t n, uint32_t *term0,
               uint32_t *n_terms);

/* Once all loops are known: of which too few stacks tell how often they are entered.  What reading the recording fails by. */
int flow_find_crossings(struct flow_part *x);

/* Once all ways are known. */
void flow_find_calls(struct flow_part *x);
void flow_find_callers(struct flow_part *x);

#endif
