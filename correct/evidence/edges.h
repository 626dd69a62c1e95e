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

/* When all were shown: instructions of what crosses that are each scope's, insn[n]; how many ends they have in it, n_ends[n]. */
int edges_settle(struct edges *e, double *insn, double *n_ends);

#endif
