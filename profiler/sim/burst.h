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

#include "profiler/sim/chain.h"
#include "profiler/sim/wire.h"

/* System calls that one goes past. */
enum { SIM_BURST_CALLS = 32 };

struct sim_burst {
	uint64_t mean_cyc; /* between the end of one and the beginning of the next; 0: there are none */
	uint64_t rng;
	uint64_t at_cyc; /* of the next; ~0: none, or one is under way */
	uint64_t ip;
	bool open;
	uint32_t n, n_wanted, n_chain, n_calls;
	uint64_t chain
	        [WIRE_MAX_CHAIN]; /* where calls that were not back at its beginning return to, innermost first */
	/* From the end: branch[n_wanted - n] is the newest, the last one the oldest. */
	struct wire_branch branch[WIRE_MAX_BURST];
};

/* The first one after now_cyc.  mean_cyc as above; n_wanted: branches of one, at most WIRE_MAX_BURST. */
void sim_burst_init(struct sim_burst *b, uint64_t mean_cyc, uint32_t n_wanted, uint64_t seed,
                    uint64_t now_cyc);

/* Its moment has come: the instruction at ip is the oldest that has not retired.  chain: the calls by then; may be NULL. */
void sim_burst_begin(struct sim_burst *b, uint64_t ip, const struct sim_chain *chain);

/* A branch was taken.  True: the burst is at its end. */
bool sim_burst_branch(struct sim_burst *b, uint64_t from_ip, uint64_t to_ip);

/* The next moment is drawn.  Returns what was seen, b->n branches, newest first: there until the next one begins. */
const struct wire_branch *sim_burst_end(struct sim_burst *b, uint64_t now_cyc);

#endif
