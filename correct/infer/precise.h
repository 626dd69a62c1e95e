/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_PRECISE_H
#define SKIDPROF_CORRECT_INFER_PRECISE_H

/*
 * Samples of instructions whose IP is the instruction that was counted, or the next one to retire (eq. 48): what was seen in
 * a block is what it ran, but for chance, and for what is seen past an edge: samples of instructions that retire together go to
 * one of them, and those that wait in the shadow of a slow one to what comes behind it.  What an edge moves one block lacks and the
 * next has too many of, so that sums over both are right.
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
