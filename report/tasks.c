/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row per process or thread: what was sampled of it; and one per event of the file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/report.h"

struct row {
	struct profile_task t;
	double share, key;
	const struct profile_event *e;
};

enum id {
	ID_SHARE,
	ID_SAMPLES,
	ID_INSN,
	ID_CYC,
	ID_OTHER,
	ID_IPC,
	ID_PID,
	ID_TID,
	ID_COMM,
	ID_PERIOD,
	ID_TOTAL,
	ID_SHOWN,
	ID_EVENT,
};

#define COUNT_COLUMNS                                                                    \
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },                                    \
	        { "samples", "SAMPLES", ID_SAMPLES, COLUMN_WHOLE, COLUMN_WIDE },         \
	        { "instructions", "INSTRUCTIONS", ID_INSN, COLUMN_COUNT, 0, HAVE_INSN }, \
	        { "cycles", "CYCLES", ID_CYC, COLUMN_COUNT, 0, HAVE_CYC },               \
	        { "events", "EVENTS", ID_OTHER, COLUMN_COUNT, 0, HAVE_OTHER },           \
	        { "ipc", "IPC", ID_IPC, COLUMN_RATIO, 0, HAVE_INSN | HAVE_CYC },         \
	{                                                                                \
		"pid", "PID", ID_PID, COLUMN_ID                                          \
	}

static const struct column process_columns[] = {
	COUNT_COLUMNS,
	{ "comm", "COMM", ID_COMM, COLUMN_TEXT },
};

static const struct column thread_columns[] = {
	COUNT_COLUMNS,
	{ "tid", "TID", ID_TID, COLUMN_ID },
	{ "comm", "COMM", ID_COMM, COLUMN_TEXT },
};

static const struct column event_columns[] = {
	{ "samples", "SAMPLES", ID_SAMPLES, COLUMN_WHOLE }, { "period", "PERIOD", ID_PERIOD, COLUMN_WHOLE },
	{ "total", "COUNTED", ID_TOTAL, COLUMN_COUNT },     { "shown", "SHOWN", ID_SHOWN, COLUMN_TEXT },
	{ "event", "EVENT", ID_EVENT, COLUMN_TEXT },
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s };
}

/* What reports make of an event. */
static const char *shown_as(const struct profile *p, const struct profile_event *e)
{
	ptrdiff_t i = e - p->meta.events;

	if (i == p->meta.insn_event || i == p->meta.cyc_event)
		return "yes";
	if (e->name && strcmp(e->name, "bursts") == 0)
		return "as evidence";
	if (e->period || e->freq)
		return "with --event";
	/* What it came to while it had no counter is in no total: the corrector takes ratios. */
	return e->multiplexed ? "as evidence, counted part of the time" : "as evidence";
}

static struct cell event_cell(const struct profile *p, const struct profile_event *e, int id)
{
	switch (id) {
	case ID_SAMPLES:
		return num((double)e->n_samples);
	case ID_PERIOD:
		return num(e->period && !e->freq ? (double)e->period : NAN);
	case ID_TOTAL:
		return (struct cell){ .num = e->total, .rough = report_is_rough(e, (double)e->n_samples) };
	case ID_SHOWN:
		return text(shown_as(p, e));
	default:
		return text(e->name);
	}
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct view *v = view;
	const struct row *r = (const struct row *)v->rows + i;

	if (r->e)
		return event_cell(v->p, r->e, id);
	switch (id) {
	case ID_SHARE:
		return num(r->share);
	case ID_SAMPLES:
		return num(r->t.n_samples);
	case ID_INSN:
		return num(v->p->meta.insn_event >= 0 ? r->t.insn : NAN);
	case ID_CYC:
		return num(report_has_cyc(v->p) ? r->t.cyc : NAN);
	case ID_OTHER:
		return report_events(v->p, r->t.cyc, r->t.n_samples);
	case ID_IPC:
		return num(v->p->meta.insn_event >= 0 ? report_ipc(v->p, r->t.insn, r->t.cyc) : NAN);
	case ID_PID:
		return num(r->t.pid);
	case ID_TID:
		return num(r->t.tid);
	default:
		return *r->t.comm ? text(r->t.comm) : (struct cell){ 0 };
	}
}

static double share_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].share;
}

