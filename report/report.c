/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "profiler/base/perf_options.h"
#include "report/inclusive/inclusive.h"
#include "report/number.h"

/* Bytes of a record of a perf.data file: its header has 16 bits for them. */
enum { LARGEST_RECORD = 65535 };

/* The place of a word in a list, or -SP_EUSAGE with the nearest one. */
static int parse_word(const char *option, const char *word, const char *const *words)
{
	const char *near = cmd_suggest(word, words);
	char all[200] = "";

	for (int i = 0; words[i]; i++) {
		size_t n = strlen(all);

		if (strcmp(word, words[i]) == 0)
			return i;
		snprintf(all + n, sizeof(all) - n, "%s%s", n ? ", " : "", words[i]);
	}
	if (near)
		return sp_fail(SP_EUSAGE, "%s: no '%s'; did you mean '%s'? (%s)", option, word, near, all);
	return sp_fail(SP_EUSAGE, "%s: no '%s'; it is one of %s", option, word, all);
}

int report_format_parse(const char *word, enum report_format *out)
{
	static const char *const words[] = { "text", "json", "csv", NULL };
	int i = parse_word("--format", word, words);

	if (i < 0)
		return i;
	*out = (enum report_format)i;
	return 0;
}

int report_sort_parse(const char *word, enum report_sort *out)
{
	static const char *const words[] = { "share",  "raw",  "fixed", "cycles", "ipc", "change",
		                             "status", "name", "calls", "pid",    NULL };
	int i = perf_option_keys("report", "sort", word);

	if (i == 0)
		i = parse_word("--sort", word, words);
	if (i < 0)
		return i;
	*out = (enum report_sort)i;
	return 0;
}

bool report_has_insn(const struct profile *p)
{
	return p->meta.insn_event >= 0 || p->meta.truth || p->meta.pace > 0;
}

bool report_has_other(const struct profile *p)
{
	const char *name;

	if (p->meta.insn_event >= 0 || p->meta.cyc_event < 0 || p->meta.core_hz > 0)
		return false;
	name = p->meta.events[p->meta.cyc_event].name;
	return !p->meta.cyc_known && (!name || !strstr(name, "cycles"));
}

bool report_has_cyc(const struct profile *p)
{
	return p->meta.cyc_event >= 0 && !report_has_other(p);
}

unsigned report_have(const struct profile *p, const struct report_opts *o)
{
	unsigned have = 0;
	uint32_t first = UINT32_MAX;

	have |= report_has_insn(p) ? HAVE_INSN : HAVE_SAMPLES;
	if (report_has_cyc(p))
		have |= HAVE_CYC;
	if (report_has_other(p))
		have |= HAVE_OTHER;
	/* Exact counts have no raw ones beside them. */
	if (o->show != REPORT_FIXED && !p->meta.truth)
		have |= HAVE_RAW;
	if (o->show != REPORT_RAW || p->meta.truth)
		have |= HAVE_FIXED;
	if (p->meta.relative && o->show != REPORT_RAW)
		have |= HAVE_PARTS;
	for (size_t i = 0; i < p->n_funcs; i++) {
		if (p->funcs[i].calls.n_terms && o->show != REPORT_RAW && !p->meta.relative)
			have |= HAVE_CALLS;
		if (first == UINT32_MAX)
			first = p->funcs[i].module;
		else if (p->funcs[i].module != first)
			have |= HAVE_MODULES;
	}
	return have;
}

/* A clock's samples are counted in cycles, see profile_meta.core_hz. */
static double cyc_per_sample(const struct profile *p)
{
	return profile_mean_period(&p->meta.events[p->meta.cyc_event]) * p->meta.cyc_per_event;
}

double report_ipc(const struct profile *p, double insn, double cyc)
{
	if (!report_has_cyc(p) || !report_has_insn(p) || !isfinite(insn) || !(cyc > 0))
		return NAN;
	/* Cycles of code that an exact count has never run. */
	if (p->meta.truth && (!(insn > 0) || p->meta.truth_of_other_arguments))
		return NAN;
	if (cyc < profile_fewest_samples * cyc_per_sample(p))
		return NAN;
	return insn / cyc <= PROFILE_MAX_IPC ? insn / cyc : NAN;
}

