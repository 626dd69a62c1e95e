/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_PMU_H
#define SKIDPROF_SIM_PMU_H

/*
 * The counters of one simulated core, and their interrupts.
 *
 * A sampled counter overflows when it reaches a multiple of its period, at
 * the retirement of an instruction (cycles: at a cycle).  The interrupt comes
 * S cycles later, S drawn from the core file's histogram.  It shows the
 * oldest instruction not yet retired and the counters as they are then; on a
 * core whose interrupts are taken between instructions (interrupt_retires)
 * that one still retires, with all that retire in the same cycle, before the
 * interrupt is taken, and the next one is shown.  A
 * counter that overflows again before its interrupt has only one interrupt,
 * and one interrupt serves all counters that have overflowed by then.
 *
 * Precise events show the instruction that was caught, not the one that the
 * interrupt met: as PEBS does, the first that retires (and counts for the
 * event) once some cycles have passed since the overflow (1: the instruction
 * behind it; 3, and no cycles: the very one that made the counter overflow);
 * or as IBS does, for cycles the first that was dispatched from the overflow
 * on.  Counters and branch records are those of the interrupt, which comes S
 * cycles after the one that was caught has retired.
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
#include "profiler/sim/lbr.h"
#include "profiler/sim/wire.h"

struct sim_core;

struct sim_sample {
	uint64_t cycle, ip, period;
	uint32_t event;                  /* index into the group; n_events: a burst */
	uint32_t n_values;               /* events of its set, or 0 ... */
	uint64_t value[WIRE_MAX_EVENTS]; /* ... in the order of the group */
	uint64_t running_cyc;            /* for how long they have counted */
	uint32_t n_branches;
	const struct wire_branch *branch; /* newest first, for the time of the call */
	uint32_t n_chain;                 /* calls that were not back, of a burst */
	const uint64_t *chain;            /* innermost first, for the time of the call */
};

typedef void sim_sample_fn(void *user, const struct sim_sample *s);

/* The event comes too often and stands still (on), or goes on. */
typedef void sim_throttle_fn(void *user, uint32_t event, bool on, uint64_t cycle);

struct sim_pmu_setup {
	uint32_t n_events; /* the group */
	struct wire_event event[WIRE_MAX_EVENTS];
	uint32_t n_sets;               /* 1 or more */
	uint64_t rotate_cyc;           /* a set's turn, on average */
	uint32_t n_branches;           /* depth of the branch record */
	uint32_t branch_filter;        /* of enum wire_filter */
	bool no_values;                /* samples carry none */
	uint32_t max_rate_hz;          /* of samples of an event; 0: no limit */
	uint64_t burst_cyc;            /* between bursts, on average; 0: none */
	uint32_t burst_branches;       /* of one */
	const struct sim_chain *chain; /* the thread's, for bursts; NULL: it has none */
	uint64_t seed;
	sim_sample_fn *sample;
	sim_throttle_fn *throttle; /* may be NULL where there is no limit */
	void *user;
};

/* A member of the group that interrupts.  Counts here are those of `value`. */
struct sim_sampler {
	uint8_t event; /* enum sim_event */
	uint8_t member;
	uint8_t precise;
	bool wants_next; /* its sample shows the instruction behind the one that was caught */
	bool throttled;
	uint64_t period;
	uint64_t next;  /* value at which it overflows */
	uint64_t armed; /* an instruction is caught from this cycle on; ~0 = none is to be */
	uint64_t due;   /* cycle of its interrupt; ~0 = none under way */
	uint64_t ip;    /* that was caught */
	/* Where the period follows a rate: the kernel's way. */
	uint64_t counting;   /* the period that is being counted; the next one is `period` */
	uint64_t last_cyc;   /* of its last sample */
	uint64_t tick_value; /* of the member at the last tick */
	uint32_t n_in_tick;
};

