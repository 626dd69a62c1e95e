/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SOLVE_SOLVE_H
#define SKIDPROF_CORRECT_SOLVE_SOLVE_H

/* All scopes of a correction, solved, judged, and added up to regions. */
#include "correct/work.h"

struct evidence;

/* Solve every scope, on all cores. */
void solve_scopes(struct work *w, struct evidence *ev);

/*
 * Does what is known miss the totals that were counted by more than chance, all together (chi-square), and one of them by more than
 * 2% of total and more than what other code that it calls ran?  Then it is of no flow that ran.  total: instructions of the
 * scope; called: those of the other code.  Returns 0 or -SP_EDOMAIN.
 */
int solve_judge_totals(const struct equations_shown *shown, double total, double called);

/* The same, and one of them by more than 0.25% of total: a solution that is OK becomes weak, and none of its counts is fixed. */
void solve_doubt_totals(const struct equations_shown *shown, double total, struct solution *sol);

/* Where only bursts tell instructions, and much of these one burst alone ran: it is unreliable. */
void solve_doubt_once(struct solution *sol);

/*
 * Of a scope that is what bursts show of a loop, with one count open: that is no structure of the code where branches have ways which
 * fewer than ten bursts did not take, but for the one that ends a loop.  Then it is unreliable, and true is returned.
 */
bool solve_doubt_few_bursts(const struct problem *p, struct solution *sol);

/*
 * Stacks end where they lead out of the flow: what they miss is what comes after that, in whichever of its functions.  Where they are
 * many a solution that is OK becomes weak, and none of its counts is fixed; where they are most, and only time was sampled, it is
 * unreliable, and averages are made instead.
 */
void solve_doubt_stacks(const struct problem *p, struct solution *sol);

/* Code outside that runs between a scope's samples is in its totals: from 2% on it is weak at best, and none of its counts is fixed. */
void solve_doubt_leak(const struct work *w, const struct problem *p, struct solution *sol);

/* What samples fell in ran: doubt a flow that leads through none of it, where that is more than 2% of all. */
void solve_doubt_off_the_flow(const struct problem *p, struct solution *sol);

/*
 * Is a region too large, or are samples too few for it?  Told before time is spent, which grows with the third power of the free
 * flows: 1,200 were seen to take 1.5 s of a core, and 740 whose mode was far from where the search begins 9.  usable[E] as
 * interior_find() tells; stacks: branch records, which are as many equations as free flows.
 *
 * Returns 0, -SP_EDOMAIN where it is.
 */
int solve_judge_size(const struct problem *p, const bool *usable, bool stacks);

/* Doubt combined regions that have much of their code so soon after system calls that nothing tells of it, and averages where ends do. */
void solve_doubt_behind_calls(struct work *w);

/*
 * Do precise samples of instructions have a shadow that puts them further off than the flow of the scope is?  How far it moves them
 * blocks tell that run equally often: beyond chance they differ by what was moved alone.  The flow is off by what is left of its
 * distance from them.  sol: has draws.  O(blocks x classes).
 */
bool solve_is_shadowed(const struct problem *p, const struct solution *sol);

/*
 * Does the period of precise samples of instructions keep step with a loop, so that they come at the same places of it again and again?
 * Instructions of a row of blocks run equally often: one has more of the row's samples than chance leaves it, in one of a million regions.
 */
bool solve_keeps_step(const struct problem *p);

/* Doubt what is of several programs, which only share a library: true then. */
bool solve_doubt_programs(const struct work *w, const struct problem *p, struct solution *sol);

/*
 * Add scopes up into one solution a region: executions of a block are the sum
 * over the scopes it is in, and of the raw counts of samples in none of them.
 */
void combine_scopes(struct work *w);

/*
 * Regions that could not be solved get executions from the branch records of the whole program (eq. 9), with
 * a verdict of weak; without branch records, or without instructions and cycles in records, nothing happens.
 */
int average_unsolved(struct work *w);

/*
 * Where no instructions were counted: instructions a cycle of the whole program, of all scopes that know their own (eq. 10), lent
 * to those that don't.  Raw counts are time times that.  Nothing is set where no scope knows.
 */
void pace_set(struct work *w);

/*
 * Instructions by timed paths (eq. 10), where a clock is all that was sampled.  Sets w->timed.  Where that tells a rate and bursts tell
 * shares, each scope that two paths or more mostly ran in gets its instructions (total_insn, total_sd, insn_per_sample), and its pace
 * by these, in instructions an event of the clock: they are no shares then.  ev: where there are scopes; else it may be NULL.
 */
void timed_pace_set(struct work *w, struct evidence *ev);

/*
 * A scope may be all code that its loops could reach: hundreds of ways of which only samples and branch records tell which ran.
 * Blocks without any of many samples, and on no record, are left out.
 *
 * ran        the scope is of what branch records say ran, and stays whole on_record  by blocks of the graph; NULL: nothing is
 * usable     out, [E]: the edges that may carry flow f          out, [E]: a flow to begin at n_free_out out: free flows that are
 * left out
 *
 * Returns 0, -SP_EDOMAIN when no edge can carry flow.
 */
int cold_cut(const struct problem *p, bool ran, const uint8_t *on_record, bool *usable, double *f,
             uint32_t *n_free_out);

#endif