const char *report_no_ipc(const struct profile *p, double insn, double cyc)
{
	if (!report_has_cyc(p) || !report_has_insn(p) || !isfinite(insn) ||
	    isfinite(report_ipc(p, insn, cyc)))
		return NULL;
	if (!(cyc > 0) || cyc < profile_fewest_samples * cyc_per_sample(p))
		return "no IPC: fewer than five samples of cycles fell into it";
	if (!(insn > 0) || (p->meta.truth && p->meta.truth_of_other_arguments))
		return "no IPC: its cycles and the count of its instructions are of different runs";
	return "no IPC: over eight instructions a cycle are more than any core keeps up; it retires together "
	       "with "
	       "other code, which its cycles were sampled at";
}

/* By bits of enum profile_evidence: as data, where words are stable, and as text. */
static const char *const evidence_words[][2] = {
	{ "flow", "flow" },    { "mix", "totals" },      { "path", "branches" }, { "truth", "truth" },
	{ "trips", "bounds" }, { "precise", "precise" }, { "loops", "loops" },
};

static void list_evidence(uint8_t evidence, size_t column, char out[KNOWN_MAX])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(evidence_words) / sizeof(evidence_words[0]); i++)
		if (evidence & 1u << i)
			n += (size_t)snprintf(out + n, KNOWN_MAX - n, "%s%s", n ? "," : "",
			                      evidence_words[i][column]);
}

void report_known(uint8_t evidence, char out[KNOWN_MAX])
{
	list_evidence(evidence, 0, out);
}

void report_evidence(uint8_t evidence, char out[KNOWN_MAX])
{
	list_evidence(evidence, 1, out);
}

double report_samples(const struct profile *p, const struct profile_count *c)
{
	return p->meta.insn_event < 0 && p->meta.cyc_event < 0 ? NAN : c->n_samples;
}

double report_chance(double n_samples)
{
	return z_of_90 / sqrt(n_samples);
}

bool report_is_rough(const struct profile_event *e, double n_samples)
{
	return e->rested > 0 && n_samples > 0 && report_chance(n_samples) > 0.05;
}

struct cell report_events(const struct profile *p, double count, double n_samples)
{
	if (!report_has_other(p))
		return (struct cell){ .num = NAN };
	return (struct cell){ .num = count,
		              .rough = report_is_rough(&p->meta.events[p->meta.cyc_event], n_samples) };
}

const char *report_name(const struct profile_func *f)
{
	return f->full ? f->full : f->name;
}

const char *report_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void report_path(const char *dir, const char *file, char *out, size_t size)
{
	bool relative = *file != '/' && dir && *dir;

	snprintf(out, size, "%s%s%s", relative ? dir : "", relative ? "/" : "", file);
	out[path_fold(out, out)] = '\0';
}

size_t report_same_end(const char *x, const char *y)
{
	size_t i = strlen(x), j = strlen(y), n = 0;

	while (i && j && x[i - 1] == y[j - 1]) {
		i--;
		j--;
		n += x[i] == '/';
	}
	/* What has no slash before it in both is a name where it begins both, or one of them. */
	return n + ((!i || x[i - 1] == '/') && (!j || y[j - 1] == '/') && x[i] && x[i] != '/');
}

const char *report_command_base(const char *line)
{
	size_t n = strcspn(line, " ");

	while (n && line[n - 1] != '/')
		n--;
	return line + n;
}

const char *report_module(const struct profile *p, uint32_t module)
{
	size_t unsampled = module - p->n_modules;

	if (module >= p->n_modules)
		return unsampled < p->n_unsampled ? p->unsampled[unsampled] : "";
	return p->modules[module].path ? p->modules[module].path : "";
}

const char *report_file(const struct profile *p, uint32_t file)
{
	return file < p->n_files && p->files[file] ? p->files[file] : "";
}

