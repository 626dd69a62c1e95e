/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_FULL_H
#define SKIDPROF_CORRECT_INFER_FULL_H

/* The posterior of all terms (eq. 17), and draws from it, in the space of free flows t: f = Z t >= 0. */
#include "correct/infer/equations.h"
#include "correct/infer/space.h"

/*
 * interior  [E] a circulation with all usable edges positive (interior_find). eqs   all terms of the scope's flow, |E| (eq. 3)
 * first, those of stacks last. out   draws of block executions; edge flows; diagnostics; verdict.
 *
 * Returns 0, -SP_EDOMAIN.  Same seed, same build: same bits.
 */
int method_full(const struct problem *p, const struct space *space, const double *interior,
                const struct equations *eqs, unsigned long seed, struct solution *out);

#endif
