/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/recording/branches.h"
#include "correct/recording/chosen.h"
#include "correct/recording/ended.h"
#include "correct/recording/events.h"
#include "correct/skid/dist.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/pairs.h"
#include "profiler/base/select.h"
#include "profiler/base/vec.h"

/* Events that any core counts at once: four, cycles and instructions; or six. */
enum { COUNTERS = 6 };

/* Counts of a task at its last interrupt. */
struct last_values {
	uint64_t value[EFFORT_EVENTS], enabled_ns, running_ns;
	size_t skid; /* where its last skid is, + 1 */
};

struct collect {
	const struct recording *r;
	struct pairs places, tasks;
	struct branch_sums branches;
	struct tasks by_task;
	VEC(struct place_sum) sums;
	VEC(struct skid_seen) skids;
	uint64_t n_bursts, n_stacks;
	VEC(struct last_values) last;
	struct event_sum *events;
	size_t n_events;
	bool branch_records, branch_cycles, paths;
	struct rests *rests;
	struct throttled *throttled;
	struct ended *ended;
	double lost_share;
};

static void grow_events(struct collect *c, size_t n)
{
	if (n <= c->n_events)
		return;
	c->events = mem_realloc(c->events, n * sizeof(*c->events));
	memset(c->events + c->n_events, 0, (n - c->n_events) * sizeof(*c->events));
	c->n_events = n;
}

static void add_place(struct collect *c, const struct recording *r, const struct pd_record *rec,
                      struct place place)
{
	double weight = recording_weight(r, rec);
	struct place_sum *sum;

	if (place.module < 0)
		return;
	sum = pairs_in(&c->places, &c->sums, (uint64_t)place.module, place.vaddr);
	sum->module = (uint32_t)place.module;
	sum->vaddr = place.vaddr;
	if (rec->event == r->insn_event) {
		sum->insn += weight;
		sum->n_insn++;
	} else if (rec->event == r->cyc_event) {
		sum->cyc += weight;
		sum->n_cyc++;
		/* Nobody asks where instructions were counted: then there may be millions of samples. */
		if (r->relative && branch_sums_is_still(&c->branches, rec))
			sum->still_cyc += weight;
	}
}

static void add_branches(struct collect *c, const struct recording *r, const struct pd_record *rec)
{
	c->paths |= rec->sample.n_branches > 0;
	c->n_stacks += rec->sample.n_branches > 0;
	c->branch_records |= rec->sample.n_branches > 0 && rec->event != r->burst_event;
	for (size_t i = 0; i < rec->sample.n_branches; i++)
		c->events[r->as_recorded].timed |= rec->sample.branches[i].cycles > 0;
	c->branch_cycles |= c->events[r->as_recorded].timed && rec->event == r->cyc_event && !r->cyc_is_other;
	branch_sums_add(&c->branches, r, rec);
}

/*
 * With a fixed period the count past the last multiple of it is the skid of this very sample.  A sample of another
 * event at the same count of cycles is of the same interrupt; it may come before or after.
 */
static void add_skid(struct collect *c, const struct recording *r, const struct pd_record *rec, size_t task)
{
	const struct perf_event_attr *attr;
	struct skid_seen seen;
	struct last_values *last;
	uint64_t cyc;

	/* Counts beside a precise sample are read when the interrupt comes, long after the instruction that is named. */
	if (r->cyc_event < 0 || r->cyc_event >= EFFORT_EVENTS || r->cyc_is_other || r->cyc_precise ||
	    !sample_value(&rec->sample, r->cyc_event, &cyc))
		return;
	attr = &pd_event(r->reader, (size_t)r->cyc_event)->attr;
	last = &c->last.v[task];
	if (attr->freq || !attr->sample_period)
		return;
	seen = (struct skid_seen){ (double)(cyc % attr->sample_period), last->value[r->cyc_event] == cyc };
	if (rec->event != r->cyc_event) {
		if (seen.shared && last->skid)
			c->skids.v[last->skid - 1].shared = true;
		return;
	}
	if (c->skids.n >= EFFORT_SKIDS)
		return;
	last->skid = c->skids.n + 1;
	vec_add(&c->skids, seen);
}

