/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_TASKS_INT_H
#define SKIDPROF_PMU_TASKS_INT_H

/*
 * The parts of tasks.h: opening events (tasks_open.c), attaching to what runs
 * already (tasks_attach.c), what counted how long and what was lost
 * (tasks_account.c), and the rest (tasks.c).
 */
#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "profiler/pmu/ring.h"
#include "profiler/pmu/tasks.h"

enum { TRACKER = -1 };

enum tasks_mode { INHERIT, FOLLOW, SYSTEM };

/* A ring, and the descriptor that it was mapped on. */
struct stream {
	struct ring ring;
	struct tasks_source source;
	int fd;
	uint64_t n_told; /* samples seen or reported lost; of a task's ring */
};

struct opened {
	int fd;
	int event; /* index, or TRACKER */
	size_t stream;
	bool hung_up;
};

struct event_times {
	double enabled_ns, running_ns;
	uint64_t value; /* its own, of all tasks */
};

struct tasks {
	struct tasks_config config;
	enum tasks_mode mode;
	cpu_set_t cpus;
	VEC(struct stream) streams; /* first one for each CPU */
	VEC(struct opened) opened;
	VEC(uint32_t) event_of;    /* beside ids */
	VEC(pid_t) born;           /* told by trackers, not yet followed */
	struct pairs ids;          /* of the kernel's */
	struct pairs known;        /* threads met while attaching */
	size_t drained;            /* the stream whose records are being taken */
	struct event_times *times; /* [n_events], of leaders */
	int *fds;                  /* [n_events] of the group being opened */
	size_t task_ring_bytes;    /* of the smallest task's ring so far; 0 = none yet */
	int epoll_fd;
	bool on, attaching, stopping, build_ids;
	struct tasks_stats stats;
};

/* tasks_open.c */
enum tasks_mode tasks_choose_mode(const struct tasks_config *c);
bool tasks_can_build_id(void);
struct pe_event tasks_tracker(const struct tasks *t);
int tasks_open_system(struct tasks *t);
/* A task's own events and ring (FOLLOW). */
int tasks_open_own(struct tasks *t, pid_t tid, bool on_exec);
/* Trackers on every CPU, and in INHERIT mode the events with them. */
int tasks_open_on_cpus(struct tasks *t, pid_t tid, bool tracker_on_exec, bool on_exec);

/* tasks_account.c: before a descriptor and a task's stream are closed. */
void tasks_note_times(struct tasks *t, const struct opened *o);
void tasks_count_untold(struct tasks *t, size_t stream);

/* tasks.c: close a task's stream and all that writes to it. */
void tasks_forget_stream(struct tasks *t, size_t stream);

#endif
