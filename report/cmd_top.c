/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidprof top: the command line. */
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "report/assemble/assemble.h"
#include "report/cmd.h"
#include "report/options.h"
#include "report/top/terminal.h"
#include "report/top/top.h"

enum key { KEY_SOURCE_DIR = 0x100, KEY_PREFIX_MAP, KEY_ROLLUP };

static const struct argp_option options[] = {
	READ_OPTIONS,
	PART_OPTIONS,
	{ "source-dir", KEY_SOURCE_DIR, "DIR", 0, "Look for source files under DIR first; may be repeated",
	  1 },
	{ "prefix-map", KEY_PREFIX_MAP, "OLD=NEW", 0, "Source paths that begin with OLD begin with NEW here",
	  1 },
	{ NULL, 0, NULL, 0, "What is shown:", 2 },
	{ "rollup", KEY_ROLLUP, NULL, 0, "Count inlined functions in those that hold them", 2 },
	{ 0 },
};

struct options {
	struct input_opts input;
	struct source_opts sources;
	bool rollup;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	int err = 0;

	switch (key) {
	case KEY_SOURCE_DIR:
		err = source_add_dir(&o->sources, arg);
		break;
	case KEY_PREFIX_MAP:
		err = source_add_map(&o->sources, arg);
		break;
	case KEY_ROLLUP:
		o->rollup = true;
		break;
	case ARGP_KEY_ARG:
		err = input_word(&o->input, state->name, arg);
		break;
	default:
		err = input_parse(key, arg, &o->input);
		if (err == ARGP_ERR_UNKNOWN)
			return err;
	}
	return err < 0 ? EINVAL : 0;
}

int cmd_top(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "Walk through a profile on a terminal: functions, and behind each its source and "
		       "assembly, "
		       "its callers and callees, and why its numbers are what they are."
		       "\vKeys: arrows, Enter, ? for all of them.  Exit status: 0 done, 1 failed, 2 usage, 3 "
		       "done, but "
		       "functions of at least 1% are unreliable, or the file is damaged.  See "
		       "skidprof-top(1).",
	};
	struct options o = { .input = INPUT_OPTS_DEFAULT };
	struct profile *p = NULL;
	struct top t = { .modules.opts = &o.input.correct.modules, .opts = REPORT_OPTS_DEFAULT };
	int err = cmd_parse(&argp, argc, argv, 0, NULL, &o);

	if (err < 0)
		return err;
	/* Before anything is computed that nobody would see. */
	err = terminal_check();
	if (err < 0)
		return err;
	o.input.correct.stacks = o.input.correct.texts = true;
	err = assemble_profile(&o.input.correct, &p);
	if (err == 0 && !(t.sources = sources_new(&o.sources)))
		err = sp_fail(SP_ENOMEM, "out of memory");
	t.p = p;
	t.opts.rollup = o.rollup;
	if (err == 0)
		err = top_run(&t);
	top_close(&t);
	listing_modules_free(&t.modules);
	sources_free(t.sources);
	if (err == 0)
		err = report_verdict(p);
	profile_free(p);
	return err;
}
