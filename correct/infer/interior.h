/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_INTERIOR_H
#define SKIDPROF_CORRECT_INFER_INTERIOR_H

/* A point inside the space of flows (space.h), where searches for the mode may begin. */
#include "correct/infer/problem.h"

/*
 * A circulation with every edge positive that can be, all others 0: flow[E],
 * the smallest near 1.  Calls are returned to where they were made, unless
 * the region is recursive.  usable[E] tells which edges.  With warm[B] only
 * edges between warm blocks are, and what leads through them by few others;
 * usable then says before which can be.  NULL: all blocks are warm.  Returns 0; -SP_EDOMAIN when no edge can
 * carry flow, or it is too large.
 * Cost: E, and code that several functions end in once for each, up to a limit.
 */
int interior_find(const struct problem *p, const bool *warm, bool *usable, double *flow);

/* warm[B] in: blocks that samples fell in; out: also short ones that lead from such a block to such a block. */
int interior_warm(const struct problem *p, bool *warm);

#endif
