/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_SAME_COMMAND_H
#define SKIDPROF_REPORT_SAME_COMMAND_H

/*
 * Whether exact counts are of the command that was recorded, and of all of it: with other arguments it most likely had another
 * input.
 */
#include "report/profile.h"

struct truth;

/* Says so likewise where t, the counts at `truth`, is of one process or thread, and the recording has others of its program. */
int report_same_tasks(struct profile *p, const char *truth, const struct truth *t);

/*
 * counted: the command of the counts at `truth`, "" where the file doesn't say.  Of other arguments meta.truth_why
 * says so, and p is not to be trusted.  0, -SP_ENOMEM.
 */
int report_same_command(struct profile *p, const char *truth, const char *counted);

#endif