static void add_values(struct collect *c, const struct recording *r, const struct pd_record *rec, size_t task)
{
	const struct pd_sample *s = &rec->sample;
	struct last_values *last = &c->last.v[task];

	last->enabled_ns = s->time_enabled_ns;
	last->running_ns = s->time_running_ns;
	for (size_t i = 0; i < s->n_values; i++) {
		int event = s->values[i].event;

		if (event < 0)
			continue;
		if (event < EFFORT_EVENTS)
			last->value[event] = s->values[i].value;
		/* A counter that rested in the slots of others has counted a part only. */
		c->events[event].multiplexed |= s->time_running_ns &&
		                                s->time_running_ns < s->time_enabled_ns &&
		                                !r->events[event].several;
	}
}

/* Whose samples threads end between. */
static int sampled_event(const struct recording *r)
{
	/* Instructions that are counted only, are so with each sample of cycles. */
	return r->insn_event >= 0 && !r->insn_counted ? r->insn_event : r->cyc_event;
}

/* Bursts come when they like, and so do samples without a period. */
static void rest(struct collect *c, const struct pd_record *rec, bool in_part)
{
	if (pd_event(c->r->reader, (size_t)rec->event)->attr.sample_period && rec->event != c->r->burst_event)
		rests_sample(c->rests, rec->tid, rec->event, rec->time_ns, in_part);
}

static void add_sample(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct collect *c = arg;

	grow_events(c, pd_n_events(r->reader));
	rest(c, rec, true);
	throttled_sample(c->throttled, rec->tid, rec->event, rec->time_ns, recording_weight(r, rec));
	if (rec->event == sampled_event(r))
		ended_sample(c->ended, rec->tid, rec->time_ns);
	c->events[rec->event].n_samples++;
	c->events[r->as_recorded].own_sum += recording_weight(r, rec);
	c->events[rec->event].period_sum += recording_weight(r, rec);
	tasks_add(&c->by_task, r, rec);
	add_place(c, r, rec, place);
	c->n_bursts += rec->event == r->burst_event;
	if (rec->sample.n_values) {
		size_t task = recording_counters(r, rec, &c->tasks);

		if (task == c->last.n)
			vec_add(&c->last, (struct last_values){ 0 });
		add_skid(c, r, rec, task);
		add_values(c, r, rec, task);
	}
	add_branches(c, r, rec);
}

/* Which counters were read with each sample has told when they ran. */
static bool is_read_in_group(const struct recording *r, size_t event)
{
	return pd_event(r->reader, event)->attr.read_format & PERF_FORMAT_GROUP;
}

/* Samples at another time; counters that were stopped, and went on; threads that began and ended. */
static void note_stopped(void *arg, int event, const struct pd_record *rec)
{
	struct collect *c = arg;
	bool on = rec->type == PERF_RECORD_THROTTLE;

	if (rec->type == PERF_RECORD_SAMPLE) {
		rest(c, rec, false);
		throttled_elsewhen(c->throttled, rec->tid, event, rec->time_ns);
		return;
	}
	ended_record(c->ended, rec,
	             rec->event >= 0 ? &pd_event(c->r->reader, (size_t)rec->event)->attr : NULL);
	if (rec->type == PERF_RECORD_EXIT)
		throttled_exit(c->throttled, rec->tid, c->r->noted_ns);
	if (on || rec->type == PERF_RECORD_UNTHROTTLE)
		throttled_record(c->throttled, rec->tid, event, rec->throttle.stream_id, on, c->r->noted_ns);
}

/*
 * The share of its time for which an event had no counter, as its times say that were read; 0 where others count the same in its
 * turns, or nothing but its ratio to instructions is asked for, NAN where nothing was read.
 */
static double rested_by_times(const struct recording *r, const struct collect *c, size_t event)
{
	bool is_evidence = !pd_event(r->reader, event)->attr.sample_period && (int)event != r->insn_event;
	double enabled = 0, running = 0;

	for (size_t t = 0; t < c->last.n && event < EFFORT_EVENTS; t++) {
		enabled += c->last.v[t].value[event] ? (double)c->last.v[t].enabled_ns : 0;
		running += c->last.v[t].value[event] ? (double)c->last.v[t].running_ns : 0;
	}
	if (!(running > 0) || r->events[event].several || is_evidence)
		return is_read_in_group(r, event) ? 0 : NAN;
	return 1 - running / enabled > model->little ? 1 - running / enabled : 0;
}

