/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_PAIRS_H
#define SKIDPROF_BASE_PAIRS_H

/*
 * A hash map that numbers pairs of integers 0, 1, 2 ... in the order they
 * are first seen: an index for an array kept beside it.  All zero is empty.
 */
#include <stddef.h>
#include <stdint.h>

#include "profiler/base/vec.h"

struct pairs {
	struct pair *keys; /* [n] by number */
	struct pair_slot *slots;
	size_t n, cap; /* pairs, fewer than 2^32; slots, a power of two */
};

/* The number of (a, b), given out now if it is new.  -SP_ENOMEM. */
long pairs_number(struct pairs *m, uint64_t a, uint64_t b);

/* The same; the program ends where there is no memory (mem.h). */
size_t pairs_must(struct pairs *m, uint64_t a, uint64_t b);

/* The element of the VEC beside the pairs that (a, b) numbers; a new one is all zero. */
#define pairs_in(m, vec, a, b)                                               \
	({                                                                   \
		const size_t at_ = pairs_must((m), (a), (b));                \
                                                                             \
		vec_room((vec), at_ + 1);                                    \
		if (at_ == (vec)->n)                                         \
			memset(&(vec)->v[(vec)->n++], 0, sizeof(*(vec)->v)); \
		&(vec)->v[at_];                                              \
	})

/* The number of (a, b), -1 if it has none. */
long pairs_find(const struct pairs *m, uint64_t a, uint64_t b);

void pairs_fini(struct pairs *m);

#endif
