/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_BRANCH_H
#define SKIDPROF_SIM_BRANCH_H

/*
 * Branch prediction.  Direction: a table of two-bit counters and three tagged
 * tables indexed with ever longer history, the longest that knows the branch
 * wins (after TAGE, Seznec and Michaud 2006).  Targets: a branch target
 * buffer, a table of indirect targets indexed with history, a return stack.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/config.h"

enum { SIM_N_TAGGED = 3, SIM_INDIRECT_BITS = 12 };

enum sim_exit {
	SIM_X_NONE, /* runs into the next block */
	SIM_X_COND,
	SIM_X_JUMP,
	SIM_X_JUMP_IND,
	SIM_X_CALL,
	SIM_X_CALL_IND,
	SIM_X_RET,
};

struct sim_tagged {
	uint16_t tag;
	int8_t counter; /* -4..3, taken from 0 on */
	uint8_t useful;
};

struct sim_predictor {
	int8_t *base;                            /* [1 << bits], -2..1 */
	struct sim_tagged *tagged[SIM_N_TAGGED]; /* [1 << bits] */
	uint64_t *btb;                           /* [btb_mask + 1] branch addresses */
	uint64_t *indirect;                      /* [1 << SIM_INDIRECT_BITS] targets */
	uint64_t *stack;                         /* [stack_size] */
	uint64_t history, allocations;
	uint32_t bits, btb_mask, stack_size, stack_top;
};

int sim_predictor_init(struct sim_predictor *p, const struct sim_config *config);
void sim_predictor_fini(struct sim_predictor *p);

/* Predict a conditional branch, learn what it did: true when the prediction was wrong. */
bool sim_predict_direction(struct sim_predictor *p, uint64_t ip, bool taken);

/* The same for the target of an indirect jump or call. */
bool sim_predict_indirect(struct sim_predictor *p, uint64_t ip, uint64_t target);

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
