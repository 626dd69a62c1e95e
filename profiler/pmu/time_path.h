/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_TIME_PATH_H
#define SKIDPROF_PMU_TIME_PATH_H

/*
 * Time a path: exact instructions over exact time, without a PMU.  A thread is
 * stopped for a moment, its registers are taken and the pages that it is likely
 * to write, and it goes on.  A timer's interrupts tell its registers at two
 * later moments of its CPU time (timed.h).  The path from the stop is then
 * replayed to where the registers are those: what ran in between is known to
 * the instruction, and that the path is the thread's own is proved by them.
 *
 * The thread is not held for the replay: one that was held for some
 * milliseconds finds its caches cold, and is slow for a millisecond.
 */
#include "profiler/pmu/burst.h"
#include "profiler/pmu/timed.h"

/* One that is under way. */
struct time_path {
	struct timed timed;
	bool under_way;
	uint32_t n_moments; /* that are waited for */
};

/* Before the thread is stopped.  False: b->timing says why not. */
bool time_path_prepare(struct time_path *t, struct burst_tools *tools, const struct burst_limits *limits,
                       struct burst *b);

/* While it is. */
void time_path_begin(struct time_path *t, struct replayer *r, pid_t pid, struct burst *b);

/* When it has been let go. */
void time_path_end(struct time_path *t, struct burst_tools *tools, const struct burst_limits *limits,
                   struct burst *b);

#endif
