/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_APART_H
#define SKIDPROF_CORRECT_DIVIDE_APART_H

/*
 * Regions of loops that run one after another for longer than a burst.  Where instructions were not counted nothing tells how many
 * one of these ran beside the next: each is a region of its own, whose shares bursts tell.
 */
#include "correct/work.h"

/* Does nothing tell how fast loops run: no instructions were counted, records tell no cycles, and there are no timed paths? */
bool apart_unpaced(const struct work *w);

/*
 * weight[graph n_blocks]: heat.  Such regions of w->regions give way to their next inner loops, and these to theirs, where next to
 * nothing lies between the loops; none do where something tells paces.  Returns 0, or what reading the recording again fails by.
 */
int apart_open(struct work *w, const double *weight);

#endif
