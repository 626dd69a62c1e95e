/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "profiler/pmu/tasks_int.h"

enum {
	RING_PAGES = 128,
	TASK_RING_PAGES = 16,
	STACK_RING_PAGES = 128, /* of tasks whose samples hold copies of stacks, 8 KiB each */
};

/* Does this kernel let inherited events read their values with each sample? */
static bool can_inherit_reads(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		                        .size = PERF_ATTR_SIZE_VER7,
		                        .config = PERF_COUNT_SW_TASK_CLOCK,
		                        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_READ,
		                        .sample_period = 1000000000,
		                        .disabled = 1,
		                        .inherit = 1,
		                        .exclude_kernel = 1 };
	int fd = pe_open(&attr, &(struct pe_place){ .tid = 0, .cpu = -1, .group_fd = -1 });

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Can maps carry the build id of what was mapped (Linux 5.12)? */
bool tasks_can_build_id(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		                        .size = PERF_ATTR_SIZE_VER7,
		                        .config = PERF_COUNT_SW_DUMMY,
		                        .mmap = 1,
		                        .mmap2 = 1,
		                        .build_id = 1,
		                        .disabled = 1,
		                        .exclude_kernel = 1 };
	int fd = pe_open(&attr, &(struct pe_place){ .tid = 0, .cpu = -1, .group_fd = -1 });

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

enum tasks_mode tasks_choose_mode(const struct tasks_config *c)
{
	bool reads = false;

	if (c->whole_system)
		return SYSTEM;
	for (size_t i = 0; i < c->n_events; i++)
		reads |= (c->events[i].attr.sample_type & PERF_SAMPLE_READ) != 0;
	return c->alone || c->follow || (reads && !can_inherit_reads()) ? FOLLOW : INHERIT;
}

static bool copies_stacks(const struct tasks *t)
{
	return t->config.events[0].attr.sample_type & PERF_SAMPLE_STACK_USER;
}

static size_t task_ring_pages(const struct tasks *t)
{
	return copies_stacks(t) ? STACK_RING_PAGES : TASK_RING_PAGES;
}

/* A task's ring. */
static size_t task_ring_bytes(const struct tasks *t)
{
	if (t->task_ring_bytes)
		return t->task_ring_bytes;
	if (t->config.ring_pages)
		return t->config.ring_pages * 4096;
	return task_ring_pages(t) * 4096;
}

struct pe_event tasks_tracker(const struct tasks *t)
{
	const struct perf_event_attr *first = &t->config.events[0].attr;
	size_t ring_bytes = (t->config.ring_pages ? t->config.ring_pages : RING_PAGES) * 4096;
	struct pe_event tracker = {
		.name = "maps and tasks",
		.attr = { .type = PERF_TYPE_SOFTWARE,
		          .size = PERF_ATTR_SIZE_VER7,
		          .config = PERF_COUNT_SW_DUMMY,
		          .sample_type = first->sample_type & ~(uint64_t)PERF_SAMPLE_READ,
		          .use_clockid = first->use_clockid,
		          .clockid = first->clockid,
		          .exclude_kernel = 1,
		          .exclude_hv = 1,
		          .sample_id_all = 1,
		          .mmap = 1,
		          /* Unwinders other than ours look for frame information in data maps. */
		          .mmap_data = copies_stacks(t),
		          .mmap2 = 1,
		          .build_id = t->build_ids,
		          .comm = 1,
		          .comm_exec = 1,
		          .task = 1,
		          .inherit = t->mode != SYSTEM,
		          .watermark = 1 }
	};

	/* Its own records tell who and when; the kernel makes no branch records for a dummy, and refuses them. */
	tracker.attr.sample_type &= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
	                            PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	/* A new task must be followed at once; samples can wait until a quarter of the ring is full. */
	tracker.attr.wakeup_watermark = t->mode == FOLLOW ? 1 : (uint32_t)(ring_bytes / 4);
	return tracker;
}

static struct pe_event event_to_open(const struct tasks *t, size_t i)
{
	struct pe_event e = t->config.events[i];

	e.attr.inherit = t->mode == INHERIT;
	/* Members go with their leader. */
	e.attr.disabled = e.leader == i;
	e.attr.enable_on_exec = 0;
	/* A ring of its own has no other tasks' samples to be counted with: each sample wakes us, and they are so rare. */
	if (t->mode == FOLLOW && !e.attr.watermark && e.attr.wakeup_events > 1) {
		e.attr.sample_period *= e.attr.wakeup_events;
		e.attr.wakeup_events = 1;
	}
	if (t->mode == FOLLOW && (e.attr.watermark || !e.attr.wakeup_events)) {
		e.attr.watermark = 1;
		e.attr.wakeup_watermark = (uint32_t)(task_ring_bytes(t) / 4);
	}
	return e;
}

static int note_opened(struct tasks *t, const struct opened *o)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = o->fd };
	bool polled = o->event == TRACKER || t->streams.v[o->stream].fd == o->fd;
	long i;

	if (o->event != TRACKER) {
		i = pairs_number(&t->ids, pe_id(o->fd), 0);
		if (i < 0)
			return (int)i;
		if ((size_t)i == t->event_of.n && vec_push(&t->event_of, (uint32_t)o->event) < 0)
			return -SP_ENOMEM;
		t->event_of.v[i] = (uint32_t)o->event;
	}
	if (vec_push(&t->opened, *o) < 0)
		return -SP_ENOMEM;
	if (polled && epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, o->fd, &ev) < 0)
		return sp_fail_errno("epoll");
	return 0;
}

