/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/sum_up.h"

#include <stdlib.h>
#include <string.h>

size_t sum_up(void *v, size_t n, size_t size, int (*compare)(const void *, const void *),
              void (*add)(void *to, const void *from))
{
	char *first = v, *last = NULL;

	if (n)
		qsort(v, n, size, compare);
	for (size_t i = 0; i < n; i++) {
		char *x = first + i * size;

		if (last && compare(last, x) == 0) {
			add(last, x);
			continue;
		}
		last = last ? last + size : first;
		memmove(last, x, size);
	}
	return last ? (size_t)(last - first) / size + 1 : 0;
}
