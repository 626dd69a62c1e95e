/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "profiler/pmu/cpus.h"
#include "profiler/pmu/ring.h"

enum { RING_PAGES = 128, TASK_RING_PAGES = 16, TRACKER = -1, MAX_SCANS = 32, MAX_MEMBERS = 64 };

enum mode { INHERIT, FOLLOW, SYSTEM };

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
};

struct tasks {
	struct tasks_config config;
	enum mode mode;
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
	size_t task_ring_bytes;    /* of a task's ring: less than asked for where memory is limited */
	int epoll_fd;
	bool on, attaching, stopping;
	struct tasks_stats stats;
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

static enum mode choose_mode(const struct tasks_config *c)
{
	bool reads = false;

	if (c->whole_system)
		return SYSTEM;
	for (size_t i = 0; i < c->n_events; i++)
		reads |= (c->events[i].attr.sample_type & PERF_SAMPLE_READ) != 0;
	return c->alone || c->follow || (reads && !can_inherit_reads()) ? FOLLOW : INHERIT;
}

static struct pe_event tracker_of(const struct tasks *t)
{
	const struct perf_event_attr *first = &t->config.events[0].attr;
	size_t ring_bytes = (t->config.ring_pages ? t->config.ring_pages : RING_PAGES) * 4096;
	struct pe_event tracker = { .name = "maps and tasks",
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
		                              .mmap2 = 1,
		                              .comm = 1,
		                              .comm_exec = 1,
		                              .task = 1,
		                              .inherit = t->mode != SYSTEM,
		                              .watermark = 1 } };

	/* The kernel makes no branch records for a dummy, and refuses them. */
	tracker.attr.sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
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
	if (t->mode == FOLLOW) {
		e.attr.watermark = 1;
		e.attr.wakeup_watermark = (uint32_t)(t->task_ring_bytes / 4);
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

static void forget_opened(struct tasks *t, size_t stream);

/* The first event of a stream gets the ring mapped, later ones write to that. */
static int join_stream(struct tasks *t, int fd, size_t stream)
{
	struct stream *s = &t->streams.v[stream];
	size_t pages = s->source.cpu < 0 ? TASK_RING_PAGES : RING_PAGES;
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

	if (fd < 0 || s->source.cpu >= 0 || s->ring.data_bytes >= t->task_ring_bytes)
		return fd;
	t->task_ring_bytes = s->ring.data_bytes;
	forget_opened(t, stream);
	e->attr.wakeup_watermark = (uint32_t)(t->task_ring_bytes / 4);
	return try_open_one(t, e, event, at, stream);
}

static int open_tracker(struct tasks *t, pid_t tid, int cpu, bool on_exec)
{
	struct pe_event e = tracker_of(t);
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
			e.attr.enable_on_exec = on_exec;
			e.attr.disabled = !t->on;
		}
		fds[i] = open_one(t, &e, (int)i, &at, stream);
		if (fds[i] < 0)
			return fds[i];
	}
	return 0;
}

static int open_system(struct tasks *t)
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

/* A task's own events and ring (FOLLOW). */
static int open_own(struct tasks *t, pid_t tid, bool on_exec)
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
		forget_opened(t, i);
	return err;
}

/* Trackers on every CPU, and in INHERIT mode the events with them. */
static int open_on_cpus(struct tasks *t, pid_t tid, bool tracker_on_exec, bool on_exec)
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

int tasks_new(const struct tasks_config *config, struct tasks **out)
{
	struct tasks *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return sp_fail(SP_ENOMEM, "out of memory");
	t->config = *config;
	t->mode = choose_mode(config);
	t->stats.inherited = t->mode == INHERIT;
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	t->fds = calloc(config->n_events, sizeof(*t->fds));
	t->times = calloc(config->n_events, sizeof(*t->times));
	if (t->epoll_fd < 0 || !t->fds || !t->times)
		err = sp_fail_errno("epoll");
	t->task_ring_bytes = (config->ring_pages ? config->ring_pages : TASK_RING_PAGES) * 4096;
	pe_raise_file_limit();
	cpus_online(&t->cpus);
	if (config->cpus)
		CPU_AND(&t->cpus, &t->cpus, config->cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE && err == 0; cpu++)
		if (CPU_ISSET((size_t)cpu, &t->cpus))
			err = vec_push(&t->streams,
			               (struct stream){ .source = { .cpu = cpu,
			                                            .tid = -1,
			                                            .inherited = t->mode == INHERIT },
			                                .fd = -1 });
	if (err == 0 && t->streams.n == 0)
		err = sp_fail(SP_EUSAGE, "none of these CPUs is online");
	if (err == 0 && t->mode == SYSTEM)
		err = open_system(t);
	if (err < 0) {
		tasks_free(t);
		return err;
	}
	*out = t;
	return 0;
}

