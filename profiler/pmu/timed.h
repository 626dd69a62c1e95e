/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_TIMED_H
#define SKIDPROF_PMU_TIMED_H

/*
 * Where a thread is at moments of its own CPU time, told by the kernel while it
 * runs: its general registers, the top of its stack, as a software event of the thread's
 * samples them in a timer's interrupt.  It needs neither a PMU nor the debug
 * registers, and the thread is not stopped.
 */
#include <stdint.h>
#include <sys/types.h>

#include "profiler/pmu/ring.h"
#include "profiler/replay/wire.h"

struct timed {
	int fd; /* -1 = not open */
	struct ring ring;
	uint64_t period_ns;
};

struct timed_moment {
	uint64_t cpu_ns; /* of the thread's time, from an origin that all of one timed_begin() share */
	struct rp_mark mark;
};

/* For a thread that is stopped or not, every period_ns of its time; n of them are waited for.  -SP_E..., errno set. */
int timed_open(struct timed *t, pid_t tid, uint64_t period_ns, uint32_t n);
void timed_close(struct timed *t);

/* From now on. */
void timed_begin(struct timed *t);

/* Wait till there are as many as were asked for, at most may_ns; then no more are taken.  Returns how many out[n] has. */
uint32_t timed_await(struct timed *t, uint64_t may_ns, struct timed_moment *out, uint32_t n);

/*
 * What one interrupt takes of a thread's time: as much lies between two moments that the thread didn't run.  Measured on
 * the CPU and thread that asks, for a few milliseconds; 0 = it can't be.
 */
double timed_interrupt_ns(void);

#endif
