/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "profiler/pmu/cpus.h"
#include "profiler/pmu/tasks_int.h"

int tasks_new(const struct tasks_config *config, struct tasks **out)
{
	struct tasks *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return sp_fail(SP_ENOMEM, "out of memory");
	t->config = *config;
	t->mode = tasks_choose_mode(config);
	t->build_ids = tasks_can_build_id();
	t->stats.inherited = t->mode == INHERIT;
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	t->fds = calloc(config->n_events, sizeof(*t->fds));
	t->times = calloc(config->n_events, sizeof(*t->times));
	if (t->epoll_fd < 0 || !t->fds || !t->times)
		err = sp_fail_errno("epoll");
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
		err = tasks_open_system(t);
	if (err < 0) {
		tasks_free(t);
		return err;
	}
	*out = t;
	return 0;
}

int tasks_add_child(struct tasks *t, pid_t pid, bool later)
{
	int err = tasks_open_on_cpus(t, pid, true, !later);

	if (err == 0 && t->mode == FOLLOW)
		err = tasks_open_own(t, pid, !later);
	if (err == 0)
		t->on = !later;
	return err;
}

int tasks_enable_one(struct tasks *t, size_t event, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (size_t i = 0; i < t->opened.n; i++)
		if (t->opened.v[i].event == (int)event && ioctl(t->opened.v[i].fd, request, 0) < 0)
			return sp_fail_errno("%s can't be switched %s", t->config.events[event].name,
			                     on ? "on" : "off");
	return 0;
}

int tasks_enable(struct tasks *t, bool on)
{
	int err = 0;

	for (size_t i = 0; i < t->config.n_events && err == 0; i++)
		if (t->config.events[i].leader == i && !t->config.events[i].finer)
			err = tasks_enable_one(t, i, on);
	if (err == 0)
		t->on = on;
	return err;
}

bool tasks_inherited(const struct tasks *t)
{
	return t->mode == INHERIT;
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

void tasks_forget_stream(struct tasks *t, size_t stream)
{
	size_t n = 0;

	tasks_count_untold(t, stream);
	for (size_t i = 0; i < t->opened.n; i++) {
		struct opened *o = &t->opened.v[i];

		if (o->stream != stream) {
			t->opened.v[n++] = *o;
			continue;
		}
		tasks_note_times(t, o);
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

/* Their own children speak through inherited trackers meanwhile. */
static void follow_born(struct tasks *t)
{
	for (size_t i = 0; i < t->born.n; i++) {
		int failed = tasks_open_own(t, t->born.v[i], false);

		if (failed == -SP_ENOENT)
			t->stats.n_missed++;
		else if (failed < 0 && !t->stats.n_refused++)
			snprintf(t->stats.refusal, sizeof(t->stats.refusal), "%s", sp_error_text());
	}
	t->born.n = 0;
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
			tasks_forget_stream(t, stream);
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
	follow_born(t);
	return err;
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