/* Leave out rows of less than o->min_share; what has no share stays. */
static int view_pick(struct view *v, const struct report_opts *o)
{
	size_t n = 0;

	if (!(o->min_share > 0))
		return 0;
	v->pick = malloc((v->table.n_rows + 1) * sizeof(*v->pick));
	if (!v->pick)
		return sp_fail(SP_ENOMEM, "out of memory for %zu rows", v->table.n_rows);
	for (size_t i = 0; i < v->table.n_rows; i++) {
		double share = v->share(v, i);

		if (share < o->min_share) {
			v->n_small++;
			v->small_share += share;
			v->small_time += v->time ? v->time(v, i) : 0;
		} else {
			v->pick[n++] = i;
		}
	}
	v->table.n_rows = n;
	v->table.pick = v->pick;
	return 0;
}

void view_free(struct view *v)
{
	free(v->rows);
	free(v->pick);
	*v = (struct view){ 0 };
}

typedef int view_fn(const struct profile *p, const struct report_opts *o, struct view *out);

static view_fn *const views[] = {
	[REPORT_FUNCTIONS] = view_functions, [REPORT_REGIONS] = view_regions, [REPORT_LINES] = view_lines,
	[REPORT_INSNS] = view_insns,         [REPORT_CALLS] = view_calls,     [REPORT_TRIPS] = view_trips,
	[REPORT_CHILDREN] = view_children,   [REPORT_CALLERS] = view_parts,   [REPORT_CALLEES] = view_parts,
	[REPORT_PROCESSES] = view_tasks,     [REPORT_THREADS] = view_tasks,   [REPORT_EVENTS] = view_events,
};

static const char *const view_names[] = {
	[REPORT_FUNCTIONS] = "functions", [REPORT_REGIONS] = "regions", [REPORT_LINES] = "lines",
	[REPORT_INSNS] = "instructions",  [REPORT_CALLS] = "calls",     [REPORT_TRIPS] = "trips",
	[REPORT_CHILDREN] = "children",   [REPORT_CALLERS] = "callers", [REPORT_CALLEES] = "callees",
	[REPORT_PROCESSES] = "processes", [REPORT_THREADS] = "threads", [REPORT_EVENTS] = "events",
};

static int make_view(const struct profile *p, const struct report_opts *o, enum report_view view,
                     struct view *out)
{
	int err = views[view](p, o, out);

	if (err == 0)
		err = view_pick(out, o);
	if (err < 0)
		view_free(out);
	return err;
}

/* What the rows of a view are, where that is not its name. */
static const char *rows_of(enum report_view view)
{
	return view == REPORT_CALLS || view == REPORT_CHILDREN ? "functions"
	       : view == REPORT_TRIPS                          ? "loops"
	                                                       : view_names[view];
}

/* Shares that are printed as 0.00%; and rows that are shown even so. */
static const double no_share = 0.00005;
enum { LEAST_ROWS = 10 };

enum { TOGETHER_MAX = 2 * NUMBER_MAX + 64 };

/*
 * ", N% together,"; "" of rows that hold one another, as callers hold their callees and loops those within, and of no shares.
 * time: where shares are of instructions; NAN = it is not known, or the same.
 */
static const char *together(enum report_view view, double share, double time, char out[TOGETHER_MAX])
{
	char percent[NUMBER_MAX], of_time[NUMBER_MAX];

	out[0] = '\0';
	if (view == REPORT_CHILDREN || view == REPORT_TRIPS || !isfinite(share))
		return out;
	number_percent(share, 0, percent);
	number_percent(time, 0, of_time);
	if (isfinite(time) && strcmp(percent, of_time) != 0)
		snprintf(out, TOGETHER_MAX, ", %s of the instructions and %s of the cycles together,",
		         percent, of_time);
	else
		snprintf(out, TOGETHER_MAX, ", %s together,", percent);
	return out;
}

/*
 * Rows of text: no more than the limit, and with one not those at the end whose share is 0.00%, of which exact counts have
 * hundreds.
 */
