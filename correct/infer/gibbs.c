/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gibbs sampling of eq. 11 along the axes of the posterior's own shape: with
 * H = L L' its Hessian at the mode, the columns of inverse(L') are directions
 * in which it is about round, however tight some equations are.  Along each,
 * a slice-sampling step (Neal 2003) between the points where some flow
 * would fall below zero.
 */
#include "correct/infer/gibbs.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/cholesky.h"
#include "profiler/base/err.h"

/* Work a region may cost: about two seconds of a core. */
static const double max_cost = 2e9;

/* Relative change of executions a step of unit length must make for its time to be worth two logarithms. */
static const double noticeable = 3e-4;

enum { MAX_SHRINKS = 200, MAX_WATCHED = 48, MAX_ATTEMPTS = 3 };

struct chain {
	const struct posterior *post;
	const struct axes *axes;
	gsl_rng *rng;
	double heat;              /* 1 = the posterior; more = flatter */
	double *t, *f, *miss, *n; /* [d], [E], [rows], [classes] */
};

void axes_fini(struct axes *a)
{
	free(a->t);
	free(a->f);
	free(a->r);
	free(a->n);
	free(a->moved);
	free(a->n_moved);
}

static int axes_alloc(struct axes *a, const struct posterior *post)
{
	size_t d = post->n_free;

	*a = (struct axes){ d,
		            post->n_edges,
		            post->n_rows,
		            post->n_classes,
		            .t = calloc(d * d + 1, sizeof(double)),
		            .f = calloc(d * post->n_edges + 1, sizeof(double)),
		            .r = calloc(d * post->n_rows + 1, sizeof(double)),
		            .n = calloc(d * post->n_classes + 1, sizeof(double)),
		            .moved = calloc(d * post->n_classes + 1, sizeof(uint32_t)),
		            .n_moved = calloc(d + 1, sizeof(uint32_t)) };
	if (!a->t || !a->f || !a->r || !a->n || !a->moved || !a->n_moved)
		return sp_fail(SP_ENOMEM, "out of memory for %zu free flows", d);
	return 0;
}

/* The directions' effects on flows, equations and executions. */
static void axes_fill(struct axes *a, const struct posterior *post, const double *mode)
{
	for (size_t i = 0; i < a->d; i++) {
		const double *t = a->t + i * a->d;

		for (size_t e = 0; e < a->n_edges; e++)
			a->f[i * a->n_edges + e] = sparse_dot(&post->z, e, t);
		for (size_t c = 0; c < a->n_classes; c++) {
			double dn = sparse_dot(&post->n, c, t);

			a->n[i * a->n_classes + c] = dn;
			if (fabs(dn) > noticeable * sparse_dot(&post->n, c, mode))
				a->moved[i * a->n_classes + a->n_moved[i]++] = (uint32_t)c;
		}
		for (size_t k = 0; k < a->n_rows; k++) {
			double sum = 0;

			for (size_t j = 0; j < a->d; j++)
				sum += post->r[k * a->d + j] * t[j];
			a->r[i * a->n_rows + k] = sum;
		}
	}
}

int axes_init(struct axes *a, const struct posterior *post, double *hessian, const double *mode)
{
	int err = axes_alloc(a, post);

	if (err < 0)
		return err;
	if (cholesky_factor_hessian(hessian, a->d) < 0)
		return sp_fail(SP_EDOMAIN, "a region's posterior could not be factored (%zu free flows)",
		               a->d);
	/* Row i of inverse(L) is column i of inverse(L'). */
	cholesky_invert(hessian, a->d, a->t);
	axes_fill(a, post, mode);
	return 0;
}

/* Everything that follows from t, afresh: rounding must not pile up over sweeps. */
static void refresh(struct chain *ch)
{
	const struct posterior *post = ch->post;

	for (size_t e = 0; e < post->n_edges; e++)
		ch->f[e] = fmax(sparse_dot(&post->z, e, ch->t), 0);
	for (size_t c = 0; c < post->n_classes; c++)
		ch->n[c] = sparse_dot(&post->n, c, ch->t);
	for (size_t k = 0; k < post->n_rows; k++) {
		ch->miss[k] = -post->r_value[k];
		for (size_t j = 0; j < post->n_free; j++)
			ch->miss[k] += post->r[k * post->n_free + j] * ch->t[j];
	}
}

