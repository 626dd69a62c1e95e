/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_PAIRS_H
#define SKIDPROF_BASE_PAIRS_H

/*
 * A hash map that numbers pairs of integers 0, 1, 2 ... in the order they
 * are first seen: an index for an array kept beside it.  All zero is empty.
 */
#include <stddef.h>
#include <stdint.h>

struct pairs {
	struct pair *keys; /* [n] by number */
	struct pair_slot *slots;
	size_t n, cap; /* pairs, fewer than 2^32; slots, a power of two */
};

/* The number of (a, b), given out now if it is new.  -SP_ENOMEM. */
long pairs_number(struct pairs *m, uint64_t a, uint64_t b);

/* The same; the program ends where there is no memory (mem.h). */
size_t pairs_must(struct pairs *m, uint64_t a, uint64_t b);

/* The number of (a, b), -1 if it has none. */
long pairs_find(const struct pairs *m, uint64_t a, uint64_t b);

void pairs_fini(struct pairs *m);

#endif
