/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what a child left behind to a reply.  It ran alien code: none of it is believed to be in range. */
#include <stdlib.h>

#include "report/lift/sandbox/layout.h"

/* Quartiles this far apart are unsteady: BHive's rule, which counts equal times, for a clock instead of a counter. */
static const double steady_spread = 0.05, steady_cyc = 0.15;

enum { LINE = 64 };

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double difference(uint64_t more, uint64_t less)
{
	return (double)(int64_t)(more - less);
}

/* Ticks a core cycle: the chain's additions take one each. */
static double ticks_per_cyc(const struct control *c)
{
	double rate[N_ROUNDS];

	for (int i = 0; i < N_ROUNDS; i++)
		rate[i] = difference(c->rounds[i].chain_two, c->rounds[i].chain_one) /
		          (CHAIN_TURNS * CHAIN_ADDS);
	qsort(rate, N_ROUNDS, sizeof(rate[0]), ascending);
	return rate[N_ROUNDS / 2];
}

void conclude_times(const struct control *c, uint32_t n_copies, struct block_reply *out)
{
	double cyc[N_ROUNDS], per_cyc = ticks_per_cyc(c), apart;

	for (int i = 0; i < N_ROUNDS; i++)
		cyc[i] = difference(c->rounds[i].two, c->rounds[i].one) /
		         ((double)c->turns * n_copies * per_cyc);
	qsort(cyc, N_ROUNDS, sizeof(cyc[0]), ascending);
	apart = cyc[N_ROUNDS * 3 / 4] - cyc[N_ROUNDS / 4];
	out->cyc = cyc[N_ROUNDS / 2];
	out->spread = apart / out->cyc;
	out->verdict = BLOCK_UNSTEADY;
	/* Less than nothing by no more than the clock's noise is nothing. */
	if (per_cyc > 0 && c->turns > 0 && out->cyc > -steady_cyc &&
	    (apart < steady_cyc || apart < steady_spread * out->cyc))
		out->verdict = BLOCK_TIMED;
	if (!(out->cyc > 0))
		out->cyc = out->spread = 0;
}

void conclude_splits(const struct control *c, const struct attempt *a, struct block_reply *out)
{
	const struct block_request *b = a->block;

	out->n_watched = a->n_watched;
	out->n_splits = 0;
	for (uint32_t i = 0; i < a->n_watched * b->n_accesses; i++)
		out->n_splits += c->seen[i] % LINE + b->accesses[i % b->n_accesses].bytes > LINE;
}
