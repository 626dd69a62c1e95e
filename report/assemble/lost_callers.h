/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_LOST_CALLERS_H
#define SKIDPROF_REPORT_ASSEMBLE_LOST_CALLERS_H

/*
 * Branch records hold the innermost calls only, and a copy of a stack its innermost bytes: what called the outermost function of
 * such a stack is lost.  It is taken to be what called that function when its thread's stacks had it last, for that has mostly
 * not come back since.  How often it is another tell the stacks that do have a caller of it.
 */
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "report/profile.h"

/* A function on one thread's stacks. */
struct lost_caller {
	uint32_t func;
	uint32_t last,
	        now; /* frames, of the outermost of it: on the last stack that had a caller of it (0 = none had), and on this */
	bool recorded;  /* its caller is on record now */
	uint64_t stack; /* number of the last stack that it was on, of all */
	uint64_t counted,
	        since; /* the same, of the thread's that stand for instructions; and where their run began */
};

/*
 * Of a function: stacks that have a caller of it, those where it is another than the last one had, and visits: runs of
 * its threads' stacks that have it, and how many of them, or of the ways between, are of one stack; tests of what is found
 * above it, and those in which it is wrong.
 */
struct lost_tally {
	double told, wrong, visits, brief, tested, missed;
};

struct lost_callers {
	struct pairs index; /* (thread, function) */
	VEC(struct lost_caller) v;
	VEC(uint32_t) on; /* this stack: indices of v */
	struct pairs funcs;
	VEC(struct lost_tally) tallies; /* by funcs */
	uint64_t n_stacks;
	struct pairs threads;
	VEC(uint64_t) n_counted; /* by threads */
	VEC(uint8_t) marks;      /* by functions; all 0 between tests */
	uint64_t n_tested, n_wrong;
};

/* A whole stack that is cut above func, the outermost function of which it then has the caller no more. */
struct lost_test {
	uint32_t tid, func;
	const uint32_t *held,
	        *above; /* functions: what is left of the stack, func among them; and what was cut off */
	size_t n_held, n_above;
};

void lost_callers_free(struct lost_callers *l);

/* The frame that is taken for the caller of func, 0 = none was seen. */
uint32_t lost_callers_find(const struct lost_callers *l, const struct profile *p, uint32_t tid,
                           uint32_t func);

/* A stack that ends in a frame, with the callers that were found.  counted: it stands for instructions. */
void lost_callers_learn(struct lost_callers *l, const struct profile *p, uint32_t tid, uint32_t frame,
                        bool counted);

/*
 * How often what is found is wrong whole stacks tell, as bursts have: a cut recursion has other callers than one that is not.  It is
 * right where it has the functions that were cut off, how often ever; those that are left are on the stack in any case.  Where
 * nothing is found there is no test.
 */
void lost_callers_test(struct lost_callers *l, const struct profile *p, const struct lost_test *of);

/* After all stacks: visits of functions, and of frames whose caller was found (doubt > 0) the chance that it was another. */
void lost_callers_judge(const struct lost_callers *l, struct profile *p);

#endif
