/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_DESCR_H
#define SKIDPROF_REPORT_LIFT_DESCR_H

/*
 * A description file: how a block is handed to a program from outside, how
 * that is run, and what of its output is the prediction.  The format is in
 * skidprof-lift(1); a line is a keyword and its value, '#' begins a comment.
 */
#include <regex.h>
#include <stdbool.h>

#include "profiler/base/vec.h"
#include "profiler/binary/insn.h"

enum descr_give { GIVE_NONE, GIVE_HEX, GIVE_RAW, GIVE_ASM, GIVE_OBJECT };

struct descr_cpu {
	char *llvm, *theirs;
};

struct descr_words {
	VEC(char *) v;
};

struct descr_regexes {
	VEC(regex_t) v;
};

struct descr {
	char *text; /* owns all strings */
	enum descr_give give;
	bool isa[ISA_AARCH64 + 1]; /* none: any */
	VEC(struct descr_cpu) cpus;
	struct descr_words before, after; /* lines of assembly round the block */
	struct descr_words run, version;  /* words; no version: n == 0 */
	struct descr_regexes take, fail;
	double per; /* the output is of so many executions */
};

/* Parse text[0..n); `name` is for messages.  descr_fini it, also after an error. -SP_EFORMAT names the line. */
int descr_parse(const char *name, const char *text, size_t n, struct descr *out);
void descr_fini(struct descr *d);

/*
 * What the output says: the largest number that any `take` found, over `per`.
 * A `take` speaks of the last line it matches; one that matches none is a failure.
 * *why  out, borrowed from output or constant, *n_why bytes of it: the line that says it failed.
 * 0 or -SP_EFORMAT, not worded.
 */
int descr_take(const struct descr *d, const char *output, double *cyc, const char **why, size_t *n_why);

#endif
