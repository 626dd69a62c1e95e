/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SOLVE_COLD_H
#define SKIDPROF_CORRECT_SOLVE_COLD_H

/* Code that ran for little or not at all, left out of what is solved. */
#include <stdbool.h>

#include "correct/infer/problem.h"

/*
 * A scope may be all code that its loops could reach: hundreds of ways of which only samples and branch records tell which ran.
 * Blocks without any of many samples, and on no record, are left out.
 *
 * ran        the scope is of what branch records say ran, and stays whole
 * on_record  by blocks of the graph; NULL: nothing is
 * usable     out, [E]: the edges that may carry flow
 * f          out, [E]: a flow to begin at
 * n_free_out out: free flows that are left out
 *
 * Returns 0, -SP_EDOMAIN when no edge can carry flow.
 */
int cold_cut(const struct problem *p, bool ran, const uint8_t *on_record, bool *usable, double *f,
             uint32_t *n_free_out);

#endif
