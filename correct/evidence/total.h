/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_TOTAL_H
#define SKIDPROF_CORRECT_EVIDENCE_TOTAL_H

/*
 * How many instructions a scope ran, eq. 3, from two sources that are wrong each in its own way: the intervals between samples,
 * exact but for boundary intervals (eq. 4), and the samples themselves, each a whole period wherever its counter overflowed, but
 * seen where the skid left them.
 */
#include <stdbool.h>

#include "correct/evidence/boundary.h"

struct total_known {
	double inside;                /* instructions of intervals between two samples in it */
	struct boundary_sum boundary; /* boundary intervals */
	double counted; /* of the program's instructions, the part that groups counted; 1 = all */
	double sampled; /* instructions that its samples stand for */
	double period;  /* of a sample of instructions; 0 = there are none: intervals alone say it */
	double lost;    /* of what was counted, the share that no sample of the whole program stands for */
	bool skid_known;
};

/* Instructions of the scope and their standard deviation (eq. 15). */
void total_of(const struct total_known *k, double *insn, double *sd);

/* The same where nothing was counted between samples: each period is one of them, or none. */
void total_of_samples(const struct total_known *k, double *insn, double *sd);

#endif
