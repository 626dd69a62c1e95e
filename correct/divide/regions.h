/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_REGIONS_H
#define SKIDPROF_CORRECT_DIVIDE_REGIONS_H

#include "correct/work.h"

/*
 * The graph of the code that has samples, and its regions: of what is on record where that is most of them, within w->effort.
 * Sets w->graph, regions, ran, regions_ran, ran_share.
 */
int regions_build(struct work *w);

#endif
