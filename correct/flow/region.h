/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_REGION_H
#define SKIDPROF_CORRECT_FLOW_REGION_H

/*
 * Regions: what is repeated together.  An outermost hot loop with the
 * functions called inside it (design section 4): blocks, and the edges among
 * them, entered and left through call and return edges; recursion collapsed.
 * A block is in one region at most.  Nested candidate loops are kept as a
 * tree, so that a region can be cut to the loop the samples stay in.
 */
#include "correct/flow/graph.h"

struct flow_region {
	uint32_t *blocks; /* [n_blocks] graph block ids, ascending */
	size_t n_blocks;
	uint32_t *edges; /* [n_edges] graph edge ids with both ends inside, ascending */
	size_t n_edges;
	uint32_t header;     /* graph block the loop is entered at */
	double weight;       /* heat inside */
	bool unknown_target; /* some block may go where we don't know */
	bool undecoded;
	bool guessed;   /* rests on guessed edges */
	bool recursive; /* calls itself: returns are not matched to calls */
	bool irreducible;
};

struct flow_regions {
	struct flow_region *v;
	size_t n;
	int32_t *of_block; /* [graph n_blocks] region of a block, -1 = none */
};

/*
 * hot_weight[graph n_blocks]: samples per block.  Regions with less than
 * min_share of all heat are left out.  Every region's graph is strongly
 * connected (only edges that can carry a circulation are kept).
 */
int flow_regions_find(const struct flow_graph *g, const double *hot_weight, double min_share,
                      struct flow_regions **out);
void flow_regions_free(struct flow_regions *r);

#endif
