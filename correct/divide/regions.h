/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_REGIONS_H
#define SKIDPROF_CORRECT_DIVIDE_REGIONS_H

#include "correct/work.h"

/*
 * The graph of the code that has samples, and its regions: of what is on record where that is most of them, within w->effort.
 * Sets w->graph, regions, ran, regions_ran, ran_share.
 */
int regions_build(struct work *w);

/*
 * A region may be most of a compiler: hundreds of thousands of blocks, of which a recording tells of some thousands.  Its flow can't be
 * solved, and executions come from branch records by themselves (eq. 9), if from anything: then only what they tell of, or samples, is
 * kept of it.  Of regions and scopes that are far too large to be solved, blocks without samples, that are on no record and in no
 * smaller scope, are dropped; n_untrimmed says how many blocks there were.
 */
void trim_hopeless(struct work *w);

/* Is a region so large that it can't be solved, whatever of it carries flow? */
bool trim_is_hopeless(const struct flow_region *r);

/* Does nothing tell how fast loops run: no instructions were counted, records tell no cycles, and there are no timed paths? */
bool apart_unpaced(const struct work *w);

/*
 * Where instructions were not counted nothing tells how many a loop ran beside the next that it runs after, for longer than a burst: each
 * is a region of its own, whose shares bursts tell.  weight[graph n_blocks]: heat.  Such regions of w->regions give way to their next
 * inner loops, and these to theirs, where next to nothing lies between the loops; none do where something tells paces.  Returns 0, or
 * what reading the recording again fails by.
 */
int apart_open(struct work *w, const double *weight);

#endif
