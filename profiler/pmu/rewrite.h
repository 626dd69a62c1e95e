/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_REWRITE_H
#define SKIDPROF_PMU_REWRITE_H

/*
 * A kernel's record, made fit for a file: the kernel's ids are those of one
 * task's or CPU's event and come and go, while a file announces its ids at
 * its beginning.  So events get ids of the file's own.
 *
 * Where samples carry counters' values, each task (on each CPU, where values
 * are per CPU) has ids of its own, because readers take the difference to
 * the value before with the same id; so many have, later ones share the last.
 */
#include "profiler/perfdata/record.h"
#include "profiler/pmu/tasks.h"

enum { REWRITE_SLOTS = 256 };

struct rewrite;

int rewrite_new(const struct pe_event *events, size_t n_events, struct rewrite **out);
void rewrite_free(struct rewrite *r);

/* The ids that event i has in the file: n of them, borrowed. */
const uint64_t *rewrite_ids(const struct rewrite *r, size_t i, size_t *n);

struct rewrite_result {
	const struct perf_event_header *rec; /* as it is to be written; lives until the next one */
	long event;                          /* of a sample; -1 = none of ours: don't write it */
	uint64_t time_ns;                    /* of a sample; 0 = not recorded */
	bool fine;       /* of the event that is `finer`; `event` is the one that it stands for */
	uint64_t n_lost; /* told by LOST, LOST_SAMPLES */
};

/* -SP_ENOMEM. */
int rewrite_record(struct rewrite *r, const struct tasks *t, const struct perf_event_header *rec,
                   const struct tasks_source *from, struct rewrite_result *out);

/* A mapping of code that a kernel's MMAP2 tells of, and when and whose; false where it is another record, or of data.  Borrowed from rec. */
bool rewrite_mmap(const struct pe_event *events, const struct perf_event_header *rec, struct pd_mmap *out,
                  uint32_t *pid, uint32_t *tid, uint64_t *time_ns);

#endif
