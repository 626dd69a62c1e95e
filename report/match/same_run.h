/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_MATCH_SAME_RUN_H
#define SKIDPROF_REPORT_MATCH_SAME_RUN_H

/* Whether exact counts can be of the run that was recorded, by what both have in all. */
#include "report/profile.h"

/* Of all instructions, that two runs which do the same do not differ by. */
static const double same_run_most_off = 0.1;

/*
 * p has the exact counts in place: sets meta.truth_why where their total is far from the one that was recorded, or where they
 * are more than the sampled time has room for.
 */
void same_run_doubt(struct profile *p);

/*
 * own[f], rolled[f], [p->n_funcs]: exact counts say that the function, or the physical one, never ran.  Those that have samples
 * nevertheless are unreliable; sets meta.truth_why where they have more than a hundredth of the cycles.
 */
void same_run_doubt_unseen(struct profile *p, const bool *own, const bool *rolled);

#endif
