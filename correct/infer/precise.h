/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_PRECISE_H
#define SKIDPROF_CORRECT_INFER_PRECISE_H

/*
 * Precise samples (eq. 22): of instructions, whose IP is the one that was counted, or the next one to retire.  What was seen in a
 * block is what it ran, but for chance, and but for samples that are seen past an edge.  Those are of instructions that retire
 * together, which all go to one of them, and of instructions in the shadow of a slow one, which go to what comes behind it.
 * What an edge moves one block lacks, and the next has too much of: sums over both are right.
 */
#include "correct/infer/equations.h"
#include "correct/infer/problem.h"
#include "correct/infer/space.h"

/*
 * Append one equation a block, or combinations of blocks, of unit noise.  t[n_free]: about where, for the noise of what was seen.
 * moved: instructions a crossing of each edge, as a standard deviation.  Returns 0, -SP_EDOMAIN, -SP_ENOMEM.
 * Cost: the third power of the blocks, up to some hundred; past it edges are taken one block at a time.
 */
int precise_equations(const struct problem *p, const struct space *space, const double *t, double moved,
                      struct equations *out);

#endif