int tasks_add_child(struct tasks *t, pid_t pid, bool later)
{
	int err = open_on_cpus(t, pid, true, !later);

	if (err == 0 && t->mode == FOLLOW)
		err = open_own(t, pid, !later);
	if (err == 0)
		t->on = !later;
	return err;
}

/* A thread that was found running.  Its end in between is no error. */
static int attach_thread(struct tasks *t, pid_t tid, bool with_events)
{
	int err = open_on_cpus(t, tid, false, false);

	if (err == 0 && t->mode == FOLLOW && with_events)
		err = open_own(t, tid, false);
	return err;
}

/* Threads that are not known yet: how many, or a failure. */
static int attach_new_threads(struct tasks *t, pid_t pid, pid_t only)
{
	char path[64];
	struct dirent *d;
	int n = 0, err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return sp_fail(SP_ENOENT, "there is no process %d", (int)pid);
	while (err == 0 && (d = readdir(dir))) {
		pid_t tid = (pid_t)atoi(d->d_name);

		if (tid <= 0 || pairs_find(&t->known, (uint64_t)tid, 0) >= 0)
			continue;
		/* Its parent may have been attached when it made it: then its tracker has said so. */
		err = tasks_drain(t);
		if (err < 0 || pairs_find(&t->known, (uint64_t)tid, 0) >= 0)
			continue;
		if (pairs_number(&t->known, (uint64_t)tid, 0) < 0)
			err = -SP_ENOMEM;
		if (err == 0)
			err = attach_thread(t, tid, !t->config.alone || tid == only);
		if (err == -SP_ENOENT && tid != pid)
			err = 0;
		n++;
	}
	closedir(dir);
	return err < 0 ? err : n;
}

pid_t task_process(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	int n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &n) == 1)
			pid = (pid_t)n;
	if (f)
		fclose(f);
	return pid;
}

int tasks_attach(struct tasks *t, pid_t pid)
{
	pid_t process = task_process(pid);
	int n = 1;

	if (pid != process && !t->config.alone)
		return sp_fail(SP_EUSAGE,
		               "%d is a thread of process %d; give -t %d for the thread or -p %d for all",
		               (int)pid, (int)process, (int)pid, (int)process);
	t->attaching = true;
	for (int scan = 0; n > 0 && scan < MAX_SCANS; scan++)
		n = attach_new_threads(t, process, pid);
	if (n >= 0)
		n = tasks_drain(t);
	t->attaching = false;
	pairs_fini(&t->known);
	return n < 0 ? n : 0;
}

int tasks_enable(struct tasks *t, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (size_t i = 0; i < t->opened.n; i++) {
		const struct opened *o = &t->opened.v[i];

		if (o->event == TRACKER || t->config.events[o->event].leader != (size_t)o->event)
			continue;
		if (ioctl(o->fd, request, 0) < 0)
			return sp_fail_errno("%s can't be switched %s", t->config.events[o->event].name,
			                     on ? "on" : "off");
	}
	t->on = on;
	return 0;
}

int tasks_fd(const struct tasks *t)
{
	return t->epoll_fd;
}

long tasks_event(const struct tasks *t, uint64_t id)
{
	long i = pairs_find(&t->ids, id, 0);

	return i < 0 ? -1 : (long)t->event_of.v[i];
}

/* Times of a leader's group, which the kernel sums over all that inherited it. */
static void note_times(struct tasks *t, const struct opened *o)
{
	const struct pe_event *e;
	uint64_t words[3 + 2 * MAX_MEMBERS] = { 0 };

	if (o->event == TRACKER)
		return;
	e = &t->config.events[o->event];
	if (e->leader != (size_t)o->event || !(e->attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING))
		return;
	if (read(o->fd, words, sizeof(words)) <= 0)
		return;
	t->times[o->event].enabled_ns += (double)words[1];
	t->times[o->event].running_ns += (double)words[2];
}

/*
 * The part of its time that the worst group counted: the rest others had its counters.
 * Events of a task on each of n CPUs are all enabled while it runs on any of them.
 */
