/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/ended.h"

#include <math.h>
#include <stdlib.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/recording/rests.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/select.h"
#include "profiler/base/vec.h"

/* An event in a thread. */
struct last {
	uint64_t time_ns;
	double stopped_ns; /* since then */
	int event;
	bool seen;
	size_t stream; /* 1 + the one that was stopped last, and the thread's samples since; 0 = none */
	size_t n_since;
};

/* A counter that may be stopped. */
struct stream {
	uint64_t since_ns;
	uint32_t tid;
	size_t last; /* whose samples it is missing from */
	bool stopped;
};

struct gap {
	float ns, events; /* counted in it: one of many events is long, and no sleep */
};

struct stop {
	uint64_t since_ns;
	double ns;
};

struct of_event {
	VEC(struct gap) gaps; /* between samples of one thread, but for what it was stopped */
	VEC(struct stop) stops;
	double share;
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
	for (size_t i = 0; i < EFFORT_EVENTS; i++) {
		vec_fini(&t->events[i].gaps);
		vec_fini(&t->events[i].stops);
	}
	free(t);
}

static struct last *last_of(struct throttled *t, uint32_t tid, int event)
{
	struct last *last = pairs_in(&t->pairs, &t->of_pair, tid, (uint64_t)event + 1);

	last->event = event;
	return last;
}

static void go_on(struct throttled *t, struct stream *s, uint64_t time_ns)
{
	struct last *last = &t->of_pair.v[s->last];

	if (s->stopped && time_ns > s->since_ns) {
		last->stopped_ns += (double)(time_ns - s->since_ns);
		if (t->events[last->event].stops.n < EFFORT_GAPS)
			vec_add(&t->events[last->event].stops,
			        (struct stop){ s->since_ns, (double)(time_ns - s->since_ns) });
	}
	s->stopped = false;
}

/*
 * A thread that moves to another processor leaves its counter there, stopped, and has one that runs: that is seen with the next sample
 * but one, for the first may be of the interrupt that stopped it.  The idle thread is on all processors at a time.
 */
static void leave_behind(struct throttled *t, uint32_t tid, const struct last *last, uint64_t time_ns)
{
	struct stream *s = last->stream && tid ? &t->of_stream.v[last->stream - 1] : NULL;

	if (s && s->stopped && &t->of_pair.v[s->last] == last)
		go_on(t, s, time_ns);
}

void throttled_sample(struct throttled *t, uint32_t tid, int event, uint64_t time_ns, double events)
{
	struct last *last;
	double ns;

	if (event < 0 || event >= EFFORT_EVENTS || !time_ns)
		return;
	last = last_of(t, tid, event);
	if (++last->n_since > 1)
		leave_behind(t, tid, last, time_ns);
	ns = last->seen && time_ns > last->time_ns ? (double)(time_ns - last->time_ns) - last->stopped_ns : 0;
	if (ns > 0 && t->events[event].gaps.n < EFFORT_GAPS)
		vec_add(&t->events[event].gaps, (struct gap){ (float)ns, (float)events });
	last->seen = true;
	last->time_ns = time_ns;
	last->stopped_ns = 0;
}

void throttled_elsewhen(struct throttled *t, uint32_t tid, int event, uint64_t time_ns)
{
	struct last *last = event < 0 || event >= EFFORT_EVENTS || !time_ns ? NULL : last_of(t, tid, event);

	if (last && ++last->n_since > 1)
		leave_behind(t, tid, last, time_ns);
	if (last)
		last->seen = false;
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
	else if (!s->stopped) {
		leave_behind(t, tid, last, time_ns);
		*s = (struct stream){ time_ns, tid, (size_t)(last - t->of_pair.v), true };
		last->stream = (size_t)(s - t->of_stream.v) + 1;
		last->n_since = 0;
	}
}

void throttled_exit(struct throttled *t, uint32_t tid, uint64_t time_ns)
{
	for (size_t i = 0; i < t->of_stream.n; i++)
		if (t->of_stream.v[i].stopped && t->of_stream.v[i].tid == tid)
			go_on(t, &t->of_stream.v[i], time_ns);
}

static double awake_ns(const struct of_event *e)
{
	double *paces = mem_malloc((e->gaps.n + 1) * sizeof(*paces)), longest, sum = 0;

	for (size_t i = 0; i < e->gaps.n; i++)
		paces[i] = (double)(e->gaps.v[i].ns / e->gaps.v[i].events);
	longest = model->rest_asleep * select_middle(paces, e->gaps.n);
	for (size_t i = 0; i < e->gaps.n; i++)
		sum += (double)e->gaps.v[i].ns <= longest * (double)e->gaps.v[i].events
		               ? (double)e->gaps.v[i].ns
		               : 0;
	free(paces);
	return sum;
}

/* A tick ends a stop, where the thread runs: one that is much longer than the middle one was as long as that, and then it slept. */
static double stopped_ns(const struct of_event *e, double from_ns, double to_ns)
{
	double *ns = mem_malloc((e->stops.n + 1) * sizeof(*ns)), middle, sum = 0;

	for (size_t i = 0; i < e->stops.n; i++)
		ns[i] = e->stops.v[i].ns;
	middle = select_middle(ns, e->stops.n);
	for (size_t i = 0; i < e->stops.n; i++) {
		const struct stop *s = &e->stops.v[i];
		double since = (double)s->since_ns,
		       end = since + (s->ns <= model->rest_asleep * middle ? s->ns : middle);

		sum += fmax(fmin(end, to_ns) - fmax(since, from_ns), 0);
	}
	free(ns);
	return sum;
}

void throttled_settle(struct throttled *t, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < EFFORT_EVENTS; i++) {
		const double stopped = stopped_ns(&t->events[i], (double)from_ns, (double)to_ns),
		             awake = stopped > 0 ? awake_ns(&t->events[i]) : 0;

		t->events[i].share = awake > 0 ? stopped / (awake + stopped) : 0;
	}
}

double throttled_share(const struct throttled *t, int event)
{
	return event >= 0 && event < EFFORT_EVENTS ? t->events[event].share : 0;
}
