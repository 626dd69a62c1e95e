/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_SHAPE_H
#define SKIDPROF_CORRECT_FLOW_SHAPE_H

/*
 * A region taking shape: from a set of blocks and the loops they came from to the edges that can carry a circulation.  Every step
 * costs what the set is large, not what the graph is: marks lie in room that all regions of a graph use, one after the other, and
 * lists tell where they are.
 */
#include "correct/flow/nest.h"
#include "correct/flow/region.h"
#include "profiler/base/vec.h"

/* Marks of one region, all 0 between regions. */
struct shape_room {
	uint8_t *block_in; /* [n_blocks] */
	uint8_t *edge_in;  /* [n_edges] */
	uint8_t *own;      /* [n_blocks] in a loop at the top: left only by calls */
	uint32_t *local;   /* [n_blocks] */
	struct nest_room nest;
};

/* To be freed by shape_room_fini(). */
void shape_room_init(struct shape_room *room, const struct flow_graph *g);
void shape_room_fini(struct shape_room *room);

struct shape { /* the caller sets the first four */
	const struct nest_view *view;
	const struct nest *nest;
	const double *heat;
	struct shape_room *room;
	VEC(uint32_t) all;    /* blocks it began with, to clear their marks */
	VEC(uint32_t) own;    /* of those in `own` */
	VEC(uint32_t) blocks; /* still in it, ascending once it is finished */
	VEC(uint32_t) edges;  /* still in it, but for SKIP edges */
	VEC(uint32_t) skips;  /* SKIP edges between blocks that are still in it */
	VEC(uint32_t) headers;
	size_t n_main;  /* of them, the first */
	size_t n_edges; /* that it began with */
	bool recursive; /* one of the loops is a recursion */
};

/* Whether some callee of a call is missing, or all are: it may be stepped over. */
bool shape_lacks_callee(const struct shape *s, uint32_t call);

void shape_add_block(struct shape *s, uint32_t block);
/* Those that are its main loops first. */
void shape_add_loop(struct shape *s, uint32_t comp, bool is_main);
/* r->n_blocks == 0 when nothing in it can circulate. */
void shape_finish(struct shape *s, struct flow_region *r);
void shape_fini(struct shape *s); /* and the room is as it was */

void flow_region_fini(struct flow_region *r);

#endif