/* How far one may go along a direction before a flow turns negative. */
static void limits(const struct chain *ch, const double *df, double *lo, double *hi)
{
	double least = -INFINITY, most = INFINITY;

	for (size_t e = 0; e < ch->post->n_edges; e++) {
		double end;

		if (df[e] == 0)
			continue;
		end = -ch->f[e] / df[e];
		if (df[e] > 0)
			least = end > least ? end : least;
		else
			most = end < most ? end : most;
	}
	*lo = least;
	*hi = most;
}

/* -log p at step s, up to a constant: quadratic equations in closed form, times of the classes that move. */
static double energy(const struct chain *ch, size_t i, double a, double b, double s)
{
	const struct axes *ax = ch->axes;
	const double *dn = ax->n + i * ax->n_classes;
	double sum = (a * s + b) * s;

	for (uint32_t k = 0; k < ax->n_moved[i]; k++) {
		uint32_t c = ax->moved[i * ax->n_classes + k];
		double n = ch->n[c] + s * dn[c];

		sum += n > 0 ? posterior_time(ch->post, c, n) : 1e9;
	}
	return sum / ch->heat;
}

static void move(struct chain *ch, size_t i, double s)
{
	const struct axes *ax = ch->axes;

	for (size_t k = 0; k < ax->d; k++)
		ch->t[k] += s * ax->t[i * ax->d + k];
	for (size_t e = 0; e < ax->n_edges; e++) {
		double f = ch->f[e] + s * ax->f[i * ax->n_edges + e];

		ch->f[e] = f > 0 ? f : 0;
	}
	for (size_t k = 0; k < ax->n_rows; k++)
		ch->miss[k] += s * ax->r[i * ax->n_rows + k];
	for (size_t c = 0; c < ax->n_classes; c++)
		ch->n[c] += s * ax->n[i * ax->n_classes + c];
}

/* A slice-sampling step along direction i. */
static void step(struct chain *ch, size_t i)
{
	const struct axes *ax = ch->axes;
	const double *dr = ax->r + i * ax->n_rows;
	double lo, hi, min, max, a = 0, b = 0, level, width = 2.5 * sqrt(ch->heat), s = 0;

	limits(ch, ax->f + i * ax->n_edges, &min, &max);
	if (!(max > min))
		return;
	for (size_t k = 0; k < ax->n_rows; k++) {
		a += dr[k] * dr[k] / 2;
		b += dr[k] * ch->miss[k];
	}
	level = energy(ch, i, a, b, 0) + gsl_ran_exponential(ch->rng, 1);
	lo = -width * gsl_rng_uniform(ch->rng);
	hi = lo + width;
	for (int grow = 0; grow < 30 && lo > min && energy(ch, i, a, b, lo) < level; grow++)
		lo -= width;
	for (int grow = 0; grow < 30 && hi < max && energy(ch, i, a, b, hi) < level; grow++)
		hi += width;
	lo = fmax(lo, min);
	hi = fmin(hi, max);
	for (int shrink = 0; shrink < MAX_SHRINKS; shrink++) {
		s = lo + (hi - lo) * gsl_rng_uniform(ch->rng);
		if (energy(ch, i, a, b, s) < level) {
			move(ch, i, s);
			return;
		}
		if (s < 0)
			lo = s;
		else
			hi = s;
	}
}

static void sweep(struct chain *ch)
{
	refresh(ch);
	for (size_t i = 0; i < ch->axes->d; i++)
		step(ch, i);
}

static void chain_fini(struct chain *ch)
{
	free(ch->t);
	free(ch->f);
	free(ch->miss);
	free(ch->n);
	gsl_rng_free(ch->rng);
}

static int chain_init(struct chain *ch, const struct posterior *post, const struct axes *axes, uint64_t seed)
{
	*ch = (struct chain){ .post = post,
		              .axes = axes,
		              .rng = gsl_rng_alloc(gsl_rng_mt19937),
		              .heat = 1,
		              .t = calloc(post->n_free + 1, sizeof(double)),
		              .f = calloc(post->n_edges + 1, sizeof(double)),
		              .miss = calloc(post->n_rows + 1, sizeof(double)),
		              .n = calloc(post->n_classes + 1, sizeof(double)) };
	if (!ch->rng || !ch->t || !ch->f || !ch->miss || !ch->n)
		return sp_fail(SP_ENOMEM, "out of memory for a chain");
	gsl_rng_set(ch->rng, seed);
	return 0;
}

