/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidprof compare: the command line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/assemble/assemble.h"
#include "report/cmd.h"
#include "report/compare.h"
#include "report/match/place.h"
#include "report/match/same_run.h"
#include "report/options.h"
#include "report/same_command.h"

enum key { KEY_TRUTH = 0x100, KEY_ROLLUP, KEY_MIN_SHARE, KEY_BY, KEY_LIMIT };

static const struct argp_option options[] = {
	INPUT_OPTIONS,
	{ "truth", KEY_TRUTH, "FILE", 0,
	  "Exact counts: of skidprof truth or record --truth, callgrind, cachegrind, BOLT, DrCCTProf, "
	  "hotblocks, or a table of names (skidprof-truth(1))",
	  1 },
	{ NULL, 0, NULL, 0, "What is compared:", 2 },
	{ "by", KEY_BY, "WORD", 0, "function (default), line or insn", 2 },
	{ "rollup", KEY_ROLLUP, NULL, 0, "Count inlined functions in the one that holds them", 2 },
	{ "min-share", KEY_MIN_SHARE, "SHARE", 0,
	  "Mean and worst errors are of what has at least this share of the truth (default 1%)", 2 },
	{ "limit", KEY_LIMIT, "N", 0,
	  "At most N rows of text, 0 = all (default: those of at least --min-share, or of as much time)", 2 },
	{ 0 },
};

struct options {
	struct input_opts input;
	const char *truth;
	enum compare_by by;
	bool rollup;
	double min_share;
	size_t limit;
};

static int parse_by(const char *word, enum compare_by *out)
{
	static const char *const words[] = { "function", "line", "insn", NULL };
	const char *near = cmd_suggest(word, words);

	for (int i = 0; words[i]; i++) {
		if (strcmp(word, words[i]) == 0) {
			*out = (enum compare_by)i;
			return 0;
		}
	}
	return sp_fail(SP_EUSAGE, "--by: no '%s'%s%s%s; it is one of function, line, insn", word,
	               near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int parse_limit(const char *arg, size_t *out)
{
	unsigned long long n;
	int err = cmd_parse_u64("--limit", arg, 0, SIZE_MAX, &n);

	if (err == 0)
		*out = n ? n : SIZE_MAX;
	return err;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	int err = 0;

	switch (key) {
	case KEY_TRUTH:
		o->truth = arg;
		break;
	case KEY_ROLLUP:
		o->rollup = true;
		break;
	case KEY_MIN_SHARE:
		err = parse_share("--min-share", arg, &o->min_share);
		break;
	case KEY_BY:
		err = parse_by(arg, &o->by);
		break;
	case KEY_LIMIT:
		err = parse_limit(arg, &o->limit);
		break;
	case ARGP_KEY_ARG:
		err = input_word(&o->input, "skidprof compare", arg);
		break;
	default:
		err = input_parse(key, arg, &o->input);
		if (err == ARGP_ERR_UNKNOWN)
			return err;
	}
	return err < 0 ? EINVAL : 0;
}

/* Code that was sampled and that the truth never ran, such as a library's for another processor. */
static void doubt_unseen(struct profile *p, const struct truth_join *j, bool partial)
{
	bool *own = mem_calloc(2 * p->n_funcs + 1, sizeof(*own)), *rolled = own + p->n_funcs;

	for (size_t f = 0; f < p->n_funcs && !partial; f++) {
		uint32_t module = p->funcs[f].module;
		bool compared = !(module < p->n_modules && j->incomparable[module]) && !j->gap[f];

		own[f] = compared && !(j->own[f] > 0);
		rolled[f] = compared && !(j->rolled[f] > 0);
	}
	same_run_doubt_unseen(p, own, rolled);
	free(own);
}

/* A tool that counts stubs where they are called says nothing of them. */
static void leave_out_stubs(const struct profile *p, struct truth_join *j)
{
	for (size_t f = 0; f < p->n_funcs; f++)
		j->gap[f] |= !(j->rolled[f] > 0) && names_is_stub(p->funcs[f].linkage);
}

static int rows_of_insns(const struct options *o, const struct truth *t, struct compare *c)
{
	struct truth_join j;
	int err = match_join(c->p, t, o->truth, &o->input.correct.modules, &j);

	if (err < 0)
		return err;
	if (t->moves_plt)
		leave_out_stubs(c->p, &j);
	c->unmatched = j.unmatched;
	c->another = j.another;
	c->incomparable = j.incomparable;
	c->gap = j.gap;
	c->listed = t->partial ? j.listed : NULL;
	doubt_unseen(c->p, &j, t->partial);
	if (c->p->meta.relative)
		err = compare_parts(c, j.per_insn, (double)t->total - j.another, o->rollup);
	else if (o->by == BY_FUNCTION && !t->partial)
		err = compare_funcs(c, o->rollup ? j.rolled : j.own, o->rollup);
	else
		err = compare_insns(c, j.per_insn, (double)t->total - j.another, o->rollup);
	c->incomparable = c->gap = c->listed = NULL;
	match_join_fini(&j);
	return err;
}

/* Instructions that a tool knew no line of, or no function. */
static void warn_unnamed(const struct options *o, const struct truth *t, const struct names_join *j)
{
	double no_line = 0;

	for (size_t i = 0; i < t->n_lines; i++)
		if (!t->lines[i].line || strcmp(t->files[t->lines[i].file], "???") == 0)
			no_line += (double)t->lines[i].n_insn;
	if (o->by == BY_LINE && no_line > 0.01 * (double)t->total)
		sp_warn("%s: %.1f%% of its instructions have no source line: they are in no "
		        "row; build with -g, and install debug symbols of the libraries",
		        o->truth, 100 * no_line / (double)t->total);
	if (o->by == BY_FUNCTION && j->unnamed > 0.01 * (double)t->total)
		sp_warn("%s: %.1f%% of its instructions have no function (no name, or an address for one): "
		        "they are in no row; "
		        "build with symbols, and install debug symbols of the libraries",
		        o->truth, 100 * j->unnamed / (double)t->total);
}

static int rows_of_names(const struct options *o, const struct truth *t, struct compare *c)
{
	struct names_join j;
	int err = match_names(c->p, t, o->truth, &o->input.correct.modules, &j);

	if (err < 0)
		return err;
	warn_unnamed(o, t, &j);
	c->another = j.another;
	c->incomparable = j.incomparable;
	if (o->by == BY_LINE) {
		err = compare_lines(c, t, &j);
	} else {
		sp_note("%s counts by name, and so physical functions: compared as with --rollup", o->truth);
		err = compare_names(c, &j);
	}
	c->incomparable = NULL;
	match_names_fini(&j);
	return err;
}

static int rows(const struct options *o, const struct truth *t, struct compare *c)
{
	if (t->n_insns)
		return rows_of_insns(o, t, c);
	if (o->by == BY_INSN || (o->by == BY_LINE && !t->n_lines))
		return sp_fail(SP_ENOTSUP,
		               "%s: counts by function%s only; --by %s needs counts by instruction, as "
		               "'skidprof truth' writes them",
		               o->truth, t->n_lines ? " and line" : "", o->by == BY_LINE ? "line" : "insn");
	return rows_of_names(o, t, c);
}

/*
 * What was sampled by time tells instructions as shares of regions, or not at all.  Advice names no command line: the file has its
 * words without what a shell would need around them.
 */
static int check_counted(const struct options *o, const struct profile *p, const struct truth *t)
{
	const char *input = o->input.correct.input;
	const struct profile_meta *m = &p->meta;

	if (m->insn_event >= 0 || m->pace > 0)
		return 0;
	if (!m->relative && report_by_clock(m))
		return sp_fail(SP_ENOTSUP,
		               "%s: %s: record %s, or 'skidprof record --pmu sim -o sim.data --truth "
		               "sim.truth PROGRAM', then 'skidprof compare --truth sim.truth sim.data'",
		               input,
		               m->n_bursts ? "bursts are too few to tell instructions by"
		                           : "no instructions event and no bursts were recorded",
		               m->n_bursts ? "longer" : "bursts");
	if (!m->relative)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: no instructions event was recorded, so there is nothing to compare: record with "
		        "-e cycles,instructions, or on a machine without counters with --pmu sim",
		        input);
	if (o->by != BY_FUNCTION)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: instructions were not counted, and shares of regions are compared by function "
		        "only; 'skidprof report --truth %s' has exact counts by line and instruction",
		        input, o->truth);
	if (!t->n_insns)
		return sp_fail(SP_ENOTSUP,
		               "%s: counts by name only; shares of regions need counts by instruction: "
		               "'skidprof truth -o T PROGRAM'",
		               o->truth);
	return 0;
}

