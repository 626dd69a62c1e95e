/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SOLVE_KEEP_RAW_H
#define SKIDPROF_CORRECT_SOLVE_KEEP_RAW_H

/* Precise samples by themselves may know more than a solution: then they stay as they are (eq. 22). */
#include "correct/infer/problem.h"

/*
 * Do the draws know the functions of a scope (its blocks, where it has one function) less well than precise samples alone?
 * Of draws by stacks it is asked only whether they contradict the samples: what they are unsure of samples have told them.
 * Returns 1 if so, 0.
 */
int keep_raw_judge(const struct problem *p, const struct solution *sol, bool stacks);

#endif
