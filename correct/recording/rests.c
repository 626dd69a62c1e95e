/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/rests.h"

#include <math.h>
#include <stdlib.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/select.h"
#include "profiler/base/vec.h"

/* On either side of a gap. */
enum { NEXT = 4 };

struct gap {
	float ns;
	float usual_ns; /* as long a gap is there where the event does not rest: of the paces on either side the slower one */
	uint32_t others;
	uint32_t before, after; /* 1 + the one next to it in its thread, 0 = none */
	uint32_t all0, all1;    /* those of any event in it, and of other threads: rests.all[all0 .. all1) */
	uint32_t thread;
	bool in_part; /* it ends with a sample of the part that is looked at */
};

struct of_event {
	VEC(struct gap) gaps;
	double middle_ns;
	double rest_ns;            /* the middle one of its rests, 0 = it has none */
	double silent_ns, busy_ns; /* of the time in which rests are to be told */
	double untold_ns; /* and that in which they are not, for code is as slow as rests are long; ... */
	double untold;    /* ... its share of both */
	size_t n_rests;
	uint64_t others; /* samples of others in its rests */
	double share;
	bool never; /* it needs no counter */
};

/* Between two samples of a thread, of any events. */
struct any_gap {
	float ns;
	uint32_t thread;
	uint8_t from, to; /* the events */
	bool in_part;     /* it ends with a sample of the part that is looked at */
};

/* An event in a thread. */
struct last {
	uint64_t time_ns, n_all;    /* samples of the thread by then */
	uint32_t first_gap, gap;    /* 1 + its first one, and its last */
	uint32_t all;               /* rests.all.n then */
	uint32_t all_first, thread; /* the same at its first */
	int event;
	bool seen;
};

