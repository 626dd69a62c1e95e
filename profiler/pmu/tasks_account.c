/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long what counted, and what was lost. */
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "profiler/pmu/cpus.h"
#include "profiler/pmu/tasks_int.h"

enum { MAX_MEMBERS = 64 };

/* Times of a leader's group, which the kernel sums over all that inherited it, are added to times[n_events]. */
static void add_times(const struct tasks *t, const struct opened *o, struct event_times *times)
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
	times[o->event].enabled_ns += (double)words[1];
	times[o->event].running_ns += (double)words[2];
	times[o->event].value += words[e->attr.read_format & PERF_FORMAT_GROUP ? 3 : 0];
}

void tasks_note_times(struct tasks *t, const struct opened *o)
{
	add_times(t, o, t->times);
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
void tasks_count_untold(struct tasks *t, size_t stream)
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

/*
 * The kernel tells what was lost with the next record that fits, and when all has ended
 * there is none.  So write one: a tracker of our own to each CPU's ring, to which a new
 * name of ours (the old one) is news.  It is told apart by our number.
 */
static void make_rings_speak(struct tasks *t)
{
	struct pe_event e = tasks_tracker(t);
	cpu_set_t before;
	char name[16];

	e.attr.inherit = 0;
	if (sched_getaffinity(0, sizeof(before), &before) < 0 || prctl(PR_GET_NAME, name) < 0)
		return;
	for (size_t i = 0; i < t->streams.n; i++) {
		const struct stream *s = &t->streams.v[i];
		int fd;

		if (s->source.cpu < 0 || s->fd < 0)
			continue;
		fd = pe_open(&e.attr, &(struct pe_place){ 0, s->source.cpu, -1 });
		if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->fd) == 0 && cpus_pin(0, s->source.cpu))
			prctl(PR_SET_NAME, name);
		if (fd >= 0)
			close(fd);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

/* All clocks say the same, but for one that runs when the others don't. */
static uint64_t clock_time_ns(const struct tasks *t, const struct event_times *times)
{
	uint64_t most = 0, finer = 0;

	for (size_t i = 0; i < t->config.n_events; i++) {
		const struct perf_event_attr *a = &t->config.events[i].attr;

		if (t->config.events[i].finer)
			finer = times[i].value;
		else if (a->type == PERF_TYPE_SOFTWARE &&
		         (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK) &&
		         times[i].value > most)
			most = times[i].value;
	}
	return most + finer;
}

uint64_t tasks_time_ns(const struct tasks *t)
{
	struct event_times *times = calloc(t->config.n_events, sizeof(*times));
	uint64_t ns;

	if (!times)
		return 0;
	for (size_t i = 0; i < t->config.n_events; i++)
		times[i] = t->times[i];
	for (size_t i = 0; i < t->opened.n; i++)
		add_times(t, &t->opened.v[i], times);
	ns = clock_time_ns(t, times);
	free(times);
	return ns;
}

int tasks_stop(struct tasks *t, struct tasks_stats *out)
{
	int err;

	for (size_t i = 0; i < t->opened.n; i++) {
		ioctl(t->opened.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		tasks_note_times(t, &t->opened.v[i]);
	}
	t->stats.counted_share = least_share(t);
	t->stats.time_ns = clock_time_ns(t, t->times);
	err = tasks_drain(t);
	for (size_t i = 0; i < t->streams.n; i++)
		tasks_count_untold(t, i);
	t->stopping = true;
	make_rings_speak(t);
	*out = t->stats;
	return err < 0 ? err : tasks_drain(t);
}
