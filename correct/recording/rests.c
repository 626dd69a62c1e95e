/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/rests.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

struct gap {
	float ns;
	uint32_t others;
	uint32_t before;     /* 1 + the one before it, 0 = none */
	uint32_t all0, all1; /* those of any event in it, and of other threads: rests.all[all0 .. all1) */
	uint32_t thread;
};

struct of_event {
	VEC(struct gap) gaps;
	double middle_ns, silent_ns, busy_ns;
	size_t n_rests;
	uint64_t others; /* samples of others in its rests */
	double share;
};

/* Between two samples of a thread, of any events. */
struct any_gap {
	float ns;
	uint32_t thread;
	uint8_t from, to; /* the events */
};

/* An event in a thread. */
struct last {
	uint64_t time_ns, n_all;    /* samples of the thread by then */
	uint32_t gap;               /* 1 + its last one */
	uint32_t all;               /* rests.all.n then */
	uint32_t all_first, thread; /* the same at its first */
	int event;
	bool seen;
};

struct thread {
	uint64_t time_ns, n;
	double busy_ns;
	uint32_t all0;   /* rests.all.n at its first sample */
	uint8_t event;   /* of its last sample */
	uint64_t events; /* bits of those it has samples of */
};

struct rests {
	struct pairs threads, pairs;
	VEC(struct thread) of_thread;
	VEC(struct last) of_pair;
	VEC(struct any_gap) all;
	struct of_event events[EFFORT_EVENTS];
};

struct rests *rests_new(void)
{
	return calloc(1, sizeof(struct rests));
}

void rests_free(struct rests *r)
{
	if (!r)
		return;
	pairs_fini(&r->threads);
	pairs_fini(&r->pairs);
	vec_fini(&r->of_thread);
	vec_fini(&r->of_pair);
	vec_fini(&r->all);
	for (size_t i = 0; i < EFFORT_EVENTS; i++)
		vec_fini(&r->events[i].gaps);
	free(r);
}

static int add_gap(struct rests *r, struct last *last, int event, uint64_t time_ns, uint64_t n_all,
                   uint32_t thread)
{
	struct of_event *e = &r->events[event];
	struct gap gap = { .ns = (float)(time_ns - last->time_ns),
		           .others = (uint32_t)(n_all - last->n_all - 1),
		           .before = last->gap,
		           .all0 = last->all,
		           .all1 = (uint32_t)r->all.n,
		           .thread = thread };

	if (e->gaps.n >= EFFORT_GAPS)
		return 0;
	if (vec_push(&e->gaps, gap) < 0)
		return -SP_ENOMEM;
	last->gap = (uint32_t)e->gaps.n;
	return 0;
}

int rests_sample(struct rests *r, uint32_t tid, int event, uint64_t time_ns)
{
	long t = pairs_number(&r->threads, tid, 1), p = pairs_number(&r->pairs, tid, (uint64_t)event + 1);
	struct thread *thread;
	struct last *last;

	if (t < 0 || p < 0 ||
	    ((size_t)t == r->of_thread.n && vec_push(&r->of_thread, (struct thread){ 0 }) < 0) ||
	    ((size_t)p == r->of_pair.n && vec_push(&r->of_pair, (struct last){ 0 }) < 0))
		return -SP_ENOMEM;
	if (event >= EFFORT_EVENTS || !time_ns)
		return 0;
	thread = &r->of_thread.v[t];
	last = &r->of_pair.v[p];
	if (!thread->n)
		thread->all0 = (uint32_t)r->all.n;
	if (thread->n && time_ns > thread->time_ns && r->all.n < EFFORT_GAPS &&
	    vec_push(&r->all, (struct any_gap){ (float)(time_ns - thread->time_ns), (uint32_t)t,
	                                        thread->event, (uint8_t)event }) < 0)
		return -SP_ENOMEM;
	thread->n++;
	thread->time_ns = time_ns;
	thread->event = (uint8_t)event;
	thread->events |= 1ull << event;
	if (last->seen && time_ns > last->time_ns &&
	    add_gap(r, last, event, time_ns, thread->n, (uint32_t)t) < 0)
		return -SP_ENOMEM;
	if (!last->seen) {
		last->all_first = (uint32_t)r->all.n;
		last->thread = (uint32_t)t;
		last->event = event;
	}
	last->seen = true;
	last->time_ns = time_ns;
	last->n_all = thread->n;
	last->all = (uint32_t)r->all.n;
	return 0;
}

/* v[n] is sorted. */
static double middle(float *v, size_t n)
{
	if (!n)
		return 0;
	gsl_sort_float(v, 1, n);
	return (double)v[n / 2];
}

/* The middle gap of an event, 0 where there is none, or no memory to find it. */
static double middle_gap(const struct of_event *e)
{
	float *ns = malloc((e->gaps.n + 1) * sizeof(*ns));
	double m;

	for (size_t i = 0; ns && i < e->gaps.n; i++)
		ns[i] = e->gaps.v[i].ns;
	m = ns ? middle(ns, e->gaps.n) : 0;
	free(ns);
	return m;
}

