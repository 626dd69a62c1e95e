/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison as text, JSON or CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "report/compare.h"
#include "report/number.h"

enum id {
	ID_NAME,
	ID_FULL,
	ID_SHARE,
	ID_TRUTH,
	ID_RAW,
	ID_FIXED,
	ID_LO,
	ID_HI,
	ID_RANGE,
	ID_STATUS,
	ID_RAW_ERR,
	ID_FIXED_ERR,
	ID_INSIDE,
	ID_INSIDE_WORD,
	ID_IPC_TRUTH,
	ID_IPC_RAW,
	ID_IPC_FIXED,
};

/* Beside four numbers and an interval a name has no more room in a window of 80 columns. */
enum { NAME_BY_COUNTS = 16 };

static const struct column columns[] = {
	{ "name", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "truth_share", "SHARE", ID_SHARE, COLUMN_SHARE, COLUMN_WIDE },
	{ "truth", "TRUTH", ID_TRUTH, COLUMN_COUNT },
	{ "raw", "RAW", ID_RAW, COLUMN_COUNT, COLUMN_WIDE },
	{ "fixed", "FIXED", ID_FIXED, COLUMN_COUNT },
	{ "lo", "", ID_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "hi", "", ID_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "", "90% INTERVAL", ID_RANGE, COLUMN_RANGE, COLUMN_NO_DATA | COLUMN_LESS },
	{ "", "IN-90%", ID_INSIDE_WORD, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_STATUS | COLUMN_WIDE },
	{ "inside", "", ID_INSIDE, COLUMN_BOOL, COLUMN_NO_TEXT },
	{ "raw_err", "RAW-ERR", ID_RAW_ERR, COLUMN_CHANGE },
	{ "fixed_err", "FIXED-ERR", ID_FIXED_ERR, COLUMN_CHANGE },
	{ "ipc_truth", "IPC-EXACT-INSN", ID_IPC_TRUTH, COLUMN_RATIO, COLUMN_WIDE, HAVE_CYC },
	{ "ipc_raw", "IPC-RAW", ID_IPC_RAW, COLUMN_RATIO, COLUMN_WIDE, HAVE_CYC },
	{ "ipc_fixed", "IPC", ID_IPC_FIXED, COLUMN_RATIO, COLUMN_WIDE, HAVE_CYC },
	{ "status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS },
	{ "", "NAME", ID_FULL, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_SQUEEZE },
	{ "full_name", "", ID_FULL, COLUMN_TEXT, COLUMN_NO_TEXT },
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s };
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct compare *c = view;
	const struct score_row *r = &c->rows[i];

	switch (id) {
	case ID_NAME:
		return text(r->name);
	case ID_FULL:
		return text(r->full ? r->full : r->name);
	case ID_SHARE:
		return num(r->truth_share);
	case ID_TRUTH:
		return num(r->truth);
	case ID_RAW:
		return num(r->raw);
	case ID_FIXED:
		return num(r->fixed);
	case ID_LO:
		return num(r->lo);
	case ID_HI:
		return num(r->hi);
	case ID_RANGE:
		return (struct cell){ .num = r->lo, .num2 = r->hi };
	case ID_STATUS:
		return text(profile_status_word(r->status));
	case ID_RAW_ERR:
		return num(r->raw_err);
	case ID_FIXED_ERR:
		return num(r->fixed_err);
	case ID_INSIDE:
		return num(isfinite(r->lo) ? score_inside(r) : NAN);
	case ID_INSIDE_WORD:
		return text(!isfinite(r->lo) ? "-" : score_inside(r) ? "yes" : "no");
	case ID_IPC_TRUTH:
		return num(r->ipc_truth);
	case ID_IPC_RAW:
		return num(r->ipc_raw);
	default:
		return num(r->ipc_fixed);
	}
}

static const char *by_word(enum compare_by by)
{
	static const char *const words[] = { "functions", "lines", "instructions" };

	return words[by];
}

static struct table table_of(const struct compare *c)
{
	return (struct table){ columns,
		               sizeof(columns) / sizeof(columns[0]),
		               c->n,
		               c->parts ? ~(unsigned)HAVE_CYC : ~0u,
		               cell,
		               c,
		               .least_name = NAME_BY_COUNTS };
}

static void print_pair(const char *what, double raw, double fixed, FILE *f)
{
	char a[NUMBER_MAX], b[NUMBER_MAX];

	number_percent(raw, 0, a);
	number_percent(fixed, 0, b);
	fprintf(f, "%-56s %9s %9s\n", what, a, b);
}

