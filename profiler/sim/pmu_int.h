/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_PMU_INT_H
#define SKIDPROF_SIM_PMU_INT_H

/* What the parts of the simulated PMU know of each other: pmu.c counts, pmu_turn.c says when who counts, pmu_kernel.c is for system calls. */
#include "profiler/sim/pmu.h"

#define SIM_NEVER UINT64_MAX

/* An overflow is on its way to its sample. */
static inline bool sim_pmu_is_busy(const struct sim_sampler *s)
{
	return s->due != SIM_NEVER || s->armed != SIM_NEVER;
}

/* When the fast path must stop: an interrupt, an overflow of the cycle counter, a burst, the end of a turn, a tick. */
void sim_pmu_plan(struct sim_pmu *p);

/* The counter of s has overflowed, at now_cyc. */
void sim_pmu_overflow(struct sim_pmu *p, struct sim_sampler *s, uint64_t now_cyc);

/* Every counter that has overflowed by now is served; ip: of the instruction that is next. */
void sim_pmu_interrupt(struct sim_pmu *p, uint64_t now_cyc, uint64_t ip);

/* Forget what has overflowed and was not served. */
void sim_pmu_drop(struct sim_pmu *p, struct sim_sampler *s);

/* All sets, from the first turn on. */
void sim_pmu_begin_turns(struct sim_pmu *p, uint64_t now_cyc);

/* Is a member of the set whose turn it is?  It counts then, unless it was throttled. */
bool sim_pmu_in_set(const struct sim_pmu *p, uint32_t i);

/* At its time: at once, or when the interrupts that are under way by then have come. */
void sim_pmu_end_turn(struct sim_pmu *p, uint64_t now_cyc);

/* The kernel's tick: who was throttled goes on, and periods follow their rate. */
void sim_pmu_tick(struct sim_pmu *p, uint64_t now_cyc);

/* s has had a sample at now_cyc: its next period, and whether it comes too often. */
void sim_pmu_sampled(struct sim_pmu *p, struct sim_sampler *s, uint64_t now_cyc);

#endif
