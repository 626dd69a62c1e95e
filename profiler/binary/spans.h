/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_SPANS_H
#define SKIDPROF_BINARY_SPANS_H

/*
 * Address ranges that lie inside one another, cut into disjoint stretches
 * that each belong to the innermost, so that a look-up is one binary search.
 */
#include "profiler/base/vec.h"

#include <stdint.h>

/* One range, its owner and how deep it lies: of two that start together the deeper one is the inner. */
struct interval {
	uint64_t vaddr, end;
	uint32_t owner, depth;
};

struct span {
	uint64_t vaddr, end;
	uint32_t owner;
};

struct interval_list {
	struct interval *v;
	size_t n, cap;
};

struct span_list {
	struct span *v;
	size_t n, cap;
};

/* Sorts intervals; appends to spans, in address order.   n log n. */
void spans_cut(struct interval_list *intervals, struct span_list *spans);
/* The stretch that holds vaddr, NULL if none.  log n. */
const struct span *spans_at(const struct span_list *spans, uint64_t vaddr);

#endif
