/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_PHASES_H
#define SKIDPROF_CORRECT_DIVIDE_PHASES_H

/*
 * Phases: stretches of a run whose samples fall into other code than those of
 * the next.  Stretches that are alike are one phase, however far apart.
 */
#include <stddef.h>
#include <stdint.h>

enum { MAX_PHASES = 64 };

struct phases_opts {
	size_t most;        /* phases at most that share code, 1 to MAX_PHASES */
	size_t min_samples; /* of fewer, it is none of its own ... */
	size_t min_apart;   /* ... but where it shares no code with any other: of fewer than that */
};

/*
 * Which phase each of n samples is in, by what code it fell into: label[n], below n_labels, in order of time, one thread after
 * another.  phase[n] gets numbers 0, 1, ... in the order phases are first seen.
 *
 * Returns how many there are.
 */
long phases_find(const uint32_t *label, size_t n, size_t n_labels, const struct phases_opts *opts,
                 uint8_t *phase);

#endif
