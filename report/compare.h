/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_COMPARE_H
#define SKIDPROF_REPORT_COMPARE_H

/*
 * A profile beside exact counts: rows by function, line or instruction, and
 * their score (report/score.h), as text, JSON or CSV.
 */
#include "report/match/names.h"
#include "report/report.h"
#include "report/score.h"

enum compare_by { BY_FUNCTION, BY_LINE, BY_INSN };

struct compare {
	struct profile *p; /* borrowed; names of rows are added to it */
	enum compare_by by;
	struct score_row *rows; /* largest truth first */
	size_t n;
	struct score score;
	double min_share;
	double unmatched;         /* instructions of the truth whose object could not be read */
	double another;           /* ... in files that are another build in the recording: left out */
	const bool *incomparable; /* [p->n_modules] those files; NULL = none */
	const bool *gap; /* [p->n_funcs] functions the truth says nothing of: left out; NULL = none */
	const bool
	        *listed; /* [p->n_insns] instructions a partial truth has: others are left out; NULL = all */
	bool partial;    /* the truth lists the most frequent only: what it lacks is left out */
	bool moves_plt;  /* the truth may count PLT stubs where they are called */
	bool parts; /* no instructions were counted: shares of regions, times what the truth has of the region */
	double outside;      /* with parts: of the truth's instructions, the share that is in no region */
	const char *format;  /* what the truth is read as */
	const char *truth;   /* path, as given */
	const char *creator; /* who counted */
};

/* Rows, each compares one unit; all return 0 or -SP_ENOMEM.  Call compare_finish after one of them. */

/* truth_insn[p->n_funcs]; rolled: with inlined functions in the physical one. */
int compare_funcs(struct compare *c, const double *truth_insn, bool rolled);

/*
 * Where bursts tell shares of regions only: each function's shares of its regions, by exact counts, by time (raw) and by the
 * bursts, times each region's exact instructions, so that errors are weighed as those of counts are.
 */
int compare_parts(struct compare *c, const double *truth_insn, double total, bool rolled);

/* Truth by name: physical functions.  Those of one name are one row: the truth can't tell them apart. */
int compare_names(struct compare *c, const struct names_join *j);

/* Truth by source line; lines of the truth without instructions in the profile are one row. */
int compare_lines(struct compare *c, const struct truth *t, const struct names_join *j);

/*
 * Lines or instructions, or of a partial truth functions, by truth_insn[p->n_insns]; what the truth has
 * besides, of `total`, is a row of its own.  rolled: with inlined functions in the physical one.
 */
int compare_insns(struct compare *c, const double *truth_insn, double total, bool rolled);

/* Where there is no row to compare: -SP_ENOTSUP, with the reason of the largest region that has one. */
int compare_nothing(const struct compare *c);

/* Score and sort the rows. */
void compare_finish(struct compare *c);
void compare_fini(struct compare *c);

/* limit: rows of text, 0 = all; without one, rows of at least min_share, of the truth or of the time. */
int compare_print(const struct compare *c, enum report_format format, size_t limit, const struct term *term);

#endif
