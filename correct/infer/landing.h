/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_LANDING_H
#define SKIDPROF_CORRECT_INFER_LANDING_H

/*
 * Landing (eq. 6) without loops: samples caused evenly over all instructions
 * walk on along the flow for S cycles, whole periods or a few instructions,
 * and the block they end in is predicted.  Where S is many periods the
 * prediction is the distribution of time whatever the flow, and says
 * nothing; where S is short against the loop it says much.
 */
#include "correct/infer/equations.h"
#include "correct/infer/problem.h"
#include "correct/infer/space.h"

/*
 * f[E]        flows, conserved.
 * predicted   out, [B]: instruction events seen in each block.
 * moved       out, [B]: how many of those caused in a block, or seen in it,
 *             came from or went to another: all that the timing decides.
 *
 * Returns 0, -SP_ENOMEM.  Cost: E x S / step, step a part of a mean block.
 */
int landing_predict(const struct problem *p, const double *f, double *predicted, double *moved);

/* Append one equation a block, linear about t: what was seen there against what is predicted. */
int landing_equations(const struct problem *p, const struct space *space, const double *t,
                      struct equations *out);

#endif
