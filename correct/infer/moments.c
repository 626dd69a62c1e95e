/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/moments.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_erf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/cholesky.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

/* Rounds stop when no mean moves by more of its standard deviations than that. */
static const double close_enough = 0.05;

/*
 * Damping: how much of a site's change is made in a round.  All sites change at once, and would overshoot together.  A site that
 * goes back and forth is damped more, and less again while it goes one way.
 */
static const double most_damping = 0.6, least_damping = 0.05, damp_less = 1.2, damp_more = 0.5;

/* A factor that widens what is known can't be a normal density: its site gets next to no precision, and tells its mean only. */
static const double least_precision = 1e-6;

/* The normal density that stands for one factor, of x = row . t: exp(-precision x^2 / 2 + pull x). */
struct site {
	const struct sparse *m;
	uint32_t row;
	bool timed; /* a class, else an edge */
	double precision, pull;
	double mean, var; /* of x under all sites */
	double moved;     /* the mean, in the last round */
	double damping;
};

struct work {
	const struct posterior *post;
	size_t d, n_sites;
	struct site *sites;
	double *rr, *h, *g, *x; /* [d][d], [d][d], [d], [d] */
};

enum { POINTS = 200 };

void moments_positive(double *mean, double *var)
{
	double sd = sqrt(*var), z = *mean / sd, hazard;

	if (z > 8)
		return;
	if (z < -20) {
		/* The tail of a normal density is exponential, with this mean, to the second order. */
		double scale = sd / -z;

		*mean = scale * (1 - 2 / (z * z));
		*var = scale * scale * (1 - 6 / (z * z));
		return;
	}
	hazard = gsl_sf_hazard(-z);
	*mean += sd * hazard;
	*var *= 1 - hazard * (hazard + z);
}

/* Summed in steps of log x, for the prior of time reaches over orders of magnitude. */
void moments_timed(const struct posterior *post, size_t c, double *mean, double *var)
{
	double sd = sqrt(*var), top = *mean + 7 * sd, bottom = *mean - 7 * sd;
	double hi = log(top > sd ? top : 30 * *var / (sd - *mean)), lo = bottom > 0 ? log(bottom) : hi - 30;
	double step = (hi - lo) / POINTS, grow = exp(step), x = exp(lo + step / 2);
	double log_p[POINTS], at[POINTS], sum = 0, first = 0, second = 0, most = -INFINITY;

	for (int k = 0; k < POINTS; k++, x *= grow) {
		double z = (x - *mean) / sd;

		log_p[k] = -z * z / 2 + lo + (k + 0.5) * step - posterior_time(post, c, x);
		at[k] = x;
		most = fmax(most, log_p[k]);
	}
	for (int k = 0; k < POINTS; k++) {
		double p = log_p[k] - most > -40 ? exp(log_p[k] - most) : 0;

		sum += p;
		first += p * at[k];
	}
	first /= sum;
	for (int k = 0; k < POINTS; k++)
		if (log_p[k] - most > -40)
			second += exp(log_p[k] - most) * (at[k] - first) * (at[k] - first);
	*mean = first;
	*var = second / sum;
}

/* Are two rows the same?  Both are in order of their columns. */
static bool same(const struct sparse *a, size_t i, const struct sparse *b, size_t j)
{
	size_t n = a->row0[i + 1] - a->row0[i];

	if (n != b->row0[j + 1] - b->row0[j])
		return false;
	for (size_t k = 0; k < n; k++)
		if (a->col[a->row0[i] + k] != b->col[b->row0[j] + k] ||
		    fabs(a->x[a->row0[i] + k] - b->x[b->row0[j] + k]) > 1e-9)
			return false;
	return true;
}

/* Is this edge's flow that of a site already, a class's or another edge's?  Then it is kept from zero by that. */
static bool repeated(const struct work *w, const struct sparse *m, size_t row)
{
	for (size_t i = 0; i < w->n_sites; i++)
		if (same(m, row, w->sites[i].m, w->sites[i].row))
			return true;
	return false;
}

