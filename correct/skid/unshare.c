/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "correct/skid/dist.h"

static int shorter_first(const void *a, const void *b)
{
	const struct skid_seen *x = a, *y = b;

	if (x->s_cyc != y->s_cyc)
		return x->s_cyc < y->s_cyc ? -1 : 1;
	/* Of equals those that were over: the others lasted longer. */
	return (int)x->shared - (int)y->shared;
}

void skid_unshare(struct skid_seen *seen, size_t n, double *out)
{
	double left = 1;
	size_t k = 0;

	if (n)
		qsort(seen, n, sizeof(*seen), shorter_first);
	for (size_t i = 0; i < n; i++) {
		left *= 1 - (seen[i].shared ? 0.5 : 1) / (double)(n - i);
		/* A little more, so that rounding moves none. */
		while (k < n && ((double)k + 0.5) / (double)n <= 1 - left + 1e-9)
			out[k++] = seen[i].s_cyc;
	}
	while (k < n)
		out[k++] = seen[n - 1].s_cyc;
}
