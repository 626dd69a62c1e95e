/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_TRIPS_H
#define SKIDPROF_CORRECT_FLOW_TRIPS_H

/*
 * Loops whose trip count is in the code: a register begins at a known distance from its end, moves by a constant once an
 * iteration, and a comparison that every iteration reaches ends the loop.
 *
 * The instructions alone tell it, so it holds whatever was sampled.
 */
#include "correct/flow/graph.h"

struct flow_trip {
	uint32_t header; /* block */
	uint32_t exit;   /* edge that the last iteration takes */
	uint32_t *body;  /* [n_body] blocks, ascending */
	size_t n_body;
	struct flow_trip_entry {
		uint32_t from;  /* block that leads to the header from outside */
		uint32_t count; /* times that the header runs then, if the loop is left by `exit` */
	} * entries;            /* [n_entries] those that it could be told for */
	size_t n_entries;
};

struct flow_trips {
	struct flow_trip *v;
	size_t n, cap;
};

/*
 * All such loops of the functions that hold a block with wanted[] set, wanted[g->n_blocks].  modules are those of the graph.
 * Cost: some microseconds a block of these functions.
 */
int flow_trips_find(const struct flow_graph *g, struct module *const *modules, const uint8_t *wanted,
                    struct flow_trips *out);
void flow_trips_fini(struct flow_trips *t);

/* Trip count of the loop when it is entered from a block, 0 where that is not known. */
uint32_t flow_trip_count(const struct flow_trip *t, uint32_t from);
bool flow_trip_holds(const struct flow_trip *t, uint32_t block);

#endif
