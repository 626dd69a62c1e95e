/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_GROUPS_H
#define SKIDPROF_BASE_GROUPS_H

/* Numbers from 0 in groups, by a key of each. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "profiler/base/mem.h"

/* of[first[k] .. first[k + 1]) are those of key k, ascending. */
struct groups {
	uint32_t *first, *of;
};

/*
 * Those below n, by their keys below n_keys; what has a larger one is in no group.
 *
 *	groups_make(&g, n_calls, n_funcs, i, calls[i].callee);
 */
#define groups_make(g, n, n_keys, i, key)                                                   \
	do {                                                                                \
		const size_t groups_n = (n), groups_keys = (n_keys);                        \
		uint32_t *groups_first = mem_calloc(groups_keys + 2, 4),                    \
		         *groups_of = mem_malloc((groups_n + 1) * 4);                       \
                                                                                            \
		for (size_t i = 0; i < groups_n; i++)                                       \
			if ((size_t)(key) < groups_keys)                                    \
				groups_first[(size_t)(key) + 2]++;                          \
		for (size_t groups_k = 2; groups_k < groups_keys + 2; groups_k++)           \
			groups_first[groups_k] += groups_first[groups_k - 1];               \
		for (size_t i = 0; i < groups_n; i++)                                       \
			if ((size_t)(key) < groups_keys)                                    \
				groups_of[groups_first[(size_t)(key) + 1]++] = (uint32_t)i; \
		*(g) = (struct groups){ groups_first, groups_of };                          \
	} while (0)

static inline void groups_fini(struct groups *g)
{
	free(g->first);
	free(g->of);
	*g = (struct groups){ 0 };
}

#endif
