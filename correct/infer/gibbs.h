/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_GIBBS_H
#define SKIDPROF_CORRECT_INFER_GIBBS_H

/* Draws from a posterior (eq. 11) by chains of Gibbs steps along its own axes. */
#include "correct/infer/posterior.h"
#include "correct/infer/problem.h"

/* Chains that differ by more than this did not agree. */
static const double gibbs_max_r_hat = 1.1;

/* What a step along one direction changes: all [d] arrays of arrays, flat. */
struct axes {
	size_t d, n_edges, n_rows, n_classes;
	double *t;         /* [d][d] the direction */
	double *f;         /* [d][E] */
	double *r;         /* [d][rows] */
	double *n;         /* [d][classes] */
	uint32_t *moved;   /* [d][classes] the classes whose executions a step changes noticeably ... */
	uint32_t *n_moved; /* [d] ... and how many */
};

/*
 * The axes at the mode[d], where the posterior has the Hessian[d][d], which its factor replaces.  To be freed by
 * axes_fini(), after errors too.  d^2 (E + rows + classes) products.  Returns 0, -SP_ENOMEM, -SP_EDOMAIN.
 */
int axes_init(struct axes *a, const struct posterior *post, double *hessian, const double *mode);
void axes_fini(struct axes *a);

/* As many draws of opts' as keep a huge region within seconds. */
struct infer_opts gibbs_bounded(const struct infer_opts *opts, const struct posterior *post);

/*
 * Chains from the mode, and longer ones where they did not agree: out's draws, edge flows, R-hat and effective sample
 * size.  Same seed: same bits.  Returns 0 or -SP_ENOMEM.
 */
int gibbs_run(const struct problem *p, const struct posterior *post, const struct axes *axes,
              const double *mode, const struct infer_opts *opts, struct solution *out);

#endif
