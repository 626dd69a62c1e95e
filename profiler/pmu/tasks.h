/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_TASKS_H
#define SKIDPROF_PMU_TASKS_H

/*
 * What is being sampled: the events of all tasks, or of all CPUs, and the
 * rings they write to.  Tasks are followed through clone, fork and exec:
 *
 *  - by inheritance where the kernel can.  It excludes PERF_SAMPLE_READ
 *    before Linux 6.12.  One ring a CPU; a counter's value belongs to a task
 *    on a CPU.
 *  - else by ourselves: an inherited tracker tells of each new task, which
 *    then gets events and a ring of its own.  What it does before that, some
 *    ten microseconds and more on a busy machine, is not sampled; how many
 *    tasks ended within it is counted.  A value belongs to a task.
 *
 * The tracker, an event that never samples, also brings the maps, names,
 * forks and exits, from the beginning on, whatever the others wait for.  It
 * need not be in the file: its records end with the same words as those of
 * event 0, but for the id.
 */
#include <sched.h>

#include "profiler/pmu/perf_event.h"

struct tasks;

/* Where a record comes from. */
struct tasks_source {
	int cpu;        /* whose ring it is, -1 = a task's */
	pid_t tid;      /* whose ring it is, -1 = a CPU's */
	bool inherited; /* values and times are those of a task on that CPU */
};

/* Pointers are borrowed until tasks_free. */
struct tasks_config {
	const struct pe_event *events; /* leaders before members; enabled by us, so `disabled` is ours */
	size_t n_events;
	const cpu_set_t *cpus; /* NULL = all that are online */
	bool whole_system;     /* no tasks, but all that runs on cpus */
	bool alone;            /* the tasks named and no others: nothing is followed */
	bool follow;           /* never by inheritance */
	size_t ring_pages;     /* a power of two; 0 = default */
	/* Gets every record, in the order of each ring.  Negative: draining ends with that. */
	int (*take)(void *arg, const struct perf_event_header *rec, const struct tasks_source *from);
	void *arg;
};

/* Opens the events where whole_system, else nothing yet.  Nothing samples before tasks_enable. */
int tasks_new(const struct tasks_config *config, struct tasks **out);

/*
 * A child of ours that will exec: its tracker begins there, and so do the
 * events unless `later`, when they wait for tasks_enable.
 */
int tasks_add_child(struct tasks *t, pid_t pid, bool later);

/* A running process, all its threads; where config.alone, only the thread of that number. -SP_ENOENT, -SP_ENOTSUP. */
int tasks_attach(struct tasks *t, pid_t pid);

/* Begin or stop to sample everywhere, but for events that are `finer`. */
int tasks_enable(struct tasks *t, bool on);

/* The same of one event alone, in all tasks and those that they will start. */
int tasks_enable_one(struct tasks *t, size_t event, bool on);

/* Do new tasks inherit the events? */
bool tasks_inherited(const struct tasks *t);

/* To poll: readable when tasks_drain should be called. */
int tasks_fd(const struct tasks *t);

/* Hand over what there is, follow new tasks, let go of those that have ended. */
int tasks_drain(struct tasks *t);

/* Is anything left that could give samples? */
bool tasks_alive(const struct tasks *t);

/* The event that a kernel's id belongs to, -1 = none of ours or the tracker. */
long tasks_event(const struct tasks *t, uint64_t id);

struct tasks_stats {
	double counted_share; /* of its time, how long the worst group counted; 1 = always */
	uint64_t n_untold;    /* samples lost of which no record tells */
	uint64_t n_missed;    /* tasks that ended before they could be followed */
	uint64_t n_refused;   /* tasks that could not be followed for lack of something */
	char refusal[256];    /* what: the first one's */
	uint64_t
	        time_ns; /* that the tasks ran for, ended ones with them; 0 = no clock was among the events */
	size_t ring_bytes; /* the smallest ring there was; 0 = none */
	bool inherited;
};

/* What the tasks that are followed ran for since their events count, ended ones with them; 0: no clock is among the events. */
uint64_t tasks_time_ns(const struct tasks *t);

/* Stop everything, hand over the last records and tell.  After a failure of draining nothing more is handed over. */
int tasks_stop(struct tasks *t, struct tasks_stats *out);

void tasks_free(struct tasks *t);

/* The process that a thread belongs to; itself where there is none of that number. */
pid_t task_process(pid_t tid);

#endif
