/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_COLD_H
#define SKIDPROF_CORRECT_COLD_H

/* Code that ran for little or not at all, left out of what is solved. */
#include <stdbool.h>

#include "correct/infer/problem.h"

/*
 * A flow f[E] to begin at, and the edges that may carry any, usable[E].
 * Without stacks nothing but the samples tells hundreds of ways that did not
 * run from those that did: what has none of many samples, and in a scope that
 * is large for all that what has hardly any, is left out.  *n_free_out: the
 * free flows that are left out with it; p->left_out_insn is what its samples
 * stand for.  Returns 0, -SP_EDOMAIN when no edge can carry flow, -SP_ENOMEM.
 */
int cold_cut(struct problem *p, bool stacks, bool *usable, double *f, uint32_t *n_free_out);

/* Blocks that were left out with samples in them keep these in every draw, as doubt.  0 or -SP_ENOMEM. */
int cold_keep_raw(const struct problem *p, const bool *usable, struct solution *sol);

#endif
