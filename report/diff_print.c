/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differences as text, JSON and CSV. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "report/diff.h"
#include "report/number.h"

enum { PER_MEASURE = 9, LINE_BYTES = 1024, NAME_BYTES = 512 };

enum id {
	ID_SHARE,
	ID_BEFORE,
	ID_AFTER,
	ID_CHANGE,
	ID_RANGE,
	ID_WORD,
	ID_STATUS,
	ID_MODULE,
	ID_NAME,
	ID_OLD,
	ID_FILE,
	ID_LINE,
	ID_OLD_LINE,
	ID_PLACE,
	ID_MEASURE, /* + PER_MEASURE * measure + what */
};

enum what { OF_A, OF_B, OF_DELTA, OF_DELTA_LO, OF_DELTA_HI, OF_CHANGE, OF_LO, OF_HI, OF_WORD };

#define MEASURE(name, heading, m, kind, have)                                                                \
	{ name "_before", "", ID_MEASURE + PER_MEASURE * (m) + OF_A, kind, COLUMN_NO_TEXT },                 \
	        { name "_after", "", ID_MEASURE + PER_MEASURE * (m) + OF_B, kind, COLUMN_NO_TEXT },          \
	        { name "_difference", "", ID_MEASURE + PER_MEASURE * (m) + OF_DELTA, kind, COLUMN_NO_TEXT }, \
	        { name "_difference_lo", "", ID_MEASURE + PER_MEASURE * (m) + OF_DELTA_LO, kind,             \
		  COLUMN_NO_TEXT },                                                                          \
	        { name "_difference_hi", "", ID_MEASURE + PER_MEASURE * (m) + OF_DELTA_HI, kind,             \
		  COLUMN_NO_TEXT },                                                                          \
	        { name "_change", "", ID_MEASURE + PER_MEASURE * (m) + OF_CHANGE, COLUMN_CHANGE,             \
		  COLUMN_NO_TEXT },                                                                          \
	        { name "_change_lo", "", ID_MEASURE + PER_MEASURE * (m) + OF_LO, COLUMN_CHANGE,              \
		  COLUMN_NO_TEXT },                                                                          \
	        { name "_change_hi", "", ID_MEASURE + PER_MEASURE * (m) + OF_HI, COLUMN_CHANGE,              \
		  COLUMN_NO_TEXT },                                                                          \
	{                                                                                                    \
		name, heading, ID_MEASURE + PER_MEASURE *(m) + OF_WORD, COLUMN_TEXT, 0, have                 \
	}

enum have {
	HAS_INSN = 1,
	HAS_CYC = 2,
	HAS_IPC = 4,
	HAS_EXEC = 8,
	HAS_LINES = 16,
	HAS_STATUS = 32,
	HAS_OTHER = 64,
	HAS_NOISE = 128,
};

static const struct column columns[] = {
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },
	{ "", "BEFORE", ID_BEFORE, COLUMN_MEAN, COLUMN_NO_DATA },
	{ "", "AFTER", ID_AFTER, COLUMN_MEAN, COLUMN_NO_DATA },
	{ "", "CHANGE", ID_CHANGE, COLUMN_TEXT, COLUMN_NO_DATA },
	{ "", "90% INTERVAL", ID_RANGE, COLUMN_TEXT, COLUMN_NO_DATA, HAS_NOISE },
	MEASURE("instructions", "INSNS", DIFF_INSN, COLUMN_COUNT, HAS_INSN),
	MEASURE("cycles", "CYCLES", DIFF_CYC, COLUMN_COUNT, HAS_CYC),
	MEASURE("ipc", "IPC", DIFF_IPC, COLUMN_RATIO, HAS_IPC),
	MEASURE("executions", "EXECUTED", DIFF_EXEC, COLUMN_COUNT, HAS_EXEC),
	MEASURE("events", "EVENTS", DIFF_OTHER, COLUMN_COUNT, HAS_OTHER),
	{ "status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS | COLUMN_WIDE, HAS_STATUS },
	{ "module", "MODULE", ID_MODULE, COLUMN_TEXT, COLUMN_WIDE | COLUMN_SQUEEZE },
	{ "", "LINE", ID_PLACE, COLUMN_TEXT, COLUMN_NO_DATA, HAS_LINES },
	{ "function", "FUNCTION", ID_NAME, COLUMN_TEXT, COLUMN_SQUEEZE },
	{ "function_before", "", ID_OLD, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "file", "", ID_FILE, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "line", "", ID_LINE, COLUMN_WHOLE, COLUMN_NO_TEXT },
	{ "line_before", "", ID_OLD_LINE, COLUMN_WHOLE, COLUMN_NO_TEXT },
};

