/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_TASKS_H
#define SKIDPROF_CORRECT_RECORDING_TASKS_H

/* What was sampled of each thread, under each of its names. */
#include "correct/recording/recording.h"

struct task_sum {
	uint32_t pid, tid;
	char comm[64];
	double insn, cyc;     /* events: samples x period */
	double n_insn, n_cyc; /* samples */
	long before;          /* row of the same thread under an earlier name, -1 = none */
};

struct tasks {
	struct pairs threads;
	VEC(long) current; /* by threads: the latest of its rows */
	VEC(struct task_sum) rows;
};

void tasks_add(struct tasks *t, const struct recording *r, const struct pd_record *rec);
void tasks_fini(struct tasks *t);

#endif
