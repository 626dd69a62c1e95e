/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_WAITED_H
#define SKIDPROF_PMU_WAITED_H

/*
 * How long tasks have run, and waited for a CPU that others had.  While a thread is
 * held up by us, and we wait for one, it would have waited as well: that is
 * the other programs' doing.
 */
#include <stdint.h>
#include <sys/types.h>

#include "profiler/pmu/procfile.h"

struct turns {
	uint64_t ran_ns; /* of one that runs: up to a tick ago */
	uint64_t waited_ns;
};

/* So far, of thread tid; 0 where the kernel doesn't tell. */
struct turns waited_look(struct procfile *kept, pid_t tid);

#endif
