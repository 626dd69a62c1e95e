/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_STAT_GEN_H
#define SKIDPROF_TESTS_STAT_GEN_H

/*
 * A random C program, for measuring how right corrected counts are on code
 * that nobody has looked at.  Knows nothing of skidprof.
 *
 * gen.c makes functions, phases and main(); gen_body.c the statements of one
 * function.  All values are unsigned or bounded, all indices masked, so that
 * every program is free of undefined behaviour by construction.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_TABLES = 6, MAX_FUNCS = 40, MAX_LOOP_DEPTH = 4 };

struct rng {
	uint64_t state;
};

uint64_t rng_u64(struct rng *r);
/* Even over 0..n-1. */
unsigned rng_below(struct rng *r, unsigned n);
/* Even over lo..hi, both included. */
unsigned rng_range(struct rng *r, unsigned lo, unsigned hi);
/* Log-uniform over [lo, hi]: small bodies are as likely as large ones. */
double rng_scale(struct rng *r, double lo, double hi);
bool rng_chance(struct rng *r, double p);

/* Expected instructions of a piece of code, roughly. */
struct cost {
	double own; /* without the real calls it makes */
	double all; /* with them */
};

enum func_kind { FUNC_INLINE, FUNC_REAL, FUNC_RECURSIVE };

struct func {
	char name[40];
	enum func_kind kind;
	struct cost cost; /* of one call */
	char *text;
	bool used;
	bool calls[MAX_FUNCS];
};

struct program {
	struct rng rng;
	unsigned table_lines[MAX_TABLES]; /* powers of two */
	unsigned n_tables;
	struct func funcs[MAX_FUNCS]; /* a function calls only earlier ones, or itself */
	unsigned n_funcs;
};

/* What one function is like: heavy functions stand next to light ones. */
struct traits {
	unsigned table[2]; /* the tables it reads */
	bool loads, stores, chases, divides, floats, switches;
};

struct body {
	struct program *prog;
	struct func *self; /* NULL in a phase */
	FILE *f;
	struct traits traits;
	int indent;
	int loop_depth;  /* of the place being written: variables i1..iN are live */
	int loops_open;  /* may `break` and `continue` be written here? */
	double exit_p;   /* chance that an iteration of the innermost loop leaves it early */
	unsigned n_vars; /* loop variables named so far */
	unsigned var[MAX_LOOP_DEPTH + 1];
	bool has_h; /* the byte h, which correlated conditions share, is set */
};

struct traits body_traits(struct program *prog);
/* Declarations every body needs; its variables are x, y, z, h, flag, and by its traits f, g, p. */
void body_begin(struct body *b);
/* Statements of about budget instructions, calls included. */
struct cost body_block(struct body *b, double budget);
/* Make x something new; every loop does, so that no two iterations are alike. */
double body_stir(struct body *b);
void body_line(struct body *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Return a value that makes everything the body did count. */
void body_end(struct body *b);

#endif
