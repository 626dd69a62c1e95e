/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidprof diff: the command line. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "report/assemble/assemble.h"
#include "report/cmd.h"
#include "report/diff.h"
#include "report/match/join.h"
#include "report/number.h"
#include "report/options.h"

enum { MAX_FILES = 64, MAX_LIMITS = 16, FAILED_LIMIT = 4 };

enum key { KEY_LINES = 0x100, KEY_ROLLUP, KEY_BY, KEY_LIMIT, KEY_MIN_SHARE, KEY_FAIL_ON, KEY_HTML };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Input and method:", 1 },
	{ "before", 'a', "FILE", 0, "Another recording of the first side; may be repeated", 1 },
	{ "after", 'b', "FILE", 0, "Another of the second", 1 },
	{ "method", KEY_METHOD, "WORD", 0, "full (default) or raw", 1 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the random numbers (default 1)", 1 },
	{ "skid", KEY_SKID, "CYCLES", 0, "The skid S, where a file doesn't tell it", 1 },
	{ "symfs", KEY_SYMFS, "DIR", 0, "Look for binaries under DIR", 1 },
	{ "debug-dir", KEY_DEBUG_DIR, "DIRS", 0, "More places for separate debug files, ':' between", 1 },
	{ "no-debuginfod", KEY_NO_DEBUGINFOD, NULL, 0, "Ask no debuginfod server", 1 },
	{ NULL, 0, NULL, 0, "What is compared:", 2 },
	{ "by", KEY_BY, "WORD", 0,
	  "instructions (default), cycles, ipc, executions or events: what is shown in numbers", 2 },
	{ "lines", KEY_LINES, NULL, 0, "Source lines, by their place in their function", 2 },
	{ "rollup", KEY_ROLLUP, NULL, 0, "Count inlined functions in the one that holds them", 2 },
	{ "min-share", KEY_MIN_SHARE, "SHARE", 0,
	  "Rows of less of instructions and cycles are not shown (default 1%)", 2 },
	{ "limit", KEY_LIMIT, "N", 0, "At most N rows of text (default 40), 0 for all", 2 },
	{ "html", KEY_HTML, "FILE", 0,
	  "Write one page to FILE, with functions and lines, that needs nothing else", 2 },
	{ "fail-on", KEY_FAIL_ON, "CONDITION", 0,
	  "Exit with 4 if it holds: 'instructions > 2%', or of a function 'main: cycles > 5%'; may be "
	  "repeated",
	  2 },
	{ NULL, 0, NULL, 0, "How it is written:", 3 },
	{ "format", KEY_FORMAT, "WORD", 0, "text (default), json or csv", 3 },
	{ "color", KEY_COLOR, "WHEN", 0, "auto (default), always or never", 3 },
	{ "no-pager", KEY_NO_PAGER, NULL, 0, "Write straight to the terminal", 3 },
	{ 0 },
};

/* Of two builds of one program more than this ran in functions that both have. */
static const double least_paired = 0.5;

struct options {
	struct input_opts input;
	struct diff_opts diff;
	double min_share;
	const char *files[2][MAX_FILES];
	size_t n_files[2], n_args;
	struct diff_limit limits[MAX_LIMITS];
	const char *limit_texts[MAX_LIMITS];
	size_t n_limits;
	bool lines, rollup, by_given;
	const char *html;
};

static int add_file(struct options *o, int side, const char *file)
{
	if (o->n_files[side] == MAX_FILES)
		return sp_fail(SP_EUSAGE, "no more than %d recordings of a side", MAX_FILES);
	o->files[side][o->n_files[side]++] = file;
	return 0;
}

