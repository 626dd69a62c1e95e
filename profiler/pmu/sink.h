/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_SINK_H
#define SKIDPROF_PMU_SINK_H

/*
 * What the plugin says, turned into a perf.data file and into exact counts.
 * Messages come in the order of one socket; their records leave in time
 * order.
 */
#include "profiler/perfdata/writer.h"
#include "profiler/pmu/events.h"
#include "profiler/pmu/image.h"
#include "profiler/pmu/tally.h"

/* Pointers are borrowed until the sink is freed. */
struct sink_config {
	const char *output; /* NULL: no file, only counts */
	const struct sim_group *group;
	bool branches, bursts, counting, calls;
	const char *cpudesc, *cpuid, *arch;
	int argc; /* the recording's command line, for the header */
	char **argv;
};

struct sink;

int sink_new(const struct sink_config *config, struct sink **out);

/*
 * Take one message of n bytes, and the descriptor that came with it, which
 * stays the caller's (-1: none).  -SP_EFORMAT when it is none (a plugin of
 * another build); errors of writing are kept for sink_close, so that the program runs on.
 */
int sink_message(struct sink *s, const void *message, size_t n, int fd);

/* Once a second: bring the file up to date. */
void sink_tick(struct sink *s);

/* Samples so far. */
uint64_t sink_n_samples(const struct sink *s);

struct sink_summary {
	uint64_t n_samples[WIRE_MAX_EVENTS + 1]; /* by member of the group; behind the last: bursts */
	uint64_t period[WIRE_MAX_EVENTS + 1];    /* as written in the header */
	uint64_t n_burst_branches;
	uint64_t n_throttled; /* times that an event was */
	uint64_t n_insn;      /* exact count, where counting */
	uint64_t bytes;
	uint32_t n_processes, n_threads, n_alive; /* alive: began and still run */
	uint32_t n_uncounted;                     /* processes without exact counts, where counting */
	const char *lost_execs;                   /* names, comma-separated; borrowed from the sink */
	const char *exec_why;                     /* why the first of them could not be followed; borrowed */
	uint32_t n_lost_execs;
	bool main_exec;      /* the program itself became another one by exec */
	const char *refusal; /* why the plugin didn't let the program begin; "" = it began; borrowed */
};

/*
 * Write the file's end.  counts may be NULL.
 * The first error of all is returned; the summary is filled in any case.
 */
int sink_close(struct sink *s, struct record_counts *counts, struct sink_summary *summary);
void sink_free(struct sink *s);

#endif