static void print_score(const struct compare *c, FILE *f)
{
	const struct score *s = &c->score;
	char what[160];

	fprintf(f, "\n%-56s %9s %9s\n", "", "RAW", "FIXED");
	/* One of them: without its s. */
	snprintf(what, sizeof(what), "instructions attributed to the wrong %.*s (eps)",
	         (int)strlen(by_word(c->by)) - 1, by_word(c->by));
	print_pair(what, s->eps_raw, s->eps_fixed, f);
	snprintf(what, sizeof(what), "mean error, %zu of at least %g%% of the truth", s->n_scored,
	         100 * c->min_share);
	print_pair(what, s->mean_err_raw, s->mean_err_fixed, f);
	print_pair("worst error of them", s->worst_err_raw, s->worst_err_fixed, f);
	if (s->n_intervals)
		fprintf(f, "%-56s %9s %5zu/%zu\n", "their 90% intervals that hold the truth", "", s->n_inside,
		        s->n_intervals);
}

static void warn_totals(const struct compare *c)
{
	const struct score *s = &c->score;
	char a[NUMBER_MAX], b[NUMBER_MAX], d[NUMBER_MAX];

	number_grouped(s->truth, a);
	number_grouped(s->fixed, b);
	if (!c->parts && s->truth > 0 && fabs(s->fixed / s->truth - 1) > 0.02) {
		number_percent(s->fixed / s->truth - 1, 1, d);
		sp_warn("the profile has %s instructions and the truth %s (%s): errors of counts contain "
		        "that "
		        "difference, eps does not",
		        b, a, d);
	}
	if (s->eps_raw > 0.9 && s->eps_fixed > 0.9)
		sp_warn("%s: its instructions ran elsewhere than this profile's: counts of another program, "
		        "or "
		        "of a copy at another path?",
		        c->truth);
	if (c->unmatched > 0.001 * (s->truth + c->unmatched)) {
		number_grouped(c->unmatched, d);
		sp_warn("%s: %s instructions are of files that could not be read, and are left out", c->truth,
		        d);
	}
}

/* Time that a row stands for: where shares are compared raw counts are made of it. */
static double time_of(const struct compare *c, const struct score_row *r)
{
	return c->parts ? r->raw : r->cyc;
}

/* Rows that are scored, and those of as much time: a slow function of few instructions is what somebody looks for. */
static size_t pick_rows(const struct compare *c, size_t *pick)
{
	double time = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		time += time_of(c, &c->rows[i]);
	for (size_t i = 0; i < c->n; i++)
		if (c->rows[i].scored || (time > 0 && time_of(c, &c->rows[i]) >= c->min_share * time))
			pick[n++] = i;
	return n;
}

/* Without a limit those that count. */
static int print_rows(struct table *t, const struct compare *c, size_t *limit, const struct term *term,
                      struct table_fit *fit)
{
	size_t *pick = *limit ? NULL : malloc((c->n + 1) * sizeof(*pick));
	int err = 0;

	if (!*limit && !pick)
		return sp_fail(SP_ENOMEM, "out of memory for %zu rows", c->n);
	if (pick) {
		t->pick = pick;
		*limit = t->n_rows = pick_rows(c, pick);
	}
	if (*limit)
		err = table_print(t, *limit, term, fit);
	free(pick);
	return err;
}

/* What stands before the table. */
static int print_head(const struct compare *c, const struct term *term)
{
	char path[1536], creator[200], total[NUMBER_MAX];
	struct term_notes notes;
	FILE *f = term_notes_begin(&notes);

	if (!f)
		return -SP_ENOMEM;
	meta_print_for(c->p, &(struct meta_columns){ .cycles = true, .compared = true }, f);
	text_safe(c->truth, path, sizeof(path));
	text_safe(c->creator && *c->creator ? c->creator : "unknown", creator, sizeof(creator));
	number_grouped(c->score.truth, total);
	fprintf(f, "# truth %s, counted by %s: %s instructions%s\n", path, creator, total,
	        c->parts ? " in the recording's regions" : "");
	fprintf(f, "# the truth file is read as %s%s\n", c->format && *c->format ? c->format : "exact counts",
	        c->partial ? ": what it does not list is left out, and its counts are lower bounds" : "");
	if (*c->p->meta.truth_why) {
		text_safe(c->p->meta.truth_why, path, sizeof(path));
		fprintf(f, "# NOT THE SAME RUN? %s\n", path);
	}
	if (c->parts) {
		number_percent(c->outside, 0, total);
		fprintf(f,
		        "# FIXED is a function's share of each region's instructions, as bursts tell it, "
		        "times the exact "
		        "count of the region; RAW is its share of the region's time, times the same\n"
		        "# %s of the truth's instructions have no row: they ran outside the regions that "
		        "were corrected\n",
		        total);
	}
	if (c->moves_plt)
		fputs("# callgrind counts PLT stubs where they are called, unless run with --skip-plt=no\n",
		      f);
	if (c->another > 0) {
		number_grouped(c->another, total);
		fprintf(f,
		        "# left out: %s instructions of libraries that are another build in the recording, "
		        "or of code made at run time\n",
		        total);
	}
	fputc('\n', f);
	return term_notes_end(&notes, term);
}

