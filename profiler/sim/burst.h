/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_BURST_H
#define SKIDPROF_SIM_BURST_H

/*
 * Bursts of a simulated thread, as profiler/pmu/burst.h takes them of a real
 * one: at random moments the taken branches that follow are written down.
 * Unlike those of ptrace they cost the thread no time, nor do they disturb
 * its caches.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/wire.h"

/* As profiler/pmu/bursts.c has it. */
enum { SIM_BURST_MAX_INSNS = WIRE_BURST_BRANCHES * 25 };

struct sim_burst {
	uint64_t mean_cyc; /* between the end of one and the beginning of the next; 0: there are none */
	uint64_t rng;
	uint64_t at_cyc; /* of the next; ~0: none, or one is under way */
	uint64_t ip, begun_cyc, begun_insn;
	bool open;
	uint32_t n;
	struct wire_branch branch[WIRE_BURST_BRANCHES]; /* oldest first */
};

/* The first one after now_cyc.  mean_cyc as above. */
void sim_burst_init(struct sim_burst *b, uint64_t mean_cyc, uint64_t seed, uint64_t now_cyc);

/* Its moment has come: the instruction at ip is the oldest that has not retired. */
void sim_burst_begin(struct sim_burst *b, uint64_t now_cyc, uint64_t ip, uint64_t n_insn);

/* A branch was taken, the thread's n_insn-th instruction.  True: the burst is at its end. */
bool sim_burst_branch(struct sim_burst *b, uint64_t from_ip, uint64_t to_ip, uint64_t n_insn);

/* What was seen goes to `out`, newest first, and the next moment is drawn.  Returns how many branches. */
uint32_t sim_burst_end(struct sim_burst *b, uint64_t now_cyc, struct wire_branch *out);

#endif
