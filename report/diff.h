/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_DIFF_H
#define SKIDPROF_REPORT_DIFF_H

/*
 * Two sides, each of one or more profiles of a program, and what differs:
 * functions, or their lines, are paired across the sides, and each difference
 * has the interval that its noise gives it.
 */
#include "report/report.h"

enum diff_measure { DIFF_INSN, DIFF_CYC, DIFF_IPC, DIFF_EXEC, DIFF_OTHER, DIFF_N_MEASURES };
enum diff_word { DIFF_CANT_TELL, DIFF_MORE, DIFF_FEWER, DIFF_SAME };

/* One quantity of one unit on both sides; NAN = not known on a side. */
struct diff_number {
	double a, b;
	double change, lo, hi;            /* b / a - 1, and its 90% interval; INFINITY for what is new */
	double delta, delta_lo, delta_hi; /* b - a */
	double sd;                        /* of delta; NAN = one recording of each side doesn't tell it */
	uint32_t n_free;                  /* degrees of freedom of sd; 0 = it is known */
	bool unsure;                      /* a side is not to be trusted */
	uint8_t word;                     /* enum diff_word */
};

struct diff_row {
	const char *name, *old_name; /* old_name: where it was another; else NULL */
	const char *module, *file;
	uint32_t line;     /* on the later side where it is there; 0 = unknown */
	uint32_t old_line; /* of a line that has another number on the earlier side; else 0 */
	double share;      /* of all instructions, or cycles, of the side where it has more */
	double weight;     /* the most it has of either: rows of less than min_share are small */
	uint8_t status;    /* the worst of all profiles */
	bool new_there, gone;
	struct diff_number m[DIFF_N_MEASURES];
};

struct diff_side {
	struct profile **profiles;
	size_t n;
};

struct diff {
	struct diff_side a, b;
	bool lines, rollup;
	double min_share; /* rows of less are small: whether they differ is asked for by themselves */
	bool has[DIFF_N_MEASURES]; /* what both sides tell */
	struct diff_row total;
	struct diff_row *rows; /* the largest difference in the measure that was sorted by first */
	size_t n_rows;
	size_t n_compared; /* measures of all rows */
	void *units[2];
};

/* Fill in the rest from sides, lines, rollup and min_share.  Returns 0, -SP_ENOMEM. */
int diff_make(struct diff *d, enum diff_measure sort);
/* Sort the rows anew. */
void diff_sort(struct diff *d, enum diff_measure sort);
void diff_unmake(struct diff *d); /* what diff_make() made; sides stay */
void diff_fini(struct diff *d);   /* profiles too */

/* Half of the interval that a difference is outside of by chance so often. */
double diff_half(const struct diff_number *n, double alarm);
/*
 * The words of all rows.  So many are compared that one in ten would differ at 90% each: where nothing does, a listing in ten
 * says of anything that it does.  Returns 0, -SP_ENOMEM.
 */
int diff_words(struct diff *d);

const char *diff_word_text(enum diff_word w); /* "can't tell", "more", "fewer", "same" */
const char *diff_measure_name(enum diff_measure m);
int diff_measure_parse(const char *option, const char *word, enum diff_measure *out);

/* "instructions > 2%", "main: cycles > 5%": a condition that fails the command. */
struct diff_limit {
	char function[256]; /* a pattern; "" = the whole program */
	enum diff_measure measure;
	bool below; /* "<": a fall */
	double change;
};

/* What both sides tell, the first that does: instructions, cycles, or another event, as time is. */
enum diff_measure diff_main_measure(const struct diff *d);

int diff_limit_parse(const char *text, struct diff_limit *out);

/* Why nothing tells whether it holds, for a line of text; NULL where something does. */
const char *diff_limit_unknown(const struct diff *d, const struct diff_limit *l);

/* How many differences a limit asks about. */
size_t diff_limit_rows(const struct diff *d, const struct diff_limit *l);

/*
 * Rows that are past a limit with their whole interval, which by chance they are alarm / 2 of the time; up to `max` of them in
 * `past`.
 */
size_t diff_limit_check(const struct diff *d, const struct diff_limit *l, double alarm,
                        const struct diff_row **past, size_t max);

struct diff_opts {
	enum report_format format;
	enum diff_measure by;
	size_t limit; /* rows of text, 0 = all; those of less than diff->min_share it does not have */
};

int diff_print(const struct diff *d, const struct diff_opts *o, const struct term *term);

/* The whole program and all rows as JSON has them, which the caller frees.  Returns 0, -SP_ENOMEM. */
int diff_rows_json(const struct diff *d, json_t **all, json_t **rows);

/* What the intervals do not hold, where each side has one recording that is not exact counts; else NULL. */
const char *diff_noise_note(const struct diff *d);
/* What the words hold, that intervals do not; NULL of exact counts. */
const char *diff_words_note(const struct diff *d);
/* How instructions can be had, where a side has none; else NULL. */
const char *diff_insn_note(const struct diff *d);

/* One page with functions and lines, whichever d has.  -SP_EIO with the file named. */
int diff_html(const struct diff *d, enum diff_measure by, const char *path);

#endif
