/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_TIMED_PATHS_H
#define SKIDPROF_CORRECT_RECORDING_TIMED_PATHS_H

/*
 * Timed paths of a recording (profiler/pmu/timed_paths.h says how they stand in the file): exact instructions over exact time at
 * random moments.  What a program ran in all follows from how fast it ran then.
 */
#include "profiler/base/vec.h"
#include "profiler/perfdata/record.h"

struct pd_reader;

/* One; ns 0: nothing could be timed at that moment. */
struct timed_path {
	double insn, ns;
	int32_t module; /* where the thread was at the moment: a place of the recording, -1 = in no file */
	uint64_t vaddr;
};

/* Code of a path that ran straight on from a place, most of its instructions. */
struct timed_run {
	uint32_t path;
	int32_t module;
	uint64_t vaddr, last; /* its last instruction */
	double insn;
};

struct timed_paths {
	VEC(struct timed_path) v;
	VEC(struct timed_run) runs;
};

/* The event that files have of them, -1 = none. */
int timed_paths_event(const struct pd_reader *r);

/* A sample of that event, in the file's order, and the place of its ip: 0. */
void timed_paths_add(struct timed_paths *t, const struct pd_sample *s, int32_t module, uint64_t vaddr);
void timed_paths_fini(struct timed_paths *t);

/* Instructions a nanosecond of all threads' time, with their 90% interval. */
struct timed_rate {
	uint64_t n, n_failed; /* paths, moments at which none could be timed */
	double rate, lo, hi;  /* 0 = too few, or at too many moments there was none */
	double spread;        /* deviation of paces of paths, over their mean */
};

/* The mean of all paths, which are of random moments, and its standard error with what a stop does to a pace. */
void timed_paths_rate(const struct timed_paths *t, struct timed_rate *out);

#endif
