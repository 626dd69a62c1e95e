/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_AWAKE_H
#define SKIDPROF_PMU_AWAKE_H

/*
 * A CPU is kept awake while its thread is stopped.
 *
 * One that has nothing to run goes to sleep.  In a virtual machine that gives a core away, and what ran on it is slow for
 * milliseconds after it has come back: a loop of sums took 34 us a turn for 18, in two thirds of its time, where it was
 * stopped fifty times a second, were it for 50 us.  So a process that never waits takes the thread's place.  Its policy is
 * SCHED_IDLE: whoever else wants the CPU has it.
 *
 * It must not be there while the thread may run: a scheduler gives even such a process a turn, of up to a tick; and a thread that is let
 * go finds its CPU taken, and goes to another one.  So it begins when the thread has stopped, and ends before that is let go.
 */
#include <stdint.h>
#include <sys/types.h>

struct awake;

/* NULL: there is none, and CPUs go to sleep.  All below do nothing to NULL. */
struct awake *awake_start(void);

/* The CPU's thread has stopped. */
void awake_begin(struct awake *a, uint32_t cpu);

/* It is let go next.  Again, where none has begun, is nothing. */
void awake_end(struct awake *a);

/* Who keeps it awake. */
pid_t awake_pid(const struct awake *a);

void awake_stop(struct awake *a);

#endif
