/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidprof lift: the command line. */
#include <stdlib.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/path.h"
#include "profiler/base/vec.h"
#include "report/cmd.h"
#include "report/lift/html.h"
#include "report/lift/lift.h"
#include "report/lift/print.h"
#include "report/options.h"

enum key {
	KEY_TRUTH = 0x100,
	KEY_KERNEL,
	KEY_TOOL,
	KEY_CPU,
	KEY_MIN_SHARE,
	KEY_BLOCKS,
	KEY_NO_CACHE,
	KEY_CORE,
	KEY_HTML,
	KEY_MEASURE,
};

static const struct argp_option options[] = {
	INPUT_OPTIONS,
	{ "truth", KEY_TRUTH, "FILE", 0,
	  "Exact executions, of skidprof truth, record --truth or callgrind (--dump-instr=yes); with -i, "
	  "cycles "
	  "are the profile's",
	  1 },
	{ NULL, 0, NULL, 0, "What is lifted:", 2 },
	{ "kernel", KEY_KERNEL, "FUNCTION", 0, "Only functions of that name, or glob; may be repeated", 2 },
	{ "min-share", KEY_MIN_SHARE, "SHARE", 0,
	  "Without --kernel: functions of at least this share of what ran (default 1%)", 2 },
	{ "tool", KEY_TOOL, "NAME", 0,
	  "A predictor, or the path of a description file; may be repeated (default: all that work here)",
	  2 },
	{ "cpu", KEY_CPU, "NAME", 0, "The core, by LLVM's name (default: the one recorded)", 2 },
	{ "core", KEY_CORE, "CORE", 0,
	  "The core of the tool sim: a name, or a core file of calibrate (default: by --cpu)", 2 },
	{ "no-cache", KEY_NO_CACHE, NULL, 0, "Ask the tools again, whatever is kept on disk", 2 },
	{ "measure", KEY_MEASURE, NULL, 0,
	  "Run PROGRAM four times here, its kernels timed at entry and exit, and keep the smallest cycles",
	  2 },
	{ "html", KEY_HTML, "FILE", 0, "A page with plots, too, that needs nothing else", 2 },
	{ "blocks", KEY_BLOCKS, NULL, 0, "The blocks of each kernel, too", 2 },
	{ 0 },
};

struct options {
	struct input_opts input;
	struct lift_opts lift;
	VEC(const char *) kernels;
	VEC(const char *) tools;
	bool blocks;
	const char *html;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	int err = 0;

	switch (key) {
	case KEY_TRUTH:
		o->lift.truth = arg;
		break;
	case KEY_KERNEL:
		err = vec_push(&o->kernels, arg);
		break;
	case KEY_TOOL:
		err = vec_push(&o->tools, arg);
		break;
	case KEY_CPU:
		o->lift.cpu = arg;
		break;
	case KEY_MIN_SHARE:
		err = parse_share("--min-share", arg, &o->lift.min_share);
		break;
	case KEY_BLOCKS:
		o->blocks = true;
		break;
	case KEY_MEASURE:
		o->lift.measure = true;
		break;
	case KEY_HTML:
		o->html = arg;
		break;
	case KEY_CORE:
		o->lift.core = arg;
		break;
	case KEY_NO_CACHE:
		o->lift.no_cache = true;
		break;
	case 'i':
		o->lift.input_given = true;
		/* fall through */
	default:
		err = input_parse(key, arg, &o->input);
		if (err == ARGP_ERR_UNKNOWN)
			return err;
	}
	return err < 0 ? EINVAL : 0;
}

static int print(const struct options *o, const struct lift *l)
{
	struct term term;
	int err, closed;

	input_term(&o->input, &term);
	err = lift_print(l, o->input.format, o->blocks, &term);
	closed = term_close(&term);
	return err < 0 ? err : closed;
}

/* A program is there to be measured, and only then. */
static int check_program(struct lift_opts *o, int argc, char **argv)
{
	if (o->measure && !argc)
		return sp_fail(SP_EUSAGE,
		               "skidprof lift: --measure what? For example: skidprof lift --truth FILE "
		               "--measure ./app");
	if (!o->measure && argc)
		return sp_fail(SP_EUSAGE,
		               "skidprof lift: what is '%s'? A profile is named by -i FILE, a function by "
		               "--kernel NAME; a program comes with --measure",
		               argv[0]);
	o->argv = argc ? argv : NULL;
	return 0;
}

int cmd_lift(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[--measure [--] PROGRAM [ARGUMENT...]]",
		.doc = "Lift what throughput predictors say of basic blocks to whole kernels, and hold it "
		       "against "
		       "measured cycles."
		       "\vExit status: 0 done, 1 failed, 2 usage, 3 a kernel's executions are not to be "
		       "trusted.  See skidprof-lift(1).",
	};
	struct options o = { .input = INPUT_OPTS_DEFAULT, .lift = { .min_share = 0.01 } };
	struct lift l = { 0 };
	int first, err = cmd_parse(&argp, argc, argv, 1, &first, &o);

	if (err == 0)
		err = check_program(&o.lift, argc - first, argv + first);
	o.lift.correct = o.input.correct;
	o.lift.kernels = o.kernels.v;
	o.lift.n_kernels = o.kernels.n;
	o.lift.tools = o.tools.v;
	o.lift.n_tools = o.tools.n;
	if (err == 0)
		err = path_check_output(o.html, "--html");
	if (err == 0)
		err = lift_run(&o.lift, &l);
	if (err == 0 && o.html)
		err = lift_html(&l, o.html);
	if (err == 0)
		err = print(&o, &l);
	if (err == 0)
		err = lift_verdict(&l);
	lift_free(&l);
	vec_fini(&o.kernels);
	vec_fini(&o.tools);
	return err;
}