/* Texts that cells borrow. */
struct diff_texts {
	char change[NUMBER_MAX], range[2 * NUMBER_MAX + 2], place[PLACE_MAX], renamed[NAME_BYTES];
};

struct diff_view {
	const struct diff *d;
	enum diff_measure by;
	const struct diff_row **rows; /* the whole first */
	struct diff_texts *texts;
	struct table table;
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s ? s : "" };
}

static struct cell number_cell(const struct diff_number *n, int what)
{
	switch (what) {
	case OF_A:
		return num(n->a);
	case OF_B:
		return num(n->b);
	case OF_DELTA:
		return num(n->delta);
	case OF_DELTA_LO:
		return num(n->delta_lo);
	case OF_DELTA_HI:
		return num(n->delta_hi);
	case OF_CHANGE:
		return num(n->change);
	case OF_LO:
		return num(n->lo);
	case OF_HI:
		return num(n->hi);
	default:
		return isfinite(n->delta) ? text(diff_word_text((enum diff_word)n->word))
		                          : (struct cell){ 0 };
	}
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct diff_view *v = view;
	const struct diff_row *r = v->rows[i];
	const struct diff_number *n = &r->m[v->by];

	switch (id) {
	case ID_SHARE:
		return num(r->share);
	case ID_BEFORE:
		return num(n->a);
	case ID_AFTER:
		return num(n->b);
	case ID_CHANGE:
		return text(v->texts[i].change);
	case ID_RANGE:
		return text(v->texts[i].range);
	case ID_STATUS:
		if (!v->d->has[DIFF_INSN])
			return (struct cell){ 0 };
		return r == &v->d->total ? text("") : text(profile_status_word(r->status));
	case ID_MODULE:
		return text(r->module);
	case ID_NAME:
		return (struct cell){ .text = r->name,
			              .suffix = *v->texts[i].renamed ? v->texts[i].renamed : NULL };
	case ID_OLD:
		return r->old_name ? text(r->old_name) : (struct cell){ 0 };
	case ID_FILE:
		return *r->file ? text(r->file) : (struct cell){ 0 };
	case ID_LINE:
		return num(r->line ? (double)r->line : NAN);
	case ID_OLD_LINE:
		return num(r->old_line ? (double)r->old_line : NAN);
	case ID_PLACE:
		return text(v->texts[i].place);
	default:
		return number_cell(&r->m[(id - ID_MEASURE) / PER_MEASURE], (id - ID_MEASURE) % PER_MEASURE);
	}
}

static void fill_texts(const struct diff *d, const struct diff_row *r, enum diff_measure by,
                       struct diff_texts *t)
{
	const struct diff_number *n = &r->m[by];
	char lo[NUMBER_MAX], hi[NUMBER_MAX];

	number_percent(n->change, 1, t->change);
	/* What differs is not shown as 0.00%. */
	if (n->change != 0 && fabs(n->change) < 0.00005)
		strcpy(t->change, n->change > 0 ? "<+0.01%" : ">-0.01%");
	number_percent(n->lo, 1, lo);
	number_percent(n->hi, 1, hi);
	snprintf(t->range, sizeof(t->range), isfinite(n->lo) ? "%s..%s" : "-", lo, hi);
	if (r->new_there || (n->a == 0 && n->b > 0))
		strcpy(t->change, "new");
	else if (r->gone)
		strcpy(t->change, "gone");
	if (r->old_name)
		snprintf(t->renamed, sizeof(t->renamed), " (was %s)", r->old_name);
	if (d->lines && *r->file)
		snprintf(t->place, sizeof(t->place), r->old_line ? "%.48s:%u (was %u)" : "%.48s:%u",
		         report_base(r->file), r->line, r->old_line);
}

