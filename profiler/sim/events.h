/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_EVENTS_H
#define SKIDPROF_SIM_EVENTS_H

/*
 * What the simulated PMU can count, by the names perf's users know.  Shared
 * by the plugin and the recorder; the corrector must not include it.
 *
 * All but cycles count retired instructions (or things that happened to
 * them).  loads and stores count instructions, not accesses: push stores,
 * pop and ret load, `add mem, reg` does both; prefetches do neither.
 */
#include <stdint.h>
#include <string.h>

enum sim_event {
	SIM_CYCLES,
	SIM_INSTRUCTIONS,
	SIM_BRANCHES,       /* jumps, calls and returns, taken or not */
	SIM_TAKEN_BRANCHES, /* the same, taken */
	SIM_COND_BRANCHES,
	SIM_CALLS,
	SIM_RETURNS,
	SIM_LOADS,
	SIM_STORES,
	SIM_FP_SCALAR,
	SIM_FP_VECTOR,
	SIM_BRANCH_MISSES,
	SIM_L1D_MISSES, /* loads that found their line in no first-level cache */
	SIM_L2_MISSES,
	SIM_L3_MISSES,
	SIM_INDIRECT_BRANCHES, /* jumps and calls, returns not included */
	SIM_FP_ADD,            /* and subtract; these four of either width, x87 not included */
	SIM_FP_MUL,
	SIM_FP_DIV, /* and square root */
	SIM_FP_FMA,
	SIM_SIMD_INT, /* any other work on vector registers: integers, moves, logic */
	SIM_N_EVENTS,
};

static inline const char *sim_event_name(unsigned event)
{
	static const char *const names[SIM_N_EVENTS] = {
		"cycles",        "instructions", "branches",  "taken-branches",
		"cond-branches", "calls",        "returns",   "loads",
		"stores",        "fp-scalar",    "fp-vector", "branch-misses",
		"l1d-misses",    "l2-misses",    "l3-misses", "indirect-branches",
		"fp-add",        "fp-mul",       "fp-div",    "fp-fma",
		"simd-int",
	};

	return event < SIM_N_EVENTS ? names[event] : NULL;
}

/* The event of that name, or -1. */
static inline int sim_event_find(const char *name)
{
	for (unsigned e = 0; e < SIM_N_EVENTS; e++)
		if (!strcmp(name, sim_event_name(e)))
			return (int)e;
	return -1;
}

#endif