static void add_site(struct work *w, const struct sparse *m, size_t row, bool timed, const double *mode)
{
	struct site s = { .m = m, .row = (uint32_t)row, .timed = timed, .damping = most_damping };
	double slope, curve;

	s.mean = sparse_dot(m, row, mode);
	if (m->row0[row] == m->row0[row + 1] || !(s.mean > 0) || (!timed && repeated(w, m, row)))
		return;
	/* As at the mode, edges as under its barrier. */
	slope = -0.5;
	curve = 0.5;
	if (timed)
		posterior_time_slope(w->post, row, s.mean, &slope, &curve);
	s.precision = curve / (s.mean * s.mean);
	s.pull = s.precision * s.mean - slope / s.mean;
	w->sites[w->n_sites++] = s;
}

static void work_init(struct work *w, const struct posterior *post, const double *mode)
{
	size_t d = post->n_free;

	*w = (struct work){ .post = post,
		            .d = d,
		            .sites = mem_calloc(post->n_timed + post->n_edges + 1, sizeof(*w->sites)),
		            .rr = mem_calloc(2 * d * d + 2 * d + 1, sizeof(double)) };
	w->h = w->rr + d * d;
	w->g = w->h + d * d;
	w->x = w->g + d;
	posterior_normal(post, w->rr);
	for (size_t c = 0; c < post->n_timed; c++)
		add_site(w, &post->n, c, true, mode);
	for (size_t e = 0; e < post->n_edges; e++)
		add_site(w, &post->z, e, false, mode);
}

static void work_fini(struct work *w)
{
	free(w->sites);
	free(w->rr);
}

/* The normal density that the equations and all sites make: its mean, and W. */
static int join(struct work *w, struct moments *out)
{
	const struct posterior *post = w->post;
	size_t d = w->d;

	memcpy(w->h, w->rr, d * d * sizeof(*w->h));
	memset(w->g, 0, d * sizeof(*w->g));
	for (size_t i = 0; i < post->n_rows; i++)
		for (size_t k = 0; k < d; k++)
			w->g[k] += post->r_value[i] * post->r[i * d + k];
	for (size_t s = 0; s < w->n_sites; s++) {
		const struct site *site = &w->sites[s];
		const struct sparse *m = site->m;

		for (size_t i = m->row0[site->row]; i < m->row0[site->row + 1]; i++) {
			double *row = w->h + m->col[i] * d;

			w->g[m->col[i]] += site->pull * m->x[i];
			for (size_t j = m->row0[site->row]; j <= i; j++)
				row[m->col[j]] += site->precision * m->x[i] * m->x[j];
		}
	}
	if (cholesky_factor_hessian(w->h, d) < 0)
		return sp_fail(SP_EDOMAIN, "a region's posterior could not be factored (%zu free flows)", d);
	cholesky_invert(w->h, d, out->spread);
	cholesky_solve(w->h, d, w->g);
	memcpy(out->mean, w->g, d * sizeof(*w->g));
	return 0;
}

/* Mean and variance of a site's x under all: |W row|^2, W's columns being those of inverse(L). */
static void look(struct work *w, struct site *s, const struct moments *at)
{
	const struct sparse *m = s->m;
	size_t d = w->d, first = d;

	s->mean = sparse_dot(m, s->row, at->mean);
	memset(w->x, 0, d * sizeof(*w->x));
	for (size_t i = m->row0[s->row]; i < m->row0[s->row + 1]; i++) {
		first = m->col[i] < first ? m->col[i] : first;
		for (size_t k = m->col[i]; k < d; k++)
			w->x[k] += m->x[i] * at->spread[k * d + m->col[i]];
	}
	s->var = 0;
	for (size_t k = first; k < d; k++)
		s->var += w->x[k] * w->x[k];
}

