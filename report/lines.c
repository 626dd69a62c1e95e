/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row a source line, or an instruction. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/report.h"

struct row {
	const struct profile_insn *insn; /* the one, or the heaviest of the line */
	struct profile_count count;
	double share, key;
	uint8_t status; /* worst of them */
	char place[PLACE_MAX];
};

enum id {
	ID_SHARE,
	ID_RAW,
	ID_FIXED,
	ID_LO,
	ID_HI,
	ID_RANGE,
	ID_CYC,
	ID_OTHER,
	ID_IPC_RAW,
	ID_IPC,
	ID_STATUS,
	ID_PLACE,
	ID_FILE,
	ID_LINE,
	ID_FUNC,
	ID_MODULE,
	ID_ADDR,
	ID_TEXT,
	ID_REGION,
};

#define COUNT_COLUMNS                                                                                             \
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },                                                             \
	        { "raw", "RAW", ID_RAW, COLUMN_COUNT, COLUMN_LESS, HAVE_INSN | HAVE_RAW },                        \
	        { "fixed", "FIXED", ID_FIXED, COLUMN_COUNT, 0, HAVE_INSN | HAVE_FIXED },                          \
	        { "lo", "", ID_LO, COLUMN_COUNT, COLUMN_NO_TEXT },                                                \
	        { "hi", "", ID_HI, COLUMN_COUNT, COLUMN_NO_TEXT },                                                \
	        { "", "90% INTERVAL", ID_RANGE, COLUMN_RANGE, COLUMN_NO_DATA, HAVE_INSN | HAVE_FIXED },           \
	        { "cycles", "CYCLES", ID_CYC, COLUMN_COUNT, COLUMN_WIDE, HAVE_CYC },                              \
	        { "events", "EVENTS", ID_OTHER, COLUMN_COUNT, 0, HAVE_OTHER },                                    \
	        { "ipc_raw", "IPC-RAW", ID_IPC_RAW, COLUMN_RATIO, COLUMN_LESS, HAVE_INSN | HAVE_CYC | HAVE_RAW }, \
	        { "ipc_fixed", "IPC", ID_IPC, COLUMN_RATIO, 0, HAVE_INSN | HAVE_CYC | HAVE_FIXED },               \
	{                                                                                                         \
		"status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS, HAVE_INSN                              \
	}

#define PLACE_COLUMNS                                                                 \
	{ "file", "", ID_FILE, COLUMN_TEXT, COLUMN_NO_TEXT },                         \
	        { "line", "", ID_LINE, COLUMN_WHOLE, COLUMN_NO_TEXT },                \
	        { "function", "FUNCTION", ID_FUNC, COLUMN_TEXT, COLUMN_SQUEEZE },     \
	{                                                                             \
		"module", "MODULE", ID_MODULE, COLUMN_TEXT, COLUMN_WIDE, HAVE_MODULES \
	}

static const struct column line_columns[] = {
	COUNT_COLUMNS,
	{ "", "LINE", ID_PLACE, COLUMN_TEXT, COLUMN_NO_DATA },
	PLACE_COLUMNS,
};

static const struct column insn_columns[] = {
	COUNT_COLUMNS,
	{ "vaddr", "ADDRESS", ID_ADDR, COLUMN_ADDR },
	{ "text", "INSTRUCTION", ID_TEXT, COLUMN_TEXT, COLUMN_SQUEEZE },
	{ "", "LINE", ID_PLACE, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_WIDE },
	PLACE_COLUMNS,
	{ "region", "", ID_REGION, COLUMN_TEXT, COLUMN_NO_TEXT },
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s ? s : "" };
}

static const char *func_name(const struct profile *p, uint32_t func)
{
	return func < p->n_funcs ? p->funcs[func].name : "";
}

static struct cell count_cell(const struct profile *p, const struct profile_count *c, int id)
{
	bool insn = report_has_insn(p);

	switch (id) {
	case ID_RAW:
		return num(insn ? c->raw_insn : NAN);
	case ID_FIXED:
		return num(insn ? c->insn : NAN);
	case ID_LO:
		return num(insn ? c->lo : NAN);
	case ID_HI:
		return num(insn ? c->hi : NAN);
	case ID_RANGE:
		return (struct cell){ .num = insn ? c->lo : NAN, .num2 = c->hi };
	case ID_CYC:
		return num(report_has_cyc(p) ? c->cyc : NAN);
	case ID_OTHER:
		return report_events(p, c->raw_cyc, c->n_samples);
	case ID_IPC_RAW:
		return num(report_ipc(p, c->raw_insn, c->raw_cyc));
	default:
		return num(report_ipc(p, c->insn, c->cyc));
	}
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct view *v = view;
	const struct row *r = (const struct row *)v->rows + i;
	const char *file = report_file(v->p, r->insn->file);

