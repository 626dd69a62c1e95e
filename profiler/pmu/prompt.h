/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_PROMPT_H
#define SKIDPROF_PMU_PROMPT_H

/*
 * Ask the scheduler for short turns, which come soon: on a busy machine a
 * thread that is to be stopped at a moment has gone to sleep, or far on, before
 * a process with turns of usual length gets a CPU.  Linux 6.12 grants it to
 * everyone; before that nothing changes.  Children inherit it.
 */
void prompt_ask(void);

#endif
