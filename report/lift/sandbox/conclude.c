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

static uint64_t address_of(const struct block_access *x, const struct step *s)
{
	uint64_t addr = (uint64_t)(int64_t)x->disp;

	if (x->base != BLOCK_NO_REG)
		addr += s->gpr[x->base];
	if (x->index != BLOCK_NO_REG)
		addr += s->gpr[x->index] * x->scale;
	return addr;
}

static uint32_t splits_of(const struct block_request *b, const struct step *s, uint64_t off)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < b->n_accesses; i++) {
		const struct block_access *x = &b->accesses[i];

		n += x->insn_off == off && address_of(x, s) % LINE + x->bytes > LINE;
	}
	return n;
}

/* How far in its copy of the block an address is; -1 in what is between. */
static int64_t place_in_copy(const struct attempt *a, uint64_t rip)
{
	const struct block_request *b = a->block;
	uint64_t turn = (uint64_t)b->n_turns * b->n_bytes, off = rip - a->first_copy;

	if (rip < a->first_copy)
		return -1;
	if (b->n_turns)
		off %= turn + a->anew_bytes;
	return b->n_turns && off >= turn ? -1 : (int64_t)(off % b->n_bytes);
}

void conclude_splits(const struct control *c, const struct attempt *a, struct block_reply *out)
{
	uint32_t n = c->n_steps < MAX_STEPS ? c->n_steps : MAX_STEPS;

	out->n_splits = out->n_stepped = 0;
	for (uint32_t i = 0; i < n; i++) {
		int64_t off = place_in_copy(a, c->steps[i].rip);

		if (off < 0)
			continue;
		out->n_stepped += off == 0;
		out->n_splits += splits_of(a->block, &c->steps[i], (uint64_t)off);
	}
}