static size_t rows_shown(const struct view *v, const struct report_opts *o)
{
	size_t n = o->limit && o->limit < v->table.n_rows ? o->limit : v->table.n_rows;
	double (*size)(const struct view *, size_t) = v->size ? v->size : v->share;

	if (!o->limit || o->function)
		return n;
	while (n > LEAST_ROWS && fabs(size(v, v->pick ? v->pick[n - 1] : n - 1)) < no_share)
		n--;
	return n;
}

/* What has no rows for it rests on calls, of which nothing is known, has time or instructions by function even so. */
static const char *why_none(const struct profile *p, const struct report_opts *o)
{
	bool by_calls = o->view == REPORT_CHILDREN || o->view == REPORT_CALLERS || o->view == REPORT_CALLEES;

	if (!by_calls || !p->n_funcs || inclusive_source(p) != INCLUSIVE_NONE)
		return "";
	return report_has_insn(p)
	               ? ": who called is not known; without this option the report has instructions by "
	                 "function"
	               : ": who called is not known; without this option the report has time by function";
}

/* Nothing is left out silently: what the limit and the terminal hide is named. */
static int print_rest(const struct view *v, const struct report_opts *o, size_t n_shown,
                      const struct table_fit *fit, const struct term *term)
{
	const char *what = rows_of(o->view);
	char words[TOGETHER_MAX], things[NUMBER_MAX];
	double share = 0, time = v->time ? 0 : NAN;
	struct term_notes notes;
	FILE *f = term_notes_begin(&notes);

	if (!f)
		return -SP_ENOMEM;

	if (v->table.n_rows == 0)
		fprintf(f, "# no %s to show%s\n", what, why_none(v->p, o));
	if (v->n_small) {
		number_things(v->n_small, what, things);
		fprintf(f, "# %s%s %s below --min-share%s\n", things,
		        together(o->view, v->small_share, v->time ? v->small_time : NAN, words),
		        v->n_small == 1 ? "is" : "are",
		        o->min_share >= 1 ? ": 1 is 100%; for one in a hundred write 1%" : "");
	}
	if (v->table.n_rows > n_shown) {
		for (size_t i = n_shown; i < v->table.n_rows; i++) {
			share += v->share(v, v->pick ? v->pick[i] : i);
			time += v->time ? v->time(v, v->pick ? v->pick[i] : i) : 0;
		}
		number_things(v->table.n_rows - n_shown, what, things);
		fprintf(f, "# %s%s %s not shown; --limit 0 shows all\n", things,
		        together(o->view, share, time, words), v->table.n_rows - n_shown == 1 ? "is" : "are");
	}
	table_print_fit(fit, f);
	return term_notes_end(&notes, term);
}

/* What stands before a table.  Columns that have no room are not explained. */
static int print_head(const struct profile *p, const struct report_opts *o, const struct view *v,
                      const struct term *term)
{
	size_t n = v ? rows_shown(v, o) : 0;
	struct meta_columns columns = { 0 };
	struct term_notes notes;
	FILE *f = term_notes_begin(&notes);

	if (!f)
		return -SP_ENOMEM;
	if (v) {
		columns.parts = o->view == REPORT_FUNCTIONS && o->show != REPORT_RAW;
		columns.cycles = table_has(&v->table, n, term, "CYCLES");
		columns.cpi = table_has(&v->table, n, term, "CPI/REGION");
	}
	meta_print_for(p, &columns, f);
	children_note(p, o, f);
	if (v)
		fputc('\n', f);
	return term_notes_end(&notes, term);
}

static int print_text(const struct profile *p, const struct report_opts *o, const struct term *term)
{
	struct view v = { 0 };
	struct table_fit fit = { 0 };
	size_t n_shown;
	int err;

	if (o->view == REPORT_WHY) {
		err = why_check(p, o->why);
		if (err == 0)
			err = print_head(p, o, NULL, term);
		return err < 0 ? err : why_print(p, o->why, term);
	}
	err = make_view(p, o, o->view, &v);
	if (err < 0)
		return err;
	n_shown = rows_shown(&v, o);
	err = print_head(p, o, &v, term);
	if (err == 0)
		err = table_print(&v.table, n_shown, term, &fit);
	if (err == 0)
		err = print_rest(&v, o, n_shown, &fit, term);
	view_free(&v);
	return err;
}

