/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_TRIM_H
#define SKIDPROF_CORRECT_DIVIDE_TRIM_H

/*
 * A region may be most of a compiler: hundreds of thousands of blocks, of
 * which a recording tells of some thousands.  Its flow can't be solved, and
 * executions come from branch records by themselves (eq. 9), if from anything:
 * then only what they tell of, or samples, is kept of it.
 */
#include "correct/work.h"

/*
 * Of regions and scopes that are far too large to be solved, blocks without samples, that are on no record and in no smaller
 * scope, are dropped; n_untrimmed says how many blocks there were.
 */
void trim_hopeless(struct work *w);

/* Is a region so large that it can't be solved, whatever of it carries flow? */
bool trim_is_hopeless(const struct flow_region *r);

#endif
