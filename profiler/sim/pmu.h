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
 *
 * Where the group has several sets of events, they take turns: the counters
 * of the others stand still.  A set's turn ends once the interrupts that were
 * under way at its time have come.
 *
 * Bursts are given as samples of an event behind the last of the group, with
 * no values.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/block.h"
#include "profiler/sim/burst.h"
#include "profiler/sim/config.h"
#include "profiler/sim/wire.h"

struct sim_core;

struct sim_sample {
	uint64_t cycle, ip;
	uint32_t event;                  /* index into the group; n_events: a burst */
	uint32_t n_values;               /* events of its set ... */
	uint64_t value[WIRE_MAX_EVENTS]; /* ... in the order of the group */
	uint64_t running_cyc;            /* for how long they have counted */
	uint32_t n_branches;
	struct wire_branch branch[WIRE_BURST_BRANCHES]; /* newest first */
};

typedef void sim_sample_fn(void *user, const struct sim_sample *s);

struct sim_pmu_setup {
	uint32_t n_events; /* the group */
	struct wire_event event[WIRE_MAX_EVENTS];
	uint32_t n_sets;     /* 1 or more */
	uint64_t rotate_cyc; /* a set's turn, on average */
	uint32_t n_branches; /* depth of the branch record */
	uint64_t burst_cyc;  /* between bursts, on average; 0: none */
	uint64_t seed;
	sim_sample_fn *sample;
	void *user;
};

struct sim_pmu_branch {
	uint64_t from_ip, to_ip, cycle;
	uint32_t mispredicted;
};

/* A member of the group that interrupts.  Counts here are those of `value`. */
struct sim_sampler {
	uint8_t event; /* enum sim_event */
	uint8_t member, set;
	uint64_t period;
	uint64_t next; /* value at which it overflows */
	uint64_t due;  /* cycle of its interrupt; ~0 = none under way */
};

/* How much of `value` a member has not counted, because another set did. */
struct sim_missed_count {
	uint64_t missed;
	uint64_t stopped; /* value when its set last stopped */
};

struct sim_pmu {
	struct sim_pmu_setup setup;
	const struct sim_config *config;             /* for the skid's histogram */
	uint64_t value[SIM_EVENTS_ROOM];             /* cycles: of the last retirement */
	struct sim_sampler sampler[WIRE_MAX_EVENTS]; /* by set */
	uint32_t n_samplers;
	struct sim_sampler *run, *run_end; /* those of the set that counts */
	struct sim_missed_count missed[WIRE_MAX_EVENTS];
	uint32_t set;                                          /* the one that counts */
	uint64_t turn_end_cyc;                                 /* ~0 = there is only one */
	bool turn_over;                                        /* it waits for interrupts under way */
	uint64_t running_cyc[WIRE_MAX_EVENTS], turn_begin_cyc; /* by set, up to its last turn */
	uint64_t cycle0;                                       /* the core's cycle at which counting began */
	uint64_t stop_cyc;      /* earliest cycle at which something is to be done */
	uint64_t insns_left;    /* while more than this, no counter but cycles can overflow; 0: not known */
	uint64_t rng, turn_rng; /* of delays; of turns */
	struct sim_pmu_branch branch[WIRE_MAX_BRANCHES];
	uint64_t n_branch; /* ever recorded */
	struct sim_burst burst;
};

void sim_pmu_init(struct sim_pmu *p, const struct sim_config *config, const struct sim_pmu_setup *setup);

/* Forget counts and overflows under way, as for a new process. */
void sim_pmu_restart(struct sim_pmu *p, uint64_t now_cyc, uint64_t seed);

/* What member i has counted. */
uint64_t sim_pmu_value(const struct sim_pmu *p, uint32_t i);

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

/* At now_cyc the thread goes to where no stepper follows, into a system call: a burst under way ends. */
void sim_pmu_cut_burst(struct sim_pmu *p, uint64_t now_cyc);

/* The next number of a generator whose state is *rng: any state is a good one. */
uint64_t sim_pmu_random(uint64_t *rng);

/* A draw of S; *rng is the generator's state. */
uint64_t sim_pmu_skid(const struct sim_config *c, uint64_t *rng);

/* Seeds for others that are to be as if drawn anew, the same for the same (seed, n). */
uint64_t sim_pmu_seed(uint64_t seed, uint64_t n);

#endif
