/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "correct/recording/recording.h"
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

enum { MAX_NAME = 64 }; /* more than a thread's name has */

/* What grows from sample to sample. */
struct counter {
	uint64_t last; /* at the last sample, kept or not */
	uint64_t gone; /* counted before samples that were not kept */
};

/* One task's counters, and how long they had been there, and ran. */
struct counters {
	struct counter of[EFFORT_EVENTS], enabled_ns, running_ns;
};

struct filter {
	const struct filter_opts *o;
	uint64_t first_ns, last_ns; /* of the recording; 0 = not known yet */
	uint64_t n_kept, n_samples;
	struct pairs tasks;
	VEC(struct counters) counters;
};

int filter_parse_ids(const char *option, const char *text, struct filter_ids *out)
{
	const char *at = text;

	out->n = 0;
	for (;;) {
		char word[32];
		size_t n = strcspn(at, ",");
		unsigned long long id;
		int err;

		if (out->n == FILTER_MAX_IDS)
			return sp_fail(SP_EUSAGE, "%s: more than %d numbers", option, (int)FILTER_MAX_IDS);
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		err = cmd_parse_u64(option, word, 0, UINT32_MAX, &id);
		if (err < 0)
			return err;
		out->v[out->n++] = (uint32_t)id;
		if (!at[n])
			return 0;
		at += n + 1;
	}
}

/* One end of the window, empty: `open`. */
static bool parse_end(const char *text, size_t n, double open, double *out, bool *share)
{
	char word[64], *end;

	snprintf(word, sizeof(word), "%.*s", (int)n, text);
	*share = false;
	*out = open;
	if (!*word)
		return true;
	*out = strtod(word, &end);
	if (end != word && strcmp(end, "%") == 0) {
		*share = true;
		*out /= 100;
		return *out >= 0 && *out <= 1;
	}
	if (end != word && strcmp(end, "s") == 0)
		end++;
	return end != word && !*end && *out >= 0;
}

int filter_parse_time(const char *text, struct filter_opts *out)
{
	const char *dots = strstr(text, ".."), *mark = dots ? dots : strchr(text, ',');
	const char *tail = mark ? mark + (dots ? 2 : 1) : "";
	bool share[2];

	if (!mark || !parse_end(text, (size_t)(mark - text), 0, &out->from, &share[0]) ||
	    !parse_end(tail, strlen(tail), INFINITY, &out->to, &share[1]) || out->from >= out->to ||
	    (mark != text && *tail && share[0] != share[1]))
		return sp_fail(SP_EUSAGE,
		               "--time: '%s' is no window like 2..5 (seconds since the first sample), ..5, "
		               "2.. or 10%%..20%%",
		               text);
	out->time = text;
	out->shares = share[0] || share[1];
	return 0;
}

bool filter_is_set(const struct filter_opts *o)
{
	return o->comm || o->pids.n || o->tids.n || o->core || o->time;
}

static size_t add_ids(const char *what, const struct filter_ids *ids, char *out, size_t n, size_t size)
{
	for (size_t i = 0; i < ids->n && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s%u",
		                      i   ? ","
		                      : n ? ", "
		                          : "",
		                      i ? "" : what, ids->v[i]);
	return n < size ? n : size - 1;
}

void filter_words(const struct filter_opts *o, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	if (o->comm)
		n = (size_t)snprintf(out, size, "comm %s", o->comm);
	n = n < size ? n : size - 1;
	n = add_ids("pid ", &o->pids, out, n, size);
	n = add_ids("tid ", &o->tids, out, n, size);
	if (o->core)
		n += (size_t)snprintf(out + n, size - n, "%score %s", n ? ", " : "", o->core);
	n = n < size ? n : size - 1;
	if (o->time)
		snprintf(out + n, size - n, "%stime %s%s", n ? ", " : "", o->time,
		         o->shares || strchr(o->time, 's') ? "" : " s");
}

/* When the recording's samples begin and end. */
static int find_span(struct filter *f, struct pd_reader *r)
{
	struct pd_record rec;
	int got;

	while ((got = pd_next(r, &rec)) > 0) {
		if (rec.type != PERF_RECORD_SAMPLE || !rec.time_ns)
			continue;
		f->first_ns = f->first_ns ? f->first_ns : rec.time_ns;
		f->last_ns = rec.time_ns;
	}
	return got < 0 ? got : pd_rewind(r);
}

int filter_new(const struct filter_opts *o, struct pd_reader *r, struct filter **out)
{
	struct filter *f = mem_calloc(1, sizeof(*f));
	int err;

	f->o = o;
	err = o->shares ? find_span(f, r) : 0;
	if (err < 0) {
		filter_free(f);
		return err;
	}
	*out = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	pairs_fini(&f->tasks);
	vec_fini(&f->counters);
	free(f);
}

void filter_restart(struct filter *f)
{
	f->n_kept = f->n_samples = 0;
	if (f->counters.n)
		memset(f->counters.v, 0, f->counters.n * sizeof(*f->counters.v));
}

bool filter_has_core(const struct filter *f)
{
	return f->o->core;
}

uint64_t filter_n_kept(const struct filter *f)
{
	return f->n_kept;
}

uint64_t filter_n_samples(const struct filter *f)
{
	return f->n_samples;
}

