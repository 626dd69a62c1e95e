/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_EVENT_GROUP_H
#define SKIDPROF_PMU_EVENT_GROUP_H

/*
 * The events of a recording with the kernel's counters: which are sampled and
 * how often, which only counted beside, and what a sample carries.  What the
 * processor can't do (a precision, branch records, so many members) is found
 * by opening them, and said.
 */
#include "profiler/pmu/perf_event.h"
#include "profiler/record.h"

enum { EVENT_GROUP_MAX = 64 };

struct event_group {
	struct pe_event v[EVENT_GROUP_MAX]; /* a leader, its members, the next leader ... */
	size_t n;
};

/*
 * By -e, -c, -F and -b of opts; without -e, instructions and cycles with as many others as there are counters.
 * sysfs: "/sys", another folder in tests.
 */
int event_group_choose(const char *sysfs, const struct record_opts *opts, struct event_group *out);

/* How precise an event can be here: 0 to 3; -1 where it can't be opened at all. */
int event_group_most_precise(const struct pe_event *event);

/* Are there such events?  Returns 0, or -SP_EUSAGE with the nearest one's name. */
int event_group_check(const char *text);

/* Are all events of "-e" such that the kernel counts by itself? */
bool event_group_is_software(const char *text);

/* Does a processor's counter count it, or the kernel? */
bool event_is_of_processor(const struct perf_event_attr *attr);

#endif
