/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_INTERIOR_IMPL_H
#define SKIDPROF_CORRECT_INFER_INTERIOR_IMPL_H

/* Ways through loops and functions, of which interior.c makes a flow.  Calls are single steps. */
#include "correct/infer/interior.h"
#include "profiler/base/vec.h"

#define NONE UINT32_MAX

struct unit {
	uint32_t edge;
	double n;
};

/* A function, as those of its callers see it that are returned to from the same places. */
struct callee {
	uint32_t entry, call; /* call: one of its call blocks */
	uint32_t next;        /* of the same entry */
	double n_calls;       /* CALL edges that lead to it */
	double need, brought; /* calls that its edges take, that are made; need 0: no way leads through it */
	VEC(struct unit) units;
	double *share;    /* [returns of call] of its calls */
	bool warm;        /* it holds a warm block, or what it calls does */
	bool called_warm; /* a call of it that can be made is from a warm block, or returns to one */
};

struct finder {
	const struct problem *p;
	const bool *warm; /* [B] to be on a way for its own sake; NULL: all */
	const bool *can;  /* [E] beside warm: what can carry flow */
	double *flow;     /* [E] out */
	uint32_t *out0;   /* [B + 1] edges of a block */
	uint32_t *ret0; /* [B + 1] returns of a call block: rets[ret0[c] ..], in the order of their blocks */
	uint32_t *rets; /* [E] */
	uint32_t *of;   /* [E] callee of a CALL edge */
	uint32_t *comp; /* [B] */
	VEC(struct callee) callees;
	uint32_t *order; /* [callees] each after those it calls; the first n_built can return */
	size_t n_built;
	size_t n_steps; /* that callees took so far */
};

/* A cold block to go on to, by taken's number, when no more warm ones are reached. */
struct put_off {
	uint32_t block, k;
};

/* Steps from an entry to exits; what is [reached] is numbered as it was reached, [taken] as edges are. */
struct ways {
	uint32_t *local; /* [B] NONE if not reached */
	VEC(uint32_t) reached;
	VEC(uint32_t) taken;
	double *n; /* [taken] units */
	uint32_t *from_entry,
	        *to_exit; /* [reached] the trees: taken's number, NONE at a root and off the tree */
	uint32_t *back;   /* [reached] those that lead to an exit, nearest first */
	uint32_t n_back;
	bool *leads;            /* [reached] to an exit */
	double *before, *after; /* [reached] units to be brought here from the entry, from here to an exit */
	uint32_t *in0, *in;     /* [reached + 1], [taken] by where they end */
	VEC(struct put_off) later;
	size_t n_later; /* of these looked at */
};

/* The block that a step along an edge ends in, for calls the one after; NONE if no step leads along it. */
uint32_t interior_step(const struct finder *f, uint32_t edge);

void ways_init(struct ways *w, const struct problem *p);
void ways_fini(struct ways *w);

/*
 * Reach all that can be from the entry, block 0 of the reached; only within a
 * component if that isn't NONE.  By as few cold blocks as possible.
 */
void ways_spread(const struct finder *f, struct ways *w, uint32_t entry, uint32_t comp);
/* A block, if it was reached, is an exit. */
void ways_exit(struct ways *w, uint32_t block);
/* Find what leads to the exits. */
void ways_search(const struct finder *f, struct ways *w);
/*
 * A unit through every step between warm blocks that leads to an exit, for calls as many as give the callee what it needs: n of
 * each step, before and after of each block.
 */
void ways_add_up(const struct finder *f, struct ways *w);

#endif
