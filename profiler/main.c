/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of commands. */
#include <locale.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/config.h"
#include "profiler/base/err.h"
#include "profiler/cmd.h"
#include "profiler/record.h"
#include "report/cmd.h"
#include "report/truth/counts.h"

#ifndef SKIDPROF_VERSION
#define SKIDPROF_VERSION "unknown"
#endif

const char *argp_program_version = "skidprof " SKIDPROF_VERSION;

static int cmd_help(int argc, char **argv);

static const struct cmd cmds[] = {
	{ "record", cmd_record, "sample a program into a perf.data file" },
	{ "report", cmd_report, "show instructions, cycles and IPC per function, raw and corrected" },
	{ "annotate", cmd_annotate, "show source lines and assembly with what each of them ran" },
	{ "top", cmd_top, "walk through a profile on a terminal" },
	{ "diff", cmd_diff, "show what differs between two recordings, and what is sure of it" },
	{ "truth", cmd_truth, "count every instruction of a program exactly" },
	{ "compare", cmd_compare, "compare raw and corrected counts with exact ones" },
	{ "lift", cmd_lift, "lift block predictions to kernels and compare them with measured cycles" },
	{ "calibrate", cmd_calibrate, "measure what this processor's core is" },
	{ "doctor", cmd_doctor, "try what this machine offers, and say what to do about what it lacks" },
	{ "help", cmd_help, "show this, or the options of a command" },
	{ 0 },
};

static void print_usage(FILE *f)
{
	fputs("Usage: skidprof COMMAND [OPTION...]\n"
	      "A sampling profiler that corrects the skid of its samples.\n\n"
	      "Commands:\n",
	      f);
	for (const struct cmd *c = cmds; c->name; c++)
		fprintf(f, "  %-10s %s\n", c->name, c->summary);
	fputs("\nA first run:\n"
	      "  skidprof record ./app\n"
	      "  skidprof report --fixed\n\n"
	      "'skidprof COMMAND --help' lists a command's options, 'man skidprof-COMMAND' explains them.\n",
	      f);
}

static const struct cmd *find_cmd(const char *name)
{
	for (const struct cmd *c = cmds; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static const char *const *names_of_cmds(void)
{
	static const char *words[sizeof(cmds) / sizeof(cmds[0])];

	for (size_t i = 0; cmds[i].name; i++)
		words[i] = cmds[i].name;
	return words;
}

static int unknown_cmd(const char *name)
{
	static const char *const options[] = { "--help", "--version", NULL };
	const char *near = cmd_suggest(name, *name == '-' ? options : names_of_cmds());

	if (near && *name == '-')
		return sp_fail(SP_EUSAGE, "unknown option %s; did you mean %s?", name, near);
	if (near)
		return sp_fail(SP_EUSAGE, "'%s' is no command; did you mean '%s'?", name, near);
	return sp_fail(SP_EUSAGE, "'%s' is no command; see 'skidprof --help'", name);
}

static int run_cmd(const struct cmd *c, int argc, char **argv)
{
	static char name[64];

	snprintf(name, sizeof(name), "skidprof %s", c->name);
	argv[0] = name;
	return c->run(argc, argv);
}

static int cmd_help(int argc, char **argv)
{
	static const struct argp argp = { .args_doc = "[COMMAND]",
		                          .doc = "Show the commands, or the options of one." };
	const struct cmd *c;
	int first, err;

	err = cmd_parse(&argp, argc, argv, 1, &first, NULL);
	if (err < 0)
		return err;
	if (first >= argc) {
		print_usage(stdout);
		return 0;
	}
	c = find_cmd(argv[first]);
	if (!c)
		return unknown_cmd(argv[first]);
	return run_cmd(c, 2, (char *[]){ argv[first], (char *)"--help", NULL });
}

static int run(int argc, char **argv)
{
	const struct cmd *c;

	if (argc < 2) {
		print_usage(stderr);
		return sp_fail(SP_EUSAGE, "which command?");
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts(argp_program_version);
		return 0;
	}
	c = find_cmd(argv[1]);
	if (!c)
		return unknown_cmd(argv[1]);
	return run_cmd(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int err;

	setlocale(LC_ALL, "");
	/*
	 * What is large is given back when it is freed and grows where it is: left to itself malloc(3) keeps blocks of up to 32 MB
	 * among small ones, where they stay (a tenth of the memory of a large report).
	 */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	config_set_commands(names_of_cmds());
	record_write_truth = truth_write_counts;
	err = run(argc, argv);
	/* A full disk shows at the last flush; a report cut short must not look whole. */
	if (err == 0)
		err = cmd_flush_stdout();
	/* Where the command line is wrong, the message names the command already. */
	if (err < 0 && *sp_error_text())
		fprintf(stderr, "%s%s\n",
		        strncmp(sp_error_text(), "skidprof ", 9) == 0 ? "" : "skidprof: ", sp_error_text());
	return err > 0 ? err : sp_exit_status(err);
}
