/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/spans.h"
#include "profiler/base/order.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr > y->vaddr ? 1 : -1;
	if (x->depth != y->depth)
		return x->depth > y->depth ? 1 : -1;
	if (x->end != y->end)
		return x->end < y->end ? 1 : -1;
	return (x->owner > y->owner) - (x->owner < y->owner);
}

/* Neighbours with one owner become one stretch. */
static void add(struct span_list *spans, uint64_t vaddr, uint64_t end, uint32_t owner)
{
	struct span *last = spans->n ? &spans->v[spans->n - 1] : NULL;

	if (vaddr >= end)
		return;
	if (last && last->end == vaddr && last->owner == owner) {
		last->end = end;
		return;
	}
	vec_add(spans, (struct span){ vaddr, end, owner });
}

/* Give [*at, until) to the ranges that are open, innermost first; those that end on the way are closed. */
static void close_until(struct interval_list *open, uint64_t *at, uint64_t until, struct span_list *spans)
{
	while (open->n) {
		const struct interval *top = &open->v[open->n - 1];
		uint64_t end = top->end < until ? top->end : until;

		add(spans, *at, end, top->owner);
		if (end > *at)
			*at = end;
		if (top->end > until)
			break;
		open->n--;
	}
	*at = until;
}

void spans_cut(struct interval_list *intervals, struct span_list *spans)
{
	struct interval_list open = { 0 };
	uint64_t at = 0;

	if (intervals->n)
		qsort(intervals->v, intervals->n, sizeof(*intervals->v), compare);
	for (size_t i = 0; i < intervals->n; i++) {
		close_until(&open, &at, intervals->v[i].vaddr, spans);
		vec_add(&open, intervals->v[i]);
	}
	close_until(&open, &at, UINT64_MAX, spans);
	vec_fini(&open);
}

const struct span *spans_at(const struct span_list *spans, uint64_t vaddr)
{
	size_t low = sorted_count(spans->n, k, spans->v[k].vaddr <= vaddr);

	return low && vaddr < spans->v[low - 1].end ? &spans->v[low - 1] : NULL;
}
