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
	int32_t module; /* where the thread was at the moment: a place of the recording, -1 = in no file */
	int32_t loop;   /* which loop that is of, -1 = none: set for timed_paths_rate() */
	uint64_t vaddr;
};

/* Code of a path that ran straight on from a place, most of its instructions. */
struct timed_run {
	uint32_t path;
	int32_t module;
	uint64_t vaddr;
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
};

/*
 * share[n_loops]: of the time, that of each loop.  Moments that are in no loop, or in one of too few paths, have the mean of
 * those paths.
 */
void timed_paths_rate(const struct timed_paths *t, const double *share, size_t n_loops,
                      struct timed_rate *out);

/* The same of the instructions in one loop, insn[t->v.n] of each path.  Too few where too few paths begin there. */
void timed_paths_rate_in(const struct timed_paths *t, size_t loop, const double *insn, const double *share,
                         size_t n_loops, struct timed_rate *out);

#endif