static double least_share(const struct tasks *t)
{
	size_t n_cpus = t->mode == INHERIT ? (size_t)CPU_COUNT(&t->cpus) : 1;
	double least = 1;

	for (size_t i = 0; i < t->config.n_events; i++) {
		const struct event_times *times = &t->times[i];
		double share =
		        times->enabled_ns > 0 ? times->running_ns * (double)n_cpus / times->enabled_ns : 1;

		if (share < least)
			least = share;
	}
	/* On the CPUs left out nothing was to be counted. */
	return t->mode == INHERIT && t->config.cpus ? 1 : least;
}

/* How many samples a group's counters stand for; 0 where the kernel chose periods as it went. */
static uint64_t samples_due(const struct tasks *t, const struct opened *leader)
{
	uint64_t words[3 + 2 * MAX_MEMBERS] = { 0 }, n = 0;

	if (read(leader->fd, words, sizeof(words)) <= 0)
		return 0;
	for (size_t i = 0; i < words[0] && i < MAX_MEMBERS; i++) {
		const struct perf_event_attr *attr = &t->config.events[(size_t)leader->event + i].attr;

		if (attr->sample_period && !attr->freq)
			n += words[3 + 2 * i] / attr->sample_period;
	}
	return n;
}

/*
 * What a full ring of a task that has ended lost since its last record, no later one tells.
 * It can be worked out, since a group's values are that task's alone.
 */
static void count_untold(struct tasks *t, size_t stream)
{
	const struct stream *s = &t->streams.v[stream];
	uint64_t due = 0;

	if (s->source.cpu >= 0 || s->fd < 0 || !s->ring.was_full)
		return;
	for (size_t i = 0; i < t->opened.n; i++) {
		const struct opened *o = &t->opened.v[i];

		if (o->stream == stream && t->config.events[o->event].leader == (size_t)o->event &&
		    t->config.events[o->event].attr.read_format & PERF_FORMAT_GROUP)
			due += samples_due(t, o);
	}
	if (due > s->n_told)
		t->stats.n_untold += due - s->n_told;
}

/* Close a task's stream and all that writes to it. */
static void forget_opened(struct tasks *t, size_t stream)
{
	size_t n = 0;

	count_untold(t, stream);
	for (size_t i = 0; i < t->opened.n; i++) {
		struct opened *o = &t->opened.v[i];

		if (o->stream != stream) {
			t->opened.v[n++] = *o;
			continue;
		}
		note_times(t, o);
		close(o->fd);
	}
	t->opened.n = n;
	ring_close(&t->streams.v[stream].ring);
	t->streams.v[stream].fd = -1;
}

struct fork_body {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
};

struct lost_body {
	struct perf_event_header header;
	uint64_t id, n;
};

struct comm_body {
	struct perf_event_header header;
	uint32_t pid, tid;
};

/* While threads are being attached, one may be met in /proc and told by a tracker as well. */
static int note_birth(struct tasks *t, const struct fork_body *f)
{
	if (t->attaching) {
		size_t n = t->known.n;

		if (pairs_number(&t->known, f->tid, 0) < 0)
			return -SP_ENOMEM;
		if (t->known.n == n)
			return 0;
	}
	return t->mode == FOLLOW && !t->config.alone ? vec_push(&t->born, (pid_t)f->tid) : 0;
}

static int take_record(void *arg, const struct perf_event_header *rec)
{
	struct tasks *t = arg;

	if (rec->type == PERF_RECORD_FORK && t->mode != SYSTEM &&
	    note_birth(t, (const struct fork_body *)rec) < 0)
		return -SP_ENOMEM;
	if (rec->type == PERF_RECORD_SAMPLE)
		t->streams.v[t->drained].n_told++;
	else if (rec->type == PERF_RECORD_LOST)
		t->streams.v[t->drained].n_told += ((const struct lost_body *)rec)->n;
	if (t->stopping && rec->type == PERF_RECORD_COMM &&
	    ((const struct comm_body *)rec)->pid == (uint32_t)getpid())
		return 0;
	return t->config.take(t->config.arg, rec, &t->streams.v[t->drained].source);
}

/* Until no more are born: their own children's trackers speak while we open. */
static int follow_born(struct tasks *t)
{
	int err = 0;

	for (size_t i = 0; i < t->born.n && err == 0; i++) {
		int failed = open_own(t, t->born.v[i], false);

		if (failed == -SP_ENOENT)
			t->stats.n_missed++;
		else if (failed < 0 && !t->stats.n_refused++)
			snprintf(t->stats.refusal, sizeof(t->stats.refusal), "%s", sp_error_text());
	}
	t->born.n = 0;
	return err;
}

