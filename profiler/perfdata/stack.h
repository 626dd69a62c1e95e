/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_STACK_H
#define SKIDPROF_PERFDATA_STACK_H

/* Branch records of one sample after another. */
#include <stdbool.h>
#include <stddef.h>

#include "profiler/perfdata/record.h"

enum { PD_STACK = 32 }; /* to know them again: as many as most processors have */

struct pd_stack { /* the newest of a sample; begin with all zero */
	struct pd_branch v[PD_STACK];
	size_t n;
};

/*
 * Whether no branch was taken since the sample that last has: its records are the same, with the cycles between them, which they must
 * tell, and are not those of a loop.  An instruction of many cycles (rep stos) goes on from one sample to the next.  last becomes s's.
 */
bool pd_stack_is_still(struct pd_stack *last, const struct pd_sample *s);

#endif
