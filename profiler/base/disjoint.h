/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_DISJOINT_H
#define SKIDPROF_BASE_DISJOINT_H

/* Disjoint sets in an array: set[i] leads to i's representative, which leads to itself.  Begin with set[i] = i. */
#include <stdint.h>

/* The representative of i's set; halves the way there. */
static inline uint32_t disjoint_root(uint32_t *set, uint32_t i)
{
	while (set[i] != i)
		i = set[i] = set[set[i]];
	return i;
}

/* The sets of a and b become one, whose representative is b's. */
static inline void disjoint_unite(uint32_t *set, uint32_t a, uint32_t b)
{
	set[disjoint_root(set, a)] = disjoint_root(set, b);
}

#endif