static int add_limit(struct options *o, const char *text)
{
	if (o->n_limits == MAX_LIMITS)
		return sp_fail(SP_EUSAGE, "--fail-on: no more than %d", MAX_LIMITS);
	o->limit_texts[o->n_limits] = text;
	return diff_limit_parse(text, &o->limits[o->n_limits++]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	unsigned long long n;
	int err = 0;

	switch (key) {
	case 'a':
		err = add_file(o, 0, arg);
		break;
	case 'b':
		err = add_file(o, 1, arg);
		break;
	case ARGP_KEY_ARG:
		err = o->n_args < 2 ? add_file(o, (int)o->n_args, arg)
		                    : sp_fail(SP_EUSAGE,
		                              "'%s': two sides are compared; more recordings of one are "
		                              "given by -a FILE and -b FILE",
		                              arg);
		o->n_args++;
		break;
	case KEY_LINES:
		o->lines = true;
		break;
	case KEY_ROLLUP:
		o->rollup = true;
		break;
	case KEY_BY:
		o->by_given = true;
		err = diff_measure_parse("--by", arg, &o->diff.by);
		break;
	case KEY_MIN_SHARE:
		err = parse_share("--min-share", arg, &o->min_share);
		break;
	case KEY_LIMIT:
		err = cmd_parse_u64("--limit", arg, 0, SIZE_MAX - 1, &n);
		if (err == 0)
			o->diff.limit = n;
		break;
	case KEY_HTML:
		o->html = arg;
		break;
	case KEY_FAIL_ON:
		err = add_limit(o, arg);
		break;
	default:
		err = input_parse(key, arg, &o->input);
		if (err == ARGP_ERR_UNKNOWN)
			return err;
	}
	return err < 0 ? EINVAL : 0;
}

/* A perf.data file, by its first bytes; else it is one of exact counts. */
static int is_recording(const char *path, bool *out)
{
	char magic[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return sp_fail(
		        SP_ENOENT,
		        "%s: no such file; a recording of 'skidprof record -o FILE', or exact counts of "
		        "'skidprof truth -o FILE'",
		        path);
	if (fd < 0)
		return sp_fail_errno("%s", path);
	n = read(fd, magic, sizeof(magic));
	close(fd);
	*out = n == (ssize_t)sizeof(magic) &&
	       (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8));
	/* An empty file is no counts either: what reads recordings says it best. */
	*out = *out || n <= 0;
	return 0;
}

static int load(const struct options *o, const char *path, struct profile **out)
{
	struct correct_opts opts = o->input.correct;
	struct truth *t = NULL;
	bool recording = false;
	int err = is_recording(path, &recording);

	opts.input = path;
	if (err < 0)
		return err;
	if (recording)
		return assemble_profile(&opts, out);
	err = truth_read(path, &t);
	if (err == 0)
		err = match_profile(t, path, &opts.modules, opts.texts, out);
	truth_free(t);
	return err;
}

static int load_side(const struct options *o, int side, struct diff_side *out)
{
	int err = 0;

	out->profiles = calloc(o->n_files[side] + 1, sizeof(struct profile *));
	if (!out->profiles)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < o->n_files[side] && err == 0; i++) {
		err = load(o, o->files[side][i], &out->profiles[i]);
		out->n += err == 0;
	}
	return err;
}

/* 0, FAILED_LIMIT, or -SP_EDOUBT where none holds and one can't be answered; each of either is said. */
static int check_limits(const struct options *o, const struct diff *d)
{
	const char *unknown[MAX_LIMITS];
	int failed = 0, err = 0;
	size_t n_rows = 0;

	for (size_t i = 0; i < o->n_limits; i++) {
		unknown[i] = diff_limit_unknown(d, &o->limits[i]);
		n_rows += unknown[i] ? 0 : diff_limit_rows(d, &o->limits[i]);
	}
	for (size_t i = 0; i < o->n_limits; i++) {
		const struct diff_limit *l = &o->limits[i];
		const struct diff_row *past[3];
		/* However many are asked about, what does not differ fails once in twenty. */
		size_t n = unknown[i] ? 0 : diff_limit_check(d, l, 0.1 / fmax((double)n_rows, 1), past, 3);

		if (unknown[i]) {
			/* The last is the error, and is said when it is returned. */
			if (err < 0)
				sp_warn("%s", sp_error_text());
			err = sp_fail(SP_EDOUBT, "--fail-on '%s': %s", o->limit_texts[i], unknown[i]);
		}

		for (size_t k = 0; k < n && k < 3; k++) {
			const struct diff_number *m = &past[k]->m[l->measure];
			char name[200], lo[NUMBER_MAX], hi[NUMBER_MAX];

			text_safe(past[k]->name, name, sizeof(name));
			number_percent(m->lo, 1, lo);
			number_percent(m->hi, 1, hi);
			sp_warn("--fail-on '%s': %s of %s changed by %s..%s", o->limit_texts[i],
			        diff_measure_name(l->measure), name, lo, hi);
		}
		if (n > 3)
			sp_warn("--fail-on '%s': and of %zu more", o->limit_texts[i], n - 3);
		failed = n ? FAILED_LIMIT : failed;
	}
	if (failed && err < 0)
		sp_warn("%s", sp_error_text());
	return failed ? failed : err;
}

