/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_STATS_H
#define SKIDPROF_REPORT_LIFT_STATS_H

#include <stddef.h>

/*
 * Kendall's tau-b of n pairs, ties counted as [KEN45] (Biometrika 33(3)) has it:
 *
 *	tau = (C - D) / sqrt((P - T_x) (P - T_y)),  P = n (n - 1) / 2
 *
 * C and D concordant and discordant pairs, T tied ones.  1 = the same order,
 * -1 = the reverse; NAN where all of x or all of y are equal.  Cost: n^2.
 */
double stats_tau(const double *x, const double *y, size_t n);

#endif