/* The same of all events, whose gaps stay in their order. */
static double middle_of_all(const struct rests *r)
{
	float *ns = malloc((r->all.n + 1) * sizeof(*ns));
	double m;

	for (size_t i = 0; ns && i < r->all.n; i++)
		ns[i] = r->all.v[i].ns;
	m = ns ? middle(ns, r->all.n) : 0;
	free(ns);
	return m;
}

bool rests_is_rest(const struct rests *r, int event, uint64_t gap_ns, uint64_t others)
{
	return event >= 0 && event < EFFORT_EVENTS && r->events[event].share > 0 &&
	       (double)gap_ns > model->rest_gap * r->events[event].middle_ns && others >= model->rests;
}

/*
 * Was the thread awake from one sample to the next?  Where events that come often rest, those that are left may come seldom: a
 * gap that is none of theirs is no sleep.
 */
static bool is_awake(const struct rests *r, const struct any_gap *g, double longest)
{
	double seldom = fmax(r->events[g->from].middle_ns, r->events[g->to].middle_ns);

	return (double)g->ns <= fmax(longest, model->rest_gap * seldom);
}

/* What of a stretch of all gaps a thread was awake: others had samples, *n of them. */
static double awake_in(const struct rests *r, uint32_t from, uint32_t to, uint32_t thread, double longest,
                       uint32_t *n)
{
	double sum = 0;

	*n = 0;
	for (uint32_t i = from; i < to; i++)
		if (r->all.v[i].thread == thread && is_awake(r, &r->all.v[i], longest)) {
			sum += (double)r->all.v[i].ns;
			++*n;
		}
	return sum;
}

/* Before the first sample of an event in a thread, and after its last. */
static void add_end(const struct rests *r, uint32_t from, uint32_t to, uint32_t thread, double longest,
                    struct of_event *e)
{
	uint32_t n;
	double awake = awake_in(r, from, to, thread, longest, &n);

	if (n < model->rests || !(awake > model->rest_gap * e->middle_ns))
		return;
	e->silent_ns += awake - e->middle_ns / 2;
	e->others += n;
	e->n_rests++;
}

static void settle_ends(struct rests *r, double longest)
{
	for (size_t i = 0; i < r->of_pair.n; i++) {
		const struct last *last = &r->of_pair.v[i];

		if (!last->seen)
			continue;
		add_end(r, r->of_thread.v[last->thread].all0, last->all_first, last->thread, longest,
		        &r->events[last->event]);
		add_end(r, last->all, (uint32_t)r->all.n, last->thread, longest, &r->events[last->event]);
	}
}

/* Where one gap after the other is long, code is slow, and no slot of others is to be seen. */
static void settle_event(const struct rests *r, double longest, struct of_event *e)
{
	for (size_t i = 0; i < e->gaps.n; i++) {
		const struct gap *g = &e->gaps.v[i];
		double before = g->before ? (double)e->gaps.v[g->before - 1].ns : 0;
		uint32_t n;

		if (!((double)g->ns > model->rest_gap * e->middle_ns) || g->others < model->rests ||
		    before > model->rest_gap * e->middle_ns / 2)
			continue;
		e->silent_ns += fmax(awake_in(r, g->all0, g->all1, g->thread, longest, &n) - e->middle_ns, 0);
		e->others += g->others;
		e->n_rests++;
	}
}

/*
 * A few rests may be chance: code that has none of an event.  No code is without cycles and instructions, and of these a few long ones
 * tell as much as many short ones do.
 */
static bool is_chance(const struct of_event *e, bool always)
{
	if (always)
		return e->others < model->rests * model->rests;
	return e->n_rests < model->rests;
}

void rests_settle(struct rests *r, uint64_t always)
{
	double longest = model->rest_asleep * middle_of_all(r);

	for (size_t i = 0; i < EFFORT_EVENTS; i++)
		r->events[i].middle_ns = middle_gap(&r->events[i]);
	for (size_t i = 0; i < r->all.n; i++)
		if (is_awake(r, &r->all.v[i], longest))
			r->of_thread.v[r->all.v[i].thread].busy_ns += (double)r->all.v[i].ns;
	for (size_t i = 0; i < EFFORT_EVENTS; i++) {
		struct of_event *e = &r->events[i];

		for (size_t t = 0; t < r->of_thread.n; t++)
			if (r->of_thread.v[t].events >> i & 1)
				e->busy_ns += r->of_thread.v[t].busy_ns;
		settle_event(r, longest, e);
	}
	settle_ends(r, longest);
	for (size_t i = 0; i < EFFORT_EVENTS; i++) {
		struct of_event *e = &r->events[i];

		if (!is_chance(e, always >> i & 1) && e->busy_ns > 0 &&
		    e->silent_ns > model->chance * e->busy_ns)
			e->share = fmin(e->silent_ns / e->busy_ns, 0.99);
	}
}

double rests_share(const struct rests *r, int event)
{
	return event >= 0 && event < EFFORT_EVENTS ? r->events[event].share : 0;
}
