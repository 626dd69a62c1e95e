/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_EDGES_H
#define SKIDPROF_CORRECT_EVIDENCE_EDGES_H

/*
 * Whose are the instructions between a sample in one scope and the next in
 * another (eq. 31)?  Their number is exact, and so are the cycles they took:
 * at the pace before and the pace after, the two say when the one scope was
 * left for the other.  Half to each would be wrong by the skid, times how much
 * the paces differ, for each time: a counter that overflows before the edge
 * has its sample after it.
 */
#include <stddef.h>
#include <stdint.h>

struct edges;

/* For n scopes; -1 stands for code in none.  NULL without memory. */
struct edges *edges_new(size_t n);
void edges_free(struct edges *e);

/* Both samples of an interval of a thread in one scope: its pace there.  Threads are 0, 1, ...  Returns 0, -SP_ENOMEM. */
int edges_inside(struct edges *e, uint32_t thread, int32_t scope, double insn, double cyc);

/* A sample in one scope and the next in another; cyc 0: not counted. */
int edges_cross(struct edges *e, uint32_t thread, int32_t from, int32_t to, double insn, double cyc);

/*
 * An interval in two pieces, for its group's turn ended and another's came
 * between: the first in the gap between two samples in scopes at[0] and
 * at[1], the second in one between at[2] and at[3].
 */
int edges_rest(struct edges *e, const int32_t at[4], double insn);

/* Samples in one scope of instructions, and of cycles. */
struct edge_samples {
	double n_insn, n_cyc;
};

/* What the intervals that cross its edges say of one scope. */
struct edge_sum {
	double insn;   /* of theirs, that are the scope's */
	double n_ends; /* how many ends they have in it */
	double wrong;  /* standard deviation of insn, for what is the same at every edge between two scopes */
	double hidden; /* eq. 36: the share of the visits to it that no sample fell in */
	double in,
	        out; /* eq. 35: instructions whose samples the skid carries over its edges; NAN where not known */
	double unsure; /* by how much in - out may be off */
	double mixed; /* eq. 37: standard deviation of whatever is said, where visits are shorter than intervals */
};

/*
 * When all were shown: sums[n].  samples[n]; skid_cyc: the mean of S, NAN where cycles were not counted.
 * Returns 0 or -SP_ENOMEM.
 */
int edges_settle(struct edges *e, double skid_cyc, const struct edge_samples *samples, struct edge_sum *sums);

/* eq. 36: the share of visits that no sample fell in, 0 to 0.9, where n_seen had one. */
double edges_hidden(const struct edge_samples *samples, double n_seen);

#endif