struct thread {
	uint64_t time_ns, n;
	uint32_t all0; /* rests.all.n at its first sample */
	uint8_t event; /* of its last sample */
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
	return mem_calloc(1, sizeof(struct rests));
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

static void add_gap(struct rests *r, struct last *last, int event, uint64_t time_ns, uint64_t n_all,
                    uint32_t thread, bool in_part)
{
	struct of_event *e = &r->events[event];
	struct gap gap = { .ns = (float)(time_ns - last->time_ns),
		           .others = (uint32_t)(n_all - last->n_all - 1),
		           .before = last->gap,
		           .all0 = last->all,
		           .all1 = (uint32_t)r->all.n,
		           .thread = thread,
		           .in_part = in_part };

	if (e->gaps.n >= EFFORT_GAPS)
		return;
	vec_add(&e->gaps, gap);
	if (last->gap)
		e->gaps.v[last->gap - 1].after = (uint32_t)e->gaps.n;
	last->gap = (uint32_t)e->gaps.n;
	last->first_gap = last->first_gap ? last->first_gap : last->gap;
}

void rests_sample(struct rests *r, uint32_t tid, int event, uint64_t time_ns, bool in_part)
{
	struct thread *thread = pairs_in(&r->threads, &r->of_thread, tid, 1);
	struct last *last = pairs_in(&r->pairs, &r->of_pair, tid, (uint64_t)event + 1);
	const uint32_t t = (uint32_t)(thread - r->of_thread.v);

	if (event >= EFFORT_EVENTS || !time_ns)
		return;
	if (!thread->n)
		thread->all0 = (uint32_t)r->all.n;
	if (thread->n && time_ns >= thread->time_ns && r->all.n < EFFORT_GAPS)
		vec_add(&r->all, (struct any_gap){ (float)(time_ns - thread->time_ns), t, thread->event,
		                                   (uint8_t)event, in_part });
	thread->n++;
	thread->time_ns = time_ns;
	thread->event = (uint8_t)event;
	if (last->seen && time_ns > last->time_ns)
		add_gap(r, last, event, time_ns, thread->n, t, in_part);
	if (!last->seen)
		last->all_first = (uint32_t)r->all.n;
	last->thread = t;
	last->event = event;
	last->seen = true;
	last->time_ns = time_ns;
	last->n_all = thread->n;
	last->all = (uint32_t)r->all.n;
}

/* The middle gap of all events, which stay in their order. */
static double middle_of_all(const struct rests *r)
{
	double *ns = mem_malloc((r->all.n + 1) * sizeof(*ns));
	size_t n = 0;
	double m;

	for (size_t i = 0; i < r->all.n; i++)
		if (r->all.v[i].ns > 0)
			ns[n++] = (double)r->all.v[i].ns;
	m = select_middle(ns, n);
	free(ns);
	return m;
}

bool rests_is_rest(const struct rests *r, int event, uint64_t gap_ns, uint64_t others)
{
	const struct of_event *e = event >= 0 && event < EFFORT_EVENTS ? &r->events[event] : NULL;

	return e && e->share > 0 && (double)gap_ns > e->middle_ns + e->rest_ns / 2 && others >= model->rests;
}

/*
 * Was the thread awake from one sample to the next?  Where events that come often rest, those that are left may come seldom: a
 * gap that is none of theirs is no sleep.
 */
static bool is_awake(const struct rests *r, const struct any_gap *g, double longest)
{
	double seldom = fmax(r->events[g->from].middle_ns, r->events[g->to].middle_ns);

	return (double)g->ns <= fmax(longest, 2 * model->rest_gap * seldom);
}

/* What of a stretch of all gaps a thread was awake: others had `others` samples. */
struct awake {
	double ns, part_ns; /* of it in the part that is looked at */
	uint64_t others;
};

static struct awake awake_in(const struct rests *r, uint32_t from, uint32_t to, uint32_t thread,
                             double longest)
{
	struct awake out = { 0 };

	for (uint32_t i = from; i < to; i++) {
		const struct any_gap *g = &r->all.v[i];

		if (g->thread != thread || !is_awake(r, g, longest))
			continue;
		out.ns += (double)g->ns;
		out.part_ns += g->in_part ? (double)g->ns : 0;
		out.others++;
	}
	return out;
}

/* The lower middle of a few gaps on one side of where `at` is: a rest among them is not taken for the code's pace.  0: there are none. */
static double pace_beside(const struct of_event *e, uint32_t at, bool back)
{
	double ns[NEXT];
	size_t n = 0;

	for (; at && n < NEXT; n++) {
		const struct gap *g = &e->gaps.v[at - 1];

		ns[n] = (double)g->ns;
		at = back ? g->before : g->after;
	}
	return n ? select_nth(ns, n, (n - 1) / 2) : 0;
}

/* A gap that is too long for the code next to it on either side, while others have samples. */
static bool is_long(const struct gap *g)
{
	return g->usual_ns > 0 && (double)g->ns > model->rest_gap * (double)g->usual_ns;
}

/* The middle one of an event's gaps, and of its rests. */
static void find_rests(struct of_event *e)
{
	double *ns = mem_malloc((e->gaps.n + 1) * sizeof(*ns));
	size_t n = 0;

	for (size_t i = 0; i < e->gaps.n; i++)
		ns[i] = (double)e->gaps.v[i].ns;
	e->middle_ns = select_middle(ns, e->gaps.n);
	for (size_t i = 0; i < e->gaps.n; i++) {
		struct gap *g = &e->gaps.v[i];

		g->usual_ns = (float)fmax(pace_beside(e, g->before, true), pace_beside(e, g->after, false));
		if (is_long(g) && g->others >= model->rests)
			ns[n++] = (double)(g->ns - g->usual_ns);
	}
	e->rest_ns = select_middle(ns, n);
	free(ns);
}

/* Where code is slower than rests are long, they are not to be told from it: there an event rests as it does elsewhere. */
static bool is_told(const struct of_event *e, double usual_ns)
{
	return (model->rest_gap - 1) * usual_ns <= e->rest_ns;
}

/* Whether an event rests at all, all of the recording tells; for how long, the part that is looked at. */
static void add_rest(struct of_event *e, const struct awake *a, double usual_ns, uint64_t others)
{
	e->silent_ns += fmax(a->part_ns - usual_ns, 0);
	e->busy_ns += a->part_ns;
	e->others += others;
	e->n_rests++;
}

static void settle_event(const struct rests *r, double longest, struct of_event *e)
{
	for (size_t i = 0; i < e->gaps.n; i++) {
		const struct gap *g = &e->gaps.v[i];
		const bool told = is_told(e, (double)g->usual_ns);
		struct awake awake;

		if (told && !is_long(g)) {
			e->busy_ns += g->in_part ? (double)g->ns : 0;
			continue;
		}
		awake = awake_in(r, g->all0, g->all1, g->thread, longest);
		if (!told)
			e->untold_ns += awake.part_ns;
		else if (g->others >= model->rests)
			add_rest(e, &awake, g->in_part ? (double)g->usual_ns : 0, g->others);
	}
}

/* Before the first sample of an event in a thread, and after its last. */
static void settle_end(const struct rests *r, uint32_t from, uint32_t to, uint32_t thread, double longest,
                       double usual_ns, struct of_event *e)
{
	struct awake awake = awake_in(r, from, to, thread, longest);

	if (awake.others >= model->rests && is_told(e, usual_ns) && awake.ns > model->rest_gap * usual_ns)
		add_rest(e, &awake, usual_ns / 2 * awake.part_ns / awake.ns, awake.others);
}

static void settle_ends(struct rests *r, double longest)
{
	for (size_t i = 0; i < r->of_pair.n; i++) {
		const struct last *last = &r->of_pair.v[i];
		struct of_event *e = &r->events[last->event];

		if (!last->seen)
			continue;
		settle_end(r, r->of_thread.v[last->thread].all0, last->all_first, last->thread, longest,
		           last->first_gap ? pace_beside(e, last->first_gap, false) : e->middle_ns, e);
		settle_end(r, last->all, (uint32_t)r->all.n, last->thread, longest,
		           last->gap ? pace_beside(e, last->gap, true) : e->middle_ns, e);
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

static void find_share(struct of_event *e, bool always)
{
	if (!e->never && !is_chance(e, always) && e->busy_ns > 0 && e->silent_ns > model->chance * e->busy_ns)
		e->share = fmin(e->silent_ns / e->busy_ns, 0.99);
	if (e->untold_ns > 0)
		e->untold = e->untold_ns / (e->untold_ns + e->busy_ns);
}

static uint64_t count_in(const struct rests *r, const struct gap *g, int event)
{
	uint64_t n = 0;

	for (uint32_t i = g->all0; i < g->all1; i++)
		n += r->all.v[i].thread == g->thread && r->all.v[i].to == event;
	return n;
}

/*
 * Cycles come evenly, so that each of their rests is seen, where in slow code one of instructions is not.  These have a counter wherever
 * cycles have one, or nearly so: what is sampled of them there stands for all of the time.  A gap that holds a rest is one of cycles, too.
 */
static void tell_by_cycles(struct rests *r, struct of_event *e, int insn, const struct of_event *c)
{
	uint64_t there = 0, all = 0;
	size_t n = 0, gaps = 0;

	if (!(c->share > 0))
		return;
	for (size_t i = 0; i < c->gaps.n; i++) {
		gaps += c->gaps.v[i].in_part;
		if (!c->gaps.v[i].in_part || is_long(&c->gaps.v[i]))
			continue;
		there += count_in(r, &c->gaps.v[i], insn);
		n++;
	}
	for (size_t i = 0; i < r->all.n; i++)
		all += r->all.v[i].in_part && r->all.v[i].to == insn;
	if (there >= model->rests * model->rests)
		e->share = fmax(e->share, 1 - (double)all * (double)n * (1 - c->share) /
		                                          ((double)there * (double)gaps));
	e->untold = fmin(e->untold, c->untold);
}

void rests_settle(struct rests *r, int insn, int cyc)
{
	double longest = model->rest_asleep * middle_of_all(r);
	bool cyc_rests;

	for (size_t i = 0; i < EFFORT_EVENTS; i++)
		find_rests(&r->events[i]);
	/* Of an event that never rests nothing is asked but what of instructions can't be told, where cycles rest. */
	cyc_rests = cyc >= 0 && cyc < EFFORT_EVENTS && r->events[cyc].rest_ns > 0;
	for (int i = 0; i < EFFORT_EVENTS; i++)
		if (r->events[i].rest_ns > 0 || (i == insn && cyc_rests))
			settle_event(r, longest, &r->events[i]);
	settle_ends(r, longest);
	for (int i = 0; i < EFFORT_EVENTS; i++)
		find_share(&r->events[i], i == insn || i == cyc);
	if (insn >= 0 && cyc >= 0 && insn < EFFORT_EVENTS && cyc < EFFORT_EVENTS)
		tell_by_cycles(r, &r->events[insn], insn, &r->events[cyc]);
}

void rests_never(struct rests *r, int event)
{
	if (event >= 0 && event < EFFORT_EVENTS)
		r->events[event].never = true;
}

double rests_share(const struct rests *r, int event)
{
	return event >= 0 && event < EFFORT_EVENTS ? r->events[event].share : 0;
}

double rests_untold(const struct rests *r, int event)
{
	return event >= 0 && event < EFFORT_EVENTS && r->events[event].share > 0 ? r->events[event].untold
	                                                                         : 0;
}
