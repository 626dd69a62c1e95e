/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_CLOCK_H
#define SKIDPROF_REPORT_LIFT_CLOCK_H

/*
 * Core cycles a tick of the time stamp counter, now and on this core: from a
 * chain of dependent additions, which take a cycle each.  NAN where there is
 * no such counter.  Cost: some tenths of a millisecond.
 */
double clock_cyc_per_tick(void);

/* What the stubs of hook.h read for a function that does nothing, in ticks; NAN when that can't be tried. */
double clock_hook_ticks(void);

#endif