/* Is there nothing but exact counts?  Those have no noise. */
static bool is_exact(const struct diff *d)
{
	const struct diff_side *const sides[] = { &d->a, &d->b };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < sides[k]->n; i++)
			if (!sides[k]->profiles[i]->meta.truth)
				return false;
	return true;
}

static int view_new(const struct diff *d, const struct diff_opts *o, struct diff_view *v)
{
	size_t n = 0;

	*v = (struct diff_view){ .d = d, .by = o->by };
	v->rows = calloc(d->n_rows + 2, sizeof(struct diff_row *));
	v->texts = calloc(d->n_rows + 2, sizeof(*v->texts));
	if (!v->rows || !v->texts)
		return sp_fail(SP_ENOMEM, "out of memory for %zu rows", d->n_rows);
	v->rows[n++] = &d->total;
	for (size_t i = 0; i < d->n_rows; i++)
		if (o->format != REPORT_TEXT || d->rows[i].weight >= d->min_share)
			v->rows[n++] = &d->rows[i];
	for (size_t i = 0; i < n; i++)
		fill_texts(d, v->rows[i], o->by, &v->texts[i]);
	v->table = (struct table){ columns, sizeof(columns) / sizeof(columns[0]), n, 0, cell, v };
	v->table.have = (d->has[DIFF_INSN] ? HAS_INSN : 0) | (d->has[DIFF_CYC] ? HAS_CYC : 0) |
	                (d->has[DIFF_IPC] ? HAS_IPC : 0) | (d->has[DIFF_EXEC] ? HAS_EXEC : 0) |
	                (d->has[DIFF_OTHER] ? HAS_OTHER : 0) | (d->lines ? HAS_LINES : 0) |
	                (d->has[DIFF_INSN] && !is_exact(d) ? HAS_STATUS : 0) | (is_exact(d) ? 0 : HAS_NOISE);
	return 0;
}

static void view_fini(struct diff_view *v)
{
	free(v->rows);
	free(v->texts);
}

static void print_side(const char *name, const struct diff_side *s, FILE *f)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct profile_meta *m = &s->profiles[i]->meta;
		char input[LINE_BYTES], line[LINE_BYTES] = "exact counts";

		text_safe(m->input ? m->input : "?", input, sizeof(input));
		if (!m->truth)
			meta_first_line(s->profiles[i], line, sizeof(line));
		fprintf(f, "# %s %s: %s\n", name, input, line);
		meta_troubles(s->profiles[i], f);
	}
}

const char *diff_noise_note(const struct diff *d)
{
	if (d->a.n + d->b.n > 2 || is_exact(d))
		return NULL;
	if ((d->has[DIFF_CYC] && isnan(d->total.m[DIFF_CYC].sd)) ||
	    (d->has[DIFF_OTHER] && isnan(d->total.m[DIFF_OTHER].sd)))
		return "time differs from run to run, and one recording of each side doesn't tell how much: "
		       "of time, cycles and IPC nothing is sure; give three of each or more (-a, -b)";
	return "intervals are of the noise within recordings; how much runs differ, several of each side "
	       "(-a, -b) tell";
}

const char *diff_words_note(const struct diff *d)
{
	return is_exact(d)
	               ? NULL
	               : "an interval is of its row alone, and may leave out 0 where the word is can't tell: "
	                 "'more' and 'fewer' allow for how many rows are compared, and where nothing differs "
	                 "one "
	                 "listing in ten still says one of them";
}

const char *diff_insn_note(const struct diff *d)
{
	return d->has[DIFF_INSN]
	               ? NULL
	               : "instructions were not counted: 'skidprof truth -o FILE COMMAND' counts those of "
	                 "each build exactly, and diff takes such files";
}

/* What the intervals do not hold. */
static void print_limits(const struct diff *d, FILE *f)
{
	const char *const notes[] = { diff_noise_note(d), diff_words_note(d), diff_insn_note(d) };

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i])
			fprintf(f, "# %s\n", notes[i]);
	if (!d->has[diff_main_measure(d)])
		fputs("# the two sides have no event in common\n", f);
}

