/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SOLVE_TIMED_PACE_H
#define SKIDPROF_CORRECT_SOLVE_TIMED_PACE_H

/*
 * Instructions by timed paths (eq. 10), where a clock is all that was sampled:
 * of the whole recording, and of each scope that paths came to.
 */
#include "correct/work.h"

/*
 * Sets w->timed.  Where that tells a rate and bursts tell shares, each scope that two paths or more came to gets
 * its instructions (total_insn, total_sd, insn_per_sample), and its pace by these, in instructions an event of the clock: they are
 * no shares then.
 */
void timed_pace_set(struct work *w);

#endif
