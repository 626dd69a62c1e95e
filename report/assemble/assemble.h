/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_ASSEMBLE_H
#define SKIDPROF_REPORT_ASSEMBLE_ASSEMBLE_H

#include "correct/work.h"
#include "report/profile.h"

/*
 * A recording and its binaries go in, are corrected, and a profile comes out.  Every report command calls this one function.
 * Returns 0 and the profile, or what failed.  What is doubtful is in the profile, not an error.
 */
int assemble_profile(const struct correct_opts *opts, struct profile **out);

#endif
