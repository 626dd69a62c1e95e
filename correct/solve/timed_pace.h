/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SOLVE_TIMED_PACE_H
#define SKIDPROF_CORRECT_SOLVE_TIMED_PACE_H

/*
 * Instructions by timed paths (eq. 10), where a clock is all that was sampled:
 * of the whole recording, and of each scope that paths mostly ran in.
 */
#include "correct/evidence/evidence.h"
#include "correct/work.h"

/*
 * Sets w->timed.  Where that tells a rate and bursts tell shares, each scope that two paths or more mostly ran in gets
 * its instructions (total_insn, total_sd, insn_per_sample), and its pace by these, in instructions an event of the clock: they are
 * no shares then.  ev: where there are scopes; else it may be NULL.
 */
void timed_pace_set(struct work *w, struct evidence *ev);

#endif
