/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_GIVE_H
#define SKIDPROF_REPORT_LIFT_GIVE_H

/* A block handed over to a program: a temporary file, and the words of the command line. */
#include <limits.h>

#include "report/lift/descr.h"
#include "report/lift/proc.h"
#include "report/lift/tool.h"

struct give {
	const char *cpu; /* for {cpu} */
	char *hex;       /* for {hex}; NULL = none */
	char dir[64];    /* temporary folder; "" = none */
	int tidy[4];     /* it, and what may be in it: tidy_path() */
	char file[80];   /* in it, for {file} */
};

/* Write the block as the description wants it.  give_fini it, also after an error. */
int give_block(const struct descr *d, const struct tool_block *b, struct give *g);
void give_fini(struct give *g);

/* Run the words with {file}, {hex} and {cpu} replaced. */
int give_run(const struct descr_words *words, const struct give *g, struct proc_result *r);

/*
 * The block as assembly, malloc'd, with the lines of the description round
 * it.  exact: as its very bytes; else in mnemonics, AT&T's on x86-64, with
 * labels for the targets of jumps and calls.  NULL, worded, when that can't be.
 */
char *give_assembly(const struct descr *d, const struct tool_block *b, bool exact);

#endif