static int print_csv(const struct profile *p, const struct report_opts *o, FILE *f)
{
	char line[1024];
	struct view v = { 0 };
	int err;

	if (o->view == REPORT_WHY)
		return sp_fail(SP_EUSAGE, "--why has no table to write as csv; use --format text or json");
	err = make_view(p, o, o->view, &v);
	if (err < 0)
		return err;
	/* A comment in a CSV file breaks those who read it: provenance goes beside it. */
	meta_first_line(p, line, sizeof(line));
	sp_note("%s", line);
	err = table_csv(&v.table, f);
	view_free(&v);
	return err;
}

/* Add a view's rows to a document under its name. */
static int add_view(const struct profile *p, const struct report_opts *o, enum report_view view, json_t *doc)
{
	struct view v = { 0 };
	json_t *rows = NULL;
	int err = make_view(p, o, view, &v);

	if (err == 0)
		err = table_json(&v.table, &rows);
	view_free(&v);
	if (err == 0 && json_object_set_new(doc, view_names[view], rows) < 0)
		err = sp_fail(SP_ENOMEM, "out of memory for JSON");
	return err;
}

static int print_json(const struct profile *p, const struct report_opts *o, FILE *f)
{
	json_t *doc = json_pack("{s:i}", "skidprof", 1), *part = NULL;
	int err = doc ? meta_json(p, &part) : sp_fail(SP_ENOMEM, "out of memory for JSON");

	if (err < 0)
		goto out;
	json_object_set_new(doc, "meta", part);
	if (o->view == REPORT_WHY) {
		err = why_json(p, o->why, &part);
		if (err == 0)
			json_object_set_new(doc, "why", part);
	} else {
		err = add_view(p, o, REPORT_FUNCTIONS, doc);
		if (err == 0)
			err = add_view(p, o, REPORT_REGIONS, doc);
		if (err == 0 && o->view > REPORT_REGIONS && o->view != REPORT_EVENTS)
			err = add_view(p, o, o->view, doc);
	}
	if (err == 0)
		err = json_write(doc, f);
out:
	json_decref(doc);
	return err;
}

int report_print(const struct profile *p, const struct report_opts *o, const struct term *term)
{
	switch (o->format) {
	case REPORT_JSON:
		return print_json(p, o, term->f);
	case REPORT_CSV:
		return print_csv(p, o, term->f);
	case REPORT_TEXT:
		break;
	}
	return print_text(p, o, term);
}

/* "data.1: 48 bytes from offset 80 on are cut off or damaged", with the file's path: of a folder it is not what was named. */
static void say_dropped(const struct profile_meta *m, char *text, size_t n)
{
	const bool folder = m->n_dropped_in > 0;
	const uintmax_t bytes = m->dropped_bytes, off = m->dropped_off,
	                others = folder ? m->n_dropped_in - 1 : 0;

	if (others)
		snprintf(text, n,
		         "%s, from offset %ju on, and %ju other file%s of that folder: %ju bytes are cut off "
		         "or damaged",
		         m->dropped_in, off, others, others == 1 ? "" : "s", bytes);
	else
		snprintf(text, n, "%s: %ju bytes from offset %ju on are cut off or damaged",
		         folder ? m->dropped_in : m->input, bytes, off);
}

/* What the file has lost the samples have, and nothing else would show it. */
static int judge_dropped(const struct profile_meta *m)
{
	static const char lost[] = "%s and were not read%s: copy %s again, or record again";
	const char *copy = m->n_dropped_in ? "the folder" : "the file";
	char what[PATH_MAX + 200] = "";
	const bool empty = m->unfinished && !m->n_samples;
	/* Of a small file the last record may be all.  Totals that lack so much are scaled elsewhere. */
	const double little = 0.02,
	             dropped = (double)m->dropped_bytes / (double)(m->dropped_off + m->dropped_bytes);

	if (m->dropped_bytes)
		say_dropped(m, what, sizeof(what));
	if (m->dropped_bytes > LARGEST_RECORD || (m->cut_off && dropped > little) ||
	    (empty && m->dropped_bytes))
		return sp_fail(SP_EDOUBT, lost, what, ", so this profile is not to be trusted", copy);
	if (empty)
		return sp_fail(SP_EDOUBT,
		               "%s: the recorder did not finish it, and it has no sample: record again",
		               m->input);
	/* The last record of a killed recorder: all before it is there. */
	if (m->dropped_bytes)
		sp_warn(lost, what, "", copy);
	return 0;
}