/* Of "/opt/app 3" the name, its length, and what follows it. */
static size_t split_command(const char *line, const char **name, const char **rest)
{
	*name = report_command_base(line);
	*rest = line + strcspn(line, " ");
	return (size_t)(*rest - *name);
}

/* What of a side is in functions that the other has as well. */
static double share_paired(const struct diff *d, bool after)
{
	enum diff_measure m = diff_main_measure(d);
	double all = 0, paired = 0;

	for (size_t i = 0; i < d->n_rows; i++) {
		const struct diff_row *r = &d->rows[i];
		double n = after ? r->m[m].b : r->m[m].a;

		if (!(n > 0))
			continue;
		all += n;
		paired += r->new_there || r->gone ? 0 : n;
	}
	return all > 0 ? paired / all : 1;
}

/* Time against simulated cycles, say: there is nothing to show. */
static int check_events(const struct diff *d)
{
	const struct profile_meta *a = &d->a.profiles[0]->meta;

	for (size_t i = 1; i < d->a.n + d->b.n; i++) {
		const struct profile_meta *b =
		        &(i < d->a.n ? d->a.profiles[i] : d->b.profiles[i - d->a.n])->meta;

		if (!a->truth && !b->truth && a->pmu && b->pmu && strcmp(a->pmu, b->pmu) != 0)
			return sp_fail(SP_ENOTSUP,
			               "%s is of %s events, %s of %s ones: they can't be compared; record "
			               "both alike",
			               a->input, a->pmu, b->input, b->pmu);
	}
	return 0;
}

/* Builds for two machines, or one on two processors, may well be compared: what that is of both then, has to be known. */
static void warn_of_machines(const struct profile_meta *a, const struct profile_meta *b)
{
	if (a->truth || b->truth)
		return;
	if (a->arch && b->arch && *a->arch && *b->arch && strcmp(a->arch, b->arch) != 0)
		sp_warn("%s is of %.40s code, %s of %.40s code: the same work is other instructions in each, "
		        "and the "
		        "processors differ",
		        a->input, a->arch, b->input, b->arch);
	else if (a->cpudesc && b->cpudesc && *a->cpudesc && *b->cpudesc &&
	         strcmp(a->cpudesc, b->cpudesc) != 0)
		sp_warn("%s is of '%.100s', %s of '%.100s': cycles and IPC differ by the processor, too",
		        a->input, a->cpudesc, b->input, b->cpudesc);
}

/* One recording against the first of all: 0, or -SP_EDOUBT where they can't be compared; a line on stderr says why. */
static int compare_sources(const struct diff *d, const struct profile *p, bool after)
{
	const struct profile_meta *a = &d->a.profiles[0]->meta, *b = &p->meta;
	const char *name_a, *name_b, *rest_a, *rest_b;
	size_t n_a, n_b;

	warn_of_machines(a, b);
	if (!a->cmdline || !b->cmdline || !*a->cmdline || !*b->cmdline)
		return 0;
	n_a = split_command(a->cmdline, &name_a, &rest_a);
	n_b = split_command(b->cmdline, &name_b, &rest_b);
	/* Another build may have another name, but not other functions. */
	if ((n_a != n_b || strncmp(name_a, name_b, n_a) != 0) &&
	    (share_paired(d, false) < least_paired || share_paired(d, after) < least_paired))
		return sp_fail(
		        SP_EDOUBT,
		        "%s is of '%.200s', %s of '%.200s', and most of what ran is in functions that the "
		        "other doesn't have: they are different programs",
		        a->input, a->cmdline, b->input, b->cmdline);
	if (n_a == n_b && strncmp(name_a, name_b, n_a) == 0 && strcmp(rest_a, rest_b) != 0)
		sp_warn("%s is of '%.200s', %s of '%.200s': another input may be all that differs", a->input,
		        a->cmdline, b->input, b->cmdline);
	return 0;
}