/* What the site must be so that x has the mean and variance that its factor gives beside all other sites. */
static void mend(const struct work *w, struct site *s)
{
	double rest = 1 / s->var - s->precision, mean, var, precision, pull, at;

	/* No other site says anything of x, or rounding is all that is left. */
	if (!(rest > 1e-9 / s->var) || !isfinite(rest))
		return;
	at = (s->mean / s->var - s->pull) / rest;
	mean = at;
	var = 1 / rest;
	if (s->timed)
		moments_timed(w->post, s->row, &mean, &var);
	else
		moments_positive(&mean, &var);
	if (!(var > 0) || !isfinite(mean))
		return;
	precision = fmax(1 / var - rest, least_precision * rest);
	pull = mean * (rest + precision) - at * rest;
	s->precision += s->damping * (precision - s->precision);
	s->pull += s->damping * (pull - s->pull);
}

/* The covariance once more, about the same mean, with the prior of time believed less. */
static int doubt_time(struct work *w, struct moments *out)
{
	double *mean = w->x;
	int err;

	memcpy(mean, out->mean, w->d * sizeof(*mean));
	for (size_t s = 0; s < w->n_sites; s++)
		if (w->sites[s].timed)
			w->sites[s].precision /= model->alike;
	err = join(w, out);
	memcpy(out->mean, mean, w->d * sizeof(*mean));
	return err;
}

static void note_move(struct site *s, double moved)
{
	if (moved * s->moved < 0)
		s->damping = fmax(least_damping, s->damping * damp_more);
	else
		s->damping = fmin(most_damping, s->damping * damp_less);
	s->moved = moved;
}

static int find(struct work *w, struct moments *out)
{
	/* A round factors a d x d matrix: where that takes long there are few rounds. */
	int max = (int)fmax(EFFORT_LEAST_ROUNDS, fmin(EFFORT_MOMENT_ROUNDS, 6e9 / pow((double)w->d + 1, 3)));
	double change = INFINITY;
	int err = 0;

	for (int round = 0; round < max && change > close_enough; round++) {
		change = round ? 0 : INFINITY;
		err = join(w, out);
		if (err < 0)
			return err;
		for (size_t i = 0; i < w->n_sites; i++) {
			struct site *s = &w->sites[i];
			double before = s->mean;

			look(w, s, out);
			change = fmax(change, fabs(s->mean - before) / sqrt(s->var));
			/* The first is from the mode, to which no site was mended. */
			if (round)
				note_move(s, s->mean - before);
		}
		for (size_t i = 0; i < w->n_sites; i++)
			mend(w, &w->sites[i]);
	}
	out->settled = change < reason_limit_not_settled;
	err = join(w, out);
	return err < 0 ? err : doubt_time(w, out);
}

int moments_find(const struct posterior *post, const double *mode, struct moments *out)
{
	size_t d = post->n_free;
	struct work w;
	int err;

	work_init(&w, post, mode);
	*out = (struct moments){ .d = d,
		                 .mean = mem_calloc(d + 1, sizeof(double)),
		                 .spread = mem_calloc(d * d + 1, sizeof(double)) };
	err = find(&w, out);
	if (err < 0)
		moments_fini(out);
	work_fini(&w);
	return err;
}

void moments_draw(const struct moments *m, const struct posterior *post, gsl_rng *rng,
                  const struct problem *p, struct solution *out)
{
	double *t = mem_calloc(m->d + 1, sizeof(*t));

	for (size_t i = 0; i < out->n_draws; i++) {
		memcpy(t, m->mean, m->d * sizeof(*t));
		for (size_t k = 0; k < m->d; k++) {
			double z = gsl_ran_gaussian(rng, 1);

			for (size_t j = 0; j <= k; j++)
				t[j] += z * m->spread[k * m->d + j];
		}
		for (size_t b = 0; b < p->n_blocks; b++)
			out->draws[i * p->n_blocks + b] = (float)sparse_dot(&post->n, post->class_of[b], t);
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		solution_keep_positive(out, p->n_blocks, b, sparse_dot(&post->n, post->class_of[b], m->mean));
	for (size_t e = 0; e < p->n_edges; e++)
		out->edge_flow[e] = fmax(sparse_dot(&post->z, e, m->mean), 0);
	free(t);
}

void moments_fini(struct moments *m)
{
	free(m->mean);
	free(m->spread);
	*m = (struct moments){ 0 };
}
