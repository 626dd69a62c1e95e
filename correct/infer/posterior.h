/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_POSTERIOR_H
#define SKIDPROF_CORRECT_INFER_POSTERIOR_H

/*
 * The density that eq. 17 names, as a function of the free flows t:
 *
 *   log p(t) = - 1/2 sum_k (R_k t - r_k)^2      equations, in units of their noise
 *              - sum_c F_c(log n_c + a_c)       time, eq. 16
 *              - w sum_c log n_c                scale, eq. 16
 *   with f = Z t >= 0.
 *
 * c are classes of blocks that run equally often whatever the flow, n_c their
 * executions, and functions, n_c their instructions.  Scale is of the former only.
 *
 * The second line is the prior: the instructions of a scope do not differ in cost
 * without limit (cost.h).  exp(a_c) is how many samples one execution is expected
 * in if its instructions cost what the scope's do in the mean.  The prior is broad,
 * and decides only what nothing exact does.
 *
 * The last line makes it a density of log n_c instead of n_c.  w is the number of
 * directions that no equation fixes, over the number of classes.  Without it the
 * many ways of running often would outweigh the few of running seldom.
 */
#include "correct/infer/cost.h"
#include "correct/infer/equations.h"
#include "correct/infer/space.h"
#include "correct/infer/sparse.h"

struct posterior {
	size_t n_free, n_edges, n_rows, n_classes;
	size_t n_timed;      /* classes, and functions after them */
	struct sparse z;     /* [E] flows */
	double *r;           /* [n_rows][n_free] equations over their noise */
	double *r_value;     /* [n_rows] */
	struct sparse n;     /* [n_timed] executions; a function's instructions */
	double *log_unit;    /* [n_timed] a_c */
	uint32_t *cost_of;   /* [n_timed] which cost is F_c */
	struct cost **costs; /* [n_costs], different ones */
	size_t n_costs;
	double scale_weight; /* w */
	uint32_t *class_of;  /* [B] */
};

struct posterior *posterior_new(const struct problem *p, const struct space *space,
                                const struct equations *eqs);
void posterior_free(struct posterior *post);
/* Other equations in the place of those that it has: of the same problem, whose time costs the most to prepare. */
void posterior_equate(struct posterior *post, const struct equations *eqs);

/* -log density of the prior of time of one row of n at its value there, and its derivatives in the log of that. */
double posterior_time(const struct posterior *post, size_t row, double n);
void posterior_time_slope(const struct posterior *post, size_t row, double n, double *slope, double *curve);

/*
 * The mode by damped Newton steps inside f > 0 with a falling log barrier.
 * Time alone has several: the one that is reached from t.
 *
 * t        in: a point with all flows positive; out: the mode.
 * hessian  out [d][d]: of -log p there, barrier included; positive definite.
 *
 * True where the steps that a space so large is given end short of the mode.
 */
bool posterior_mode(const struct posterior *post, double *t, double *hessian);

/*
 * The same of the equations alone, without the prior and with hardly a barrier:
 * a flow that meets them as well as any.  hessian[d][d] is scratch.
 */
bool posterior_nearest(const struct posterior *post, double *t, double *hessian);

/* The residual of equation i at t, in units of its noise: positive where the flow gives more than was measured. */
double posterior_miss(const struct posterior *post, size_t i, const double *t);

/* R'R [d][d], out: the equations' part of every Hessian. */
void posterior_normal(const struct posterior *post, double *rr);

/* Gradient [d] and Hessian [d][d] of -log p at t, as at the mode's last barrier; both out. */
void posterior_slopes(const struct posterior *post, const double *t, double *gradient, double *hessian);

#endif
