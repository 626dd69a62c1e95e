/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_REPLAY_H
#define SKIDPROF_SIM_REPLAY_H

/*
 * The simulated core without an emulator: the caller has the code, and says
 * in which order its blocks ran and what they touched.  The code is decoded
 * once; the same trace then runs on one core after the other.
 *
 *	sim_replay_new(SIM_ISA_X86_64, &r);
 *	sim_replay_add(r, ip, code, n_bytes, &block);
 *	sim_replay_start(r, &config);                  a core, caches empty
 *	sim_replay_run(r, block, next_ip, mem);        as often as it ran
 *	cycles = sim_replay_cycles(r);
 *
 * trace.h keeps a whole run, and repeats it on one core after the other.
 */
#include <stddef.h>
#include <stdint.h>

#include "profiler/sim/config.h"
#include "profiler/sim/core.h"
#include "profiler/sim/decode.h"

struct sim_replay;

/* -SP_ENOMEM, -SP_ENOTSUP. */
int sim_replay_new(enum sim_isa isa, struct sim_replay **out);
void sim_replay_free(struct sim_replay *r);

/*
 * Decode straight-line code: up to its first branch, at most SIM_REPLAY_INSNS
 * instructions.  What is left of the bytes is another block.
 *
 * code   borrowed for the call; bytes that are no instruction end the block before them.
 * block  out: its number, 0, 1, ... in the order of the calls.
 * Returns the bytes taken; -SP_EFORMAT when the first one is no instruction; -SP_ENOMEM.
 */
enum { SIM_REPLAY_INSNS = 512 };
long sim_replay_add(struct sim_replay *r, uint64_t ip, const uint8_t *code, size_t n_bytes, uint32_t *block);

/*
 * The block as the core sees it: n_insn, exit, end_ip, and of each instruction whether it loads or stores.  Borrowed; valid until
 * the next call of add or start.
 */
const struct sim_block *sim_replay_block(const struct sim_replay *r, uint32_t block);

/* A new core.  config is borrowed until the next start.  -SP_ENOMEM. */
int sim_replay_start(struct sim_replay *r, const struct sim_config *config);

/* Count and sample from now on: see pmu.h.  setup's members are copied, its user is not. */
int sim_replay_sample(struct sim_replay *r, const struct sim_pmu_setup *setup);

/*
 * The block ran to its end, the program went on at next_ip.
 *
 * mem  what it touched: see SIM_MEM in core.h, SIM_MEM_END last; borrowed for the call.
 */
void sim_replay_run(struct sim_replay *r, uint32_t block, uint64_t next_ip, const uint64_t *mem);

/* Put the line of an address into the caches, at no cost in cycles. */
void sim_replay_touch(struct sim_replay *r, uint64_t vaddr);

/* When the newest instruction retired. */
uint64_t sim_replay_cycles(const struct sim_replay *r);

/* The core itself: its counters (core->pmu.value) among the rest. */
const struct sim_core *sim_replay_core(const struct sim_replay *r);

#endif
