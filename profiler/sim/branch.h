/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_BRANCH_H
#define SKIDPROF_SIM_BRANCH_H

/*
 * Branch prediction.  Direction: TAGE (Seznec and Michaud 2006, with the
 * allocation of Seznec 2011): a table of two-bit counters and tagged tables
 * looked up with ever more history, of which the one with the most that knows
 * the branch decides.  Targets: a branch target buffer, for indirect ones
 * tagged tables of the same kind (ITTAGE, Seznec 2011), a return stack.
 *
 * History is the path: where from and where to the last taken branches went,
 * of whatever kind.  One that was not taken shows by what was taken next.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/config.h"

enum {
	SIM_PATH = 1024, /* taken branches that are remembered; power of two > SIM_MAX_HISTORY */
	SIM_TARGET_TABLES = 6,
};

_Static_assert((int)SIM_PATH > (int)SIM_MAX_HISTORY, "the longest history is remembered");

enum sim_exit {
	SIM_X_NONE, /* runs into the next block */
	SIM_X_COND,
	SIM_X_JUMP,
	SIM_X_JUMP_IND,
	SIM_X_CALL,
	SIM_X_CALL_IND,
	SIM_X_RET,
};

/* What branches are foretold by their address alone. */
struct sim_base {
	int8_t counter; /* -1..2, taken from 1 on: what was never seen is thought to fall through */
	uint8_t reach;  /* tagged tables that may know them: 0 = none, 1 = that of the shortest history ... */
};

struct sim_tagged {
	uint16_t tag;
	int8_t counter; /* -4..3, taken from 0 on */
	uint8_t useful;
};

struct sim_target {
	uint64_t target;
	uint32_t tag;
	uint8_t trust, useful;
};

/* A number for every path: what tables with different lengths of history are looked up with. */
struct sim_path {
	uint64_t sum[SIM_PATH]; /* of all taken branches up to each; a ring */
	uint64_t n,
	        mask; /* no more of it is used than the longest history needs: it is to stay in the cache */
};

/* How much history a table is looked up with. */
struct sim_length {
	uint64_t branches;
	uint64_t power; /* what a branch's share of a sum has grown by after so many */
};

struct sim_table {
	struct sim_length length;
	struct sim_tagged *entry; /* [1 << bits] */
};

struct sim_predictor {
	struct sim_base *base;                  /* [1 << bits] */
	struct sim_tagged *tagged;              /* [n_tables << bits], of all tables */
	struct sim_target *target;              /* [SIM_TARGET_TABLES << target_bits] */
	uint64_t *btb;                          /* [btb_mask + 1] branch addresses */
	uint64_t *stack;                        /* [stack_size] */
	struct sim_table table[SIM_MAX_TABLES]; /* shortest history first */
	struct sim_length target_length[SIM_TARGET_TABLES];
	uint32_t bits, n_tables, target_bits, btb_mask, stack_size, stack_top;
	uint32_t random;
	int32_t full, target_full;     /* allocations that found no room, less those that did */
	int8_t distrust;               /* of entries that are new: -8..7, from 0 on the second best decides */
	bool calls_cost, returns_cost; /* fetch stands after each, however well it was predicted */
	struct sim_path path;
};

int sim_predictor_init(struct sim_predictor *p, const struct sim_config *config);
void sim_predictor_fini(struct sim_predictor *p);

/* Predict a conditional branch, learn what it did: true when the prediction was wrong. */
bool sim_predict_direction(struct sim_predictor *p, uint64_t ip, bool taken);

/* The same for the target of an indirect jump or call. */
bool sim_predict_indirect(struct sim_predictor *p, uint64_t ip, uint64_t target);

/* A branch of any kind was taken: from now on it is part of the path. */
static inline void sim_predict_path(struct sim_predictor *p, uint64_t ip, uint64_t target)
{
	struct sim_path *path = &p->path;
	uint64_t before = path->sum[path->n & path->mask];

	/* Both numbers are odd and have their bits everywhere; nothing else is wanted of them. */
	path->sum[++path->n & path->mask] =
	        before * UINT64_C(0x9e3779b97f4a7c15) + (ip ^ target << 20) * UINT64_C(0xd6e8feb86659fd93);
}

/* A direct branch was taken: true when the target buffer did not know it. */
static inline bool sim_predict_btb(struct sim_predictor *p, uint64_t ip)
{
	uint64_t *e = &p->btb[(ip >> 1 ^ ip >> 15) & p->btb_mask];

	if (*e == ip)
		return false;
	*e = ip;
	return true;
}

static inline void sim_predict_call(struct sim_predictor *p, uint64_t return_ip)
{
	p->stack_top = p->stack_top + 1 == p->stack_size ? 0 : p->stack_top + 1;
	p->stack[p->stack_top] = return_ip;
}

static inline bool sim_predict_return(struct sim_predictor *p, uint64_t target)
{
	bool wrong = p->stack[p->stack_top] != target;

	/* The entry is used up: a deeper return than the stack holds must miss. */
	p->stack[p->stack_top] = 0;
	p->stack_top = p->stack_top ? p->stack_top - 1 : p->stack_size - 1;
	return wrong;
}

#endif
