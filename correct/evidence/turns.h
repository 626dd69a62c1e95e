/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_TURNS_H
#define SKIDPROF_CORRECT_EVIDENCE_TURNS_H

/*
 * What a path has to do with the natural loops of its functions, edge by
 * edge: where it comes to one, goes round in it, and leaves it.  A callee is
 * in no loop of its caller, and leaves none.
 */
#include "correct/infer/problem.h"

enum turn_what {
	TURN_COMES,   /* from outside to the header */
	TURN_GOES_ON, /* from inside back to it */
	TURN_LEAVES,
	TURN_BREAKS_IN, /* from outside past the header: whose turn it is can't be told */
};

struct turn_event {
	uint32_t edge, loop; /* the problem's edge; turn_loops.header[loop] */
	uint8_t what;        /* enum turn_what */
};

struct turn_loops {
	struct {
		uint32_t *v; /* graph block */
		size_t n, cap;
	} header;
	struct {
		struct turn_event *v; /* by edge, then by loop */
		size_t n, cap;
	} events;
	uint32_t *event0; /* [E + 1] an edge's events: events.v[event0[e] .. event0[e + 1]) */
};

/*
 * All loops whose header is in the problem; none where functions call
 * themselves, for who is in which turn of theirs no edge tells.
 * Cost: loops x (E + blocks of their function).  Returns 0 or -SP_ENOMEM.
 */
int turn_loops_find(const struct problem *p, struct turn_loops *out);
void turn_loops_fini(struct turn_loops *t);

#endif