static int print_text(const struct compare *c, size_t limit, const struct term *term)
{
	struct table t = table_of(c);
	char things[NUMBER_MAX];
	struct table_fit fit = { 0 };
	size_t shown = limit;
	struct term_notes notes;
	int err = print_head(c, term);
	FILE *f;

	if (err == 0)
		err = print_rows(&t, c, &shown, term, &fit);
	if (err < 0)
		return err;
	f = term_notes_begin(&notes);
	if (!f)
		return -SP_ENOMEM;
	if (shown < c->n)
		fprintf(f, "# %s %s not shown; --limit 0 shows all\n",
		        number_things(c->n - shown, by_word(c->by), things),
		        c->n - shown == 1 ? "is" : "are");
	table_print_fit(&fit, f);
	err = term_notes_end(&notes, term);
	if (err == 0)
		print_score(c, term->f);
	return err;
}

static int add_number(json_t *doc, const char *key, double x)
{
	return json_object_set_new(doc, key, json_number(x));
}

static int add_score(json_t *doc, const struct compare *c)
{
	const struct score *s = &c->score;
	int err = 0;

	err |= add_number(doc, "eps_raw", s->eps_raw);
	err |= add_number(doc, "eps_fixed", s->eps_fixed);
	err |= add_number(doc, "mean_err_raw", s->mean_err_raw);
	err |= add_number(doc, "mean_err_fixed", s->mean_err_fixed);
	err |= add_number(doc, "worst_err_raw", s->worst_err_raw);
	err |= add_number(doc, "worst_err_fixed", s->worst_err_fixed);
	err |= add_number(doc, "min_share", c->min_share);
	err |= add_number(doc, "n_scored", (double)s->n_scored);
	err |= add_number(doc, "n_intervals", (double)s->n_intervals);
	err |= add_number(doc, "n_inside", (double)s->n_inside);
	err |= add_number(doc, "inside_share",
	                  s->n_intervals ? (double)s->n_inside / (double)s->n_intervals : NAN);
	err |= add_number(doc, "total_truth", s->truth);
	err |= add_number(doc, "total_raw", s->raw);
	err |= add_number(doc, "total_fixed", s->fixed);
	err |= add_number(doc, "unmatched", c->unmatched);
	err |= add_number(doc, "left_out", c->another);
	err |= json_object_set_new(doc, "truth_format", json_text(c->format ? c->format : ""));
	err |= json_object_set_new(doc, "truth_partial", json_boolean(c->partial));
	err |= json_object_set_new(doc, "shares_of_regions", json_boolean(c->parts));
	return err;
}

static int print_json(const struct compare *c, FILE *f)
{
	struct table t = table_of(c);
	json_t *doc = json_pack("{s:i}", "skidprof", 1), *part = NULL;
	int err = doc ? meta_json(c->p, &part) : sp_fail(SP_ENOMEM, "out of memory for JSON");

	if (err == 0)
		json_object_set_new(doc, "meta", part);
	if (err == 0)
		err = table_json(&t, &part);
	if (err == 0)
		json_object_set_new(doc, by_word(c->by), part);
	if (err == 0 && (json_object_set_new(doc, "truth", json_text(c->truth)) < 0 || add_score(doc, c) < 0))
		err = sp_fail(SP_ENOMEM, "out of memory for JSON");
	if (err == 0)
		err = json_write(doc, f);
	json_decref(doc);
	return err;
}

int compare_print(const struct compare *c, enum report_format format, size_t limit, const struct term *term)
{
	struct table t = table_of(c);

	warn_totals(c);
	switch (format) {
	case REPORT_JSON:
		return print_json(c, term->f);
	case REPORT_CSV:
		return table_csv(&t, term->f);
	case REPORT_TEXT:
		break;
	}
	return print_text(c, limit, term);
}
