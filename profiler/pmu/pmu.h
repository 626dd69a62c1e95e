/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_PMU_H
#define SKIDPROF_PMU_PMU_H

/*
 * Where samples come from.  A source is one file with one row in the table of
 * profiler/record.c: it can say whether it works on this machine, and it can
 * run a program and write what it saw.
 */
#include "profiler/pmu/event_group.h"
#include "profiler/record.h"

struct pmu_ops {
	const char *name; /* the word for --pmu */
	/*
	 * 0 where the source works here and can do what is asked, else -SP_ENOTSUP with the reason
	 * worded in one line.
	 */
	int (*probe)(const struct record_opts *opts);
	/* What `run` would decide on, into a plan whose source is set. */
	int (*plan)(const struct record_opts *opts, struct record_plan *out);
	/* As record_run. */
	int (*run)(const struct record_opts *opts, struct record_counts *counts, int *exit_status);
};

/* The processor's counters and the kernel's, through perf_event_open. */
extern const struct pmu_ops pmu_hardware;
/* The kernel's clock, with bursts: where there is no PMU. */
extern const struct pmu_ops pmu_clock;
/* A modelled core in the emulator: works everywhere. */
extern const struct pmu_ops pmu_simulated;

/* Into a plan: the events and what is taken with them. */
void pmu_plan_group(const struct record_opts *opts, const struct event_group *group, struct record_plan *out);

/*
 * Record with events of the kernel's, and bursts where opts->bursts_hz is more than 0; say what came of it.  source: what is
 * sampled, said before the program begins; NULL = nothing.
 */
int pmu_run_group(const struct record_opts *opts, struct event_group *group, const char *source,
                  int *exit_status);

#endif
