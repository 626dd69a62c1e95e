/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_OUTERMOST_H
#define SKIDPROF_CORRECT_FLOW_OUTERMOST_H

/*
 * The outermost hot loops of a part of the graph, with all that is called in
 * them, as regions: one step of every search for regions (region.c).
 */
#include "correct/flow/nest.h"
#include "correct/flow/region.h"
#include "correct/flow/shape.h"

/* Room as large as the graph, for all searches of one call from outside. */
struct room {
	struct nest_room nest;
	struct shape_room shape;
	uint32_t *stamp;   /* [n_blocks] number of the latest loop whose reach it is in */
	uint32_t *covered; /* [n_blocks] number of the latest search that found it inside an outermost loop */
	uint32_t *claimed; /* [n_blocks] seed; NONE, and for all between searches */
	double *called;    /* [n_blocks] calls of it on record */
	uint8_t *mark;     /* [n_blocks] 0 */
	uint32_t n_stamps, n_searches;
};

/* taken[n_edges] of searches that are told of records, NULL for none. */
void room_init(struct room *room, const struct flow_graph *g, const double *taken);
void room_fini(struct room *room);

/* A search: where regions are looked for, and by what they are judged. */
struct search {
	struct room *room;
	const double *heat;  /* [n_blocks] */
	const uint32_t *hot; /* [n_hot] blocks that have some, ascending */
	size_t n_hot;
	double min_heat;
	double least;        /* heat that all regions together must hold, or the search is given up */
	bool apart;          /* every loop for itself: code called by several is in each */
	uint8_t *empty;      /* [n_blocks] out, may be NULL: headers of loops of which nothing repeats */
	const double *taken; /* [n_edges] on record; NULL = no records */
	struct flow_effort *effort;
};

/* A part of the work was done, in blocks and edges that were looked at. */
void outermost_spend(struct flow_effort *effort, size_t n);

/*
 * The view has its list.  *out: not in order, and without of_block.  True
 * where loops were empty, and set s->empty[] (if not NULL).
 */
bool outermost_find(const struct nest_view *view, const struct search *s, struct flow_regions **out);

#endif
