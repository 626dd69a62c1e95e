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
	uint32_t branch_cycles;  /* 1: each tells the cycles since the one before */
	uint32_t precise_max;    /* how precise a sampled event can be, 0 to 3 */
	uint32_t syscall_cyc;    /* that one takes in the kernel; 0: none, and nothing is counted there */
	uint32_t
	        precise_by_dispatch; /* 1: as IBS is: cycles and instructions alone, without group and branches */
};

/*
 * Members of a set are counted together, and the sets take turns.  Each begins with the sampled
 * events, so that it is a group of its own: its counts can be set in relation to its instructions.
 */
struct sim_group {
	uint32_t n;                      /* members, set by set, the sampled ones of each first */
	uint32_t n_sampled;              /* of each set: 1 or more */
	uint32_t n_sets;                 /* 1 or more */
	uint32_t event[WIRE_MAX_EVENTS]; /* enum sim_event */
	uint32_t set[WIRE_MAX_EVENTS];
	uint64_t period[WIRE_MAX_EVENTS]; /* 0 = only counted */
	uint32_t precise[WIRE_MAX_EVENTS];
	bool kernel[WIRE_MAX_EVENTS]; /* counts there too */
	bool plain; /* no groups: every event stands alone, in the sets of its bits, and samples have no values */
	uint64_t more_sets[WIRE_MAX_EVENTS];
	uint64_t rate_hz; /* 0: fixed periods */
	/* Cores of several kinds: each has the events again, with sets of its own. */
	uint32_t n_kinds, kind[WIRE_MAX_EVENTS], kind_n[WIRE_MAX_KINDS], kind_sets[WIRE_MAX_KINDS];
	uint64_t branch_filter; /* PERF_SAMPLE_BRANCH_...; 0: any */
};

struct sim_group_wish {
	const char *text; /* "-e": names separated by commas, NULL for the default group */
	uint64_t period;  /* "-c": of those sampled without one of their own; 0 = default */
	bool rotate;      /* more events than counters take turns; else they are an error */
	bool plain; /* as `perf record -e` with a list of events does: all are sampled, each by itself */
	uint64_t rate_hz; /* "-F": in place of a period, 0 = none */
	uint64_t branch_filter;
};

/*
 * instructions and cycles are sampled, the others counted; where neither is
 * named the first is sampled; NAME/PERIOD is sampled at that period, and
NAME:MODIFIERS are u, k (the kernel as well: uk) and p, pp, ppp (precise), or P, as precise as the core can.
 * -SP_EUSAGE for unknown names (with a suggestion) and more events than the
 * core named core_name can count.
 */
int sim_group_parse(const struct sim_group_wish *wish, const struct sim_counters *counters,
                    const char *core_name, struct sim_group *out);

/* The other kind of core's events behind the first's; -SP_EUSAGE when they are too many. */
int sim_group_join(struct sim_group *g, const struct sim_group *other);

/* First member of the group that member i is of; how many values its samples carry. */
uint32_t sim_group_first(const struct sim_group *g, uint32_t i);
uint32_t sim_group_size(const struct sim_group *g, uint32_t set);
uint32_t sim_group_values(const struct sim_group *g, uint32_t i);

const char *sim_group_name(const struct sim_group *g, size_t i);

/* The same as the file has it, with its PMU where there are two: "cpu_core/cycles/u". */
const char *sim_group_full_name(const struct sim_group *g, size_t i, char *out, size_t size);

/* Description of member i for the file's header; ids are added by the caller. */
void sim_group_attr(const struct sim_group *g, size_t i, bool branches, struct perf_event_attr *attr);

#endif
