/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_WORK_H
#define SKIDPROF_CORRECT_WORK_H

/*
 * What a correction has worked out, on the way from the recording
 * (recording.h, sums.h) to the profile (profile.h).
 */
#include "correct/correct.h"
#include "correct/flow/ran.h"
#include "correct/infer/problem.h"
#include "correct/scopes.h"
#include "correct/sums.h"

struct work {
	const struct correct_opts *opts;
	struct recording *rec;
	struct sums sums;
	struct flow_graph *graph;
	struct flow_effort effort; /* of telling apart what a search by the code alone has together */
	struct flow_regions *regions;
	struct flow_ran
	        ran; /* what branch records and bursts say ran: of all the graph; NULLs where there are none */
	bool regions_ran; /* regions are of that alone */
	double ran_share; /* of the heat of all regions, those hold */
	struct scopes scopes;
	struct problem **scope_problems;  /* [scopes.n]: what is solved */
	struct solution *scope_solutions; /* [scopes.n] */
	struct equations_shown {          /* what the mix equations said, for --why: [scopes.n] */
		struct profile_equation *v;
		size_t n;
	} * equations;
	struct problem **problems; /* [regions->n] */
	double pace; /* where no instructions were counted: instructions a cycle, as branch records tell them; 0 = they don't */
	struct solution *solutions; /* [regions->n] */
	struct skid_dist skid;
	enum profile_skid_source skid_source;
	const char *skid_basis;
};

struct evidence;

/* Solve every scope, on all cores. */
int solve_scopes(struct work *w, struct evidence *ev);

/*
 * Does what is known miss the totals that were counted by more than chance, all together (eq. 56), and one of them by more than
 * 2% of total and more than what other code that it calls ran?  Then it is of no flow that ran.  total: instructions of the
 * scope; called: those of the other code.  Returns 0 or -SP_EDOMAIN.
 */
int solve_judge_totals(const struct equations_shown *shown, double total, double called);

/* The same, and one of them by more than 0.25% of total: a solution that is OK becomes weak, and none of its counts is fixed. */
void solve_doubt_totals(const struct equations_shown *shown, double total, struct solution *sol);

/* Edges that carry flow which a region may have, for time and memory. */
enum { SOLVE_MAX_EDGES = 10000 };

/*
 * Is a region too large?  Told before time is spent, which grows with the
 * third power of the free flows: 1,200 were seen to take 1.5 s of a core, and
 * 740 whose mode was far from where the search begins 9.  usable[E] as
 * interior_find() tells; stacks: branch records, which are as many equations
 * as free flows.
 *
 * Returns 0, -SP_EDOMAIN where it is, -SP_ENOMEM.
 */
int solve_judge_size(const struct problem *p, const bool *usable, bool stacks);

/*
 * Add scopes up into one solution a region: executions of a block are the sum
 * over the scopes it is in, and of the raw counts of samples in none of them.
 */
int combine_scopes(struct work *w);

/*
 * Parts of regions that could not be solved, beside others that were, get executions from the branch records of their own
 * samples (eq. 25), with a verdict of weak.  Those of under 1% of the instructions are left.
 */
int average_scopes(struct work *w);

/*
 * Regions that could not be solved get executions from the branch records of the whole program (eq. 25), with
 * a verdict of weak; without branch records nothing happens.
 */
int average_unsolved(struct work *w);

/* The last step: everything worked out becomes a profile. */
int assemble(const struct work *w, struct profile **out);

/* Append the innermost and physical function of an address to the profile, or find them there. */
struct func_index;
int func_index_new(struct profile *p, struct func_index **out);
int func_index_find(struct func_index *index, uint32_t module_id, struct module *m, uint64_t vaddr,
                    uint32_t *func, uint32_t *phys_func);
/* The number of a source file in profile->files; 0 for NULL. */
long func_index_file(struct func_index *index, const char *file);
/* The number of one scope's function, made if it isn't there; -SP_ENOMEM. */
long func_index_scope(struct func_index *index, uint32_t module_id, const struct module_scope *scope,
                      bool inlined);
void func_index_free(struct func_index *index);

#endif