/* Are all recordings of the same thing?  -SP_EDOUBT: the first that is not. */
static int check_sources(const struct diff *d)
{
	int err = 0;

	for (size_t i = 1; i < d->a.n && err == 0; i++)
		err = compare_sources(d, d->a.profiles[i], false);
	for (size_t i = 0; i < d->b.n && err == 0; i++)
		err = compare_sources(d, d->b.profiles[i], true);
	return err;
}

/* Where a measure was asked for that a side doesn't know. */
static int check_by(const struct diff *d, enum diff_measure by)
{
	char both[100] = "";
	size_t n = 0;

	if (d->has[by])
		return 0;
	for (int m = 0; m < DIFF_N_MEASURES; m++)
		if (d->has[m])
			n += (size_t)snprintf(both + n, sizeof(both) - n, "%s%s", n ? ", " : "",
			                      diff_measure_name((enum diff_measure)m));
	return sp_fail(SP_ENOENT, "--by %s: not known on both sides; what both have: %s",
	               diff_measure_name(by), n ? both : "nothing");
}

/* Of several files the one in doubt is named. */
static int file_verdict(const struct profile *p)
{
	const char *input = p->meta.input ? p->meta.input : "?";
	char why[1000];
	int err = p->meta.truth ? 0 : report_verdict(p);

	if (err != -SP_EDOUBT || strncmp(sp_error_text(), input, strlen(input)) == 0)
		return err;
	snprintf(why, sizeof(why), "%s", sp_error_text());
	return sp_fail(SP_EDOUBT, "%.300s: %s", input, why);
}

/* A profile that is not to be trusted makes its side so. */
static int verdict(const struct diff *d)
{
	int err = check_sources(d);

	for (size_t i = 0; i < d->a.n && err == 0; i++)
		err = file_verdict(d->a.profiles[i]);
	for (size_t i = 0; i < d->b.n && err == 0; i++)
		err = file_verdict(d->b.profiles[i]);
	return err;
}

static int show(const struct options *o, struct diff *d)
{
	struct diff_opts opts = o->diff;
	struct term term;
	int err = diff_make(d, opts.by), closed;

	if (err == 0 && o->by_given)
		err = check_by(d, opts.by);
	/* Without instructions on both sides there are cycles, or time. */
	if (err == 0 && !o->by_given && diff_main_measure(d) != opts.by) {
		opts.by = diff_main_measure(d);
		diff_sort(d, opts.by);
	}
	if (err < 0 || o->html)
		return err < 0 ? err : diff_html(d, opts.by, o->html);
	input_term(&o->input, &term);
	err = diff_print(d, &opts, &term);
	closed = term_close(&term);
	return err < 0 ? err : closed;
}

int cmd_diff(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "BEFORE AFTER",
		.doc = "Show what differs between two recordings, or exact counts, of one program or of two "
		       "builds of it: "
		       "more, fewer, or can't tell."
		       "\vExit status: 0 done, 1 failed, 2 usage, 3 done, but a recording is not to be "
		       "trusted, 4 a "
		       "condition of --fail-on holds.  See skidprof-diff(1).",
	};
	struct options o = { .input = INPUT_OPTS_DEFAULT, .diff = { .limit = 40 }, .min_share = 0.01 };
	struct diff d = { 0 };
	int err, failed = 0;

	err = cmd_parse(&argp, argc, argv, 0, NULL, &o);
	if (err < 0)
		return err;
	if (!o.n_files[0] || !o.n_files[1])
		return sp_fail(SP_EUSAGE,
		               "which two recordings? skidprof diff BEFORE AFTER (record keeps the last but "
		               "one as skidprof.data.old)");
	o.diff.format = o.input.format;
	d.lines = o.lines;
	/* Lines are known again by their instructions. */
	o.input.correct.texts = o.lines || o.html;
	d.rollup = o.rollup;
	d.min_share = o.min_share;
	err = path_check_output(o.html, "--html");
	if (err == 0)
		err = load_side(&o, 0, &d.a);
	if (err == 0)
		err = load_side(&o, 1, &d.b);
	if (err == 0)
		err = check_events(&d);
	if (err == 0)
		err = show(&o, &d);
	if (err == 0) {
		failed = check_limits(&o, &d);
		err = failed < 0 ? failed : 0;
	}
	if (err == 0)
		err = verdict(&d);
	diff_fini(&d);
	/* What fails for sure fails, whatever else is in doubt. */
	return failed > 0 ? failed : err;
}