/*
 * More events than a core has counters take turns, though samples be so few that no rest is to be seen: then nothing tells how long
 * instructions had none.
 */
static void doubt_counters(const struct recording *r, struct collect *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_events; i++)
		n += c->events[i].n_samples && !is_read_in_group(r, i) && r->events[i].same == (int)i &&
		     pd_event_has_counter(r->reader, i);
	if (n <= COUNTERS || r->insn_event < 0 || is_read_in_group(r, (size_t)r->insn_event))
		return;
	c->events[r->insn_event].multiplexed = true;
	c->events[r->insn_event].untold = 1;
}

/* eq. 5.  The core's cycles come evenly in time: where they never rest no other gap is a slot of others, but slow code. */
static void find_scale(struct recording *r, struct collect *c)
{
	double lost = pd_lost_samples(r->reader) / fmax((double)pd_stats(r->reader)->n_samples, 1), insn, cyc;
	const int even = chosen_of_kind(r, MIX_CYCLES);
	uint64_t from_ns, to_ns;
	bool any = false;

	for (size_t i = 0; i < c->n_events; i++)
		if (!pd_event_has_counter(r->reader, i) || chosen_is_part(r, i))
			rests_never(c->rests, (int)i);
	filter_window(r->filter, &from_ns, &to_ns);
	throttled_settle(c->throttled, from_ns, to_ns);
	rests_settle(c->rests, chosen_of_kind(r, MIX_INSN), even);
	r->scale = mem_calloc(c->n_events + 1, sizeof(*r->scale));
	for (size_t i = 0; i < c->n_events; i++) {
		bool rests = even < 0 || rests_share(c->rests, even) > 0;
		double by_times = rested_by_times(r, c, i);

		c->events[i].rested = isfinite(by_times) ? by_times
		                      : rests            ? rests_share(c->rests, (int)i)
		                                         : 0;
		any |= c->events[i].rested > 0;
		c->events[i].multiplexed |= c->events[i].rested > 0;
		/* Where others had samples meanwhile, a counter that was stopped has rested, too. */
		c->events[i].throttled = throttled_share(c->throttled, (int)i);
		c->events[i].throttled *= c->events[i].throttled > model->little;
		c->events[i].rested = c->events[i].rested > c->events[i].throttled ? c->events[i].rested : 0;
		if (c->events[i].rested > 0 && !isfinite(by_times))
			c->events[i].untold = rests_untold(c->rests, (int)i);
		r->scale[i] = 1 / (1 - fmax(c->events[i].rested, c->events[i].throttled));
		if (lost > model->little && !is_read_in_group(r, i)) {
			r->scale[i] *= 1 + lost;
			c->lost_share = lost;
		}
		c->events[i].period_sum *= r->scale[i];
	}
	if (!any)
		doubt_counters(r, c);
	insn = r->insn_event >= 0 ? r->scale[r->insn_event] : 1;
	cyc = r->cyc_event >= 0 ? r->scale[r->cyc_event] : 1;
	for (size_t i = 0; i < c->sums.n; i++) {
		c->sums.v[i].insn *= insn;
		c->sums.v[i].cyc *= cyc;
		c->sums.v[i].still_cyc *= cyc;
	}
	for (size_t i = 0; i < c->by_task.rows.n; i++) {
		c->by_task.rows.v[i].insn *= insn;
		c->by_task.rows.v[i].cyc *= cyc;
	}
	r->n_scale = c->n_events;
	r->insn_stopped = r->insn_event >= 0 ? c->events[r->insn_event].throttled : 0;
	if (any) {
		r->rests = c->rests;
		c->rests = NULL;
	}
}

/* Of several kinds of cores one may have branch records that tell cycles, and another none. */
static void find_untimed(struct recording *r, const struct collect *c)
{
	for (size_t i = 0; i < c->n_events && i < r->n_events; i++)
		r->events[i].untimed = c->branch_cycles && !c->events[i].timed;
}

static int by_place(const void *a, const void *b)
{
	const struct place_sum *x = a, *y = b;

	return order_pairs(x->module, x->vaddr, y->module, y->vaddr);
}

