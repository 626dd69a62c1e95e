/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_REGION_H
#define SKIDPROF_CORRECT_FLOW_REGION_H

/*
 * Regions: what is repeated together.  An outermost hot loop with the
 * functions called inside it: blocks, and the edges among
 * them, entered and left through call and return edges; recursion collapsed.
 *
 * Loops are found with calls summarised (call block -> block after it), so
 * calling a function twice in a row is no loop.  A recursive function, or
 * functions that call each other, are a loop through their CALL edges.
 *
 * A block is in one region at most.  Where two loops that are not nested
 * call the same function, its blocks belong
 *  - to one region made of both loops, when the shared code is hot: the flows
 *    of both loops are unknowns of one problem.  It has several headers;
 *  - to the loop with more heat, when less than model->little of the
 *    other's heat lies in the shared code: the other one steps over the call
 *    by its SKIP edge, and its few instructions there are not corrected.
 * A loop belongs to the region as well where branch records show it to call
 * that region's code often, however little heat it has there, or of its own.
 *
 * An outermost loop may be the whole program ("for each phase ..."), longer
 * than the distance between samples.  How often loops run can't be told from
 * heat; so a region can be taken apart into the next inner loops, and those
 * again: flow_region_children.
 */
#include "correct/flow/graph.h"

struct flow_region {
	uint32_t *blocks; /* [n_blocks] graph block ids, ascending */
	size_t n_blocks;
	uint32_t *edges;   /* [n_edges] graph edge ids with both ends inside, ascending */
	size_t n_edges;    /* SKIP edges only of calls that have a callee outside */
	uint32_t header;   /* graph block the (hottest) loop is entered at */
	uint32_t *headers; /* [n_headers] of all loops it is made of, hottest first */
	size_t n_headers;  /* 1 but for loops that share a callee */
	size_t n_main; /* of them: the first, of loops that reach at least half as much heat as the hottest */
	double weight; /* heat inside */
	size_t n_untrimmed;    /* blocks before it was trimmed (trim.h), 0 = it was not */
	bool unknown_target;   /* some block may go where we don't know */
	double unknown_weight; /* heat of the functions inside that hold such blocks: 0 when all are cold */
	bool undecoded;
	double undecoded_weight; /* the same of instructions that could not be decoded */
	bool guessed;            /* rests on guessed edges */
	bool recursive;          /* calls itself: returns are not matched to calls */
};

struct flow_regions {
	struct flow_region *v;
	size_t n;
	int32_t *of_block; /* [graph n_blocks] region of a block, -1 = none */
};

/*
 * What may be spent on finding regions, in blocks and edges looked at: told by what there is and not by a clock, so that the same
 * recording always comes to the same end.  Where it is spent the search ends, and what it found is not all.
 */
struct flow_effort {
	uint64_t used, most;
};

static inline bool flow_effort_spent(const struct flow_effort *e)
{
	return e && e->used > e->most;
}

/*
 * hot_weight[graph n_blocks]: samples per block.  Regions with less than min_share of all heat are left out.  Every region's
 * graph is strongly connected (only edges that can carry a circulation are kept), but for linear recursion, whose calls and
 * returns are two such parts.
 *
 * ran  the blocks and edges that may be part of a region (ran.h); NULL = all. A loop that can't iterate with them gives way to
 * those inside it, and so does what a loop that can iterate calls but is not seen to come back from.  A loop of which no block is
 * among them is found as without ran, unless blocks that are among them lead both into it and out of it.
 *
 * least  heat that the regions must hold together to be of use, 0 for any: where they cannot the search ends early, with fewer of
 * them than there are.
 *
 * effort  NULL: whatever it takes.
 */
struct flow_ran {
	uint8_t *block, *edge; /* [n_blocks], [n_edges] */
	double *taken;         /* [n_edges] how often each is on record; NULL = not known */
};
struct flow_regions *flow_regions_find(const struct flow_graph *g, const struct flow_ran *ran,
                                       const double *hot_weight, double min_share, double least,
                                       struct flow_effort *effort);

/*
 * The next inner loops: what repeats inside `r` when its headers are entered only once (edges to them removed).  Loops of the
 * functions called inside count as inner.  min_share is of the heat inside r.  Blocks of r in no inner loop have of_block -1.
 * There are none (n == 0) when nothing inside repeats.
 */
struct flow_regions *flow_region_children(const struct flow_graph *g, const struct flow_region *r,
                                          const double *hot_weight, double min_share);

/* Where inside[i], [r->n], is not NULL, its regions, which are in the i-th region, take that one's place; it is taken over. */
void flow_regions_replace(struct flow_regions *r, struct flow_regions *const *inside, size_t n_blocks);

/*
 * The loops a region is made of, each for itself: those that share a callee when it has several headers, else the next inner
 * ones.  Code that several of them call is in each, and FLOW_SHARED in of_block.  For recordings whose samples tell which loop
 * the program was in.
 */
struct flow_regions *flow_region_parts(const struct flow_graph *g, const struct flow_region *r,
                                       const double *hot_weight, double min_share,
                                       struct flow_effort *effort);

/* of_block of a block in more than one part. */
enum { FLOW_SHARED = -2 };

/* One region by itself, malloc'd.  Freeing NULL does nothing. */
struct flow_region *flow_region_copy(const struct flow_region *r);
void flow_region_free(struct flow_region *r);

void flow_regions_free(struct flow_regions *r);

#endif
