/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidprof report: the command line. */
#include <math.h>
#include <stdint.h>

#include "correct/correct.h"
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "report/cmd.h"
#include "report/report.h"

enum key {
	KEY_FIXED = 0x100,
	KEY_RAW,
	KEY_BOTH,
	KEY_METHOD,
	KEY_SORT,
	KEY_LIMIT,
	KEY_FORMAT,
	KEY_FUNCTION,
	KEY_ROLLUP,
	KEY_REGIONS,
	KEY_WHY,
	KEY_LINES,
	KEY_INSNS,
	KEY_SEED,
	KEY_SKID,
	KEY_SYMFS,
	KEY_DEBUG_DIR,
	KEY_NO_DEBUGINFOD,
	KEY_NO_PAGER,
	KEY_COLOR,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Input and method:", 1 },
	{ "input", 'i', "FILE", 0, "A perf.data file, - for standard input (default skidprof.data)", 1 },
	{ "method", KEY_METHOD, "WORD", 0, "full (default), raw, loops, path or flow", 1 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the random numbers (default 1); same seed, same result", 1 },
	{ "skid", KEY_SKID, "CYCLES", 0, "The skid S, where the file doesn't tell it", 1 },
	{ "symfs", KEY_SYMFS, "DIR", 0, "Look for binaries under DIR", 1 },
	{ "debug-dir", KEY_DEBUG_DIR, "DIRS", 0, "More places for separate debug files, ':' between", 1 },
	{ "no-debuginfod", KEY_NO_DEBUGINFOD, NULL, 0, "Ask no debuginfod server", 1 },
	{ NULL, 0, NULL, 0, "What is shown:", 2 },
	{ "both", KEY_BOTH, NULL, 0, "Raw and corrected counts (default)", 2 },
	{ "fixed", KEY_FIXED, NULL, 0, "Corrected counts only", 2 },
	{ "raw", KEY_RAW, NULL, 0, "What other profilers show: samples where they were seen", 2 },
	{ "rollup", KEY_ROLLUP, NULL, 0, "Count inlined functions in the one that holds them", 2 },
	{ "function", KEY_FUNCTION, "GLOB", 0, "Only functions of that name", 2 },
	{ "regions", KEY_REGIONS, NULL, 0, "A row a region: what was corrected together", 2 },
	{ "lines", KEY_LINES, NULL, 0, "A row a source line", 2 },
	{ "insns", KEY_INSNS, NULL, 0, "A row an instruction; with --function, in address order", 2 },
	{ "why", KEY_WHY, "FUNCTION", 0, "Explain one function's numbers", 2 },
	{ "sort", KEY_SORT, "KEY", 0, "share (default), raw, fixed, cycles, ipc, change, status or name", 2 },
	{ "limit", KEY_LIMIT, "N", 0, "At most N rows of text (default 40), 0 for all", 2 },
	{ NULL, 0, NULL, 0, "How:", 3 },
	{ "format", KEY_FORMAT, "WORD", 0, "text (default), json or csv", 3 },
	{ "color", KEY_COLOR, "WHEN", 0, "auto (default), always or never", 3 },
	{ "no-pager", KEY_NO_PAGER, NULL, 0, "Write straight to the terminal", 3 },
	{ 0 },
};

struct options {
	struct correct_opts correct;
	struct report_opts report;
	enum term_color color;
	bool no_pager, method_given;
};

static int parse_method(const char *arg, struct options *o)
{
	int method = correct_method_parse(arg);

	if (method < 0)
		return -SP_EUSAGE;
	o->correct.method = (enum correct_method)method;
	o->method_given = true;
	return 0;
}

static int parse_numbers(int key, const char *arg, struct options *o)
{
	unsigned long long n;
	int err;

	switch (key) {
	case KEY_SEED:
		err = cmd_parse_u64("--seed", arg, 0, UINT64_MAX, &n);
		if (err == 0)
			o->correct.seed = n;
		return err;
	case KEY_LIMIT:
		err = cmd_parse_u64("--limit", arg, 0, SIZE_MAX, &n);
		if (err == 0)
			o->report.limit = n;
		return err;
	default:
		return cmd_parse_double("--skid", arg, 0, 1e9, &o->correct.skid_cyc);
	}
}

/* Which rows. */
static int parse_view(int key, char *arg, struct options *o)
{
	switch (key) {
	case KEY_REGIONS:
		o->report.view = REPORT_REGIONS;
		return 0;
	case KEY_LINES:
		o->report.view = REPORT_LINES;
		return 0;
	case KEY_INSNS:
		o->report.view = REPORT_INSNS;
		o->correct.texts = true;
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
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int parse_words(int key, char *arg, struct options *o)
{
	switch (key) {
	case 'i':
		o->correct.input = arg;
		return 0;
	case KEY_SYMFS:
		o->correct.modules.symfs = arg;
		return 0;
	case KEY_DEBUG_DIR:
		o->correct.modules.debug_dir = arg;
		return 0;
	case KEY_NO_DEBUGINFOD:
		o->correct.modules.no_debuginfod = true;
		return 0;
	case KEY_NO_PAGER:
		o->no_pager = true;
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
	case KEY_COLOR:
		return term_color_parse(arg, &o->color);
	case KEY_FORMAT:
		return report_format_parse(arg, &o->report.format);
	case KEY_SORT:
		return report_sort_parse(arg, &o->report.sort);
	case KEY_METHOD:
		return parse_method(arg, o);
	default:
		return parse_view(key, arg, o);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	int err;

	switch (key) {
	case KEY_SEED:
	case KEY_SKID:
	case KEY_LIMIT:
		err = parse_numbers(key, arg, o);
		break;
	case ARGP_KEY_ARG:
		err = sp_fail(SP_EUSAGE, "skidprof report: what is '%s'? A file is named by -i FILE", arg);
		break;
	default:
		err = parse_words(key, arg, o);
		if (err == ARGP_ERR_UNKNOWN)
			return err;
	}
	return err < 0 ? EINVAL : 0;
}

int cmd_report(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Show instructions, cycles and IPC per function, raw and corrected for skid."
		       "\vExit status: 0 done, 1 failed, 2 usage, 3 done, but functions of at least 1% are "
		       "unreliable.  See skidprof-report(1).",
	};
	struct options o = { .correct = CORRECT_OPTS_DEFAULT, .report = REPORT_OPTS_DEFAULT };
	struct profile *p = NULL;
	struct term term;
	int err, closed;

	err = cmd_parse(&argp, argc, argv, 0, NULL, &o);
	if (err < 0)
		return err;
	/* Nothing of a correction is shown by --raw alone: none is made. */
	if (o.report.show == REPORT_RAW && !o.method_given)
		o.correct.method = METHOD_RAW;
	err = correct_run(&o.correct, &p);
	if (err < 0)
		return err;
	term_open(&term, o.color, !o.no_pager && o.report.format == REPORT_TEXT);
	err = report_print(p, &o.report, &term);
	closed = term_close(&term);
	if (err == 0)
		err = closed;
	if (err == 0)
		err = report_verdict(p);
	profile_free(p);
	return err;
}
