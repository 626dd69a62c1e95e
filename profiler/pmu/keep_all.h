/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_KEEP_ALL_H
#define SKIDPROF_PMU_KEEP_ALL_H

/*
 * A path that is replayed when the thread has gone on needs each page as it was when the thread was stopped.  Which pages
 * those are, paths before tell; but who writes all over its memory writes pages that none of them wrote, and one that was
 * not kept loses the way.  Then all that the process may write is kept, which is dearer: from then on, unless of the first eight hardly more are found.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/replay/wire.h"

/* Of one program. */
struct keep_all {
	bool on, refused;   /* refused: it was tried, and did not help */
	uint8_t done, lost; /* of the last eight paths; the last one's bit is the highest */
	uint8_t n, before;  /* paths since it is on; of eight before that those done */
};

/* A path was done, or lost, which one that comes to a system call at once may be, too; neither is one that such a call cut later. */
void keep_all_learn(struct keep_all *k, bool done, bool lost);

/* Pages that a process has, and the ranges in which all others have never been touched: they are zero. */
struct kept_pages {
	uint64_t *v; /* ascending, [most] */
	size_t n, most;
	struct rp_range *fresh;
	size_t n_fresh, most_fresh;
};

/* Those that it may write, but in mappings of more than a gigabyte together, of which nothing is told.  False: there are more than `most`. */
bool keep_all_find(pid_t pid, struct kept_pages *out);

#endif
