/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_SINK_H
#define SKIDPROF_PMU_SINK_H

/*
 * What the plugin says, turned into a perf.data file and into exact counts.
 * Messages come in the order of one socket; their records leave in time
 * order.
 *
 * The period: whether a program is short is known when it ends.  So every
 * sampled event without a period of its own (-c) runs twice in the plugin, at
 * its period and at a tenth of it, and messages are held back until the
 * program has proved long (a sampled count of all threads together passed
 * sink_config.long_count) or has ended.  Then one of the two is written, the
 * other dropped: all samples of an event in a file have one period.  What is
 * held back is bounded by long_count / fine_period samples of each event.
 */
#include "profiler/perfdata/maps.h"
#include "profiler/perfdata/writer.h"
#include "profiler/pmu/events.h"
#include "profiler/pmu/tally.h"

/* Pointers are borrowed until the sink is freed. */
struct sink_config {
	const char *output; /* NULL: no file, only counts */
	const struct sim_group *group;
	uint64_t fine_period; /* 0: the group's periods stand, nothing is held back */
	uint64_t long_count;
	bool branches;
	const char *cpudesc, *cpuid, *arch;
	int argc; /* the recording's command line, for the header */
	char **argv;
};

struct sink;

int sink_new(const struct sink_config *config, struct sink **out);

/*
 * Take one message of n bytes.  -SP_EFORMAT when it is none (a plugin of
 * another build); errors of writing are kept for sink_close, so that the program runs on.
 */
int sink_message(struct sink *s, const void *message, size_t n);

/* Once a second: bring the file up to date. */
void sink_tick(struct sink *s);

/* The coarser period was taken: samples at the finer one are only dropped. */
bool sink_wants_one_set(const struct sink *s);

struct sink_summary {
	uint64_t n_samples[WIRE_MAX_EVENTS]; /* by member of the group */
	uint64_t period[WIRE_MAX_EVENTS];    /* as written */
	uint64_t n_insn;                     /* exact count, where counting */
	uint64_t bytes;
	uint32_t n_processes, n_threads, n_alive; /* alive: began and have not said goodbye */
	bool fine;                                /* the finer period was taken */
	const char *lost_execs;                   /* names, comma-separated; borrowed from the sink */
	uint32_t n_lost_execs;
	bool main_exec;      /* the program itself became another one by exec */
	const char *refusal; /* why the plugin didn't let the program begin; "" = it began; borrowed */
};

/*
 * Write what was held back, and the file's end.  counts may be NULL.
 * The first error of all is returned; the summary is filled in any case.
 */
int sink_close(struct sink *s, struct record_counts *counts, struct sink_summary *summary);
void sink_free(struct sink *s);

#endif
