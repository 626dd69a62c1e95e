/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_INCLUSIVE_H
#define SKIDPROF_REPORT_INCLUSIVE_H

/*
 * What functions come to with all that they call.  Call stacks of the
 * samples tell it, where there are any: raw counts lie where they were seen,
 * and fixed ones are a function's divided among its stacks as its samples are.
 * Without stacks the code's flow tells it of functions that have one caller.
 * How much of one with several is for each of them it does not: how often each
 * calls is known, but not what a call of each comes to.  Paths tell it
 * (profile->contexts), of calls that are no longer than they are.  All of what
 * they leave open may be, or nothing: that is in the bounds, and where a count may be twice as much there is none.
 *
 * Stacks are those of a skid later: of functions that are called often the count has bounds, as far apart as the skid
 * makes them, or is told by paths.  Of each function's samples as many have one stack as fall that way: that widens them.
 *
 * A function that is several times on a stack counts once.  One that is called and inlined, too, has what its calls come to, as
 * exact counts have it: what is inlined is part of what holds it.  What is only inlined has what it comes to there.
 *
 * Exact counts may have calls: then those tell it.
 */
#include "report/profile.h"

enum inclusive_source { INCLUSIVE_NONE, INCLUSIVE_STACKS, INCLUSIVE_FLOW, INCLUSIVE_COUNTED };

struct inclusive {
	double raw_insn, insn, cyc; /* NAN = not known */
	double lo,
	        hi; /* bounds of insn, by paths a 90% interval; of cyc where instructions were not counted; equal where it is known */
	double by_status[PROFILE_UNRELIABLE +
	                 1]; /* insn of functions that have each status, whoever they are called by */
	uint8_t status;      /* of the sum: inclusive_judge() */
};

/* Are bounds of instructions?  Else they are of time. */
bool inclusive_is_of_insn(const struct profile *p);

/* The share of the samples whose call stacks lack callers, or have wrong ones of other samples in branch records' place. */
double inclusive_doubted_stacks(const struct profile *p);

/* Stacks give way to those of bursts where they lack more than the number of bursts leaves open. */
enum inclusive_source inclusive_source(const struct profile *p);

/* Malloc'd: [p->n_funcs]. */
struct inclusive *inclusive_count(const struct profile *p);

/*
 * Corrected instructions of each frame, malloc'd: [p->n_frames].  What is inlined and no sample fell in has no frame: frames of
 * the physical function that holds it have it, in proportion; or where held is not NULL they have their own, and
 * (*held)[f], malloc'd, [p->n_funcs], times as much is that of physical function f.
 */
double *inclusive_frames(const struct profile *p, double **held);

/* Malloc'd: [p->n_funcs].  Is a function on stacks as one that was called, and not only as inlined? */
bool *inclusive_called(const struct profile *p);

/*
 * One function's callers, or callees, with what of it (or of them, called from it) belongs to each; the function itself is
 * what it runs by itself, or what has no caller.  n: calls with their 90% interval, NAN = not known.  Of several callers by the flow
 * only these are known where no path tells more.  Malloc'd: [*n].
 */
struct inclusive_part {
	uint32_t func; /* UINT32_MAX: no caller is known */
	struct inclusive count;
	double n, lo, hi;
};

struct inclusive_part *inclusive_callers(const struct profile *p, uint32_t func, size_t *n);
struct inclusive_part *inclusive_callees(const struct profile *p, uint32_t func, size_t *n);

#endif
