/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_EVENT_CODE_H
#define SKIDPROF_PMU_EVENT_CODE_H

/*
 * From an event's name to what perf_event_open wants.  Known are perf's
 * generic names, the kernel's software events, raw codes (rNNN) and, by
 * libpfm4, the names in the vendors' manuals.
 *
 * Where cores differ (performance and efficiency ones, big and little), an
 * event without a PMU named stands for one event on each kind.
 */
#include <sched.h>
#include <stdio.h>

#include "profiler/pmu/event_list.h"

enum { EVENT_PMUS_MAX = 8 };

/* One kind of core. */
struct core_pmu {
	char name[32];
	uint32_t type;
	cpu_set_t cpus;
};

struct core_pmus {
	struct core_pmu v[EVENT_PMUS_MAX];
	size_t n; /* 0 = all cores are of one kind, or the kernel doesn't say */
};

/* sysfs: "/sys", another folder in tests. */
void core_pmus_find(const char *sysfs, struct core_pmus *out);

struct event_code {
	uint32_t type;
	uint64_t config, config1, config2;
	const struct core_pmu *pmu; /* whose alone it is; NULL = any core's */
	bool of_unit;               /* of a unit that sysfs describes: its name has terms */
	bool is_ibs;                /* AMD's: alone, every 16th, precise without a p */
	bool all_modes;             /* IBS without a filter: kernel and user mode, whatever is asked for */
};

/*
 * out  room for EVENT_PMUS_MAX; how many there are is returned.
 * -SP_EUSAGE with a suggestion for a name nobody knows.
 */
int event_code_find(const char *sysfs, const struct event_word *word, const struct core_pmus *pmus,
                    struct event_code *out);

/* "ibs_op/cnt_ctl=1/": -SP_ENOENT where sysfs has no such unit, -SP_EUSAGE where it has no such term. */
int event_unit_find(const char *sysfs, const struct event_word *word, struct event_code *out);

/* All names known here, with what they count, those holding `part` only where it is not NULL. */
void event_code_list(FILE *to, const char *part);

/* libpfm4 (event_pfm.c): 0; -SP_ENOENT where it knows no such name, -SP_EUSAGE where a umask is wrong. */
int event_pfm_find(const char *name, struct event_code *out);
void event_pfm_list(FILE *to, const char *part);
/* The nearest name it knows, NULL = none near.  Borrowed. */
const char *event_pfm_suggest(const char *name);

#endif
