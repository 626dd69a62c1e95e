/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidprof report: the command line. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "report/assemble/assemble.h"
#include "report/cmd.h"
#include "report/exchange.h"
#include "report/html.h"
#include "report/match/join.h"
#include "report/options.h"
#include "report/report.h"
#include "report/same_command.h"

enum key {
	KEY_FIXED = 0x100,
	KEY_RAW,
	KEY_BOTH,
	KEY_SORT,
	KEY_LIMIT,
	KEY_FUNCTION,
	KEY_ROLLUP,
	KEY_REGIONS,
	KEY_WHY,
	KEY_LINES,
	KEY_INSNS,
	KEY_TRUTH,
	KEY_CALLS,
	KEY_TRIPS,
	KEY_HTML,
	KEY_SOURCE_DIR,
	KEY_PREFIX_MAP,
	KEY_CHILDREN,
	KEY_CALLERS,
	KEY_CALLEES,
	KEY_MIN_SHARE,
	KEY_EVENT,
	KEY_EVENTS,
	KEY_PROCESSES,
	KEY_THREADS,
	KEY_BY,
	KEY_EXPORT,
};

static const struct argp_option options[] = {
	INPUT_OPTIONS,
	PART_OPTIONS,
	{ "event", KEY_EVENT, "NAME", 0, "Show this event, as its samples were seen", 1 },
	{ "truth", KEY_TRUTH, "FILE", 0,
	  "Take instructions from FILE, exact counts of skidprof truth on the same program and input", 1 },
	{ NULL, 0, NULL, 0, "What is shown:", 2 },
	{ "both", KEY_BOTH, NULL, 0, "Raw and corrected counts (default)", 2 },
	{ "fixed", KEY_FIXED, NULL, 0, "Corrected counts only", 2 },
	{ "raw", KEY_RAW, NULL, 0, "What other profilers show: samples where they were seen", 2 },
	{ "rollup", KEY_ROLLUP, NULL, 0, "Count inlined functions in the one that holds them", 2 },
	{ "function", KEY_FUNCTION, "GLOB", 0, "Only functions of that name", 2 },
	{ "regions", KEY_REGIONS, NULL, 0,
	  "One row per region: a hot loop with all it calls, corrected together", 2 },
	{ "lines", KEY_LINES, NULL, 0, "One row per source line", 2 },
	{ "insns", KEY_INSNS, NULL, 0, "One row per instruction; with --function, in address order", 2 },
	{ "calls", KEY_CALLS, NULL, 0,
	  "One row per function: how often it was called, and what a call comes to", 2 },
	{ "trips", KEY_TRIPS, NULL, 0, "One row per loop: its mean trip count", 2 },
	{ "children", KEY_CHILDREN, NULL, 0, "One row per function with all that it calls", 2 },
	{ "callers", KEY_CALLERS, "FUNCTION", 0, "One row per caller of a function, with the caller's part",
	  2 },
	{ "callees", KEY_CALLEES, "FUNCTION", 0,
	  "One row per function that one calls, with what that comes to", 2 },
	{ "processes", KEY_PROCESSES, NULL, 0, "One row per process and its name: what was sampled of it",
	  2 },
	{ "threads", KEY_THREADS, NULL, 0, "One row per thread", 2 },
	{ "events", KEY_EVENTS, NULL, 0, "One row per event of the file", 2 },
	{ "by", KEY_BY, "WORD", 0,
	  "function (default), or core: a table for each kind of cores that a processor has, each with its "
	  "own "
	  "skid",
	  2 },
	{ "html", KEY_HTML, "FILE", 0, "Write one page to FILE that has all of it and needs nothing else",
	  2 },
	{ "source-dir", KEY_SOURCE_DIR, "DIR", 0, "With --html: look for source files under DIR first", 2 },
	{ "prefix-map", KEY_PREFIX_MAP, "OLD=NEW", 0,
	  "With --html: source paths that begin with OLD begin with NEW here", 2 },
	{ "export", KEY_EXPORT, "WORD", 0,
	  "Write the profile for another tool: folded or folded-cycles (flamegraph.pl), callgrind "
	  "(KCachegrind), pprof",
	  2 },
	{ "why", KEY_WHY, "FUNCTION", 0, "Explain one function's numbers", 2 },
	{ "sort", KEY_SORT, "KEY", 0,
	  "share (default), raw, fixed, cycles, ipc, change, status, name, calls or pid", 2 },
	{ "limit", KEY_LIMIT, "N", 0, "At most N rows of text (default 40), 0 for all", 2 },
	{ "min-share", KEY_MIN_SHARE, "SHARE", 0, "Leave out rows of less, 1% or 0.01", 2 },
	{ 0 },
};

