/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_BOUNDARY_H
#define SKIDPROF_CORRECT_EVIDENCE_BOUNDARY_H

/*
 * Boundary intervals: from a sample in one scope to the thread's next in
 * another.  The number of instructions between the two is exact, and half of them
 * are each scope's (eq. 4).
 */
#include <stddef.h>
#include <stdint.h>

struct boundary;

/* For n scopes; -1 stands for code in none.  NULL without memory. */
struct boundary *boundary_new(size_t n);
void boundary_free(struct boundary *e);

/* Both samples of an interval in one scope: its pace there. */
void boundary_inside(struct boundary *e, int32_t scope, double insn, double cyc);

/* A sample in one scope and the thread's next in another; cyc 0: not counted.  Returns 0, -SP_ENOMEM. */
int boundary_cross(struct boundary *e, int32_t from, int32_t to, double insn, double cyc);

/*
 * An interval in two pieces: between them its group rested for another group's
 * multiplexing slot.  The first lies between two samples in scopes at[0] and
 * at[1], the second between two in at[2] and at[3].
 */
void boundary_rest(struct boundary *e, const int32_t at[4], double insn);

/* What boundary intervals say of one scope. */
struct boundary_sum {
	double insn;   /* of theirs, that are the scope's */
	double n_ends; /* how many ends they have in it */
	double wrong; /* standard deviation of insn, for what is the same at every crossing between two scopes */
};

/* When all were shown, once: sums[n]. */
void boundary_settle(struct boundary *e, struct boundary_sum *sums);

#endif
