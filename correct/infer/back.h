/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_BACK_H
#define SKIDPROF_CORRECT_INFER_BACK_H

/*
 * Where samples of instructions were caused, walking back from where they
 * were seen (eq. 20): how many instructions ran in between was counted
 * (eq. 9), so no model of the core's timing is needed, only which way the
 * program came; at a join that is as the flows into it are.  Instructions
 * overflow evenly over all executions, so what was caused in a block against
 * its executions is an equation.  It is sharp where the way back is short,
 * and where it leads round many joins it says nothing of itself.
 */
#include "correct/infer/equations.h"
#include "correct/infer/space.h"

/*
 * Instructions caused in each block under flow f[E]: caused[B], and of those
 * the ones that may as well be another block's: unsure[B]; both out.
 * Returns 0, -SP_ENOMEM.  Cost: O((longest way + samples) E).
 */
int back_caused(const struct problem *p, const double *f, double *caused, double *unsure);

/*
 * Does it say more than nothing about the flow f = Z t?  Not if more than some
 * samples come without their way, and not if nearly all may have been caused
 * in another block as well.  Returns 0, -SP_ENOMEM.
 */
int back_tells(const struct problem *p, const struct space *space, const double *t, bool *tells);

/* One equation a block, linear about t: executions against causes.  Returns 0, -SP_ENOMEM. */
int back_equations(const struct problem *p, const struct space *space, const double *t,
                   struct equations *out);

#endif
