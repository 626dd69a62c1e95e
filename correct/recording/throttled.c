/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/ended.h"

#include <gsl/gsl_sort.h>
#include <stdlib.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/recording/rests.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

/* An event in a thread. */
struct last {
	uint64_t time_ns;
	double stopped_ns; /* since then */
	int event;
	bool seen;
};

/* A counter that may be stopped. */
struct stream {
	uint64_t since_ns;
	uint32_t tid;
	size_t last; /* whose samples it is missing from */
	bool stopped;
};

struct of_event {
	VEC(float) gaps; /* between samples of one thread, but for what it was stopped */
	double stopped_ns, share;
};

struct throttled {
	struct pairs pairs, streams;
	VEC(struct last) of_pair;
	VEC(struct stream) of_stream;
	struct of_event events[EFFORT_EVENTS];
};

struct throttled *throttled_new(void)
{
	return mem_calloc(1, sizeof(struct throttled));
}

void throttled_free(struct throttled *t)
{
	if (!t)
		return;
	pairs_fini(&t->pairs);
	pairs_fini(&t->streams);
	vec_fini(&t->of_pair);
	vec_fini(&t->of_stream);
	for (size_t i = 0; i < EFFORT_EVENTS; i++)
		vec_fini(&t->events[i].gaps);
	free(t);
}

static struct last *last_of(struct throttled *t, uint32_t tid, int event)
{
	struct last *last = pairs_in(&t->pairs, &t->of_pair, tid, (uint64_t)event + 1);

	last->event = event;
	return last;
}

void throttled_sample(struct throttled *t, uint32_t tid, int event, uint64_t time_ns)
{
	struct last *last;
	double ns;

	if (event < 0 || event >= EFFORT_EVENTS || !time_ns)
		return;
	last = last_of(t, tid, event);
	ns = last->seen && time_ns > last->time_ns ? (double)(time_ns - last->time_ns) - last->stopped_ns : 0;
	if (ns > 0 && t->events[event].gaps.n < EFFORT_GAPS)
		vec_add(&t->events[event].gaps, (float)ns);
	last->seen = true;
	last->time_ns = time_ns;
	last->stopped_ns = 0;
}

static void go_on(struct throttled *t, struct stream *s, uint64_t time_ns)
{
	struct last *last = &t->of_pair.v[s->last];

	if (s->stopped && time_ns > s->since_ns) {
		last->stopped_ns += (double)(time_ns - s->since_ns);
		t->events[last->event].stopped_ns += (double)(time_ns - s->since_ns);
	}
	s->stopped = false;
}

void throttled_record(struct throttled *t, uint32_t tid, int event, uint64_t stream, bool on,
                      uint64_t time_ns)
{
	struct stream *s;
	struct last *last;

	if (event < 0 || event >= EFFORT_EVENTS || !time_ns)
		return;
	last = last_of(t, tid, event);
	s = pairs_in(&t->streams, &t->of_stream, stream, (uint64_t)event + 1);
	if (!on)
		go_on(t, s, time_ns);
	else if (!s->stopped)
		*s = (struct stream){ time_ns, tid, (size_t)(last - t->of_pair.v), true };
}

void throttled_exit(struct throttled *t, uint32_t tid, uint64_t time_ns)
{
	for (size_t i = 0; i < t->of_stream.n; i++)
		if (t->of_stream.v[i].stopped && t->of_stream.v[i].tid == tid)
			go_on(t, &t->of_stream.v[i], time_ns);
}

static double awake_ns(struct of_event *e)
{
	double middle, sum = 0;

	if (!e->gaps.n)
		return 0;
	gsl_sort_float(e->gaps.v, 1, e->gaps.n);
	middle = (double)e->gaps.v[e->gaps.n / 2];
	for (size_t i = 0; i < e->gaps.n && (double)e->gaps.v[i] <= model->rest_asleep * middle; i++)
		sum += (double)e->gaps.v[i];
	return sum;
}

void throttled_settle(struct throttled *t)
{
	for (size_t i = 0; i < EFFORT_EVENTS; i++) {
		struct of_event *e = &t->events[i];
		double awake = e->stopped_ns > 0 ? awake_ns(e) : 0;

		e->share = awake > 0 ? e->stopped_ns / (awake + e->stopped_ns) : 0;
	}
}

double throttled_share(const struct throttled *t, int event)
{
	return event >= 0 && event < EFFORT_EVENTS ? t->events[event].share : 0;
}
