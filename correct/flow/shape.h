/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_SHAPE_H
#define SKIDPROF_CORRECT_FLOW_SHAPE_H

/*
 * A region taking shape: from a set of blocks and the loops they came from to
 * the edges that can carry a circulation.
 */
#include "correct/flow/nest.h"
#include "correct/flow/region.h"
#include "profiler/base/vec.h"

struct shape {
	const struct nest_view *view;
	const struct nest *nest;
	const double *heat;
	uint8_t *block_in; /* [n_blocks] the caller sets these */
	uint8_t *edge_in;  /* [n_edges] */
	uint8_t *own;      /* [n_blocks] in a loop at the top: left only by calls */
	uint32_t *local;   /* [n_blocks] */
	VEC(uint32_t) headers;
	bool several;   /* a loop with more than one entry */
	bool recursive; /* one of the loops is a recursion */
};

int shape_init(struct shape *s); /* allocates; view, nest and heat are set */
int shape_add_loop(struct shape *s, uint32_t comp);
/* r->n_blocks == 0 when nothing in it can circulate. */
int shape_finish(struct shape *s, struct flow_region *r);
void shape_fini(struct shape *s);

void flow_region_fini(struct flow_region *r);

#endif