/* Descriptors whose tasks have all ended: no longer polled, they would only keep us awake. */
static void note_hang_ups(struct tasks *t)
{
	struct epoll_event ev[64];
	int n = epoll_wait(t->epoll_fd, ev, 64, 0);

	for (int i = 0; i < n; i++) {
		if (!(ev[i].events & (EPOLLHUP | EPOLLERR)))
			continue;
		epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, ev[i].data.fd, NULL);
		for (size_t k = 0; k < t->opened.n; k++)
			if (t->opened.v[k].fd == ev[i].data.fd)
				t->opened.v[k].hung_up = true;
	}
}

/* Streams of ended tasks, after their last records were taken. */
static void let_go(struct tasks *t, size_t n_streams)
{
	for (size_t i = t->opened.n; i-- > 0;) {
		size_t stream;

		if (i >= t->opened.n || !t->opened.v[i].hung_up)
			continue;
		stream = t->opened.v[i].stream;
		if (stream < n_streams && t->streams.v[stream].source.cpu < 0)
			forget_opened(t, stream);
	}
	while (t->streams.n && t->streams.v[t->streams.n - 1].fd < 0 &&
	       t->streams.v[t->streams.n - 1].source.cpu < 0)
		t->streams.n--;
}

int tasks_drain(struct tasks *t)
{
	size_t n = t->streams.n;
	int err = 0;

	/* First who has ended: what they wrote is there by then. */
	note_hang_ups(t);
	for (t->drained = 0; t->drained < n && err == 0; t->drained++)
		if (t->streams.v[t->drained].fd >= 0)
			err = ring_drain(&t->streams.v[t->drained].ring, take_record, t);
	let_go(t, n);
	return err < 0 ? err : follow_born(t);
}

bool tasks_alive(const struct tasks *t)
{
	for (size_t i = 0; i < t->opened.n; i++) {
		bool task = t->streams.v[t->opened.v[i].stream].source.cpu < 0;

		if (t->config.alone ? task : t->opened.v[i].event == TRACKER && !t->opened.v[i].hung_up)
			return true;
	}
	return false;
}

/*
 * The kernel tells what was lost with the next record that fits, and when all has ended
 * there is none.  So write one: a tracker of our own to each CPU's ring, to which a new
 * name of ours (the old one) is news.  It is told apart by our number.
 */
static void make_rings_speak(struct tasks *t)
{
	struct pe_event e = tracker_of(t);
	cpu_set_t before;
	char name[16];

	e.attr.inherit = 0;
	if (sched_getaffinity(0, sizeof(before), &before) < 0 || prctl(PR_GET_NAME, name) < 0)
		return;
	for (size_t i = 0; i < t->streams.n; i++) {
		const struct stream *s = &t->streams.v[i];
		cpu_set_t one;
		int fd;

		if (s->source.cpu < 0 || s->fd < 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET((size_t)s->source.cpu, &one);
		fd = pe_open(&e.attr, &(struct pe_place){ 0, s->source.cpu, -1 });
		if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->fd) == 0 &&
		    sched_setaffinity(0, sizeof(one), &one) == 0)
			prctl(PR_SET_NAME, name);
		if (fd >= 0)
			close(fd);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

int tasks_stop(struct tasks *t, struct tasks_stats *out)
{
	int err;

	for (size_t i = 0; i < t->opened.n; i++) {
		ioctl(t->opened.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		note_times(t, &t->opened.v[i]);
	}
	t->stats.counted_share = least_share(t);
	err = tasks_drain(t);
	for (size_t i = 0; i < t->streams.n; i++)
		count_untold(t, i);
	t->stopping = true;
	make_rings_speak(t);
	*out = t->stats;
	return err < 0 ? err : tasks_drain(t);
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->opened.n; i++)
		close(t->opened.v[i].fd);
	for (size_t i = 0; i < t->streams.n; i++)
		ring_close(&t->streams.v[i].ring);
	vec_fini(&t->streams);
	vec_fini(&t->opened);
	vec_fini(&t->event_of);
	vec_fini(&t->born);
	pairs_fini(&t->ids);
	pairs_fini(&t->known);
	free(t->fds);
	free(t->times);
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	free(t);
}
