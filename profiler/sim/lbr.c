/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/lbr.h"

#include <string.h>

#include "profiler/sim/pmu.h"

void sim_lbr_init(struct sim_lbr *l, uint32_t depth, uint32_t filter, uint64_t seed)
{
	memset(l, 0, sizeof(*l));
	l->depth = depth;
	l->filter = filter;
	l->rng = seed;
}

_Static_assert((int)WIRE_ONLY_COND == 1 << (SIM_X_COND - 1), "a filter's bits follow the exits");
_Static_assert((int)WIRE_ONLY_JUMP == 1 << (SIM_X_JUMP - 1), "a filter's bits follow the exits");
_Static_assert((int)WIRE_ONLY_INDIRECT_JUMP == 1 << (SIM_X_JUMP_IND - 1), "a filter's bits follow the exits");
_Static_assert((int)WIRE_ONLY_CALL == 1 << (SIM_X_CALL - 1), "a filter's bits follow the exits");
_Static_assert((int)WIRE_ONLY_INDIRECT_CALL == 1 << (SIM_X_CALL_IND - 1), "a filter's bits follow the exits");
_Static_assert((int)WIRE_ONLY_RETURN == 1 << (SIM_X_RET - 1), "a filter's bits follow the exits");

static bool passes(const struct sim_lbr *l, enum sim_exit exit)
{
	uint32_t filter = l->filter;

	if (filter & WIRE_CALL_STACK)
		filter = WIRE_ONLY_CALL | WIRE_ONLY_INDIRECT_CALL;
	return !filter || filter & 1u << (exit - 1);
}

void sim_lbr_add(struct sim_lbr *l, enum sim_exit exit, uint64_t from_ip, uint64_t to_ip, uint64_t cycle,
                 bool mispredicted)
{
	if (!l->depth || l->stopped)
		return;
	if (l->filter & WIRE_CALL_STACK && exit == SIM_X_RET && l->n_valid) {
		l->n--;
		l->n_valid--;
	}
	if (!passes(l, exit))
		return;
	l->ring[l->n++ % WIRE_MAX_BRANCHES] = (struct sim_lbr_branch){ from_ip, to_ip, cycle, mispredicted };
	l->n_valid += l->n_valid < WIRE_MAX_BRANCHES;
}

void sim_lbr_overflow(struct sim_lbr *l, const struct sim_config *config)
{
	l->stopped = config->branch_freeze_overflow;
}

/* What came in between is missing: Linux forgets all from before it. */
void sim_lbr_go_on(struct sim_lbr *l)
{
	if (l->stopped)
		l->n_valid = 0;
	l->stopped = false;
}

/* The newest that was there before the record stood still: how many are younger. */
static uint32_t too_young(const struct sim_lbr *l, uint64_t before_cyc)
{
	uint32_t k = 0;

	while (k < l->n_valid && l->ring[(l->n - 1 - k) % WIRE_MAX_BRANCHES].cycle > before_cyc)
		k++;
	return k;
}

/* The k-th newest; `before` is the one before it in the stack. */
static struct wire_branch entry(const struct sim_lbr *l, const struct sim_config *config, uint32_t k,
                                uint32_t before_k)
{
	const struct sim_lbr_branch *b = &l->ring[(l->n - 1 - k) % WIRE_MAX_BRANCHES];
	const struct sim_lbr_branch *before = &l->ring[(l->n - 1 - before_k) % WIRE_MAX_BRANCHES];
	bool known = config->branch_cycles && !(l->filter & WIRE_CALL_STACK) && before_k < l->n_valid;

	return (struct wire_branch){ b->from_ip, b->to_ip, b->mispredicted,
		                     known ? (uint32_t)(b->cycle - before->cycle) : 0 };
}

uint32_t sim_lbr_read(struct sim_lbr *l, const struct sim_config *config, uint64_t now_cyc,
                      struct wire_branch *out)
{
	uint32_t n = 0, k, missing = UINT32_MAX;

	k = config->branch_freeze_cyc ? too_young(l, now_cyc - config->branch_freeze_cyc) : 0;
	/* Drawn for every stack, whatever is in it. */
	if (l->depth && config->branch_gap_percent &&
	    sim_pmu_random(&l->rng) % 100 < config->branch_gap_percent)
		missing = k + 1;
	for (; k < l->n_valid && n < l->depth; k++)
		if (k != missing)
			out[n++] = entry(l, config, k, k + 1 + (k + 1 == missing));
	return n;
}