/* Counters go on where their samples are lost.  A period of each is yet to come at the end. */
static void find_unsampled(const struct recording *r, struct collect *c)
{
	for (size_t i = 0; i < c->n_events && i < EFFORT_EVENTS; i++) {
		struct event_sum *e = &c->events[i];
		double period = e->n_samples ? e->period_sum / (double)e->n_samples : 0, counters = 0;

		for (size_t t = 0; t < c->last.n; t++)
			counters += c->last.v[t].value[i] > 0;
		if (!e->n_samples || e->multiplexed || r->insn_counted || !(e->value_sum > 0))
			continue;
		if (e->value_sum - e->period_sum - counters * period > model->little * e->value_sum)
			e->unsampled = 1 - e->period_sum / e->value_sum;
	}
}

static void find_ended(const struct recording *r, const struct collect *c)
{
	int sampled = sampled_event(r), shown = r->insn_event >= 0 ? r->insn_event : r->cyc_event;
	double n;

	if (sampled < 0 || !c->events[sampled].n_samples || !recording_is_of_tasks(r) ||
	    (r->insn_event < 0 && !r->cyc_is_even))
		return;
	n = (double)c->events[sampled].n_samples;
	c->events[shown].ended = ended_share(c->ended, (double)c->by_task.current.n, n,
	                                     r->cyc_is_even ? c->events[sampled].period_sum / n : 0);
}

int sums_collect(struct recording *r, struct sums *out)
{
	struct collect c = {
		.rests = rests_new(), .throttled = throttled_new(), .ended = ended_new(), .r = r
	};
	int err = recording_each_noting(r, "reading samples", add_sample, note_stopped, &c);
	double *skid_cyc;

	if (err < 0)
		goto out;
	grow_events(&c, pd_n_events(r->reader));
	find_scale(r, &c);
	for (size_t t = 0; t < c.last.n; t++)
		for (size_t i = 0; i < c.n_events && i < EFFORT_EVENTS; i++)
			c.events[i].value_sum += (double)c.last.v[t].value[i] /
			                         (1 - fmax(c.events[i].rested, c.events[i].throttled));
	find_unsampled(r, &c);
	find_untimed(r, &c);
	find_ended(r, &c);
	skid_cyc = mem_malloc((c.skids.n + 1) * sizeof(*skid_cyc));
	skid_unshare(c.skids.v, c.skids.n, skid_cyc);
	branch_sums_end(&c.branches);
	if (c.sums.n)
		qsort(c.sums.v, c.sums.n, sizeof(*c.sums.v), by_place);
	*out = (struct sums){ .v = c.sums.v,
		              .n = c.sums.n,
		              .seen = c.branches.seen.v,
		              .n_seen = c.branches.seen.n,
		              .runs = c.branches.runs.v,
		              .n_runs = c.branches.runs.n,
		              .n_branches = c.branches.n_branches,
		              .skid_cyc = skid_cyc,
		              .n_skid = c.skids.n,
		              .events = c.events,
		              .n_events = c.n_events,
		              .branch_records = c.branch_records,
		              .paths = c.paths,
		              .branch_cycles = c.branch_cycles,
		              .n_bursts = c.n_bursts,
		              .n_stacks = c.n_stacks,
		              .lost_share = c.lost_share,
		              .tasks = c.by_task,
		              .core_hz = select_middle(r->core_hz.v, r->core_hz.n) };
	memset(&c.sums, 0, sizeof(c.sums));
	memset(&c.by_task, 0, sizeof(c.by_task));
	memset(&c.branches.seen, 0, sizeof(c.branches.seen));
	memset(&c.branches.runs, 0, sizeof(c.branches.runs));
	c.events = NULL;
out:
	pairs_fini(&c.places);
	pairs_fini(&c.tasks);
	vec_fini(&c.sums);
	branch_sums_fini(&c.branches);
	tasks_fini(&c.by_task);
	vec_fini(&c.skids);
	vec_fini(&c.last);
	rests_free(c.rests);
	throttled_free(c.throttled);
	ended_free(c.ended);
	free(c.events);
	return err;
}

void sums_fini(struct sums *s)
{
	free(s->v);
	free(s->seen);
	free(s->runs);
	free(s->skid_cyc);
	free(s->events);
	tasks_fini(&s->tasks);
	memset(s, 0, sizeof(*s));
}
