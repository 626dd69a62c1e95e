/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/finer.h"

#include <gsl/gsl_rng.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

enum {
	FINE_NS = 250000, /* perf's own default, 4000 samples a second */
	LOOK_EVERY_NS = 20000000,
	WINDOW_NS = 1000000000,
};

/*
 * Past 2% reports tell what is missed (model.h); a few periods are, at the end of any program.  Back where it would
 * be half of that, or events would take turns at each look.
 */
static const double most_missed = 0.02, few_periods = 4;

/* FORK and EXIT; their time is that of samples. */
struct task_body {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
};

/* Samples on a CPU since the last round of as many as one is kept of, and which of them that is. */
struct round {
	uint32_t n, kept;
};

struct finer {
	const struct pe_event *events;
	size_t n_events, finer; /* n_events: there is none */
	uint64_t period_ns, fine_ns;
	uint32_t times;
	bool on, changed; /* changed: at some time, from the clock alone */
	gsl_rng *rng;
	struct round rounds[CPU_SETSIZE];
	uint64_t missed_ns, stood_for_ns;
	uint64_t n_lost;    /* that are no whole one of those kept */
	struct pairs tasks; /* by their thread's number */
	VEC(uint64_t) born_ns;
	uint64_t looked_ns, window_ns;
	/* Since the window began: what samples stand for, what is missed, and what would be without the finer event. */
	double sampled_ns, unsampled_ns, at_period_ns;
};

/* How many times finer? */
static uint32_t times_finer(const struct perf_event_attr *clock)
{
	uint64_t times = clock->freq ? 1 : (clock->sample_period + FINE_NS / 2) / FINE_NS;

	return times > 1 ? (uint32_t)times : 1;
}

static bool is_prime(uint32_t n)
{
	for (uint32_t k = 2; k * k <= n; k++)
		if (n % k == 0)
			return false;
	return true;
}

uint32_t finer_out_of_step(uint32_t n)
{
	enum { FROM = 4, LEAST = 7, MOST = 1 << 20 };

	if (n < FROM)
		return n > 1 ? n : 1;
	if (n < LEAST)
		return LEAST;
	while (n < MOST && !is_prime(n))
		n++;
	return n;
}

uint32_t finer_join(struct event_group *g, uint64_t moment_ns)
{
	const struct perf_event_attr *clock = &g->v[0].attr;
	uint32_t times = times_finer(clock);
	struct pe_event *e = &g->v[g->n];

	if (!g->v[0].lone_clock || times == 1 || g->n == EVENT_GROUP_MAX)
		return 0;
	*e = g->v[0];
	e->leader = g->n++;
	e->finer = true;
	e->attr.sample_period = clock->sample_period / times;
	if (!moment_ns)
		return 1;
	e->attr.watermark = 0;
	e->attr.wakeup_events = (uint32_t)((moment_ns + e->attr.sample_period / 2) / e->attr.sample_period);
	e->attr.wakeup_events = finer_out_of_step(e->attr.wakeup_events);
	return e->attr.wakeup_events;
}

/* One of each round, drawn: a program's rhythm might be the round's. */
static void next_round(struct finer *f, struct round *r)
{
	r->n = 0;
	r->kept = (uint32_t)gsl_rng_uniform_int(f->rng, f->times);
}

