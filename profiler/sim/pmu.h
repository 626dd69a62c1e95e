/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_PMU_H
#define SKIDPROF_SIM_PMU_H

/*
 * The counters of one simulated core, and their interrupts.
 *
 * A sampled counter overflows when it reaches a multiple of its period, at
 * the retirement of an instruction (cycles: at a cycle).  The interrupt comes
 * S cycles later, S drawn from the core file's histogram.  It shows the
 * oldest instruction not yet retired and the counters as they are then.  A
 * counter that overflows again before its interrupt has only one interrupt,
 * and one interrupt serves all counters that have overflowed by then.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/block.h"
#include "profiler/sim/config.h"
#include "profiler/sim/wire.h"

struct sim_core;

struct sim_sample {
	uint64_t cycle, ip;
	uint32_t event;                  /* index into the group */
	uint64_t value[WIRE_MAX_EVENTS]; /* in the order of the group */
	uint32_t n_branches;
	struct wire_branch branch[WIRE_MAX_BRANCHES]; /* newest first */
};

typedef void sim_sample_fn(void *user, const struct sim_sample *s);

struct sim_pmu_setup {
	uint32_t n_events; /* the group */
	uint32_t event[WIRE_MAX_EVENTS];
	uint64_t period[WIRE_MAX_EVENTS]; /* 0: only counts */
	uint32_t n_branches;              /* depth of the branch record */
	uint64_t seed;
	sim_sample_fn *sample;
	void *user;
};

struct sim_pmu_branch {
	uint64_t from_ip, to_ip, cycle;
	uint32_t mispredicted;
};

struct sim_pmu {
	struct sim_pmu_setup setup;
	const struct sim_config *config; /* for the skid's histogram */
	uint64_t value[SIM_EVENTS_ROOM]; /* cycles: of the last retirement */
	uint64_t next[WIRE_MAX_EVENTS];  /* value at which the counter overflows; ~0 = never */
	uint64_t due[WIRE_MAX_EVENTS];   /* cycle of its interrupt; ~0 = none under way */
	uint64_t cycle0;                 /* the core's cycle at which counting began */
	uint64_t stop_cyc;               /* earliest cycle at which something is to be done */
	uint64_t insns_left; /* while more than this, no counter but cycles can overflow; 0: not known */
	uint64_t rng;
	struct sim_pmu_branch branch[WIRE_MAX_BRANCHES];
	uint64_t n_branch;       /* ever recorded */
	uint32_t n_insn_sampled; /* members that sample an event of instructions */
	uint8_t insn_sampled[WIRE_MAX_EVENTS];
};

void sim_pmu_init(struct sim_pmu *p, const struct sim_config *config, const struct sim_pmu_setup *setup);

/* Forget counts and overflows under way, as for a new process. */
void sim_pmu_restart(struct sim_pmu *p, uint64_t now_cyc, uint64_t seed);

/*
 * The last n_insn instructions of the core have been a block's; count them
 * and deliver what falls into their time.
 *
 * whole   the last one has retired (false for a step of a rep instruction).
 * taken   branch at the end: taken, mispredicted, where to.
 */
struct sim_outcome {
	bool whole, taken, mispredicted;
	uint64_t to_ip;
};

void sim_pmu_block(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                   const struct sim_outcome *end);

/* A draw of S. */
uint64_t sim_pmu_skid(struct sim_pmu *p);

#endif