double filter_ended_before(const struct filter *f)
{
	double length = 1e-9 * (double)(f->last_ns - f->first_ns);

	return f->o->time && !f->o->shares && f->o->from > length ? length : 0;
}

static bool in_ids(const struct filter_ids *ids, uint32_t id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->v[i] == id)
			return true;
	return !ids->n;
}

static bool named(const char *list, const char *comm)
{
	while (comm) {
		char word[MAX_NAME];
		size_t n = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		/* The last name may have commas itself. */
		if (strcmp(word, comm) == 0 || strcmp(list, comm) == 0 || fnmatch(word, comm, 0) == 0)
			return true;
		if (!list[n])
			break;
		list += n + 1;
	}
	return false;
}

static bool in_window(struct filter *f, uint64_t time_ns)
{
	double at;

	if (!f->o->time)
		return true;
	f->first_ns = f->first_ns ? f->first_ns : time_ns;
	at = (double)(int64_t)(time_ns - f->first_ns);
	if (!f->o->shares) {
		f->last_ns = time_ns > f->last_ns ? time_ns : f->last_ns;
		return at >= 1e9 * f->o->from && at < 1e9 * f->o->to;
	}
	at = f->last_ns > f->first_ns ? at / (double)(f->last_ns - f->first_ns) : 0;
	/* The last sample belongs to what ends with the recording. */
	return at >= f->o->from && (at < f->o->to || f->o->to >= 1);
}

static bool on_core(const char *core, const struct recording *r, int event)
{
	const struct pd_event *e = core && event >= 0 ? pd_event(r->reader, (size_t)event) : NULL;

	return !e || (pd_event_pmu_length(e) == strlen(core) && strncmp(e->name, core, strlen(core)) == 0);
}

/* At whatever time. */
static bool is_of_part(const struct filter *f, const struct recording *r, const struct pd_record *rec,
                       int event)
{
	char room[MAPS_COMM_ROOM];

	return in_ids(&f->o->pids, rec->pid) && in_ids(&f->o->tids, rec->tid) &&
	       on_core(f->o->core, r, event) &&
	       (!f->o->comm || named(f->o->comm, maps_comm(r->maps, rec->pid, rec->tid, room)));
}

/* An end of the window, `none` where it has none. */
static uint64_t end_ns(const struct filter *f, double end, uint64_t none)
{
	double ns = f->o->shares ? end * (double)(f->last_ns - f->first_ns) : 1e9 * end;

	return f->first_ns && (f->o->shares ? end < 1 : isfinite(end)) ? f->first_ns + (uint64_t)ns : none;
}

bool filter_is_at_other_time(const struct filter *f, const struct recording *r, const struct pd_record *rec)
{
	return f->o->time && is_of_part(f, r, rec, r->as_recorded);
}

void filter_window(const struct filter *f, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = f && f->o->time ? end_ns(f, f->o->from, 0) : 0;
	*to_ns = f && f->o->time ? end_ns(f, f->o->to, UINT64_MAX) : UINT64_MAX;
}

bool filter_note(const struct filter *f, const struct recording *r, struct pd_record *rec)
{
	uint64_t from, to;

	filter_window(f, &from, &to);
	if (rec->time_ns && rec->time_ns < from)
		rec->time_ns = from;
	if (rec->time_ns > to)
		rec->time_ns = to;
	return is_of_part(f, r, rec, rec->event);
}

/* Values that go back have begun anew. */
static uint64_t gone_before(struct counter *c, uint64_t value, bool kept)
{
	if (value < c->last)
		c->last = c->gone = 0;
	if (!kept)
		c->gone += value - c->last;
	c->last = value;
	return c->gone;
}

/* The part's own count.  How far a counter is past a multiple of its period must stay: whole periods are taken off. */
static uint64_t part_of(const struct recording *r, int event, uint64_t value, uint64_t gone)
{
	const struct perf_event_attr *attr = &pd_event(r->reader, (size_t)event)->attr;
	uint64_t period = attr->sample_period && !attr->freq ? attr->sample_period : 1;

	return value - gone / period * period;
}

void filter_take(struct filter *f, const struct recording *r, struct pd_record *rec, struct pd_value *values,
                 bool *kept)
{
	struct counters *c;
	size_t task;

	*kept = in_window(f, rec->time_ns) && is_of_part(f, r, rec, r->as_recorded);
	f->n_kept += *kept;
	f->n_samples += rec->event != r->burst_event && rec->event != r->path_event;
	if (!rec->sample.n_values)
		return;
	task = recording_counters(r, rec, &f->tasks);
	if (task == f->counters.n)
		vec_add(&f->counters, (struct counters){ 0 });
	c = &f->counters.v[task];
	for (size_t i = 0; i < rec->sample.n_values; i++) {
		struct pd_value v = rec->sample.values[i];

		if (v.event >= 0 && v.event < EFFORT_EVENTS)
			v.value = part_of(r, v.event, v.value, gone_before(&c->of[v.event], v.value, *kept));
		values[i] = v;
	}
	rec->sample.values = values;
	rec->sample.time_enabled_ns -= gone_before(&c->enabled_ns, rec->sample.time_enabled_ns, *kept);
	rec->sample.time_running_ns -= gone_before(&c->running_ns, rec->sample.time_running_ns, *kept);
}
