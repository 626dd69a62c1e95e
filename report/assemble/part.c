/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where instructions were not counted: a function's part in its region. */
#include <math.h>
#include <stdlib.h>

#include "profiler/base/mem.h"
#include "report/assemble/assemble_impl.h"
#include "report/assemble/own_noise.h"

/* The region where these instructions spend most of their time, -1 = none; *cyc is that time. */
static int32_t main_region(const struct profile *p, const uint32_t *insns, size_t n, double *per_region,
                           double *cyc)
{
	int32_t best = -1;

	for (size_t k = 0; k < n; k++) {
		const struct profile_insn *insn = &p->insns[insns[k]];

		if (insn->region < 0 || insn->block == UINT32_MAX)
			continue;
		per_region[insn->region] += insn->count.cyc;
		if (best < 0 || per_region[insn->region] > per_region[best])
			best = insn->region;
	}
	*cyc = best < 0 ? 0 : per_region[best];
	return best;
}

static double samples_of(const struct work *w, double cyc)
{
	const struct event_sum *sum = &w->sums.events[w->rec->cyc_event];

	return sum->n_samples ? cyc * (double)sum->n_samples / sum->period_sum : 0;
}

/*
 * Cycles per instruction, over the region's: a share of the time over one of the instructions.  So many of the region's samples fell
 * that way, and the share of the instructions is as wrong as its interval says.
 */
static void set_cpi(double samples, double share, struct profile_part *out)
{
	double half;

	if (!(samples > profile_fewest_samples) || !(out->share > 0) || !isfinite(out->lo))
		return;
	half = z_of_90 * sqrt(fmax(1 - share, 0) / samples);
	out->cpi = share / out->share;
	out->cpi_lo = out->cpi * fmax(1 - hypot(half, 1 - out->share / fmax(out->hi, out->share)), 0);
	out->cpi_hi =
	        out->lo > 0 ? out->cpi * (1 + hypot(half, fmax(out->share / out->lo - 1, 0))) : INFINITY;
}

void assemble_part(const struct assembly *a, const uint32_t *insns, size_t n, struct profile_part *out)
{
	const struct profile *p = a->p;
	const struct profile_region *r;
	double *per_region = NULL, cyc;
	uint32_t *inside = NULL;
	size_t n_inside = 0;
	int32_t region;

	*out = PROFILE_NO_PART;
	if ((!p->meta.relative && !(p->meta.pace > 0)) || !n)
		return;
	per_region = mem_calloc(p->n_regions + 1, sizeof(*per_region));
	inside = mem_calloc(n, sizeof(*inside));
	region = main_region(p, insns, n, per_region, &cyc);
	r = region < 0 ? NULL : &p->regions[region];
	if (!r || !(r->insn > 0))
		goto out;
	for (size_t k = 0; k < n; k++)
		if (p->insns[insns[k]].region == region)
			inside[n_inside++] = insns[k];
	profile_interval(p, inside, n_inside, &out->share, &out->lo, &out->hi);
	out->region = region;
	out->share /= r->insn;
	out->lo /= r->insn;
	/* The draws' totals differ, a part is no more than all. */
	out->hi = fmin(out->hi / r->insn, fmax(out->share, 1));
	if (p->meta.cyc_is_time)
		set_cpi(samples_of(a->w, cyc), cyc / r->cyc, out);
out:
	free(per_region);
	free(inside);
}
