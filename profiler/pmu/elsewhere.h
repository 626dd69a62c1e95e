/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_ELSEWHERE_H
#define SKIDPROF_PMU_ELSEWHERE_H

/*
 * Files that a process mapped and that its path does not lead to from here,
 * for the process has another root or other mounts, as in a container, or for
 * they were deleted or replaced, or are in memory only: found by way of /proc
 * while it runs.  Those with samples are kept in perf's cache of build ids
 * when the recording ends, where reports look for them.
 */
#include "profiler/perfdata/record.h"

struct elsewhere;

int elsewhere_new(struct elsewhere **out);
void elsewhere_free(struct elsewhere *e);

/*
 * A process maps a file: sees to it that m says which.  Of one that is
 * elsewhere, m->build_id is set, which it may be already; where it has none
 * m->path becomes that by way of /proc, which holds as long as the process
 * runs (borrowed from e, until the next call).
 *
 * Returns whether it is elsewhere, and m changed.
 */
bool elsewhere_find(struct elsewhere *e, uint32_t pid, struct pd_mmap *m);

/* A recording has ended: keep what had samples in the file of that name (NULL or "-" = all), and tell. */
void elsewhere_keep(struct elsewhere *e, const char *output);

#endif
