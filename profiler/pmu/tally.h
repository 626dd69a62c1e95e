/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_TALLY_H
#define SKIDPROF_PMU_TALLY_H

/*
 * Exact counts of all processes, summed by (file, offset).  Memory grows with
 * the code that ran, not with the number of processes.
 */
#include "profiler/base/vec.h"
#include "profiler/record.h"

struct tally {
	VEC(struct record_count) counts;
	size_t n_summed; /* the first so many are sorted and without repetition */
	uint64_t n_unmapped, total;
	VEC(struct record_call) calls;
	size_t n_calls_summed;
	bool calls_wanted;
	uint32_t n_calls_lost;              /* processes that did not tell all theirs */
	uint64_t n_returns, n_lost_returns; /* lost: to where nobody had called from */
	uint64_t n_switches;                /* of stacks: a coroutine's, a goroutine's */
};

int tally_add(struct tally *t, const struct record_count *count);
void tally_add_unmapped(struct tally *t, uint64_t n);
int tally_add_call(struct tally *t, const struct record_call *call);
/*
 * Sum up and hand over into out->v, n and n_unmapped.  -SP_EFORMAT when a
 * count is above the total of all, or they do not add up to it.
 */
int tally_finish(struct tally *t, struct record_counts *out);
void tally_fini(struct tally *t);

#endif