/* The first event of a stream gets the ring mapped, later ones write to that. */
static int join_stream(struct tasks *t, int fd, size_t stream)
{
	struct stream *s = &t->streams.v[stream];
	size_t pages = s->source.cpu < 0 ? task_ring_pages(t) : RING_PAGES;
	int err;

	if (s->fd >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->fd) < 0
		               ? sp_fail_errno("an event can't share its CPU's buffer")
		               : 0;
	err = ring_open(&s->ring, fd, t->config.ring_pages ? t->config.ring_pages : pages);
	if (err < 0)
		return err;
	s->fd = fd;
	if (!t->stats.ring_bytes || s->ring.data_bytes < t->stats.ring_bytes)
		t->stats.ring_bytes = s->ring.data_bytes;
	return 0;
}

/* Open one event into a stream; its descriptor. */
static int try_open_one(struct tasks *t, const struct pe_event *e, int event, const struct pe_place *at,
                        size_t stream)
{
	struct opened o = { .event = event, .stream = stream };
	int err;

	o.fd = pe_open(&e->attr, at);
	if (o.fd < 0)
		return pe_fail(errno, e, at);
	err = join_stream(t, o.fd, stream);
	if (err == 0)
		err = note_opened(t, &o);
	if (err < 0) {
		/* Whoever failed closes the stream's descriptors; this one is not among them. */
		if (t->streams.v[stream].fd == o.fd) {
			ring_close(&t->streams.v[stream].ring);
			t->streams.v[stream].fd = -1;
		}
		close(o.fd);
	}
	return err < 0 ? err : o.fd;
}

/*
 * A task's ring may turn out smaller than the one that the event's watermark is a quarter of.
 * The kernel would then wake us late or never: know better, and open the event again.
 */
static int open_one(struct tasks *t, struct pe_event *e, int event, const struct pe_place *at, size_t stream)
{
	int fd = try_open_one(t, e, event, at, stream);
	const struct stream *s = &t->streams.v[stream];

	if (fd < 0 || s->source.cpu >= 0 || s->ring.data_bytes >= task_ring_bytes(t))
		return fd;
	t->task_ring_bytes = s->ring.data_bytes;
	tasks_forget_stream(t, stream);
	e->attr.wakeup_watermark = (uint32_t)(t->task_ring_bytes / 4);
	return try_open_one(t, e, event, at, stream);
}

static int open_tracker(struct tasks *t, pid_t tid, int cpu, bool on_exec)
{
	struct pe_event e = tasks_tracker(t);
	size_t stream = 0;
	int fd;

	while (t->streams.v[stream].source.cpu != cpu)
		stream++;
	e.attr.disabled = on_exec;
	e.attr.enable_on_exec = on_exec;
	fd = open_one(t, &e, TRACKER, &(struct pe_place){ tid, cpu, -1 }, stream);
	return fd < 0 ? fd : 0;
}

/* All events of a task on a CPU, or of either. */
static int open_events(struct tasks *t, pid_t tid, int cpu, size_t stream, bool on_exec)
{
	int *fds = t->fds;

	for (size_t i = 0; i < t->config.n_events; i++) {
		struct pe_event e = event_to_open(t, i);
		struct pe_place at = { tid, cpu, e.leader == i ? -1 : fds[e.leader] };

		fds[i] = -1;
		if (cpu >= 0 && e.some_cpus && !CPU_ISSET((size_t)cpu, &e.cpus))
			continue;
		if (e.leader == i) {
			e.attr.enable_on_exec = on_exec && !e.finer;
			e.attr.disabled = !t->on || e.finer;
		}
		fds[i] = open_one(t, &e, (int)i, &at, stream);
		if (fds[i] < 0)
			return fds[i];
	}
	return 0;
}

int tasks_open_system(struct tasks *t)
{
	size_t n = t->streams.n;
	int err = 0;

	for (size_t i = 0; i < n && err == 0; i++) {
		int cpu = t->streams.v[i].source.cpu;

		err = open_tracker(t, -1, cpu, false);
		if (err == 0)
			err = open_events(t, -1, cpu, i, false);
	}
	return err;
}

int tasks_open_own(struct tasks *t, pid_t tid, bool on_exec)
{
	struct stream s = { .source = { .cpu = -1, .tid = tid }, .fd = -1 };
	size_t i = 0;
	int err;

	while (i < t->streams.n && (t->streams.v[i].fd >= 0 || t->streams.v[i].source.cpu >= 0))
		i++;
	if (i == t->streams.n && vec_push(&t->streams, s) < 0)
		return -SP_ENOMEM;
	t->streams.v[i] = s;
	err = open_events(t, tid, -1, i, on_exec);
	if (err < 0)
		tasks_forget_stream(t, i);
	return err;
}

int tasks_open_on_cpus(struct tasks *t, pid_t tid, bool tracker_on_exec, bool on_exec)
{
	int err = 0;

	for (size_t i = 0; i < t->streams.n && t->streams.v[i].source.cpu >= 0 && err == 0; i++) {
		int cpu = t->streams.v[i].source.cpu;

		err = open_tracker(t, tid, cpu, tracker_on_exec);
		if (err == 0 && t->mode == INHERIT)
			err = open_events(t, tid, cpu, i, on_exec);
	}
	return err;
}
