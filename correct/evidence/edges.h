/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_EDGES_H
#define SKIDPROF_CORRECT_EVIDENCE_EDGES_H

/*
 * Whose are the instructions between a sample in one scope and the next in
 * another?  Their number is exact, but not where the one scope was left for
 * the other: half to each, and the more the scopes' paces differ the more may
 * be wrong with that (eq. 31).  How many samples the skid carries over such
 * edges is known from the same paces (eq. 35).
 */
#include <stddef.h>
#include <stdint.h>

struct edges;

/* For n scopes; -1 stands for code in none.  NULL without memory. */
struct edges *edges_new(size_t n);
void edges_free(struct edges *e);

/* Both samples of an interval in one scope: its pace there. */
void edges_inside(struct edges *e, int32_t scope, double insn, double cyc);

/* A sample in one scope and the thread's next in another; cyc 0: not counted.  Returns 0, -SP_ENOMEM. */
int edges_cross(struct edges *e, int32_t from, int32_t to, double insn, double cyc);

/*
 * An interval in two pieces, for its group's turn ended and another's came
 * between: the first in the gap between two samples in scopes at[0] and
 * at[1], the second in one between at[2] and at[3].
 */
void edges_rest(struct edges *e, const int32_t at[4], double insn);

/* What the intervals that cross its edges say of one scope. */
struct edge_sum {
	double insn;   /* of theirs, that are the scope's */
	double n_ends; /* how many ends they have in it */
	double wrong;  /* standard deviation of insn, for what is the same at every edge between two scopes */
	double in,
	        out; /* eq. 35: instructions whose samples the skid carries over its edges; NAN where not known */
	double unsure; /* by how much in - out may be off */
	double mixed; /* eq. 37: standard deviation of whatever is said, where visits are shorter than intervals */
};

/*
 * When all were shown: sums[n].  samples[n]: in each scope; skid_cyc: the mean of S, NAN where cycles were not counted.
 * Returns 0 or -SP_ENOMEM.
 */
int edges_settle(struct edges *e, double skid_cyc, const double *samples, struct edge_sum *sums);

#endif
