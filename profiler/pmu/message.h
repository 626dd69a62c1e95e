/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_MESSAGE_H
#define SKIDPROF_PMU_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/pmu/events.h"

/*
 * Is this a whole message of the plugin's, with all that its kind must have?
 * A sample must carry the values of its set of the group; one of no member is
 * a burst, which has none, where bursts were asked for.  The plugin is
 * ours: one of an older build is the likely fault.
 */
bool message_is_whole(const void *message, size_t n, const struct sim_group *group, bool bursts);

#endif
