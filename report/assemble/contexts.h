/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_CONTEXTS_H
#define SKIDPROF_REPORT_ASSEMBLE_CONTEXTS_H

/*
 * For whom functions ran, by paths: bursts, or branch records where there are none.  A path that shows a call, or
 * the return from one, tells the caller of all that lies between; what was called before its first branch and is not back at
 * its last stays open.
 */
#include "report/assemble/assemble_impl.h"

/* Fill in profile->contexts, after the calls were counted; none where too few paths tell. */
int assemble_contexts(struct assembly *a);

#endif
