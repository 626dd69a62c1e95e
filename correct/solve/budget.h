/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SOLVE_BUDGET_H
#define SKIDPROF_CORRECT_SOLVE_BUDGET_H

/*
 * Which scopes are solved, and in which order, within a budget of work.  Work is told from how large a scope is and not by a
 * clock: the same budget gives the same bits on every machine, however busy.
 */
#include "correct/work.h"

struct budget {
	size_t *order;           /* [scopes.n] hottest first */
	bool *reached;           /* [scopes.n] */
	struct budget_cut *cuts; /* [scopes.n] what sizes were told from, and solvers begin with */
};

/* As cold_cut() tells. */
struct budget_cut {
	bool *usable; /* [E]; NULL where it failed */
	double *flow; /* [E] */
	uint32_t n_unseen;
};

/* to be freed by budget_fini(), after errors too. */
void budget_plan(const struct work *w, struct budget *out);
void budget_fini(struct budget *b, size_t n_scopes);
/* A scope's cut, worked out unless it is there.  Returns 0, -SP_EDOMAIN. */
int budget_cut(const struct work *w, size_t scope, struct budget_cut *cut);
void budget_cut_fini(struct budget_cut *cut);

/*
 * Work that a scope of so many free flows and blocks costs, in seconds of a core of 2024: within a factor of two of what a
 * large scope of cc1 took.
 */
double budget_work_s(double n_free, double n_blocks);

/* Blocks and edges that may be looked at while regions are told apart: a part of the budget. */
uint64_t budget_blocks(double budget_s);

#endif
