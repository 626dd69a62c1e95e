/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_TRUTH_BUILD_H
#define SKIDPROF_CORRECT_TRUTH_BUILD_H

/*
 * A truth while it is put together: the parsers and the recorder's counts add
 * objects, instructions and functions in any order and as often as they like;
 * truth_build_finish sorts and sums.  For files of correct/truth only.
 */
#include <stdio.h>

#include "correct/truth/truth.h"
#include "profiler/base/vec.h"

struct truth_build {
	VEC(char *) objects;
	VEC(char *) build_ids;
	VEC(struct truth_insn) insns;
	VEC(struct truth_func) funcs;
	char *creator, *cmdline;
};

void truth_build_fini(struct truth_build *b);

/* Index of the object of that path, added where it is new. */
int truth_build_object(struct truth_build *b, const char *path, uint32_t *object);
int truth_build_id(struct truth_build *b, uint32_t object, const char *hex);
int truth_build_insn(struct truth_build *b, const struct truth_insn *insn);
int truth_build_func(struct truth_build *b, const char *name, uint64_t n_insn);
/* Replace *field ("creator" or "cmdline" of b) by a copy of text. */
int truth_build_text(char **field, const char *text);

/* Sort, sum what is there twice, and hand over.  b is empty afterwards, and after an error too. */
int truth_build_finish(struct truth_build *b, struct truth **out);

/* One line of a text file at a time, its length bounded. */
struct truth_lines {
	FILE *f;
	const char *path;
	unsigned long n; /* number of the line last read, from 1 */
	char *buf;       /* the line without its end */
};

int truth_lines_open(struct truth_lines *l, const char *path);
void truth_lines_close(struct truth_lines *l);
/* 1, 0 at the end of the file, -SP_EFORMAT for what is no text. */
int truth_lines_next(struct truth_lines *l);

/* The parsers: lines has its first line read.  Each fills b. */
int truth_parse_callgrind(struct truth_lines *l, struct truth_build *b);
int truth_parse_names(struct truth_lines *l, struct truth_build *b);

#endif
