/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_COST_H
#define SKIDPROF_CORRECT_INFER_COST_H

#include "correct/infer/problem.h"

/*
 * The prior of time (eq. 16): what samples of cycles say of how often code ran.
 *
 * If the instructions of a class cost what the scope's do in the mean, e^y samples are expected in it; y grows with the logarithm
 * of its executions.  k samples were seen, so its instructions cost r = k e^-y times the mean, but for the noise of counting.
 * How r is distributed over the blocks of programs is known.  Few blocks cost much less than the mean, for a core retires no
 * faster than it is wide; some cost much more, for they wait.
 */

/* -log density as a function of y. */
struct cost;

/*
 * n_samples  k, with the half that stands for none seen var        of the log of cost: cost_variance() of a class, which scatters
 * more the shorter it is least      the least cost there is, over the scope's mean: 0 to less than 1 *out       malloc'd,
 * cost_free it
 */
void cost_new(double n_samples, double var, double least, struct cost **out);
void cost_free(struct cost *cost);

/* At y, but for a constant; defined everywhere. */
double cost_at(const struct cost *cost, double y);
/* First derivative in y, and what a Newton step takes for the second: never zero, nor negative. */
void cost_slope(const struct cost *cost, double y, double *slope, double *curve);

/* Variance of the log cost of blocks of so many instructions. */
double cost_variance(double n_insn);
/* The same of a function's samples of instructions over those expected: of so many instructions in all, each counted once. */
double cost_function_variance(double n_insn);
/* The least cost of a class of so many instructions over the mean, cyc_per_insn being the scope's; 0 if that is not known. */
double cost_least(double n_insn, double cyc_per_insn);

#endif
