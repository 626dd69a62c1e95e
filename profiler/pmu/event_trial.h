/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_EVENT_TRIAL_H
#define SKIDPROF_PMU_EVENT_TRIAL_H

/*
 * Whether the members of a group count together is found by letting them:
 * the kernel may take a group that never gets on the counters, and a
 * processor may have an event's code but not the event.
 */
#include "profiler/pmu/event_group.h"

/* One past the last member of the group that begins at `leader`. */
size_t event_group_end(const struct event_group *g, size_t leader);

/*
 * Open members leader .. end - 1 on ourselves and run something with branches, calls, loads
 * and stores.  all_move: each must have counted some.
 */
bool event_trial(const struct event_group *g, size_t leader, size_t end, bool all_move);

/* Do all groups count?  -SP_EUSAGE with the first member that is too many. */
int event_trial_all(const struct event_group *g);

#endif