/* Start hot, far from the mode, and cool: chains that agree after that were not just started alike. */
static void burn(struct chain *ch, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double left = 1 - 2 * (double)i / (double)n;

		ch->heat = left > 0 ? exp(left * log(30)) : 1;
		sweep(ch);
	}
	ch->heat = 1;
}

static void record(const struct chain *ch, const struct problem *p, float *draw, double *edge_flow,
                   double share)
{
	for (size_t b = 0; b < p->n_blocks; b++)
		draw[b] = (float)ch->n[ch->post->class_of[b]];
	for (size_t e = 0; e < p->n_edges; e++)
		edge_flow[e] += ch->f[e] * share;
}

/* R-hat and n_eff, worst over the blocks that hold the most instructions. */
static void diagnose(const struct problem *p, size_t n_chains, size_t n, struct solution *out)
{
	double *x = calloc(n_chains * n + 1, sizeof(*x)), total = 0;
	size_t watched = 0;

	out->r_hat = 1;
	out->n_eff = (double)(n_chains * n);
	for (size_t b = 0; b < p->n_blocks; b++)
		total += (double)out->draws[b] * p->blocks[b].n_insn;
	for (size_t b = 0; x && b < p->n_blocks && watched < MAX_WATCHED; b++) {
		double r_hat, n_eff;

		if ((double)out->draws[b] * p->blocks[b].n_insn < 0.01 * total)
			continue;
		watched++;
		for (size_t i = 0; i < n_chains * n; i++)
			x[i] = out->draws[i * p->n_blocks + b];
		chain_diagnose(x, n_chains, n, &r_hat, &n_eff);
		out->r_hat = fmax(out->r_hat, isnan(r_hat) ? 1 : r_hat);
		out->n_eff = fmin(out->n_eff, isnan(n_eff) ? out->n_eff : n_eff);
	}
	free(x);
}

static int run_chains(const struct problem *p, const struct posterior *post, const struct axes *axes,
                      const double *mode, const struct infer_opts *opts, struct solution *out)
{
	double share = 1 / (double)(opts->n_chains * opts->n_keep);

	for (size_t c = 0; c < opts->n_chains; c++) {
		struct chain ch;
		int err = chain_init(&ch, post, axes, opts->seed * 1000003 + c);

		if (err == 0) {
			memcpy(ch.t, mode, post->n_free * sizeof(*mode));
			burn(&ch, opts->n_burn);
			for (size_t i = 0; i < opts->n_keep; i++) {
				for (size_t k = 0; k < opts->thin; k++)
					sweep(&ch);
				record(&ch, p, out->draws + (c * opts->n_keep + i) * p->n_blocks,
				       out->edge_flow, share);
			}
		}
		chain_fini(&ch);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Work of one sweep, in the units of max_cost: two logarithms cost as much as some sixty products. */
static double sweep_cost(const struct posterior *post)
{
	return (double)post->n_free *
	       ((double)post->n_edges + (double)post->n_rows + 60 * (double)post->n_classes);
}

static double sweeps_of(const struct infer_opts *o)
{
	return (double)(o->n_chains * (o->n_burn + o->n_keep * o->thin));
}

struct infer_opts gibbs_bounded(const struct infer_opts *opts, const struct posterior *post)
{
	double scale = fmin(1, max_cost / (sweep_cost(post) * sweeps_of(opts) + 1));
	struct infer_opts o = *opts;

	o.n_burn = (size_t)fmax(20, (double)o.n_burn * scale);
	o.n_keep = (size_t)fmax(20, (double)o.n_keep * scale);
	return o;
}

int gibbs_run(const struct problem *p, const struct posterior *post, const struct axes *axes,
              const double *mode, const struct infer_opts *opts, struct solution *out)
{
	struct infer_opts o = *opts;
	int err = 0;

	out->n_draws = o.n_chains * o.n_keep;
	for (int attempt = 0; attempt < MAX_ATTEMPTS && err == 0; attempt++) {
		memset(out->edge_flow, 0, p->n_edges * sizeof(*out->edge_flow));
		err = run_chains(p, post, axes, mode, &o, out);
		if (err == 0)
			diagnose(p, o.n_chains, o.n_keep, out);
		if (!(out->r_hat > gibbs_max_r_hat) || sweep_cost(post) * 4 * sweeps_of(&o) > 2 * max_cost)
			break;
		/* Slow mixing is first answered with patience. */
		o.n_burn *= 4;
		o.thin *= 4;
	}
	return err;
}
