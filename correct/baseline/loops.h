/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_BASELINE_LOOPS_H
#define SKIDPROF_CORRECT_BASELINE_LOOPS_H

/*
 * The inside of method_loops: [SKID]'s equations over the simple loops of a
 * region.  L = n_loops, B = n_blocks; F[L] are executions of loops, n[B] of
 * blocks.  Cycles and landing are kept per block: within a block all
 * instructions run equally often, so where in the block's time each of them
 * retires is the same for every F, and is worked out once.
 */
#include "correct/infer/problem.h"

/*
 * A corner of the averaged landing: the skid is taken as spread evenly
 * between neighbouring quantiles, so its density is made of steps.  coef is
 * the step's height at s_cyc.
 */
struct loops_knot {
	double s_cyc, coef;
};

struct loops_model {
	const struct problem *p;
	size_t n_loops;
	size_t *path0;  /* [L + 1] loop l is path[path0[l] .. path0[l + 1]) */
	uint32_t *path; /* local blocks in the order they run; a block may come twice */
	double *size;   /* [L] |K_l|: instructions of one lap */
	double *seen;   /* [B] E_b, scaled so that all of them make |E| */
	double *cyc;    /* [B] C_b */
	double *retire; /* [I] when an instruction retires, as a share of its block's cycles, (0, 1] */
	double *sum;    /* [I] prefix sums of retire within the block, the own one excluded */
	uint16_t *hint; /* [B][LOOPS_HINTS] instructions retired before k / LOOPS_HINTS of the block */
	bool no_skid;   /* S = 0, always */
	struct loops_knot *knots;
	size_t n_knots;
	double sigma2;    /* of [SKID] (7)'s likelihood: what sampling noise makes of (E_b - predicted)^2 */
	double uncovered; /* share of the samples in blocks of no loop */
	double *n_exec;   /* [B] scratch: n of the last F */
	double *landed;   /* [B] scratch: predicted landing of the last F */
	double *lap;      /* scratch: 4 arrays of the longest path + 1 */
	size_t lap_size;
};

enum { LOOPS_HINTS = 16 };

/*
 * loops borrowed during the call; n_cells: how many steps the density of S
 * gets, a divisor of SKID_POINTS.  Returns 0, -SP_EDOMAIN for a loop
 * that leaves the region or has no instructions.
 */
int loops_model_init(struct loops_model *m, const struct problem *p, const struct flow_loops *loops,
                     size_t n_cells);
void loops_model_fini(struct loops_model *m);

/* The steps loops_model_init() gives S; knots[2 * n_cells], out.  Returns how many. */
size_t loops_knots(const struct skid_dist *d, size_t n_cells, struct loops_knot *knots);

/* The region's edge that is this edge of the graph; -1 if there is none. */
long loops_edge(const struct problem *p, uint32_t graph_edge);

/* [SKID] (4): n[B], out. */
void loops_executions(const struct loops_model *m, const double *F, double *n);
/* [SKID] (5) for a block: cycles of one execution. */
double loops_cycles(double cyc, double n);
/* [SKID] (2) averaged over S, per block of loop l: adds F times the causes seen in each block to landed[B]. */
void loops_land(const struct loops_model *m, size_t l, double F, double *landed);
/* [SKID] (6): landed[B], out: what F predicts to be seen in each block.  Uses the scratch of m. */
void loops_predict(struct loops_model *m, const double *F, double *landed);
/* [SKID] (7). */
double loops_misfit(struct loops_model *m, const double *F);
/* How many steps of arithmetic one loops_misfit() takes: a few ns each. */
double loops_work(const struct loops_model *m);

/* What the chains of one region have drawn. */
struct loops_draws {
	float *F; /* [n_chains][n_keep][L] */
	size_t n_chains, n_keep;
	double heat;     /* the likelihood's sigma^2 was multiplied by this: misfit of the best fit, >= 1 */
	double misfit;   /* total variation between seen and predicted at the best F */
	bool settled;    /* phi had stopped falling in every chain when draws were taken */
	size_t n_sweeps; /* longest burn-in */
};

/* Is there time for one sweep at all?  Where there isn't, chains would only show where they began. */
bool loops_affordable(const struct loops_model *m, const struct infer_opts *opts);

/* Algorithm 1 with its stop test mended. */
int loops_gibbs(struct loops_model *m, const struct infer_opts *opts, struct loops_draws *out);
void loops_draws_fini(struct loops_draws *d);

/* method_loops() on loops already found; out is initialised here, out->loops stays NULL. */
int loops_infer(const struct problem *p, const struct flow_loops *loops, const struct infer_opts *opts,
                struct solution *out);

#endif