/* Names of templates have any length, and the reason is behind it. */
enum { NAME_IN_VERDICT = 60 };

int report_verdict(const struct profile *p)
{
	return report_verdict_of(p, NULL);
}

size_t report_unreliable(const struct profile *p, const char *function, const struct profile_func **largest)
{
	double total = 0;
	size_t n = 0;

	*largest = NULL;
	for (size_t i = 0; i < p->n_funcs; i++)
		total += profile_weight(p, &p->funcs[i].count);
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		if (f->status != PROFILE_UNRELIABLE || !profile_matters(p, &f->count, total) ||
		    (function && !report_matches(f, function)))
			continue;
		n++;
		if (!*largest || profile_weight(p, &f->count) > profile_weight(p, &(*largest)->count))
			*largest = f;
	}
	return n;
}

/* Code of a file that is gone or changed is what others' regions lack: more of the same recording helps neither. */
static const struct profile_func *without_file(const struct profile *p)
{
	double total = 0;

	for (size_t i = 0; i < p->n_funcs; i++)
		total += profile_weight(p, &p->funcs[i].count);
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];
		const char *trouble = f->module < p->n_modules ? p->modules[f->module].trouble : NULL;

		if (f->status == PROFILE_UNRELIABLE && profile_matters(p, &f->count, total) && trouble &&
		    *trouble)
			return f;
	}
	return NULL;
}

int report_verdict_of(const struct profile *p, const char *function)
{
	const struct profile_func *first;
	char name[4096], why[300];
	size_t n;
	int err;

	err = judge_dropped(&p->meta);
	if (err == 0 && !p->meta.n_samples && !p->n_funcs)
		err = sp_fail(
		        SP_EDOUBT,
		        "%s: no sample was taken, so there is nothing to show: record for longer, or with a "
		        "smaller period (-c)",
		        p->meta.input);
	if (err == 0 && p->meta.spe.damaged_bytes)
		err = sp_fail(SP_EDOUBT,
		              "%s: %ju bytes in what Arm's SPE wrote are no packets, and the samples around "
		              "them are "
		              "missing: copy the file again, or record again",
		              p->meta.input, (uintmax_t)p->meta.spe.damaged_bytes);
	if (err < 0)
		return err;
	if (p->worst < PROFILE_UNRELIABLE)
		return 0;
	n = report_unreliable(p, function, &first);
	/* Shares of other work are no errors, whatever their functions are. */
	if (*p->meta.truth_why && (!first || !p->meta.truth || p->meta.truth_of_other_arguments))
		return sp_fail(SP_EDOUBT, "this profile is not to be trusted: %s", p->meta.truth_why);
	if (!first && function)
		return 0;
	if (!first)
		return sp_fail(SP_EDOUBT,
		               "this profile is not to be trusted; --regions and --why FUNCTION tell why");
	if (!function && without_file(p)) {
		text_safe(without_file(p)->why, why, sizeof(why));
		return sp_fail(SP_EDOUBT, "%zu function%s of at least 1%% %s unreliable: %s", n, sp_plural(n),
		               n == 1 ? "is" : "are", why);
	}
	text_safe(first->name, name, sizeof(name));
	text_squeeze(name, NAME_IN_VERDICT);
	text_safe(first->why && *first->why ? first->why : "see --why", why, sizeof(why));
	return sp_fail(SP_EDOUBT, "%zu function%s of at least 1%% %s unreliable, '%s' the largest: %s", n,
	               n == 1 ? "" : "s", n == 1 ? "is" : "are", name, why);
}
