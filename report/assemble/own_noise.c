/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/own_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"

/* Draws of regions are not paired: those of each begin elsewhere. */
enum { APART = 31 };

double own_noise_draw(const struct own_noise *n, int32_t region, uint32_t block, size_t d)
{
	const struct profile_region *r;

	if (region < 0 || (size_t)region >= n->p->n_regions)
		return NAN;
	r = &n->p->regions[region];
	if (!r->draws || !r->n_draws || block >= r->n_blocks)
		return NAN;
	return (double)r->draws[(d + APART * (size_t)region) % r->n_draws * r->n_blocks + block];
}

static void add_insn(const struct own_noise *n, const struct profile_insn *insn, float *to)
{
	for (size_t d = 0; d < NOISE_DRAWS; d++) {
		double draw = own_noise_draw(n, insn->region, insn->block, d);

		if (isnan(draw))
			return;
		to[d] += (float)draw;
	}
}

/* Less their mean, and as wide as the function's interval says, which knows doubts besides. */
static void fit(float *v, double sd, double *alone, double *wider)
{
	double mean = 0, var = 0;

	for (size_t d = 0; d < NOISE_DRAWS; d++)
		mean += (double)v[d] / NOISE_DRAWS;
	for (size_t d = 0; d < NOISE_DRAWS; d++)
		var += ((double)v[d] - mean) * ((double)v[d] - mean) / NOISE_DRAWS;
	*alone = var > 0 ? 0 : sd;
	*wider = var > 0 ? sd / sqrt(var) : 0;
	for (size_t d = 0; d < NOISE_DRAWS; d++)
		v[d] = (float)(((double)v[d] - mean) * *wider);
}

void own_noise_new(const struct profile *p, struct own_noise *out)
{
	*out = (struct own_noise){ .p = p,
		                   .v = mem_calloc(p->n_funcs + 1, NOISE_DRAWS * sizeof(*out->v)),
		                   .alone = mem_calloc(p->n_funcs + 1, sizeof(*out->alone)),
		                   .wider = mem_calloc(p->n_funcs + 1, sizeof(*out->wider)) };
	for (size_t i = 0; i < p->n_insns; i++)
		add_insn(out, &p->insns[i], out->v + (size_t)p->insns[i].phys_func * NOISE_DRAWS);
	for (size_t g = 0; g < p->n_funcs; g++) {
		const struct profile_count *c = &p->funcs[g].rolled;

		fit(out->v + g * NOISE_DRAWS, c->hi > c->lo ? (c->hi - c->lo) / (2 * z_of_90) : 0,
		    &out->alone[g], &out->wider[g]);
	}
}

void own_noise_free(struct own_noise *n)
{
	free(n->v);
	free(n->alone);
	free(n->wider);
	*n = (struct own_noise){ 0 };
}

double own_noise_half(const struct own_noise *n, const double *shares)
{
	double sum[NOISE_DRAWS] = { 0 }, var = 0;

	for (size_t g = 0; g < n->p->n_funcs; g++) {
		const float *v = n->v + g * NOISE_DRAWS;

		if (!(shares[g] > 0) || !(n->p->funcs[g].rolled.hi > n->p->funcs[g].rolled.lo))
			continue;
		for (size_t d = 0; d < NOISE_DRAWS; d++)
			sum[d] += shares[g] * (double)v[d];
		var += shares[g] * shares[g] * n->alone[g] * n->alone[g];
	}
	for (size_t d = 0; d < NOISE_DRAWS; d++)
		var += sum[d] * sum[d] / NOISE_DRAWS;
	return z_of_90 * sqrt(var);
}
