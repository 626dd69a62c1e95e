/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_INCLUSIVE_CUT_STACKS_H
#define SKIDPROF_REPORT_INCLUSIVE_CUT_STACKS_H

/*
 * Stacks that do not reach where their thread begins: by frame pointers of code that keeps none they end in any function, by
 * branch records, which hold the innermost calls only, and by copies that are too short.  What such a sample is of may be
 * anyone's who calls.  What is below an open frame (profile_frame) may be anyone's who calls its function, by the flow.
 */
#include "report/inclusive/inclusive.h"

/* Share of the samples' weight on stacks that have no function that threads begin in. */
double cut_stacks_share(const struct profile *p);

/* Share of the samples with callers whose stack lacks one in its middle that nothing tells. */
double cut_stacks_open_share(const struct profile *p);

/*
 * Up to hi of out, [p->n_funcs], goes what is on cut stacks, or below open frames, without the function.  insn: [p->n_frames] corrected instructions
 * of each frame.
 */
void cut_stacks_bounds(const struct profile *p, const double *insn, struct inclusive *out);

/* Counts that may be twice as much for what the cut stacks leave open are not known. */
void cut_stacks_judge(const struct profile *p, struct inclusive *out);

#endif
