/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_INTERIOR_H
#define SKIDPROF_CORRECT_INFER_INTERIOR_H

/* A flow that is positive wherever it can be (space.h): where the search for the mode begins. */
#include "correct/infer/problem.h"

/*
 * A circulation flow[E], out: every edge that can be positive is, the smallest
 * near 1; all others are 0.  Calls return to where they were made, but for those
 * of a recursion.
 *
 * usable[E]  out: which edges are positive.  With `warm`, in: which may be.
 * warm[B]    where given, only edges between warm blocks are positive, and as few
 *            others as lead to each of these and on from it.  NULL: all are warm.
 *
 * Returns 0; -SP_EDOMAIN when no edge can carry flow, or the scope is too large.
 * Cost: E, and code in which several functions end once for each, up to a limit.
 */
int interior_find(const struct problem *p, const bool *warm, bool *usable, double *flow);

/*
 * warm[B]  in: blocks that samples fell in.  out: short blocks between two of those, too, for a sample of theirs may always
 *          end in the block behind.
 */
void interior_warm(const struct problem *p, bool *warm);

#endif
