/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_DIFF_IMPL_H
#define SKIDPROF_REPORT_DIFF_IMPL_H

/* What diff.c and diff_pair.c share: units, which are functions or lines, of one side. */
#include "profiler/base/vec.h"
#include "report/diff.h"

/* Names of instructions are told apart by so many numbers: few lines have more than a dozen. */
enum { UNIT_CODES = 32 };

/* What one profile says of a unit. */
struct said {
	double v[DIFF_N_MEASURES], var[DIFF_N_MEASURES]; /* NAN = not known */
	bool raw, corrected;                             /* its instructions; of several units both may be */
};

/* A function, or one of its lines, of one side. */
struct unit {
	const struct profile *p; /* where it was met first */
	const struct profile_func *f;
	const char *module; /* "" = the program itself */
	const char *file;
	uint32_t line;   /* of the function's declaration, or the line */
	uint32_t offset; /* of a line: from its function's declaration */
	bool is_line;
	uint16_t code[UNIT_CODES]; /* of a line: its instructions by their names */
	uint8_t status;
	uint32_t other;    /* unit of the other side, UINT32_MAX = none */
	struct said *said; /* [profiles of the side] */
};

struct unit_list {
	VEC(struct unit) v;
	size_t n_profiles;
};

uint64_t unit_hash(const struct unit *u, bool with_file);
bool unit_same(const struct unit *x, const struct unit *y, bool with_file);

/* Do functions differ in no more than parameters, or in what a compiler adds to a name? */
bool unit_same_name(const struct unit *x, const struct unit *y);

/* One more instruction of a line, by its text. */
void unit_add_code(uint16_t code[UNIT_CODES], const char *text);

/* Set other where it is known.  Lines: by functions, x of a and y of b, that are paired already.  Returns 0, -SP_ENOMEM. */
int pair_functions(struct unit_list *a, struct unit_list *b);
int pair_lines(struct unit_list *a, struct unit_list *b, const struct unit_list *x,
               const struct unit_list *y);

#endif
