/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_INCLUSIVE_IMPL_H
#define SKIDPROF_REPORT_INCLUSIVE_IMPL_H

/* What the files of inclusive counts hand to each other. */
#include "profiler/base/vec.h"
#include "report/assemble/own_noise.h"
#include "report/inclusive/inclusive.h"

/* Less of all calls than this is the arithmetic's rounding; a caller with so much of them has all: the flow's rounding. */
static const double inclusive_small = 1e-9, inclusive_whole = 0.999;

/* ---- frames of stacks (frames.c) ---- */

double inclusive_ratio(double x, double y);
void inclusive_add_frame(struct inclusive *to, const struct profile_frame *f, double insn);
bool inclusive_frame_is_empty(const struct profile_frame *f);

/* Frames of calls, malloc'd, [p->n_frames]: those inlined in a caller are the caller's where stacks have calls of their function. */
struct profile_frame *inclusive_merge_inlined(const struct profile *p);

/* ---- exact counts (counted.c) ---- */

void inclusive_counted(const struct profile *p, struct inclusive *out);
/* [n_funcs + 1] of func's callers or callees; the last: nobody.  calls: how many there were. */
void inclusive_counted_parts(const struct profile *p, uint32_t func, bool callers, struct inclusive *by_func,
                             struct profile_call *calls);

/* ---- sets of functions (sets.c) ---- */

/* Who calls whom, for as long as the profile lives. */
struct call_sets {
	const struct profile *p;
	uint32_t *first; /* [n_funcs + 1] calls of each function: p->calls[first[f] .. first[f + 1]) */
	uint32_t *calls0, *calls;     /* those that each function makes: indices of p->calls */
	uint32_t *seen0, *seen;       /* functions that paths show it to call ... */
	uint32_t *seen_by0, *seen_by; /* ... and to be called by */
	bool *lasts; /* it may call itself, or some calls of it are longer than paths: one call may be much of what it runs */
	uint32_t *members; /* of the last find_any */
	size_t n_members;
	uint32_t *queue;
};

void call_sets_new(const struct profile *p, struct call_sets *s);
void call_sets_free(struct call_sets *s);

/* in[g]: may any of what g runs be for func?  It is among its callers, or theirs; and by calls that paths show. */
void inclusive_find_any(struct call_sets *s, uint32_t func, double *in);

/*
 * Of those in `in`, as find_any left them, the ones that are all for func: none of their callers is outside.  A recursion, whose
 * callers are inside itself, stays in for as long as it has no other.  Of one that lasts long a caller that the code has is another,
 * whether it was seen to call or not: one call may be much of what it runs.
 */
void inclusive_keep_all(struct call_sets *s, uint32_t func, double *in);

struct inclusive inclusive_sum(const struct profile *p, const double *part);

/* A count where least and most are as good as the same, else bounds. */
struct inclusive inclusive_between(const struct profile *p, const struct inclusive *least,
                                   const struct inclusive *most);

/* What bounds are of. */
double inclusive_weight(const struct profile *p, const struct inclusive *c);

/* What a function runs by itself: instructions, or time. */
double inclusive_own(const struct profile *p, size_t f);

bool inclusive_has_code(const struct profile *p, size_t f);

/* ---- contexts (paths.c) ---- */

/* Of one function's contexts: by all paths but a part of them, and last by all. */
typedef double context_sums[CONTEXT_PARTS + 1];

struct owners {
	struct call_sets sets;
	double *any, *all; /* [n_funcs] by the flow: find_any, keep_all */
	double *likely;    /* [n_funcs] by contexts */
	double *by_calls;  /* [n_funcs] as their callers' shares of calls have it, where no context tells */
	const struct own_noise *noise;
	uint8_t *of; /* [n_contexts] enum owner */
	context_sums *told, *its,
	        *open;          /* [n_funcs] all contexts; func's, and what is open, of functions in any */
	VEC(uint32_t) uncalled; /* functions that ran and nothing tells who calls */
	uint8_t *reach;         /* [uncalled][n_funcs] do they, or what they call, call it? */
	bool *begins;           /* [uncalled] what a program begins with is among those: it calls main() */
	double most;            /* all that ran */
	VEC(uint32_t) mains;    /* functions of that name: each program has one */
	double begun;      /* of that what ran in threads that others began: none of it is below main() */
	double begun_half; /* 90%: it is known to so much */
	double unseen;     /* 90%: what no path shows is less of it, where these have stacks; else INFINITY */
	double *ran;       /* [n_calls] by what was called, on paths that show it */
	double *below;     /* [n_funcs] instructions, or time, with what it calls, as calls are shared */
};

void owners_new(const struct profile *p, const struct own_noise *noise, struct owners *o);
void owners_free(struct owners *o);

/* eq. 20, of a function of which any and all are found. */
void owners_count(const struct profile *p, uint32_t func, struct owners *o, struct inclusive *c);

/* ---- the flow (flow.c) ---- */

void inclusive_by_flow(const struct profile *p, const struct own_noise *noise, struct inclusive *out);

/* Of functions whose calls are short beside the skid, and of those that jump, paths may tell more than stacks do. */
void inclusive_ask_paths(const struct profile *p, const struct own_noise *noise, struct inclusive *out);

#endif
