/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_CHAIN_H
#define SKIDPROF_SIM_CHAIN_H

/*
 * The calls of a thread that are not back yet, as who unwinds its stack would find them: each with where its return address lies,
 * which tells what has been left without a return (longjmp, exceptions), and which of several stacks the thread is on
 * (coroutines, goroutines).  The emulator tells no contents of memory.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/block.h"

enum {
	SIM_CHAIN_STACKS = 32,   /* the one that was left longest ago is forgotten for another */
	SIM_CHAIN_CALLS = 1024,  /* of a stack: power of two; of more the outermost are forgotten */
	SIM_CHAIN_NEAR = 1 << 16 /* bytes: a frame is smaller, and other stacks are farther */
};

struct sim_chain_call {
	uint64_t at; /* where its return address lies; 0: not known, or not any more */
	uint64_t return_ip;
};

struct sim_chain_stack {
	uint64_t used; /* when it was left */
	uint64_t n;    /* calls, with those that were forgotten */
	uint32_t n_valid;
	struct sim_chain_call ring[SIM_CHAIN_CALLS];
};

struct sim_chain {
	struct sim_chain_stack stack[SIM_CHAIN_STACKS];
	uint64_t now;
	uint32_t current;
};

/*
 * A block was left by its last instruction, for next_ip.
 * mem  its accesses (SIM_MEM), n_mem of them.
 */
void sim_chain_step(struct sim_chain *c, const struct sim_block *b, uint64_t next_ip, const uint64_t *mem,
                    uint32_t n_mem);

/* Does a block that ends so change what the chain knows?  Of others it need not be told. */
static inline bool sim_chain_heeds(enum sim_exit exit)
{
	return exit > SIM_X_JUMP;
}

/* Where the calls return to, innermost first.  Returns how many of them are in out[cap]. */
uint32_t sim_chain_read(const struct sim_chain *c, uint64_t *out, uint32_t cap);

#endif
