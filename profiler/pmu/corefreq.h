/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_COREFREQ_H
#define SKIDPROF_PMU_COREFREQ_H

/*
 * How fast the core we run on is, without a counter of cycles: a chain of
 * instructions that wait for one another, each of one cycle on every core,
 * takes as many cycles as it is long.
 */

/* Cycles a second, here and now; 0 where no chain is known.  Takes about 50 microseconds. */
double corefreq_measure_hz(void);

#endif
