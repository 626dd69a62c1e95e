/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_COLD_H
#define SKIDPROF_CORRECT_COLD_H

/* Code that ran for little or not at all, left out of what is solved. */
#include <stdbool.h>

#include "correct/infer/problem.h"

/*
 * A flow f[E] to begin at, and the edges that may carry any, usable[E].
 * In a scope of all code that its loops could reach nothing but the samples and what is on record tells hundreds of ways that
 * did not run from those that did: what has none of many samples and is on no record, and in a scope that
 * is large for all that what has hardly any, is left out.
 * ran: the scope is of what branch records say ran, and stays whole.  on_record: by blocks of the graph, NULL = nothing is.  *n_free_out: the
 * free flows that are left out with it; p->cold_insn is what its samples
 * stand for.  Returns 0, -SP_EDOMAIN when no edge can carry flow, -SP_ENOMEM.
 */
int cold_cut(struct problem *p, bool ran, const uint8_t *on_record, bool *usable, double *f,
             uint32_t *n_free_out);

/* Blocks that were left out with samples in them keep these in every draw, as doubt.  0 or -SP_ENOMEM. */
int cold_keep_raw(const struct problem *p, const bool *usable, struct solution *sol);

#endif
