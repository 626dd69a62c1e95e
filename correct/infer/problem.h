/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_PROBLEM_H
#define SKIDPROF_CORRECT_INFER_PROBLEM_H

/*
 * One scope (or region) as the inference sees it: blocks, edges and instructions numbered from 0, what was sampled at each
 * instruction, and what a method gives back.  B = n_blocks, E = n_edges, I = n_insns; instructions lie in block order, so block b
 * holds insns[block[b].insn0 .. + n_insn).
 */
#include <gsl/gsl_rng.h>

#include "correct/flow/region.h"
#include "correct/judge/reasons.h"
#include "correct/skid/dist.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

struct problem_block {
	uint32_t insn0, n_insn;
	uint32_t graph_block;
	uint32_t func; /* index into the graph's functions */
};

struct problem_edge {
	uint32_t from, to; /* local blocks */
	uint32_t graph_edge;
	int32_t call; /* CALL and RET edges, whose flows must match: the local block that calls; -1 of others, and in a recursion */
	uint8_t kind;       /* enum flow_edge_kind */
	uint32_t recursive; /* of a recursion's CALL and RET (eq. 1): 1 + the local caller; else 0 */
};

struct problem {
	const struct flow_graph *graph;
	const struct flow_region *region;
	struct problem_block *blocks;
	size_t n_blocks;
	struct problem_edge *edges; /* sorted by from */
	size_t n_edges;
	struct insn *insns; /* copies */
	size_t n_insns;

	double *seen_insn; /* [I] E_i: instruction events sampled at i (samples x period) */
	double *seen_cyc;  /* [I] C_i: cycles sampled at i */
	double total_insn; /* |E|: instructions of the region (eq. 3) */
	bool insn_counted; /* E_i was not sampled, but counted between samples of cycles, and lies where those do */
	double stay_share; /* of its bursts: those that stay in one of its loops (stages.h); 0 where it has one only */
	bool relative; /* instructions were not counted: total_insn is total_cyc, and only shares of it mean something ... */
	double pace; /* ... where this is 0; else instructions a cycle, as its branch records tell them (eq. 10) */
	bool pace_timed; /* ... or timed paths, which tell the pace of all, and not of its stages */
	double total_cyc;
	double insn_per_sample, cyc_per_sample; /* the periods: noise of a count x is sqrt(x * period) */
	double stacked_insn;                    /* that branch records and bursts ran over */
	double total_sd;                        /* of total_insn: as counted (total.h), or sampled */
	double hidden; /* overflows that the skid hides, for one sample of instructions (eq. 5); 0 where they were counted */
	double unseen_share; /* of the time within its intervals: that of code which is not part of it */
	double outside_insn; /* instructions of samples outside, a few at most between two inside: what it called (eq. 3) */
	double called_share; /* a of eq. 3: of what stacks ran over, that of code which it calls and which is not part of it */
	double untaken_insn; /* of total_insn, by branch records, on ways that no burst took; 0 where it is little */
	double broken_share;    /* of its stacks, those that go on where its flow has no way */
	double n_bursts, n_cut; /* bursts that begin in it, and of those the ones that end at a system call */
	double entry_cyc; /* of total_cyc, what samples stand for that came in the kernel, after a system call or fault */
	double young_share; /* of its time, that of threads younger than at any of its bursts; 0 where instructions were counted */
	double n_crossings;  /* into it and out of it, as samples one after the other tell */
	double border_share; /* of its samples that may as well be those of another scope (scopes.h) */
	struct skid_dist skid;
	bool skid_known;
};

/* What every method returns. */
struct solution {
	float *draws; /* [n_draws][B] posterior draws of block executions n_b, row-major */
	size_t n_draws;
	float *doubt; /* [B] executions among those that nothing corrected: scopes not solved; NULL = none */
	double *edge_flow; /* [E] posterior mean of f_e */
	double total_sd;   /* of all its instructions, that draws were spread by */
	uint32_t n_free, n_rank;
	double called_insn;  /* of other code that it calls (eq. 3), not counted in its own */
	double untaken_insn; /* by branch records, on ways that no burst took; 0 where it is little */
	uint32_t n_unseen;   /* free flows left out: of code without samples, taken not to have run */
	double told_share; /* of its time, that of code whose pace timed paths tell, where its loops run one after another */
	double open_share; /* the same, of that whose pace nothing tells: few blocks have most of it */
	double once_share; /* where only bursts tell instructions: of theirs, that in functions which one burst alone ran */
	bool averaged; /* all its blocks, without a flow (eq. 9) */
	bool contradicted; /* it misses a total by more than chance, or time, or paths lead out of it: no count of it is fixed */
	bool misled; /* stacks and time mislead about it, so much runs just behind system calls: what events don't settle is not known */
	uint8_t evidence; /* enum profile_evidence bits */
	enum problem_verdict verdict;
	char why[256]; /* one sentence behind a verdict that isn't OK, else "" */
};

/*
 * Number a region's blocks, edges and instructions.  Sample arrays are zero;
 * the caller fills them in.  insn0[B] order follows region->blocks.
 */
struct problem *problem_new(const struct flow_graph *g, const struct flow_region *r);
void problem_free(struct problem *p);

/* Cycles and instructions sampled in a block. */
double problem_heat(const struct problem *p, const struct problem_block *b);
/* Cycles sampled in a block. */
double problem_time(const struct problem *p, const struct problem_block *b);

/* A graph block's number in the problem, -1 if it is not there: blocks are in the graph's order.  O(log B). */
long problem_block_at(const struct problem *p, uint32_t graph_block);
/* The same of a graph's edge: the problem's are in the graph's order, too.  O(log E). */
long problem_edge_at(const struct problem *p, uint32_t graph_edge);

/* Allocate a solution's arrays for n_draws draws; free what it owns (not s itself). */
void solution_init(struct solution *s, const struct problem *p, size_t n_draws);
void solution_fini(struct solution *s);
/* A verdict that isn't OK, and why, REASON_OF(key) of reasons.h: a sentence, cut to what there is room for. */
void __attribute__((format(printf, 3, 4)))
solution_doubt(struct solution *s, enum problem_verdict how, const char *fmt, ...);
/* Of block b: draws below zero are put there, and all scaled to keep the mean. */
void solution_keep_positive(struct solution *s, size_t n_blocks, size_t b, double mean);
double solution_mean(const struct solution *s, size_t n_blocks, size_t b);
/* What draw i has of p's instructions. */
double solution_draw_insn(const struct solution *s, const struct problem *p, size_t i);
/* Scale draw i to so many, where it has any. */
void solution_set_insn(struct solution *s, const struct problem *p, size_t i, double insn);
/*
 * Draws that were spread come to insn[i] instructions each again, and blocks to mean[b] executions in the mean (those of 0 have
 * none in any draw): scaled one way
 * and the other in turns, which settles where both can be (iterative proportional fitting, Deming and Stephan 1940).
 */
void solution_fit(struct solution *s, const struct problem *p, const double *mean, const double *insn);
/* What is drawn was drawn for one total: spread the draws by its relative standard deviation.  The mean stays. */
void solution_spread(struct solution *s, size_t n_blocks, double sd, unsigned long seed);
/*
 * What is drawn was drawn without regard to how many instructions p ran: `total`, to sd > 0, by another source.  Move the
 * draws, all blocks of one alike, to what both say; *insn out: how many that are.
 */
void solution_meet_total(struct solution *s, const struct problem *p, double total, double sd,
                         unsigned long seed, double *insn);

#endif
