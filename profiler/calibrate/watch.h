/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_WATCH_H
#define SKIDPROF_CALIBRATE_WATCH_H

/* Samples that are taken while nobody else is on the core, or again. */
#include "profiler/calibrate/cliff.h"
#include "profiler/calibrate/runs.h"
#include "profiler/calibrate/sentinel.h"

/* What there is to be seen and done; `user` is handed on. */
struct watch_ops {
	enum sentinel_word (*look)(void *user);
	bool (*take)(void *user, size_t i); /* time the i-th sample; false: it does not count */
	/* What was taken of samples from..to-1 into cycles; where they are cycles already, NULL. */
	void (*scale)(void *user, size_t from, size_t to);
	void (*wait)(void *user); /* let a little time pass */
	void (*warm)(void *user); /* after a wait that was long: caches and predictors */
	double (*now_s)(void *user);
};

/* Over a whole run. */
struct watch {
	double patience_s;                   /* left to wait for the core */
	double looked_s, shared_s, waited_s; /* time between looks, and of that beside a neighbour */
	double last_s;                       /* of the last look, 0 = none yet */
	uint64_t n_looks, n_again, n_kept;   /* samples taken again; kept although the core was shared */
};

/*
 * Take samples from..to-1, each between two looks; one beside a neighbour is
 * taken again once he has gone, as long as there is patience.  One that does
 * not count is tried again some times.
 *
 * Returns SENTINEL_ALONE; SENTINEL_SHARED: some were kept that were shared; SENTINEL_GREW:
 * at once, as all that was measured so far was measured beside a neighbour.
 */
enum sentinel_word watch_samples(struct watch *w, const struct watch_ops *ops, void *user, size_t from,
                                 size_t to);

/*
 * One point of a curve: batches of runs, which ops->take puts into r, until the
 * interval is narrow enough or r is full.  What comes out is of an iteration.
 * Returns 0; 1: SENTINEL_GREW.
 */
int watch_point(struct watch *w, const struct watch_ops *ops, void *user, const struct cliff *c,
                struct runs *r, struct cliff_curve *curve, size_t i);

enum { WATCH_BATCH = 16 }; /* runs between two looks at the interval */

#endif
