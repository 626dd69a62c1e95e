/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/baseline/loops.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_sort.h>

#include "correct/profile.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"

/* A block counts for the verdict when it runs at least this share of the region's instructions: */
static const double SHARE_CHECKED = 0.01; /* for R-hat */
static const double SHARE_HEAVY = 0.05;   /* for the width of its interval */

struct interval {
	double mean, lo, hi; /* lo, hi: 5% and 95% of the draws */
};

/* Sorts x. */
static struct interval summarize(double *x, size_t n)
{
	struct interval v = { 0 };

	for (size_t i = 0; i < n; i++)
		v.mean += x[i] / (double)n;
	gsl_sort(x, 1, n);
	v.lo = x[(size_t)(0.05 * (double)(n - 1) + 0.5)];
	v.hi = x[(size_t)(0.95 * (double)(n - 1) + 0.5)];
	return v;
}

/* Draws of n_b ([SKID] (4)) from draws of F, and the mean flow over each edge. */
static void fill_blocks(const struct loops_model *m, const struct loops_draws *d, double *F,
                        struct solution *out)
{
	for (size_t k = 0; k < out->n_draws; k++) {
		for (size_t l = 0; l < m->n_loops; l++)
			F[l] = d->F[k * m->n_loops + l];
		loops_executions(m, F, m->n_exec);
		for (size_t b = 0; b < m->p->n_blocks; b++)
			out->draws[k * m->p->n_blocks + b] = (float)m->n_exec[b];
	}
}

/* Counts of the loops with intervals, and the mean flow over each edge.  x[n_draws] is scratch. */
static void fill_loops(const struct loops_model *m, const struct flow_loops *loops,
                       const struct loops_draws *d, double *x, struct solution *out)
{
	const struct problem *p = m->p;

	out->loop_count = mem_calloc(m->n_loops, sizeof(double));
	out->loop_lo = mem_calloc(m->n_loops, sizeof(double));
	out->loop_hi = mem_calloc(m->n_loops, sizeof(double));
	for (size_t l = 0; l < m->n_loops; l++) {
		struct interval v;

		for (size_t k = 0; k < out->n_draws; k++)
			x[k] = d->F[k * m->n_loops + l];
		v = summarize(x, out->n_draws);
		out->loop_count[l] = v.mean;
		out->loop_lo[l] = v.lo;
		out->loop_hi[l] = v.hi;
		for (size_t k = 0; k < loops->v[l].n; k++)
			out->edge_flow[loops_edge(p, loops->v[l].edges[k])] += v.mean;
	}
}

/* Worst R-hat and n_eff over the blocks that matter, and the widest interval of a heavy one.  x[n_draws] is scratch. */
static double diagnose(const struct problem *p, size_t n_chains, double *x, struct solution *out)
{
	double widest = 0;

	out->r_hat = 1;
	out->n_eff = (double)out->n_draws;
	for (size_t b = 0; b < p->n_blocks; b++) {
		double r_hat, n_eff, share;
		struct interval v;

		for (size_t k = 0; k < out->n_draws; k++)
			x[k] = out->draws[k * p->n_blocks + b];
		chain_diagnose(x, n_chains, out->n_draws / n_chains, &r_hat, &n_eff);
		v = summarize(x, out->n_draws);
		share = v.mean * p->blocks[b].n_insn / p->total_insn;
		if (share >= SHARE_CHECKED) {
			out->r_hat = fmax(out->r_hat, r_hat);
			out->n_eff = fmin(out->n_eff, n_eff);
		}
		if (share >= SHARE_HEAVY)
			widest = fmax(widest, (v.hi - v.lo) / v.mean);
	}
	return widest;
}

static void judge(const struct loops_model *m, const struct loops_draws *d, double widest,
                  struct solution *out)
{
	if (m->uncovered > reason_limit_uncovered)
		solution_doubt(out, REASON_OF(uncovered), 100 * m->uncovered);
	else if (!(m->p->total_cyc > 0))
		solution_doubt(out, REASON_OF(no_cycles));
	else if (out->r_hat > reason_limit_chains_disagree)
		solution_doubt(out, REASON_OF(chains_disagree), out->r_hat);
	else if (!d->settled)
		solution_doubt(out, REASON_OF(still_falling), d->n_sweeps);
	else if (d->misfit > reason_limit_misfit && d->heat > reason_limit_misfit_squares)
		solution_doubt(out, REASON_OF(misfit), 100 * d->misfit);
	else if (!m->p->skid_known)
		solution_doubt(out, REASON_OF(other_skid));
	else if (widest > reason_limit_wide_block)
		solution_doubt(out, REASON_OF(wide_block), 100 * widest);
}