static int compare(const struct options *o, struct profile *p, struct truth *t)
{
	struct compare c = {
		.p = p,
		.by = o->by,
		.min_share = o->min_share,
		.truth = o->truth,
		.creator = t->creator,
		.format = t->format,
		.partial = t->partial,
		.moves_plt = t->moves_plt,
	};
	struct term term;
	int err, closed;

	err = match_place(p, t, o->truth, &o->input.correct.modules);
	if (err == 0)
		err = check_counted(o, p, t);
	if (err == 0)
		err = rows(o, t, &c);
	if (err == 0 && c.parts && !c.n)
		err = compare_nothing(&c);
	if (err == 0)
		err = report_same_tasks(p, o->truth, t);
	if (err == 0)
		err = report_same_command(p, o->truth, t->cmdline);
	if (err == 0) {
		compare_finish(&c);
		input_term(&o->input, &term);
		err = compare_print(&c, o->input.format, o->limit, &term);
		closed = term_close(&term);
		if (err == 0)
			err = closed;
	}
	compare_fini(&c);
	return err;
}

int cmd_compare(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "Compare a profile's raw and corrected counts with exact ones."
		       "\vExit status: 0 done, 1 failed, or the truth is of another program or build, 2 "
		       "usage, 3 "
		       "functions of at least 1% are unreliable, or counts are compared with those of other "
		       "arguments.  See "
		       "skidprof-compare(1).",
	};
	struct options o = { .input = INPUT_OPTS_DEFAULT, .min_share = 0.01 };
	struct profile *p = NULL;
	struct truth *t = NULL;
	int err;

	err = cmd_parse(&argp, argc, argv, 0, NULL, &o);
	if (err < 0)
		return err;
	if (!o.truth)
		return sp_fail(SP_EUSAGE, "skidprof compare: --truth FILE is needed; 'skidprof truth -o FILE "
		                          "PROGRAM' counts exactly");
	err = truth_read(o.truth, &t);
	if (err == 0)
		err = assemble_profile(&o.input.correct, &p);
	if (err == 0)
		err = compare(&o, p, t);
	if (err == 0)
		err = report_verdict(p);
	profile_free(p);
	truth_free(t);
	return err;
}
