/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_CALLS_H
#define SKIDPROF_REPORT_ASSEMBLE_CALLS_H

/*
 * Calls of functions, trip counts of loops and shares of branches.  They are
 * sums and ratios of executions of blocks, and so of the profile's draws; of
 * exact counts they are exact.
 */
#include "report/profile.h"

/* Fill in calls and trip counts from the counts as they are. */
void calls_count(struct profile *p);

/*
 * Fill in the shares of p->calls, sorted by callee: callers share a function as they call it, and its calls of itself are for
 * them.  Calls that no region's flow goes over are nothing beside those that one does.  But functions that only call each other were called from outside, however rarely: by those of whom nothing tells, where the code has any.
 */
void calls_divide(struct profile *p);

/* The block that holds an address, -1 if none does. */
long profile_block_at(const struct profile *p, uint32_t module, uint64_t vaddr);

/* The instruction at an address, -1 if it is not in the profile. */
long profile_insn_at(const struct profile *p, uint32_t module, uint64_t vaddr);

/* A number with its 90% interval; NAN = not known. */
struct profile_range {
	double mean, lo, hi;
};

/* Executions of a block. */
void profile_block_count(const struct profile *p, uint32_t block, struct profile_range *out);

/* How often a way was taken, and as a share of the executions of the block that it leads from. */
void profile_way_count(const struct profile *p, const struct profile_way *w, struct profile_range *out);
void profile_way_share(const struct profile *p, const struct profile_way *w, struct profile_range *out);

#endif
