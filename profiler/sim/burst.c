/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/burst.h"

#include <math.h>

#include "profiler/sim/pmu.h"

/* Moments that come without regard to each other, and to any rhythm of the program's. */
static void draw_next(struct sim_burst *b, uint64_t now_cyc)
{
	double u = (double)(sim_pmu_random(&b->rng) >> 11) * 0x1p-53;

	b->at_cyc = b->mean_cyc ? now_cyc + 1 + (uint64_t)(-log1p(-u) * (double)b->mean_cyc) : UINT64_MAX;
}

void sim_burst_init(struct sim_burst *b, uint64_t mean_cyc, uint32_t n_wanted, uint64_t seed,
                    uint64_t now_cyc)
{
	*b = (struct sim_burst){ .mean_cyc = mean_cyc, .n_wanted = n_wanted, .rng = seed };
	draw_next(b, now_cyc);
}

void sim_burst_begin(struct sim_burst *b, uint64_t ip, const struct sim_chain *chain)
{
	b->n_chain = chain ? sim_chain_read(chain, b->chain, WIRE_MAX_CHAIN) : 0;
	b->open = true;
	b->at_cyc = UINT64_MAX;
	b->ip = ip;
	b->n = b->n_calls = 0;
}

bool sim_burst_branch(struct sim_burst *b, uint64_t from_ip, uint64_t to_ip)
{
	b->branch[b->n_wanted - ++b->n] = (struct wire_branch){ .from_ip = from_ip, .to_ip = to_ip };
	return b->n == b->n_wanted;
}

const struct wire_branch *sim_burst_end(struct sim_burst *b, uint64_t now_cyc)
{
	b->open = false;
	draw_next(b, now_cyc);
	return &b->branch[b->n_wanted - b->n];
}