int finer_new(const struct pe_event *events, size_t n_events, uint64_t seed, struct finer **out)
{
	const struct perf_event_attr *clock = &events[0].attr;
	struct finer *f;

	*out = NULL;
	if (!events[0].lone_clock)
		return 0;
	f = calloc(1, sizeof(*f));
	if (f)
		f->rng = gsl_rng_alloc(gsl_rng_mt19937);
	if (!f || !f->rng) {
		free(f);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	gsl_rng_set(f->rng, seed);
	f->events = events;
	f->n_events = n_events;
	while (f->finer < n_events && !events[f->finer].finer)
		f->finer++;
	f->period_ns = clock->freq ? 1000000000 / clock->sample_freq : clock->sample_period;
	f->times = f->finer < n_events ? times_finer(clock) : 1;
	f->fine_ns = f->finer < n_events ? events[f->finer].attr.sample_period : f->period_ns;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		next_round(f, &f->rounds[cpu]);
	*out = f;
	return 0;
}

void finer_free(struct finer *f)
{
	if (!f)
		return;
	gsl_rng_free(f->rng);
	pairs_fini(&f->tasks);
	vec_fini(&f->born_ns);
	free(f);
}

bool finer_sample(struct finer *f, const struct rewrite_result *sample, const struct tasks_source *from)
{
	struct round *r = &f->rounds[from->cpu >= 0 && from->cpu < CPU_SETSIZE ? from->cpu : 0];
	bool kept;

	if (sample->event != 0)
		return true;
	f->stood_for_ns += sample->fine ? f->fine_ns : f->period_ns;
	f->sampled_ns += (double)(sample->fine ? f->fine_ns : f->period_ns);
	if (!sample->fine)
		return true;
	kept = r->n == r->kept;
	if (++r->n == f->times)
		next_round(f, r);
	return kept;
}

/* What tasks ran that lived so long, or for an unknown time, is in no sample of that period. */
static uint64_t unsampled_ns(uint64_t lived_ns, uint64_t period_ns)
{
	return lived_ns < period_ns ? lived_ns : period_ns / 2;
}

static void note_end(struct finer *f, const struct task_body *task)
{
	long i = pairs_find(&f->tasks, task->tid, 0);
	/* Its ring may be read before that which tells of its birth. */
	bool known = i >= 0 && f->born_ns.v[i] && f->born_ns.v[i] < task->time_ns;
	uint64_t lived_ns = known ? task->time_ns - f->born_ns.v[i] : UINT64_MAX;
	uint64_t missed_ns = unsampled_ns(lived_ns, f->on ? f->fine_ns : f->period_ns);

	/* Numbers are given to others again. */
	if (i >= 0)
		f->born_ns.v[i] = 0;
	f->missed_ns += missed_ns;
	f->unsampled_ns += (double)missed_ns;
	f->at_period_ns += (double)unsampled_ns(lived_ns, f->period_ns);
}

int finer_task(struct finer *f, const struct perf_event_header *rec)
{
	const struct task_body *task = (const struct task_body *)rec;
	long i;

	if (rec->type == PERF_RECORD_EXIT)
		note_end(f, task);
	if (rec->type != PERF_RECORD_FORK)
		return 0;
	i = pairs_number(&f->tasks, task->tid, 0);
	if (i < 0 || ((size_t)i == f->born_ns.n && vec_push(&f->born_ns, 0) < 0))
		return -SP_ENOMEM;
	f->born_ns.v[i] = task->time_ns;
	return 0;
}

uint64_t finer_lost(struct finer *f, uint64_t n)
{
	uint64_t times = f->on ? f->times : 1, whole = (f->n_lost + n) / times;

	f->n_lost = (f->n_lost + n) % times;
	return whole;
}

/*
 * All that runs by the clock's period takes turns with what runs by the finer one.  Said again at each look, for now and then the kernel
 * leaves the events of one CPU as they were where tasks are born meanwhile: in two of sixteen recordings of short processes most were
 * sampled by neither from there on, in one by both.  To what is so already it does nothing.
 */
static int take_turns(const struct finer *f, struct tasks *t)
{
	int err = 0;

	for (size_t i = 0; i < f->n_events && err == 0; i++)
		err = tasks_enable_one(t, i, f->on == (i == f->finer));
	return err;
}

static int change(struct finer *f, struct tasks *t, bool on)
{
	f->on = on;
	f->changed = true;
	sp_debug("the clock is sampled %s",
	         on ? "finer, for many threads end young" : "as before, for few threads end young");
	return take_turns(f, t);
}

int finer_look(struct finer *f, struct tasks *t, uint64_t now_ns)
{
	double all_ns = f->sampled_ns + f->unsampled_ns;
	int err = 0;

	if (f->times == 1 || now_ns - f->looked_ns < LOOK_EVERY_NS)
		return 0;
	f->looked_ns = now_ns;
	if (f->changed)
		err = take_turns(f, t);
	if (err == 0 && !f->on && f->at_period_ns > most_missed * all_ns &&
	    f->at_period_ns > few_periods * (double)f->period_ns)
		err = change(f, t, true);
	if (err < 0 || now_ns - f->window_ns < WINDOW_NS)
		return err;
	if (f->on && f->at_period_ns < most_missed / 2 * all_ns)
		err = change(f, t, false);
	f->window_ns = now_ns;
	f->sampled_ns = f->unsampled_ns = f->at_period_ns = 0;
	return err;
}

uint64_t finer_missed_ns(const struct finer *f)
{
	return f->missed_ns;
}

uint64_t finer_time_ns(const struct finer *f)
{
	return f->missed_ns + f->stood_for_ns;
}