static double sort_key(const struct profile *p, enum report_sort sort, const struct row *r)
{
	switch (sort) {
	case SORT_RAW:
	case SORT_FIXED:
		return r->t.insn;
	case SORT_CYCLES:
		return r->t.cyc;
	case SORT_IPC:
		return report_ipc(p, r->t.insn, r->t.cyc);
	default:
		return r->share;
	}
}

static int by_number(const struct row *x, const struct row *y)
{
	if (x->t.pid != y->t.pid)
		return x->t.pid < y->t.pid ? -1 : 1;
	if (x->t.tid != y->t.tid)
		return x->t.tid < y->t.tid ? -1 : 1;
	return strcmp(x->t.comm, y->t.comm);
}

static int compare_pids(const void *a, const void *b)
{
	return by_number(a, b);
}

static int compare_names(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->t.comm, y->t.comm);

	return order ? order : by_number(x, y);
}

static int compare_keys(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double kx = isnan(x->key) ? -INFINITY : x->key, ky = isnan(y->key) ? -INFINITY : y->key;

	return kx != ky ? (kx > ky ? -1 : 1) : by_number(x, y);
}

/* Threads of one process and name become one row; rows are sorted by pid. */
static size_t unite(struct row *rows, size_t n)
{
	size_t k = 0;

	qsort(rows, n, sizeof(*rows), compare_names);
	for (size_t i = 0; i < n; i++) {
		struct row *last = k ? &rows[k - 1] : NULL;

		if (last && last->t.pid == rows[i].t.pid && strcmp(last->t.comm, rows[i].t.comm) == 0) {
			last->t.insn += rows[i].t.insn;
			last->t.cyc += rows[i].t.cyc;
			last->t.n_samples += rows[i].t.n_samples;
		} else {
			rows[k++] = rows[i];
		}
	}
	return k;
}

int view_tasks(const struct profile *p, const struct report_opts *o, struct view *out)
{
	bool threads = o->view == REPORT_THREADS, insn = p->meta.insn_event >= 0;
	struct row *rows = calloc(p->n_tasks + 1, sizeof(*rows));
	size_t n = p->n_tasks;
	double total = 0;

	if (!rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu threads", p->n_tasks);
	for (size_t i = 0; i < n; i++)
		rows[i].t = p->tasks[i];
	for (size_t i = 0; !threads && i < n; i++)
		rows[i].t.comm = rows[i].t.process;
	if (!threads)
		n = unite(rows, n);
	for (size_t i = 0; i < n; i++)
		total += insn ? rows[i].t.insn : rows[i].t.cyc;
	for (size_t i = 0; i < n; i++) {
		rows[i].share = total > 0 ? (insn ? rows[i].t.insn : rows[i].t.cyc) / total : NAN;
		rows[i].key = sort_key(p, o->sort, &rows[i]);
	}
	qsort(rows, n, sizeof(*rows),
	      o->sort == SORT_NAME  ? compare_names
	      : o->sort == SORT_PID ? compare_pids
	                            : compare_keys);
	*out = (struct view){ .p = p, .rows = rows, .share = share_of };
	out->table = (struct table){ threads ? thread_columns : process_columns,
		                     threads ? sizeof(thread_columns) / sizeof(thread_columns[0])
		                             : sizeof(process_columns) / sizeof(process_columns[0]),
		                     n,
		                     (insn ? HAVE_INSN : 0) | (report_has_cyc(p) ? HAVE_CYC : 0) |
		                             (report_has_other(p) ? HAVE_OTHER : 0),
		                     cell,
		                     out };
	return 0;
}

static double no_share(const struct view *v, size_t i)
{
	(void)v;
	(void)i;
	return NAN;
}

int view_events(const struct profile *p, const struct report_opts *o, struct view *out)
{
	struct row *rows = calloc(p->meta.n_events + 1, sizeof(*rows));
	size_t n = 0;

	(void)o;
	if (!rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu events", p->meta.n_events);
	for (size_t i = 0; i < p->meta.n_events; i++)
		if (!p->meta.events[i].aside)
			rows[n++].e = &p->meta.events[i];
	*out = (struct view){ .p = p, .rows = rows, .share = no_share };
	out->table = (struct table){
		event_columns, sizeof(event_columns) / sizeof(event_columns[0]), n, 0, cell, out
	};
	return 0;
}
