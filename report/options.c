/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "correct/model/model.h"
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "report/number.h"

static int parse_method(const char *arg, struct input_opts *o)
{
	int method = correct_method_parse(arg);

	if (method < 0)
		return -SP_EUSAGE;
	o->correct.method = (enum correct_method)method;
	o->method_given = true;
	return 0;
}

static int parse_seed(const char *arg, struct input_opts *o)
{
	unsigned long long n;
	int err = cmd_parse_u64("--seed", arg, 0, UINT64_MAX, &n);

	if (err == 0)
		o->correct.seed = n;
	return err;
}

static void list_model(void)
{
	for (size_t i = 0; i < model_n_rows(); i++) {
		struct model_row row = model_row(i);

		printf("%-20s %8.6g  %s\n", row.key, row.value, row.reason);
	}
}

static int parse_model(const char *arg)
{
	if (strcmp(arg, "help") != 0)
		return model_set(arg);
	list_model();
	exit(cmd_flush_stdout() < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

int input_parse(int key, char *arg, struct input_opts *o)
{
	switch (key) {
	case 'i':
		o->correct.input = arg;
		o->input_given = true;
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
	case KEY_METHOD:
		return parse_method(arg, o);
	case KEY_SEED:
		return parse_seed(arg, o);
	case KEY_SKID:
		return cmd_parse_double("--skid", arg, 0, 1e9, &o->correct.skid_cyc);
	case KEY_BUDGET:
		return cmd_parse_double("--budget", arg, 0, 1e6, &o->correct.budget_s);
	case KEY_MODEL:
		return parse_model(arg);
	case KEY_COMM:
		text_unsafe(arg);
		o->correct.filter.comm = arg;
		return 0;
	case KEY_PID:
		return filter_parse_ids("--pid", arg, &o->correct.filter.pids);
	case KEY_TID:
		return filter_parse_ids("--tid", arg, &o->correct.filter.tids);
	case KEY_TIME:
		return filter_parse_time(arg, &o->correct.filter);
	case KEY_COLOR:
		return term_color_parse(arg, &o->color);
	case KEY_FORMAT:
		return report_format_parse(arg, &o->format);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int input_word(struct input_opts *o, const char *prog, char *arg)
{
	if (o->input_given)
		return sp_fail(
		        SP_EUSAGE,
		        "%s: unexpected argument '%s': the file is %s already; 'skidprof diff' compares "
		        "two",
		        prog, arg, o->correct.input);
	o->correct.input = arg;
	o->input_given = true;
	return 0;
}

int input_check_word(const struct input_opts *o, const char *word)
{
	if (o->input_given || !word || access(o->correct.input, F_OK) == 0 || access(word, F_OK) < 0)
		return 0;
	return sp_fail(SP_EUSAGE,
	               "'%s' is a file, where the name of a function was expected: name it with -i %s", word,
	               word);
}

int parse_share(const char *option, const char *text, double *out)
{
	size_t n = strlen(text);
	double value;
	char *end;

	value = strtod(text, &end);
	if (n && text[n - 1] == '%' && end == text + n - 1)
		value /= 100;
	else if (*end || end == text)
		return sp_fail(SP_EUSAGE, "%s: '%s' is not a share like 1%% or 0.01", option, text);
	if (!(value >= 0 && value <= 1))
		return sp_fail(SP_EUSAGE, "%s: '%s' is not from 0 to 100%% (1 means all, 1%% a hundredth)",
		               option, text);
	*out = value;
	return 0;
}

void input_term(const struct input_opts *o, struct term *term)
{
	term_open(term, o->color, !o->no_pager && o->format == REPORT_TEXT);
}
