/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_BLOCKS_H
#define SKIDPROF_SIM_BLOCKS_H

/*
 * All blocks ever translated.  A block translated again with the same bytes,
 * of the same place of the same file, is the same block; how often each ran
 * stands in counts.h.
 */
#include "profiler/base/vec.h"
#include "profiler/sim/block.h"
#include "profiler/sim/calls.h"

struct sim_code {
	struct sim_code *next; /* of the same hash */
	uint64_t hash;         /* of its bytes */
	uint64_t off;          /* in the file, see counts.h */
	uint32_t file;
	struct calls_place place; /* where it was asked for */
	struct sim_block *other;  /* the same on the other kind of core, or NULL; owned */
	struct sim_block block;   /* last: its instructions follow */
};

struct sim_blocks {
	VEC(struct sim_code *) all; /* by id */
	struct sim_code **bucket;
	size_t n_buckets;
};

int sim_blocks_init(struct sim_blocks *t);
void sim_blocks_fini(struct sim_blocks *t);

/* First block starting at ip, then the others; NULL at the end. */
struct sim_code *sim_blocks_at(const struct sim_blocks *t, uint64_t ip);
struct sim_code *sim_blocks_next(const struct sim_code *c);

/* Add one that is not there yet; owned by the table from then on. */
int sim_blocks_add(struct sim_blocks *t, struct sim_code *c);

/* A block of n_insn instructions, all zero; NULL without memory. */
struct sim_code *sim_code_new(uint64_t ip, uint32_t n_insn);
void sim_code_free(struct sim_code *c);

#endif
