/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_PHASES_H
#define SKIDPROF_CORRECT_PHASES_H

/*
 * Phases: stretches of a run whose samples fall into other code than those of
 * the next.  Stretches that are alike are one phase, however far apart.
 */
#include <stddef.h>
#include <stdint.h>

enum { MAX_PHASES = 8 };

/*
 * Which phase each of n samples is in, by what code it fell into: label[n] in
 * order of time, below n_labels.  phase[n] gets numbers 0, 1, ... in the order
 * phases are first seen.  Phases of less than min_samples are none of their own.
 *
 * Returns how many there are, at most MAX_PHASES; -SP_ENOMEM.
 */
long phases_find(const uint32_t *label, size_t n, size_t n_labels, size_t min_samples, uint8_t *phase);

#endif
