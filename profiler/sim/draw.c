/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "profiler/sim/pmu.h"

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good one. */
uint64_t sim_pmu_random(uint64_t *rng)
{
	uint64_t z = (*rng += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t sim_pmu_seed(uint64_t seed, uint64_t n)
{
	seed += n * 0xd1342543de82ef95u;
	return sim_pmu_random(&seed);
}

/* How much longer a delay is than at the period of the skid lines. */
static uint64_t growth_cyc(const struct sim_config *c, uint64_t period)
{
	if (!c->skid_period || period <= c->skid_period)
		return 0;
	return (uint64_t)(log2((double)period / c->skid_period) * c->skid_doubling_cyc);
}

/* The bias of the modulo is below 2^-30: weights and bins are small. */
uint64_t sim_pmu_skid(const struct sim_config *c, uint64_t period, uint64_t *rng)
{
	uint64_t at = sim_pmu_random(rng) % c->skid[c->n_skid_bins - 1].weight_up_to, s;
	uint32_t lo = 0, hi = c->n_skid_bins - 1;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (at < c->skid[mid].weight_up_to)
			hi = mid;
		else
			lo = mid + 1;
	}
	s = c->skid[lo].lo_cyc + sim_pmu_random(rng) % (c->skid[lo].hi_cyc - c->skid[lo].lo_cyc);
	return s < c->skid_sharp_cyc ? s : s + growth_cyc(c, period);
}
