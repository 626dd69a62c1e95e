/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_ORDER_H
#define SKIDPROF_BASE_ORDER_H

/* Orders for qsort(3) and bsearch(3). */
#include <stdint.h>

/* Numbers, ascending. */
static inline int order_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

#endif
