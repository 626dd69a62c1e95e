/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_CONFIG_H
#define SKIDPROF_BASE_CONFIG_H

/*
 * The user's configuration: options of commands that are to be taken as if they stood first on the command line.
 *
 *	# a comment
 *	[report]
 *	limit = 20
 *	no-pager
 *
 * The file is $SKIDPROF_CONFIG (empty: none), else $XDG_CONFIG_HOME/skidprof/config, else ~/.config/skidprof/config.
 * The last two are looked for, not asked for: one that may not be read (HOME is another user's, under sudo or su) is passed
 * over, and that is to be said.
 */
#include <argp.h>
#include <stddef.h>

/* One option, as a word of a command line. */
struct config_word {
	char *text; /* "--limit=20" */
	unsigned line;
};

struct config {
	char *path; /* NULL = there is no file */
	struct config_word *words;
	size_t n;
	int unreadable; /* errno, where the file was looked for, may not be read, and is passed over; else 0 */
};

/*
 * The words of a command's section.  Every section has to be named after one of `commands` (ended by NULL), and the
 * command's keys are its long options without their dashes.
 *
 * Returns 0, also without a file; -SP_EFORMAT with the file, the line and what was meant; -SP_ENOMEM; an errno's.
 */
int config_read(const char *command, const char *const *commands, const struct argp_option *options,
                struct config *out);
void config_fini(struct config *c);

/* The commands there are; none: no file is read. */
void config_set_commands(const char *const *commands);
const char *const *config_commands(void);

#endif
