/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/sums.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

enum {
	MAX_SKIDS = 1 << 20,   /* overshoots kept: far more than quantiles need */
	MAX_EVENTS_SUMMED = 64 /* events whose group values are followed */
};

struct last_values {
	uint64_t value[MAX_EVENTS_SUMMED];
};

struct collect {
	struct pairs places, pairs, tasks;
	VEC(struct place_sum) sums;
	VEC(struct flow_seen) seen;
	VEC(double) skids;
	VEC(double) core_hz;
	uint64_t n_bursts;
	VEC(struct last_values) last;
	struct event_sum *events;
	size_t n_events;
	bool branch_records;
};

static int grow_events(struct collect *c, size_t n)
{
	struct event_sum *grown;

	if (n <= c->n_events)
		return 0;
	grown = realloc(c->events, n * sizeof(*grown));
	if (!grown)
		return sp_fail(SP_ENOMEM, "out of memory for %zu events", n);
	memset(grown + c->n_events, 0, (n - c->n_events) * sizeof(*grown));
	c->events = grown;
	c->n_events = n;
	return 0;
}

static int add_place(struct collect *c, const struct recording *r, const struct pd_record *rec,
                     struct place place)
{
	double weight = recording_weight(r, rec);
	struct place_sum *sum;
	long i;

	if (place.module < 0)
		return 0;
	i = pairs_number(&c->places, (uint64_t)place.module, place.vaddr);
	if (i < 0)
		return (int)i;
	if ((size_t)i == c->sums.n && vec_push(&c->sums, (struct place_sum){ .module = (uint32_t)place.module,
	                                                                     .vaddr = place.vaddr }) < 0)
		return -SP_ENOMEM;
	sum = &c->sums.v[i];
	if (rec->event == r->insn_event) {
		sum->insn += weight;
		sum->n_insn++;
	} else if (rec->event == r->cyc_event) {
		sum->cyc += weight;
		sum->n_cyc++;
	}
	return 0;
}

static int add_branches(struct collect *c, const struct recording *r, const struct pd_record *rec)
{
	for (size_t i = 0; i < rec->sample.n_branches; i++) {
		const struct pd_branch *b = &rec->sample.branches[i];
		long k = pairs_number(&c->pairs, b->from_ip ^ (uint64_t)rec->pid << 48, b->to_ip);

		if (k < 0)
			return (int)k;
		if ((size_t)k == c->seen.n) {
			struct place from = recording_place(r, rec->pid, b->from_ip);
			struct place to = recording_place(r, rec->pid, b->to_ip);
			struct flow_seen seen = { (uint32_t)from.module, (uint32_t)to.module, from.vaddr,
				                  to.vaddr, 0 };

			if (vec_push(&c->seen, seen) < 0)
				return -SP_ENOMEM;
		}
		c->seen.v[k].n++;
		c->branch_records = true;
	}
	return 0;
}

/* eq. 9: with a fixed period the count past the last multiple of it is the skid of this very sample. */
static int add_skid(struct collect *c, const struct recording *r, const struct pd_record *rec)
{
	const struct perf_event_attr *attr = &pd_event(r->reader, (size_t)rec->event)->attr;

	if (rec->event != r->cyc_event || r->cyc_is_other || attr->freq || !attr->sample_period ||
	    c->skids.n >= MAX_SKIDS)
		return 0;
	for (size_t i = 0; i < rec->sample.n_values; i++)
		if (rec->sample.values[i].event == rec->event)
			return vec_push(&c->skids,
			                (double)(rec->sample.values[i].value % attr->sample_period));
	return 0;
}

/* A counter that rested while others took their turn has counted a part only. */
static bool is_part(const struct recording *r, const struct pd_sample *s, int event)
{
	return s->time_running_ns && s->time_running_ns < s->time_enabled_ns && !r->events[event].several;
}

