/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/branch.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"

/* Branches of history that each tagged table sees. */
static const uint64_t history_mask[SIM_N_TAGGED] = { 0x3f, 0x3ffff, 0xfffffffffffffff };

int sim_predictor_init(struct sim_predictor *p, const struct sim_config *config)
{
	size_t n = (size_t)1 << config->predictor_bits, btb = 16;
	bool ok;

	while (btb * 2 <= config->btb_entries)
		btb *= 2;
	memset(p, 0, sizeof(*p));
	p->bits = config->predictor_bits;
	p->btb_mask = (uint32_t)btb - 1;
	p->stack_size = config->return_stack;
	p->base = calloc(n, sizeof(*p->base));
	p->btb = calloc(btb, sizeof(*p->btb));
	p->indirect = calloc((size_t)1 << SIM_INDIRECT_BITS, sizeof(*p->indirect));
	p->stack = calloc(p->stack_size, sizeof(*p->stack));
	ok = p->base && p->btb && p->indirect && p->stack;
	for (int k = 0; k < SIM_N_TAGGED; k++)
		ok = (p->tagged[k] = calloc(n, sizeof(*p->tagged[k]))) && ok;
	if (ok)
		return 0;
	sim_predictor_fini(p);
	return sp_fail(SP_ENOMEM, "out of memory for a simulated branch predictor");
}

void sim_predictor_fini(struct sim_predictor *p)
{
	free(p->base);
	free(p->btb);
	free(p->indirect);
	free(p->stack);
	for (int k = 0; k < SIM_N_TAGGED; k++)
		free(p->tagged[k]);
	memset(p, 0, sizeof(*p));
}

/* The upper bits depend on all of both. */
static uint64_t mix(uint64_t ip, uint64_t history)
{
	return (ip ^ history * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
}

static int8_t step(int8_t counter, bool up, int lo, int hi)
{
	if (up)
		return counter < hi ? (int8_t)(counter + 1) : counter;
	return counter > lo ? (int8_t)(counter - 1) : counter;
}

/* A wrong prediction asks for an entry with longer history. */
static void allocate(struct sim_predictor *p, struct sim_tagged *const e[], const uint16_t tag[], int from,
                     bool taken)
{
	for (int k = from; k < SIM_N_TAGGED; k++) {
		if (e[k]->useful) {
			/* Not for ever: a busy table must be able to forget. */
			if (++p->allocations % 4 == 0)
				e[k]->useful--;
			continue;
		}
		*e[k] = (struct sim_tagged){ tag[k], taken ? 0 : -1, 0 };
		return;
	}
}

bool sim_predict_direction(struct sim_predictor *p, uint64_t ip, bool taken)
{
	struct sim_tagged *e[SIM_N_TAGGED];
	uint16_t tag[SIM_N_TAGGED];
	int8_t *base = &p->base[(ip >> 1 ^ ip >> (p->bits + 1)) & ((1u << p->bits) - 1)];
	bool guess = *base >= 0, other = guess;
	int from = -1;

	for (int k = 0; k < SIM_N_TAGGED; k++) {
		uint64_t h = mix(ip, p->history & history_mask[k]);

		e[k] = &p->tagged[k][h >> (64 - p->bits)];
		tag[k] = (uint16_t)(h >> 24) | 1;
		if (e[k]->tag == tag[k]) {
			other = guess;
			guess = e[k]->counter >= 0;
			from = k;
		}
	}
	if (from < 0) {
		*base = step(*base, taken, -2, 1);
	} else {
		e[from]->counter = step(e[from]->counter, taken, -4, 3);
		if (guess != other)
			e[from]->useful = (uint8_t)step((int8_t)e[from]->useful, guess == taken, 0, 3);
	}
	if (guess != taken)
		allocate(p, e, tag, from + 1, taken);
	p->history = p->history << 1 | taken;
	return guess != taken;
}

bool sim_predict_indirect(struct sim_predictor *p, uint64_t ip, uint64_t target)
{
	uint64_t h = mix(ip, p->history & 0xffff);
	uint64_t *e = &p->indirect[h >> (64 - SIM_INDIRECT_BITS)];
	bool wrong = *e != target;

	*e = target;
	p->history = p->history << 2 | ((target >> 2 ^ target >> 5) & 3);
	return wrong;
}
