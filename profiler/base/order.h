/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_ORDER_H
#define SKIDPROF_BASE_ORDER_H

/* Orders for qsort(3) and bsearch(3), and a search for what lies between elements. */
#include <stddef.h>
#include <stdint.h>

/* Numbers, or elements that begin with one, ascending. */
static inline int order_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static inline int order_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* By the first numbers, and where these are the same by the second. */
static inline int order_pairs(uint64_t a, uint64_t then_a, uint64_t b, uint64_t then_b)
{
	if (a != b)
		return a < b ? -1 : 1;
	return then_a < then_b ? -1 : then_a > then_b;
}

/*
 * Of n sorted elements, the first of which a condition holds for: how many these are, and so where the others begin.
 *
 *	size_t i = sorted_count(n, k, v[k].vaddr <= vaddr);
 */
#define sorted_count(n, k, condition)                           \
	({                                                      \
		size_t sorted_lo = 0, sorted_hi = (n);          \
                                                                \
		while (sorted_lo < sorted_hi) {                 \
			size_t k = (sorted_lo + sorted_hi) / 2; \
                                                                \
			if (condition)                          \
				sorted_lo = k + 1;              \
			else                                    \
				sorted_hi = k;                  \
		}                                               \
		sorted_lo;                                      \
	})

#endif