/* Of which there is one: the option that the command line has for it; 0 = none. */
struct chosen {
	int table, counts;
};

struct options {
	struct input_opts input;
	struct report_opts report;
	const char *truth;
	const char *html;
	enum exchange export;
	struct source_opts sources;
	struct chosen chosen;
	bool by_core;
};

static int parse_limit(const char *arg, struct report_opts *o)
{
	unsigned long long n;
	int err = cmd_parse_u64("--limit", arg, 0, SIZE_MAX, &n);

	if (err == 0)
		o->limit = n;
	return err;
}

/* Which rows, and what of them. */
static int parse_view(int key, char *arg, struct options *o)
{
	switch (key) {
	case KEY_REGIONS:
		o->report.view = REPORT_REGIONS;
		return 0;
	case KEY_LINES:
		o->report.view = REPORT_LINES;
		return 0;
	case KEY_CALLS:
		o->report.view = REPORT_CALLS;
		return 0;
	case KEY_PROCESSES:
	case KEY_THREADS:
	case KEY_EVENTS:
		o->report.view = key == KEY_PROCESSES ? REPORT_PROCESSES
		                 : key == KEY_THREADS ? REPORT_THREADS
		                                      : REPORT_EVENTS;
		return 0;
	case KEY_TRIPS:
		o->report.view = REPORT_TRIPS;
		return 0;
	case KEY_CHILDREN:
	case KEY_CALLERS:
	case KEY_CALLEES:
		o->report.view = key == KEY_CHILDREN  ? REPORT_CHILDREN
		                 : key == KEY_CALLERS ? REPORT_CALLERS
		                                      : REPORT_CALLEES;
		o->report.why = arg;
		o->input.correct.stacks = true;
		return 0;
	case KEY_INSNS:
		o->report.view = REPORT_INSNS;
		o->input.correct.texts = true;
		return 0;
	case KEY_WHY:
		o->report.view = REPORT_WHY;
		o->report.why = arg;
		return 0;
	case KEY_FUNCTION:
		o->report.function = arg;
		return 0;
	case KEY_ROLLUP:
		o->report.rollup = true;
		return 0;
	case KEY_FIXED:
		o->report.show = REPORT_FIXED;
		return 0;
	case KEY_RAW:
		o->report.show = REPORT_RAW;
		return 0;
	case KEY_BOTH:
		o->report.show = REPORT_BOTH;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *name_of(int key)
{
	const struct argp_option *o = options;

	while (o->key != key)
		o++;
	return o->name ? o->name : "";
}

/* Two tables can't be printed at once, and which of two is meant is not ours to guess. */
static int choose(int key, struct chosen *c)
{
	static const int tables[] = { KEY_REGIONS, KEY_LINES, KEY_CALLS,    KEY_PROCESSES, KEY_THREADS,
		                      KEY_EVENTS,  KEY_TRIPS, KEY_CHILDREN, KEY_CALLERS,   KEY_CALLEES,
		                      KEY_INSNS,   KEY_WHY,   KEY_EXPORT },
	                 counts[] = { KEY_RAW, KEY_FIXED, KEY_BOTH };
	int *of = NULL, other;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		of = key == tables[i] ? &c->table : of;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		of = key == counts[i] ? &c->counts : of;
	if (!of)
		return 0;
	other = *of;
	*of = key;
	if (!other || other == key)
		return 0;
	return sp_fail(SP_EUSAGE, "skidprof report: --%s and --%s: one at a time", name_of(other),
	               name_of(key));
}

static int parse_by(const char *word, bool *by_core)
{
	static const char *const words[] = { "function", "core", NULL };
	const char *near = cmd_suggest(word, words);

	*by_core = strcmp(word, "core") == 0;
	if (*by_core || strcmp(word, "function") == 0)
		return 0;
	return sp_fail(SP_EUSAGE, "--by: '%s' is neither function nor core%s%s%s", word,
	               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	int err = cmd_is_configured(state) ? 0 : choose(key, &o->chosen);

	if (err < 0)
		return EINVAL;

	switch (key) {
	case KEY_TRUTH:
		o->truth = arg;
		err = 0;
		break;
	case KEY_EVENT:
		o->input.correct.event = arg;
		err = 0;
		break;
	case KEY_BY:
		err = parse_by(arg, &o->by_core);
		break;
	case KEY_HTML:
		o->html = arg;
		o->input.correct.stacks = o->input.correct.texts = true;
		err = 0;
		break;
	case KEY_EXPORT:
		err = exchange_parse(arg, &o->export);
		o->input.correct.stacks = true;
		break;
	case KEY_SOURCE_DIR:
		err = source_add_dir(&o->sources, arg);
		break;
	case KEY_PREFIX_MAP:
		err = source_add_map(&o->sources, arg);
		break;
	case KEY_LIMIT:
		err = parse_limit(arg, &o->report);
		break;
	case KEY_MIN_SHARE:
		err = parse_share("--min-share", arg, &o->report.min_share);
		break;
	case KEY_SORT:
		err = report_sort_parse(arg, &o->report.sort);
		break;
	case ARGP_KEY_ARG:
		err = input_word(&o->input, "skidprof report", arg);
		break;
	default:
		err = parse_view(key, arg, o);
		if (err == ARGP_ERR_UNKNOWN)
			err = input_parse(key, arg, &o->input);
		if (err == ARGP_ERR_UNKNOWN)
			return err;
	}
	return err < 0 ? EINVAL : 0;
}

/* Exact counts, but of another input or a part: there is nothing that they can be used for here. */
static void doubt_all(struct profile *p)
{
	const char *why = p->meta.truth_of_one_task
	                          ? "exact counts of one thread or process, beside cycles of several"
	                          : "exact counts of other arguments: another input has other counts";

	for (size_t i = 0; i < p->n_funcs; i++) {
		struct profile_func *f = &p->funcs[i];

		f->status = f->rolled_status = PROFILE_UNRELIABLE;
		f->why = f->rolled_why = why;
	}
}

static int apply_truth(const struct options *o, struct profile *p)
{
	struct truth *t = NULL;
	int err = truth_read(o->truth, &t);

	if (err == 0)
		err = match_apply(p, t, o->truth, &o->input.correct.modules);
	if (err == 0)
		err = report_same_tasks(p, o->truth, t);
	if (err == 0)
		err = report_same_command(p, o->truth, t->cmdline);
	if (err == 0 && p->meta.truth_of_other_arguments)
		doubt_all(p);
	if (err == 0 && !p->meta.truth_rolled)
		sp_note("%s: read as %s", o->truth, t->format);
	truth_free(t);
	return err;
}

/* Counts by function are of physical ones: no other view has anything exact to show. */
static int roll_up(struct options *o)
{
	if (o->report.view != REPORT_FUNCTIONS)
		return sp_fail(SP_ENOTSUP,
		               "%s: counts by function only; lines, instructions and regions need counts by "
		               "instruction, as 'skidprof truth' writes them",
		               o->truth);
	if (!o->report.rollup)
		sp_note("%s counts physical functions: shown as with --rollup", o->truth);
	o->report.rollup = true;
	return 0;
}

/* What goes together with a table for each kind of cores. */
static int check_by_core(const struct options *o)
{
	if (o->html || o->truth || o->input.correct.event || o->export)
		return sp_fail(SP_EUSAGE, "--by core: not with --html, --truth, --event or --export");
	if (o->input.format == REPORT_CSV)
		return sp_fail(SP_EUSAGE, "--by core: is text or JSON");
	return 0;
}

/* Other tools read counts of this recording, and a file of bytes is nothing to look at. */
static int check_export(const struct options *o)
{
	if (o->export == EXCHANGE_NONE)
		return 0;
	if (o->html || o->truth || o->input.correct.event || o->input.format != REPORT_TEXT)
		return sp_fail(SP_EUSAGE, "--export: not with --html, --truth, --event or --format");
	if (o->export == EXCHANGE_PPROF && isatty(STDOUT_FILENO))
		return sp_fail(SP_EUSAGE, "--export pprof: is no text; write it to a file ('> app.pb')");
	return 0;
}

static int write_export(const struct options *o, const struct profile *p)
{
	struct term term = { .f = stdout };
	int err = exchange_write(p, o->export, o->report.show == REPORT_RAW, term.f),
	    closed = term_close(&term);

	return err < 0 ? err : closed;
}

/* The kinds of cores that were sampled, which p holds the names of. */
static int find_cores(const struct options *o, struct profile **p)
{
	struct correct_opts raw = o->input.correct;
	int err;

	raw.method = METHOD_RAW;
	err = assemble_profile(&raw, p);
	if (err == 0 && !(*p)->meta.n_cores)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: --by core: events of one kind of cores were sampled; a hybrid processor has "
		        "a PMU for each, as in cpu_core/cycles/ and cpu_atom/cycles/",
		        o->input.correct.input);
	return err;
}

/* --fixed asks for corrected counts: raw ones in their columns are none. */
static int check_fixed(const struct options *o, const struct profile *p)
{
	char why[600];

	if (!p || o->report.show != REPORT_FIXED || o->report.view >= REPORT_PROCESSES ||
	    !meta_nothing_fixed(p, why, sizeof(why)))
		return 0;
	return sp_fail(SP_EDOUBT, "%s: --fixed: nothing was corrected: %s", p->meta.input, why);
}

/* Each kind's samples are corrected by themselves, so each has its own skid.  JSON is an array of the kinds. */
static int print_cores(const struct options *o, const struct profile *kinds, struct term *term)
{
	bool json = o->input.format == REPORT_JSON;
	int verdict = 0, err = 0;

	if (json)
		fputs("[\n", term->f);
	for (size_t i = 0; i < kinds->meta.n_cores && err == 0; i++) {
		struct correct_opts opts = o->input.correct;
		struct profile *p = NULL;

		opts.filter.core = kinds->meta.cores[i].name;
		err = assemble_profile(&opts, &p);
		if (i)
			fputs(json ? ",\n" : "\n", term->f);
		if (err == 0)
			err = report_print(p, &o->report, term);
		if (err == 0) {
			int this = report_verdict(p);

			this = this < 0 ? this : check_fixed(o, p);
			verdict = this < 0 ? this : verdict;
		}
		profile_free(p);
	}
	if (json)
		fputs("]\n", term->f);
	return err < 0 ? err : verdict;
}

static int report_by_core(const struct options *o)
{
	struct profile *kinds = NULL;
	struct term term;
	int err = check_by_core(o), closed;

	if (err == 0)
		err = find_cores(o, &kinds);
	if (err == 0) {
		input_term(&o->input, &term);
		err = print_cores(o, kinds, &term);
		closed = term_close(&term);
		err = closed < 0 ? closed : err;
	}
	profile_free(kinds);
	return err;
}

/* Without instructions their columns are not there, and an order by them would be of nothing that is shown. */
static void sort_by_what_there_is(const struct profile *p, struct report_opts *o)
{
	if (report_has_insn(p) ||
	    (o->sort != SORT_RAW && o->sort != SORT_FIXED && o->sort != SORT_IPC && o->sort != SORT_CHANGE))
		return;
	sp_note("--sort: no instructions were counted; rows are by their share of the time");
	o->sort = SORT_SHARE;
}

int cmd_report(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "Show instructions, cycles and IPC per function, raw and corrected for skid."
		       "\vExit status: 0 done, 1 failed, 2 usage, 3 done, but functions of at least 1% are "
		       "unreliable, or the file is damaged.  See skidprof-report(1).",
	};
	struct options o = { .input = INPUT_OPTS_DEFAULT, .report = REPORT_OPTS_DEFAULT };
	struct profile *p = NULL;
	struct term term;
	int err, closed;

	err = cmd_parse(&argp, argc, argv, 0, NULL, &o);
	if (err < 0)
		return err;
	o.report.format = o.input.format;
	/* Nothing of a correction is shown by --raw: none is made, unless one was asked for. */
	if ((o.report.show == REPORT_RAW || o.input.correct.event || o.report.view >= REPORT_PROCESSES) &&
	    o.report.view != REPORT_WHY && !o.input.method_given)
		o.input.correct.method = METHOD_RAW;
	if (o.input.correct.event)
		o.report.show = REPORT_RAW;
	if (o.truth && (filter_is_set(&o.input.correct.filter) || o.input.correct.event))
		return sp_fail(SP_EUSAGE,
		               "--truth counts whole runs: not with --comm, --pid, --tid, --time or --event");
	if (o.by_core)
		return report_by_core(&o);
	err = check_export(&o);
	if (err == 0)
		err = input_check_word(&o.input, o.report.why ? o.report.why : o.report.function);
	if (err < 0)
		return err;
	err = path_check_output(o.html, "--html");
	if (err == 0)
		err = assemble_profile(&o.input.correct, &p);
	if (err == 0 && o.truth)
		err = apply_truth(&o, p);
	if (err == 0 && p->meta.truth_rolled)
		err = roll_up(&o);
	if (err < 0) {
		profile_free(p);
		return err;
	}
	if (o.export) {
		err = write_export(&o, p);
	} else if (o.html) {
		err = html_write(p, &(struct html_opts){ &o.input.correct.modules, &o.sources }, o.html);
	} else {
		sort_by_what_there_is(p, &o.report);
		input_term(&o.input, &term);
		err = report_print(p, &o.report, &term);
		closed = term_close(&term);
		err = err < 0 ? err : closed;
	}
	if (err == 0)
		err = report_verdict_of(p, o.report.view == REPORT_WHY ? o.report.why : NULL);
	if (err == 0)
		err = check_fixed(&o, p);
	profile_free(p);
	return err;
}