/* Of the rows that are too small to be shown, how many differ. */
static void print_small(const struct diff *d, enum diff_measure by, size_t n, FILE *f)
{
	const char *what = d->lines ? "line" : "function", *verb = n == 1 ? "is" : "are";
	size_t n_sure = 0;

	for (size_t i = 0; i < d->n_rows; i++)
		n_sure += d->rows[i].weight < d->min_share &&
		          (d->rows[i].m[by].word == DIFF_MORE || d->rows[i].m[by].word == DIFF_FEWER);
	fprintf(f,
	        "# %zu %s%s of less than %g%% %s not shown, of which %zu differ in %s; --min-share 0 shows "
	        "them\n",
	        n, what, sp_plural(n), 100 * d->min_share, verb, n_sure, diff_measure_name(by));
}

static int print_head(const struct diff *d, const struct diff_opts *o, const struct term *term)
{
	struct term_notes notes;
	FILE *f = term_notes_begin(&notes);

	if (!f)
		return -SP_ENOMEM;
	print_side("before", &d->a, f);
	print_side("after ", &d->b, f);
	print_limits(d, f);
	fprintf(f,
	        "# %s of each %s, the largest difference first; SHARE is of the side where it has more\n\n",
	        diff_measure_name(o->by), d->lines ? "line" : "function");
	return term_notes_end(&notes, term);
}

static int print_tail(const struct diff *d, const struct diff_opts *o, const struct diff_view *v,
                      const struct table_fit *fit, const struct term *term)
{
	struct term_notes notes;
	FILE *f = term_notes_begin(&notes);

	if (!f)
		return -SP_ENOMEM;
	if (d->n_rows + 1 > v->table.n_rows)
		print_small(d, o->by, d->n_rows + 1 - v->table.n_rows, f);
	if (o->limit && v->table.n_rows > o->limit + 1)
		fprintf(f, "# %zu more are not shown; --limit 0 shows all\n", v->table.n_rows - o->limit - 1);
	table_print_fit(fit, f);
	return term_notes_end(&notes, term);
}

static int print_text(const struct diff *d, const struct diff_opts *o, const struct term *term)
{
	struct diff_view v;
	struct table_fit fit = { 0 };
	int err = view_new(d, o, &v);

	if (err == 0)
		err = print_head(d, o, term);
	if (err == 0)
		err = table_print(&v.table, o->limit ? o->limit + 1 : 0, term, &fit);
	if (err == 0)
		err = print_tail(d, o, &v, &fit, term);
	view_fini(&v);
	return err;
}

static json_t *side_json(const struct diff_side *s)
{
	json_t *out = json_array();

	for (size_t i = 0; i < s->n; i++) {
		json_t *meta = NULL;

		if (meta_json(s->profiles[i], &meta) == 0)
			json_array_append_new(out, meta);
	}
	return out;
}

int diff_rows_json(const struct diff *d, json_t **all, json_t **rows)
{
	const struct diff_opts o = { .format = REPORT_JSON };
	struct diff_view v;
	int err = view_new(d, &o, &v);

	if (err == 0)
		err = table_json(&v.table, rows);
	if (err == 0) {
		*all = json_incref(json_array_get(*rows, 0));
		json_array_remove(*rows, 0);
	}
	view_fini(&v);
	return err;
}

static int print_json(const struct diff *d, FILE *f)
{
	json_t *doc = json_pack("{s:i}", "skidprof", 1), *all = NULL, *rows = NULL;
	int err = diff_rows_json(d, &all, &rows);

	if (err == 0 && doc) {
		json_object_set_new(doc, "before", side_json(&d->a));
		json_object_set_new(doc, "after", side_json(&d->b));
		json_object_set_new(doc, "all", all);
		json_object_set_new(doc, d->lines ? "lines" : "functions", rows);
		err = json_write(doc, f);
	}
	json_decref(doc);
	return err;
}

int diff_print(const struct diff *d, const struct diff_opts *o, const struct term *term)
{
	struct diff_view v;
	int err;

	if (o->format == REPORT_JSON)
		return print_json(d, term->f);
	if (o->format == REPORT_TEXT)
		return print_text(d, o, term);
	err = view_new(d, o, &v);
	if (err == 0)
		err = table_csv(&v.table, term->f);
	view_fini(&v);
	return err;
}
