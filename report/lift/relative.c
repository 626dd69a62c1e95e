/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Executions known by bursts: within a region they are known of each other.
 * Between two regions nothing tells how their instructions compare.
 */
#include <stdlib.h>

#include "profiler/base/err.h"
#include "report/lift/lift.h"

/* The region where [begin, end) of the profile's instructions spend most of their time; -1 = in none. */
static int32_t main_region(const struct profile *p, size_t begin, size_t end, double *cyc)
{
	int32_t best = -1;

	for (size_t i = begin; i < end; i++)
		if (p->insns[i].region >= 0)
			cyc[p->insns[i].region] = 0;
	for (size_t i = begin; i < end; i++) {
		int32_t r = p->insns[i].region;

		if (r < 0)
			continue;
		cyc[r] += p->insns[i].count.cyc;
		if (best < 0 || cyc[r] > cyc[best])
			best = r;
	}
	return best;
}

int lift_keep_regions(const struct lift *l, struct lift_counts *c)
{
	const struct profile *p = l->profile;
	double *cyc = calloc(p->n_regions + 1, sizeof(*cyc));

	if (!cyc)
		return sp_fail(SP_ENOMEM, "out of memory for %zu regions", p->n_regions);
	/* c has the profile's instructions, in its order. */
	for (size_t i = 0, j; i < c->n; i = j) {
		int32_t region;

		for (j = i + 1; j < c->n && p->insns[j].phys_func == p->insns[i].phys_func; j++)
			;
		region = main_region(p, i, j, cyc);
		for (size_t k = i; k < j; k++)
			if (region < 0 || p->insns[k].region != region)
				c->v[k].n = 0;
	}
	free(cyc);
	return 0;
}
