/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_CLOCK_H
#define SKIDPROF_BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Nanoseconds by a clock; 0 where there is no such clock, as of a process that has ended. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) < 0 ? 0 : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of a process, 0 of none. */
static inline uint64_t clock_cpu_ns(pid_t pid)
{
	clockid_t clock;

	return pid && clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

#endif