	switch (id) {
	case ID_SHARE:
		return num(r->share);
	case ID_STATUS:
		/* It is of instructions: time by line is as sampled. */
		return report_has_insn(v->p) ? text(profile_status_word(r->status)) : (struct cell){ 0 };
	case ID_PLACE:
		return text(r->place);
	case ID_FILE:
		return *file ? text(file) : (struct cell){ 0 };
	case ID_LINE:
		return num(r->insn->line ? (double)r->insn->line : NAN);
	case ID_FUNC:
		return text(func_name(v->p, r->insn->func));
	case ID_MODULE:
		return text(report_base(report_module(v->p, r->insn->module)));
	case ID_ADDR:
		return (struct cell){ .addr = r->insn->vaddr };
	case ID_TEXT:
		return text(r->insn->text);
	case ID_REGION:
		return text(r->insn->region < 0 ? "" : v->p->regions[r->insn->region].name);
	default:
		return count_cell(v->p, &r->count, id);
	}
}

static double share_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].share;
}

/* Instructions that the options ask for, as indices. */
static int select_insns(const struct profile *p, const struct report_opts *o, uint32_t **out, size_t *n)
{
	uint32_t *chosen = calloc(p->n_insns + 1, sizeof(*chosen));
	bool *wanted = calloc(p->n_funcs + 1, sizeof(*wanted)), any = !o->function;
	int err = 0;

	*n = 0;
	if (!chosen || !wanted) {
		err = sp_fail(SP_ENOMEM, "out of memory for %zu instructions", p->n_insns);
		goto out;
	}
	for (size_t i = 0; i < p->n_funcs; i++) {
		wanted[i] = !o->function || report_matches(&p->funcs[i], o->function);
		any |= wanted[i];
	}
	if (!any) {
		err = report_no_match(p, o->function);
		goto out;
	}
	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];
		uint32_t func = o->rollup ? insn->phys_func : insn->func;

		if (func < p->n_funcs ? wanted[func] : !o->function)
			chosen[(*n)++] = (uint32_t)i;
	}
	*out = chosen;
	chosen = NULL;
out:
	free(chosen);
	free(wanted);
	return err;
}

static void set_key(const struct profile *p, const struct report_opts *o, double total, struct row *r)
{
	const struct profile_count *c = &r->count;
	bool insn = report_has_insn(p);
	double x = !insn ? c->cyc : o->show == REPORT_RAW ? c->raw_insn : c->insn;

	r->share = total > 0 ? x / total : NAN;
	switch (o->sort) {
	case SORT_RAW:
		r->key = c->raw_insn;
		break;
	case SORT_FIXED:
		r->key = c->insn;
		break;
	case SORT_CYCLES:
		r->key = c->cyc;
		break;
	case SORT_IPC:
		r->key = report_ipc(p, c->insn, c->cyc);
		break;
	case SORT_CHANGE:
		r->key = fabs(c->insn - c->raw_insn);
		break;
	case SORT_STATUS:
		r->key = r->status;
		break;
	default:
		r->key = r->share;
	}
}

static double total_of(const struct profile *p, const struct report_opts *o)
{
	double total = 0;

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_count *c = &p->funcs[i].count;

		total += !report_has_insn(p) ? c->cyc : o->show == REPORT_RAW ? c->raw_insn : c->insn;
	}
	return total;
}

static int by_address(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->insn > y->insn) - (x->insn < y->insn);
}

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double kx = isnan(x->key) ? -INFINITY : x->key, ky = isnan(y->key) ? -INFINITY : y->key;

	if (kx != ky)
		return kx > ky ? -1 : 1;
	return by_address(a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->place, y->place);

	return order ? order : by_address(a, b);
}

static void finish(const struct profile *p, const struct report_opts *o, struct row *rows, size_t n,
                   struct view *out)
{
	double total = total_of(p, o);
	bool addresses = o->view == REPORT_INSNS && o->function && o->sort == SORT_SHARE;

	for (size_t i = 0; i < n; i++) {
		lines_place(p, rows[i].insn, rows[i].place);
		set_key(p, o, total, &rows[i]);
	}
	/* One function's instructions read best as they stand in it. */
	qsort(rows, n, sizeof(*rows), addresses ? by_address : o->sort == SORT_NAME ? by_place : by_key);
	*out = (struct view){ .p = p, .rows = rows, .share = share_of };
	out->table = (struct table){ .n_rows = n, .have = report_have(p, o), .cell = cell, .view = out };
}

