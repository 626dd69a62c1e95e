/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_TIMED_PATHS_H
#define SKIDPROF_CORRECT_RECORDING_TIMED_PATHS_H

/*
 * Timed paths of a recording (profiler/pmu/timed_paths.h says how they stand in
 * the file): exact instructions over exact time at random moments.  What a
 * program ran in all follows from how fast it ran then.
 */
#include "profiler/base/vec.h"
#include "profiler/perfdata/record.h"

struct pd_reader;

/* One; ns 0: nothing could be timed at that moment. */
struct timed_path {
	double insn, ns;
};

struct timed_paths {
	VEC(struct timed_path) v;
};

/* The event that files have of them, -1 = none. */
int timed_paths_event(const struct pd_reader *r);

/* A sample of that event, in the file's order: 0, -SP_ENOMEM. */
int timed_paths_add(struct timed_paths *t, const struct pd_sample *s);
void timed_paths_fini(struct timed_paths *t);

/* Instructions a nanosecond of all threads' time, with its 90% interval. */
struct timed_rate {
	uint64_t n, n_failed; /* paths, moments at which none could be timed */
	double rate, lo, hi;  /* 0 = too few, or at too many moments there was none */
};

struct timed_rate timed_paths_rate(const struct timed_paths *t);

#endif