/* One loop: eq. 3 alone says how often it ran. */
static int infer_single(struct loops_model *m, struct loops_draws *d)
{
	*d = (struct loops_draws){ .n_chains = 1, .n_keep = 4, .heat = 1, .settled = true };
	d->F = mem_calloc(4, sizeof(*d->F));
	for (int k = 0; k < 4; k++)
		d->F[k] = (float)(m->p->total_insn / m->size[0]);
	return 0;
}

static int conclude(struct loops_model *m, const struct flow_loops *loops, const struct loops_draws *d,
                    struct solution *out)
{
	size_t n = d->n_chains * d->n_keep;
	double *x = mem_calloc(n > m->n_loops ? n : m->n_loops, sizeof(*x));
	int ret;

	*out = (struct solution){ .r_hat = NAN };
	ret = solution_init(out, m->p, n);
	if (ret == 0) {
		fill_blocks(m, d, x, out);
		fill_loops(m, loops, d, x, out);
	}
	if (ret == 0) {
		out->n_free = (uint32_t)m->n_loops;
		out->n_rank = 1;
		out->evidence = PROFILE_BY_LOOPS | (m->n_loops == 1 ? PROFILE_BY_FLOW : 0);
		judge(m, d, diagnose(m->p, d->n_chains, x, out), out);
		sp_debug("Algorithm 1: %zu simple loops, %zu draws after %zu sweeps; the best F misses "
		         "%.1f%% of the "
		         "samples, %.1f times the noise",
		         m->n_loops, n, d->n_sweeps, 100 * d->misfit, sqrt(d->heat));
	}
	if (ret < 0)
		solution_fini(out);
	free(x);
	return ret;
}

/* The steps of S: many where they cost nothing, fewer where a region has many loops. */
static size_t cells_for(size_t n_loops)
{
	return n_loops <= 4 ? 32 : 8;
}

static size_t loops_cap(void)
{
	return (size_t)reason_limit_many_loops;
}

/* No loops to work with: the raw counts, made to obey the flow, and why. */
static int fall_back(const struct problem *p, const struct infer_opts *opts, const char *why,
                     struct solution *out)
{
	int ret = method_flow(p, opts, out);

	if (ret == 0)
		solution_doubt(out, REASON_OF(made_a_flow), why);
	return ret;
}

int loops_infer(const struct problem *p, const struct flow_loops *loops, const struct infer_opts *opts,
                struct solution *out)
{
	struct loops_draws draws = { 0 };
	struct loops_model m;
	int ret;

	if (loops->n == 0)
		return fall_back(p, opts, reason_text_no_loop, out);
	if (loops->capped || loops->n > loops_cap())
		return fall_back(p, opts, reason_text_many_loops, out);
	if (!(p->total_insn > 0))
		return fall_back(p, opts, reason_text_no_insns, out);
	ret = loops_model_init(&m, p, loops, cells_for(loops->n));
	if (ret < 0)
		return ret;
	if (!loops_affordable(&m, opts)) {
		loops_model_fini(&m);
		return fall_back(p, opts, reason_text_slow_loops, out);
	}
	ret = loops->n == 1 ? infer_single(&m, &draws) : loops_gibbs(&m, opts, &draws);
	if (ret == 0)
		ret = conclude(&m, loops, &draws, out);
	loops_draws_fini(&draws);
	loops_model_fini(&m);
	return ret;
}

/*
 * GSL's default error handler aborts; switching it off is process-wide.
 * Nothing of GSL's called here can fail but for want of memory, which is checked.
 */
int method_loops(const struct problem *p, const struct infer_opts *opts, struct solution *out)
{
	struct flow_loops *loops = NULL;
	int ret;

	if (p->insn_counted)
		return sp_fail(SP_EDOMAIN, reason_text_insns_counted);
	gsl_set_error_handler_off();
	flow_loops_find(p->graph, p->region, loops_cap(), &loops);
	ret = loops_infer(p, loops, opts, out);
	if (ret == 0 && out->loop_count)
		out->loops = loops;
	else
		flow_loops_free(loops);
	return ret;
}