/* A burst's address is the core's frequency, measured just after it. */
static int add_burst(struct collect *c, const struct recording *r, const struct pd_record *rec)
{
	if (rec->event != r->burst_event)
		return 0;
	c->n_bursts++;
	return rec->sample.addr && c->core_hz.n < MAX_SKIDS ? vec_push(&c->core_hz, (double)rec->sample.addr)
	                                                    : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(double *v, size_t n)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static int add_values(struct collect *c, const struct recording *r, const struct pd_record *rec)
{
	const struct pd_sample *s = &rec->sample;
	long task;

	if (!s->n_values)
		return 0;
	task = pairs_number(&c->tasks, (uint64_t)r->group << 32 | rec->tid, recording_counters(rec));
	if (task < 0)
		return (int)task;
	if ((size_t)task == c->last.n && vec_push(&c->last, (struct last_values){ { 0 } }) < 0)
		return -SP_ENOMEM;
	for (size_t i = 0; i < s->n_values; i++) {
		int event = s->values[i].event;

		if (event < 0)
			continue;
		if (event < MAX_EVENTS_SUMMED)
			c->last.v[task].value[event] = s->values[i].value;
		c->events[event].multiplexed |= is_part(r, s, event);
	}
	return 0;
}

static int add_sample(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct collect *c = arg;
	int err = grow_events(c, pd_n_events(r->reader));

	if (err < 0)
		return err;
	c->events[rec->event].n_samples++;
	c->events[rec->event].period_sum += recording_weight(r, rec);
	err = add_place(c, r, rec, place);
	if (err == 0)
		err = add_skid(c, r, rec);
	if (err == 0)
		err = add_burst(c, r, rec);
	if (err == 0)
		err = add_values(c, r, rec);
	return err < 0 ? err : add_branches(c, r, rec);
}

/* Branches from or to code in no usable file say nothing of the flow. */
static void drop_unplaced(struct collect *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->seen.n; i++)
		if ((int32_t)c->seen.v[i].from_module >= 0 && (int32_t)c->seen.v[i].to_module >= 0)
			c->seen.v[kept++] = c->seen.v[i];
	c->seen.n = kept;
}

static int by_place(const void *a, const void *b)
{
	const struct place_sum *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

int sums_collect(struct recording *r, struct sums *out)
{
	struct collect c = { 0 };
	int err = recording_each(r, "reading samples", add_sample, &c);

	if (err == 0)
		err = grow_events(&c, pd_n_events(r->reader));
	if (err < 0)
		goto out;
	for (size_t t = 0; t < c.last.n; t++)
		for (size_t i = 0; i < c.n_events && i < MAX_EVENTS_SUMMED; i++)
			c.events[i].value_sum += (double)c.last.v[t].value[i];
	drop_unplaced(&c);
	if (c.sums.n)
		qsort(c.sums.v, c.sums.n, sizeof(*c.sums.v), by_place);
	*out = (struct sums){ .v = c.sums.v,
		              .n = c.sums.n,
		              .seen = c.seen.v,
		              .n_seen = c.seen.n,
		              .skid_cyc = c.skids.v,
		              .n_skid = c.skids.n,
		              .events = c.events,
		              .n_events = c.n_events,
		              .branch_records = c.branch_records,
		              .n_bursts = c.n_bursts,
		              .core_hz = middle(c.core_hz.v, c.core_hz.n) };
	memset(&c.sums, 0, sizeof(c.sums));
	memset(&c.seen, 0, sizeof(c.seen));
	memset(&c.skids, 0, sizeof(c.skids));
	c.events = NULL;
out:
	pairs_fini(&c.places);
	pairs_fini(&c.pairs);
	pairs_fini(&c.tasks);
	vec_fini(&c.sums);
	vec_fini(&c.seen);
	vec_fini(&c.skids);
	vec_fini(&c.core_hz);
	vec_fini(&c.last);
	free(c.events);
	return err;
}

void sums_fini(struct sums *s)
{
	free(s->v);
	free(s->seen);
	free(s->skid_cyc);
	free(s->events);
	memset(s, 0, sizeof(*s));
}
