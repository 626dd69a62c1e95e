/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_BRANCHES_H
#define SKIDPROF_CORRECT_RECORDING_BRANCHES_H

/* Which branches samples have on record, and how often: each pair of places once. */
#include "correct/flow/graph.h"
#include "correct/recording/recording.h"
#include "profiler/perfdata/stack.h"

struct branch_sums {
	struct pairs pairs, run_pairs;
	struct branch_list {
		struct flow_seen *v;
		size_t n, cap;
	} seen, runs; /* taken ones; straight runs between two of them: from a target to the next source */
	struct pairs threads;
	VEC(struct pd_stack) last; /* [threads.n] of its last sample */
	uint64_t n_branches;
};

/* Add one sample's.  Begin with all zero. */
void branch_sums_add(struct branch_sums *s, const struct recording *r, const struct pd_record *rec);

/* Whether its thread took no branch since the last sample of it (pd_stack_is_still()): next to nothing ran meanwhile. */
bool branch_sums_is_still(struct branch_sums *s, const struct pd_record *rec);

/* The end of adding: what lies in no usable file says nothing of the flow, and is dropped. */
void branch_sums_end(struct branch_sums *s);

void branch_sums_fini(struct branch_sums *s);

#endif