/* A member of the group: how much of `value` it has not counted, because others had their turn or it stood still. */
struct sim_member {
	uint64_t missed;
	uint64_t stopped; /* value when it last stopped */
	uint64_t kernel;  /* counted in the kernel */
	bool on;
	struct sim_sampler *sampler; /* NULL: only counted */
};

struct sim_pmu {
	struct sim_pmu_setup setup;
	const struct sim_config *config;
	uint64_t value[SIM_EVENTS_ROOM]; /* in user mode; cycles: of the last retirement */
	struct sim_sampler sampler[WIRE_MAX_EVENTS];
	uint32_t n_samplers;
	struct sim_sampler *run[WIRE_MAX_EVENTS]; /* those that count now */
	uint32_t n_run;
	struct sim_member member[WIRE_MAX_EVENTS];
	uint32_t set;                                          /* the one that counts */
	uint64_t turn_end_cyc;                                 /* ~0 = there is only one */
	bool turn_over;                                        /* it waits for interrupts under way */
	uint64_t running_cyc[WIRE_MAX_EVENTS], turn_begin_cyc; /* by set, up to its last turn */
	uint64_t tick_cyc;    /* between the kernel's ticks; 0: nobody needs them */
	uint64_t tick_at_cyc; /* the next one; ~0: none */
	uint64_t
	        take_cyc; /* an interrupt has come and is taken when this cycle's retirements are done; ~0: none */
	bool burst_waits;       /* the same for the burst that is to begin */
	bool watch;             /* an instruction is to be caught */
	uint64_t cycle0;        /* the core's cycle at which counting began */
	uint64_t stop_cyc;      /* earliest cycle at which something is to be done */
	uint64_t insns_left;    /* while more than this, no counter but cycles can overflow; 0: not known */
	uint64_t rng, turn_rng; /* of delays; of turns */
	struct sim_lbr lbr;
	struct sim_burst burst;
};

void sim_pmu_init(struct sim_pmu *p, const struct sim_config *config, const struct sim_pmu_setup *setup);

/* Forget counts and overflows under way, as for a new process. */
void sim_pmu_restart(struct sim_pmu *p, uint64_t now_cyc, uint64_t seed);

/* What a thread's counters have when it executes another program: there they go on. */
struct sim_pmu_state {
	uint64_t elapsed_cyc;
	uint64_t value[WIRE_MAX_EVENTS];       /* by member */
	uint64_t period[WIRE_MAX_EVENTS];      /* by member */
	uint64_t running_cyc[WIRE_MAX_EVENTS]; /* by set */
};
void sim_pmu_save(const struct sim_pmu *p, uint64_t now_cyc, struct sim_pmu_state *out);
/* Of counters that have just begun, at cycle 0 of a new core. */
void sim_pmu_resume(struct sim_pmu *p, const struct sim_pmu_state *state);

/* No interrupt is under way and no burst: the thread can leave for another core. */
bool sim_pmu_is_idle(const struct sim_pmu *p);

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

/*
 * The thread is in the kernel from its last retirement on, for the core file's syscall_cyc: number says in which system call.
 * Events that count there do, and interrupts that come find it there.
 */
void sim_pmu_kernel(struct sim_core *c, uint64_t number);

/* At now_cyc the thread goes to where no burst follows, into a system call that waits: one under way ends. */
void sim_pmu_cut_burst(struct sim_pmu *p, uint64_t now_cyc);

/* ... into one that a burst goes past; past SIM_BURST_CALLS of them it does. */
void sim_pmu_pass_call(struct sim_pmu *p, uint64_t now_cyc);

/* The next number of a generator whose state is *rng: any state is a good one. */
uint64_t sim_pmu_random(uint64_t *rng);

/* A draw of S of an event with that period; *rng is the generator's state. */
uint64_t sim_pmu_skid(const struct sim_config *c, uint64_t period, uint64_t *rng);

/* Seeds for others that are to be as if drawn anew, the same for the same (seed, n). */
uint64_t sim_pmu_seed(uint64_t seed, uint64_t n);

#endif