static bool counted(const struct profile_count *c)
{
	return c->raw_insn > 0 || c->raw_cyc > 0 || c->insn > 0 || c->cyc > 0;
}

int view_insns(const struct profile *p, const struct report_opts *o, struct view *out)
{
	uint32_t *chosen = NULL;
	struct row *rows;
	size_t n_chosen, n = 0;
	int err = select_insns(p, o, &chosen, &n_chosen);

	if (err < 0)
		return err;
	rows = calloc(n_chosen + 1, sizeof(*rows));
	if (!rows) {
		free(chosen);
		return sp_fail(SP_ENOMEM, "out of memory for %zu instructions", n_chosen);
	}
	for (size_t i = 0; i < n_chosen; i++) {
		const struct profile_insn *insn = &p->insns[chosen[i]];

		/* A function's cold instructions are shown between its hot ones. */
		if (o->function || counted(&insn->count))
			rows[n++] = (struct row){ .insn = insn,
				                  .count = insn->count,
				                  .status = profile_judge(insn->status, &insn->count) };
	}
	free(chosen);
	finish(p, o, rows, n, out);
	out->table.columns = insn_columns;
	out->table.n_columns = sizeof(insn_columns) / sizeof(insn_columns[0]);
	return 0;
}

/* Same file, line and function lie together. */
static int by_line(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	const struct profile_insn *x = &p->insns[*(const uint32_t *)a], *y = &p->insns[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (!x->file && x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x > y) - (x < y);
}

void lines_sort(const struct profile *p, uint32_t *insns, size_t n)
{
	if (n)
		qsort_r(insns, n, sizeof(*insns), by_line, (void *)p);
}

static bool same_line(const struct profile_insn *x, const struct profile_insn *y)
{
	return x->file == y->file && x->line == y->line && (x->file || x->func == y->func);
}

size_t lines_end(const struct profile *p, const uint32_t *insns, size_t i, size_t n)
{
	size_t j = i;

	while (j < n && same_line(&p->insns[insns[i]], &p->insns[insns[j]]))
		j++;
	return j;
}

void lines_place(const struct profile *p, const struct profile_insn *insn, char out[PLACE_MAX])
{
	const char *file = report_base(report_file(p, insn->file));

	if (!*file)
		strcpy(out, "?");
	else
		snprintf(out, PLACE_MAX, "%.48s:%u", file, insn->line);
}

/* Sum up one line's instructions. */
static void make_line(const struct profile *p, const uint32_t *insns, size_t n, struct row *r)
{
	struct profile_worst worst = { 0 };
	double mean;

	*r = (struct row){ .insn = &p->insns[insns[0]] };
	for (size_t i = 0; i < n; i++) {
		const struct profile_insn *insn = &p->insns[insns[i]];

		r->count.raw_insn += insn->count.raw_insn;
		r->count.raw_cyc += insn->count.raw_cyc;
		r->count.insn += insn->count.insn;
		r->count.cyc += insn->count.cyc;
		r->count.n_samples += insn->count.n_samples;
		profile_worst_add(&worst, p, insn);
		if (insn->count.insn > r->insn->count.insn)
			r->insn = insn;
	}
	profile_interval(p, insns, n, &mean, &r->count.lo, &r->count.hi);
	r->status = profile_judge(profile_worst_status(&worst), &r->count);
}

int view_lines(const struct profile *p, const struct report_opts *o, struct view *out)
{
	uint32_t *chosen = NULL;
	struct row *rows = NULL;
	size_t n_chosen, n = 0;
	int err = select_insns(p, o, &chosen, &n_chosen);

	if (err < 0)
		return err;
	rows = calloc(n_chosen + 1, sizeof(*rows));
	if (!rows) {
		err = sp_fail(SP_ENOMEM, "out of memory for %zu instructions", n_chosen);
		goto out;
	}
	lines_sort(p, chosen, n_chosen);
	for (size_t i = 0, j; i < n_chosen; i = j) {
		j = lines_end(p, chosen, i, n_chosen);
		make_line(p, chosen + i, j - i, &rows[n]);
		n += counted(&rows[n].count);
	}
	finish(p, o, rows, n, out);
	rows = NULL;
	out->table.columns = line_columns;
	out->table.n_columns = sizeof(line_columns) / sizeof(line_columns[0]);
out:
	free(rows);
	free(chosen);
	return err;
}
