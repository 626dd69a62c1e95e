/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TRUTH_BUILD_H
#define SKIDPROF_REPORT_TRUTH_BUILD_H

/*
 * A truth while it is put together: the parsers and the recorder's counts add
 * objects, instructions (vec_add) and functions in any order and as often as they like;
 * truth_build_finish sorts and sums.  For files of correct/truth only.
 */
#include <stdio.h>

#include "profiler/base/vec.h"
#include "report/truth/truth.h"

struct truth_build {
	struct texts texts[TRUTH_TEXTS];
	VEC(const char *) build_ids;
	VEC(struct truth_insn) insns;
	VEC(struct truth_call) calls;
	VEC(struct truth_func) funcs;
	VEC(struct truth_line) lines;
	VEC(struct truth_branch) branches;
	VEC(struct truth_run) runs;
	const char *creator, *cmdline; /* static, or of texts */
	const char *format;
	bool partial, moves_plt;
	struct truth_task {
		uint32_t first; /* 0 = none so far */
		bool others;
	} process, thread; /* that parts of the file say they are of */
};

void truth_build_fini(struct truth_build *b);

/* Number of a text of one kind, added where it is new. */
void truth_build_number(struct truth_build *b, enum truth_texts kind, const char *text, uint32_t *number);
/* Index of the object of that path, added where it is new. */
void truth_build_object(struct truth_build *b, const char *path, uint32_t *object);
void truth_build_id(struct truth_build *b, uint32_t object, const char *hex);
void truth_build_func(struct truth_build *b, const char *name, uint32_t object, uint64_t n_insn);
/* Another part is of that process, or thread. */
void truth_build_task(struct truth_task *t, uint32_t number);
/* *field becomes a copy of text. */
void truth_build_text(struct truth_build *b, const char **field, const char *text);

/*
 * Sort, sum what is there twice, and hand over.  b is empty afterwards, and after an error too.
 * -SP_EFORMAT where all add up to more than can be.
 */
int truth_build_finish(struct truth_build *b, struct truth **out);

/* Give t the objects and instructions of b in the place of whatever counts it has. */
int truth_build_move(struct truth_build *b, struct truth *t);

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

/*
 * The decimal number at *s, and *s after it and the blanks that follow.  False
 * where there is none.  A number that does not fit is UINT64_MAX.
 */
bool truth_number(const char **s, uint64_t *out);

/*
 * *sum += n.  -SP_EFORMAT, with file and line, where n or the sum can be no
 * count: nothing runs 2^63 times, and what was counted down below zero is
 * written as such a number.
 */
int truth_add(const struct truth_lines *l, uint64_t *sum, uint64_t n);

/* The parsers: lines has its first line read.  Each fills b. */
int truth_parse_callgrind(struct truth_lines *l, struct truth_build *b); /* cachegrind's files too */
int truth_parse_bolt(struct truth_lines *l, struct truth_build *b);
int truth_parse_drcctprof(struct truth_lines *l, struct truth_build *b);
int truth_parse_hotblocks(struct truth_lines *l, struct truth_build *b);
int truth_parse_names(struct truth_lines *l, struct truth_build *b);

#endif
