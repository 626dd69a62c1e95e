/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_MAPPED_H
#define SKIDPROF_PMU_MAPPED_H

/*
 * May the pages that a replay touched be touched so?  /proc/PID/mem, which it
 * reads, knows no protection, and of memory that is mapped twice a replay has
 * two copies: where the thread itself would have been sent a signal, or have
 * seen what it wrote, the path is cut.  Asked when the thread has been let go.
 */
#include <sys/types.h>

#include "profiler/base/vec.h"
#include "profiler/pmu/procfile.h"
#include "profiler/replay/wire.h"

struct mapping {
	uint64_t begin, end, off, dev, ino;
	bool read, write, run, shared;
	uint32_t round; /* the check that asked for it */
};

/*
 * Of one process, as they were when they were read, or asked for, last.  Where the kernel can't be asked for one (Linux
 * before 6.11) all are read again after `keep_until` (CLOCK_MONOTONIC, ns).
 */
struct mapped {
	pid_t pid; /* 0 = nobody's yet */
	struct procfile maps;
	uint32_t round;
	uint64_t keep_until;
	VEC(struct mapping) v; /* ascending */
};

/*
 * How many branches of the path of a process, of which the reply tells, are as the thread would go them;
 * *end is enum rp_end, unchanged where all are.  Of a process that has ended and was never looked at, none.
 */
uint32_t mapped_check(struct mapped *m, pid_t pid, const struct rp_reply *reply, uint32_t *end);

void mapped_fini(struct mapped *m);

#endif
