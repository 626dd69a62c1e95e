/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_PERF_EVENT_H
#define SKIDPROF_PMU_PERF_EVENT_H

/*
 * One counter of the kernel's, opened for a task or a CPU, and why it could
 * not be.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PE_NAME_BYTES = 96 };

/* An event to record: what perf_event_open is told, and what people are told. */
struct pe_event {
	struct perf_event_attr attr;
	char name[PE_NAME_BYTES];
	size_t leader;     /* index of its group's leader: itself when alone */
	bool most_precise; /* less precise than asked for is no cause for a warning */
	bool lone_clock;   /* all that is sampled, a clock that tasks inherit (finer.h) */
	bool finer; /* the first event at a finer period, which takes its place at times (finer.h); in files it is that one */
	bool some_cpus; /* it counts on these CPUs only (hybrid processors) */
	cpu_set_t cpus;
};

struct pe_place {
	pid_t tid;    /* -1 = every task */
	int cpu;      /* -1 = every CPU */
	int group_fd; /* of the leader, -1 = none */
};

/* A descriptor, or -1 with errno. */
int pe_open(const struct perf_event_attr *attr, const struct pe_place *at);

/* The kernel's number for it, which its records carry; 0 when it can't tell. */
uint64_t pe_id(int fd);

/*
 * Word why opening failed with `error`: the cause and the remedy in one line.
 * Returns -SP_ENOTSUP, -SP_ENOENT (the task is gone) or -SP_EIO (out of descriptors).
 */
int pe_fail(int error, const struct pe_event *event, const struct pe_place *at);

/*
 * Can processor events be opened here, for our own user-mode code?  0, or
 * -SP_ENOTSUP with the exact cause and the remedy worded.
 */
int pe_probe_hardware(void);

/* kernel.perf_event_paranoid; 2 where it can't be read. */
int pe_paranoid(void);

/* Put as many descriptors at our disposal as may be had: a thread, a CPU and an event cost one each. */
void pe_raise_file_limit(void);

#endif
