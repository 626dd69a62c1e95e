/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_CMD_H
#define SKIDPROF_BASE_CMD_H

/*
 * A command of the program: one row of the table in profiler/main.c, one file
 * cmd_<name>.c in its stage's folder, one man page skidprof-<name>.1.
 */
#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

struct cmd {
	const char *name;
	/* Returns 0 or -SP_E...; main() prints the message and exits. argv[0] is "skidprof <name>". */
	int (*run)(int argc, char **argv);
	const char *summary;
};

/*
 * argp_parse with what every command shares: -v and -q, --help, --version,
 * usage errors with exit status 2, and a suggestion for a misspelt option.
 * `in_order` stops at the first word that is no option, so that the options
 * of the program to record are left alone.
 *
 * first_arg  out, may be NULL: index of the first word not consumed.
 * Returns 0, or -SP_EUSAGE with the message worded.
 */
int cmd_parse(const struct argp *argp, int argc, char **argv, int in_order, int *first_arg, void *input);

/* In a command's parser: does the option come from the configuration, over which the command line prevails? */
bool cmd_is_configured(const struct argp_state *state);

/*
 * The word of `words` (ended by NULL) nearest to a misspelt one, or NULL when
 * none is near enough to be meant.  Borrowed.
 */
const char *cmd_suggest(const char *word, const char *const *words);

/* Number options: a clear usage error names the option. */
int cmd_parse_u64(const char *option, const char *text, unsigned long long min, unsigned long long max,
                  unsigned long long *out);
int cmd_parse_double(const char *option, const char *text, double min, double max, double *out);

/*
 * Flush standard output.  Returns 0, also when a reader has gone early
 * (report | head), or -SP_EIO when something could not be written (a full disk).
 */
int cmd_flush_stdout(void);

#endif
