/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_BOUNDARY_H
#define SKIDPROF_CORRECT_EVIDENCE_BOUNDARY_H

/*
 * Boundary intervals: from a sample in one scope to the thread's next in another.  The number of instructions between the two
 * is exact.  Where the one scope was left for the other the scopes' paces tell, the better the more they differ (eq. 4).  The
 * same paces tell how many samples the skid carries from scope to scope (eq. 15).
 */
#include <stddef.h>
#include <stdint.h>

struct boundary;

/* For n scopes; -1 stands for code in none. */
struct boundary *boundary_new(size_t n);
void boundary_free(struct boundary *e);

/* An interval with both samples in one scope: it tells the scope's pace. */
void boundary_inside(struct boundary *e, int32_t scope, double insn, double cyc);

/* A sample in one scope and the thread's next in another; cyc 0: not counted. */
void boundary_cross(struct boundary *e, int32_t from, int32_t to, double insn, double cyc);

/*
 * The sample in `to` came when the kernel was entered, after one in `from`: the `sampled` instructions that it stands for, 0 where it is
 * of cycles, may be of either, and so may the two halves of insn that `to` has of the intervals before and after it.
 */
void boundary_late(struct boundary *e, int32_t from, int32_t to, double insn, double sampled);

/* Where nothing was counted between samples, so that crossings have no instructions: what one in a scope stands for, of either. */
void boundary_sampled(struct boundary *e, int32_t scope, double insn, double cyc);

/*
 * An interval in two pieces: between them its group rested for another group's multiplexing slot.  The first lies between two
 * samples in scopes at[0] and at[1], the second between two in at[2] and at[3].
 */
void boundary_rest(struct boundary *e, const int32_t at[4], double insn, double cyc);

/* What boundary intervals say of one scope. */
struct boundary_sum {
	double insn;   /* of theirs, that are the scope's */
	double n_ends; /* how many ends they have in it */
	double wrong; /* standard deviation of insn, for what is the same at every crossing between two scopes */
	double in, out; /* eq. 15: instructions whose samples skid into it and out of it; NAN: not known */
	double unsure;  /* by how much in - out may be off */
	double mixed; /* eq. 4: standard deviation of whatever is said, where visits are shorter than intervals */
};

/* When all were shown: sums[n].  samples[n]: in each scope; skid_cyc: the mean of S, NAN where groups counted no cycles. */
void boundary_settle(struct boundary *e, double skid_cyc, const double *samples, struct boundary_sum *sums);

#endif
