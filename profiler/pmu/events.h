/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_EVENTS_H
#define SKIDPROF_PMU_EVENTS_H

/*
 * The events of a recording on the simulated core: which are sampled, which
 * only counted beside, and how a perf.data file names them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/perfdata/writer.h"
#include "profiler/sim/wire.h"

/* What a core can count at a time. */
struct sim_counters {
	uint32_t n_programmable;
	uint32_t n_fixed;        /* of cycles and instructions, how many have counters of their own */
	uint32_t branch_records; /* depth of its branch stack, 0 = none */
};

struct sim_group {
	uint32_t n;                       /* members, the sampled ones first */
	uint32_t n_sampled;               /* 1 or more */
	uint32_t event[WIRE_MAX_EVENTS];  /* enum sim_event */
	uint64_t period[WIRE_MAX_EVENTS]; /* 0 = only counted */
};

/*
 * text    "-e": names separated by commas, NULL for the default group.  instructions and
 *         cycles are sampled, the others counted; where neither is named the first is
 *         sampled; NAME/PERIOD is sampled at that period.
 * period  "-c": of those sampled without one of their own; 0 = default.
 * -SP_EUSAGE for unknown names (with a suggestion) and more events than the core named
 * core_name can count.
 */
int sim_group_parse(const char *text, uint64_t period, const struct sim_counters *counters,
                    const char *core_name, struct sim_group *out);

const char *sim_group_name(const struct sim_group *g, size_t i);

/* Description of member i for the file's header; ids are added by the caller. */
void sim_group_attr(const struct sim_group *g, size_t i, bool branches, struct perf_event_attr *attr);

#endif
