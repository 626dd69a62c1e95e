/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_BLOCKS_H
#define SKIDPROF_SIM_BLOCKS_H

/*
 * All blocks ever translated, and how often each ran.  A block translated
 * again with the same bytes is the same block.
 */
#include "profiler/base/vec.h"
#include "profiler/sim/block.h"

struct sim_code {
	uint64_t n_runs;  /* counted inline by the emulator, while one thread runs */
	uint64_t n_again; /* runs that did not finish the rep instruction at the end */
	uint64_t *left;   /* [n_insn], NULL = none: runs that left before instruction i */
	uint64_t *missed; /* [n_insn], NULL = none: runs in which a load of it missed the first-level cache */
	struct sim_code *next; /* of the same hash */
	uint64_t hash;
	struct sim_block block; /* last: its instructions follow */
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

/* A run that ended before instruction `index`. -SP_ENOMEM. */
int sim_code_left(struct sim_code *c, uint32_t index);

/* Instruction `index` missed; under the lock the first time. -SP_ENOMEM. */
int sim_code_missed(struct sim_code *c, uint32_t index);

/* Forget all counts, as in the child of a fork. */
void sim_blocks_clear(struct sim_blocks *t);

struct sim_count {
	uint64_t ip, n_insn;
	uint64_t n_load, n_miss; /* of them, loads; and loads that missed */
};

/*
 * Executions of each instruction, sorted by ip.
 *
 * runs  [t->all.n]: runs of each block beside n_runs; NULL = none.
 * out   out, freed by the caller with vec_fini.
 */
struct sim_counts {
	struct sim_count *v;
	size_t n, cap;
};
int sim_blocks_count(const struct sim_blocks *t, const uint64_t *runs, struct sim_counts *out);

#endif
