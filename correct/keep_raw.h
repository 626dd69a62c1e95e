/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_KEEP_RAW_H
#define SKIDPROF_CORRECT_KEEP_RAW_H

/* Where precise samples by themselves say more than a solution does, they stay (eq. 49). */
#include "correct/infer/problem.h"

/*
 * Are the functions of a scope (its blocks, where it has one only) known less well than by its precise samples alone?
 * Returns 1 where they are, 0, -SP_ENOMEM.
 */
int keep_raw_judge(const struct problem *p, const struct solution *sol);

#endif
