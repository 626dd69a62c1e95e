/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_EXISTING_H
#define SKIDPROF_PMU_EXISTING_H

/*
 * What was there before the recording began, which no event will tell: names
 * of tasks and what they have mapped, written as if it had just come to be.
 */
#include <sys/types.h>

#include "profiler/perfdata/writer.h"
#include "profiler/pmu/elsewhere.h"

/* A process with its threads.  One that has ended meanwhile is no error. */
int existing_process(struct pd_writer *w, struct elsewhere *e, pid_t pid);

/*
 * The command line of a process, as words in one allocation that the caller frees with free(*out); their number.  0 and NULL where
 * it has none to read.
 */
int existing_words(pid_t pid, char ***out);

/* Every process there is. */
int existing_all(struct pd_writer *w, struct elsewhere *e);

/* Where the kernel's own code lies; nothing where it hides that. */
int existing_kernel(struct pd_writer *w);

#endif
