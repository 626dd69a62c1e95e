/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/stack.h"

#include <string.h>

static bool is_same(const struct pd_branch *a, const struct pd_branch *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].from_ip != b[i].from_ip || a[i].to_ip != b[i].to_ip || a[i].cycles != b[i].cycles)
			return false;
	return true;
}

/* Records of a loop, which are the same an iteration later. */
static bool repeats(const struct pd_branch *b, size_t n)
{
	size_t lag = 1;

	while (lag < n && !is_same(b, b + lag, n - lag))
		lag++;
	return lag < n;
}

static bool tells_cycles(const struct pd_branch *b, size_t n)
{
	while (n && !b[n - 1].cycles)
		n--;
	return n > 0;
}

bool pd_stack_is_still(struct pd_stack *last, const struct pd_sample *s)
{
	const struct pd_stack was = *last;
	const struct pd_branch *b = last->v;
	const size_t n = s->n_branches < PD_STACK ? s->n_branches : PD_STACK;

	if (n)
		memcpy(last->v, s->branches, n * sizeof(*last->v));
	last->n = n;
	if (n < 4 || n != was.n || b[0].from_ip != was.v[0].from_ip || !tells_cycles(b, n) || repeats(b, n))
		return false;
	/* The record behind the newest may be missing, with its cycles in the newest's: all others are one place further on. */
	return is_same(b + 1, was.v + 1, n - 2) || is_same(b + 1, was.v + 2, n - 2) ||
	       is_same(b + 2, was.v + 1, n - 2);
}
