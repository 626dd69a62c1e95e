/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/cost.h"

#include <float.h>
#include <gsl/gsl_spline.h>
#include <math.h>
#include <stdlib.h>

#include "profiler/base/err.h"

/*
 * All numbers here are those of random programs, whose true executions are
 * known, and were judged on others.  No class of six instructions or more
 * retired more than eleven a cycle; shorter ones share their cycles with what
 * stands beside them.
 */
static const double least_cyc_per_insn = 0.1, most_of_mean = 0.5, insn_without_least = 4;
/* s^2 of log cost: of long classes, and more of one instruction. */
static const double long_variance = 1, short_variance = 3;
/* The mean of costs is 1, so most are below it. */
static const double middle_below = 0.3;
/* Above the middle Student's density: a few blocks are fifty times dearer than most. */
static const double dof = 4;
/* Of what is like nothing known. */
static const double broad_share = 1e-4, broad_sd = 2.5;
/* However many samples: they skid to other blocks, and so are counts to a tenth at best. */
static const double least_count_variance = 0.01;
static const double least_curve = 0.05;

/* Steps of y and, finer, of the logarithms of r and lambda that are summed over. */
enum { FINER = 2, N_POINTS = 281 };
static const double step = 0.05, below = 8;

struct cost {
	gsl_spline *spline;
	double first, last; /* y */
	double first_slope, last_slope;
};

double cost_least(double n_insn, double cyc_per_insn)
{
	if (!(cyc_per_insn > 0))
		return 0;
	return fmin(least_cyc_per_insn / cyc_per_insn, most_of_mean) *
	       fmax(0, 1 - insn_without_least / n_insn);
}

/* Density of log r, not normalised. */
static double density(double log_r, double n_insn, double least)
{
	double var = long_variance + short_variance / (n_insn * n_insn);
	double middle = log1p(-least) - middle_below * var;
	double far = (log_r - middle) / broad_sd, over = exp(log_r) - least, p = 0, z;

	if (over > 0) {
		z = (log(over) - middle) / sqrt(var);
		p = z < 0 ? exp(-z * z / 2) : pow(1 + z * z / dof, -(dof + 1) / 2);
		p *= exp(log_r) / over;
	}
	return p + broad_share * exp(-far * far / 2);
}

/* The samples expected where k were seen: weights [n] of lambda, in fine steps of its logarithm from *first. */
static double *expected(double k, double *first, size_t *n)
{
	double fine = step / FINER, shape = 1 / (1 / k + least_count_variance);
	/* To where shape (x + 1 - e^x) is below -15: far down it falls as x does, near its top as x^2 / 2. */
	double down = 15 / shape + sqrt(30 / shape), up = log1p(15 / shape + sqrt(30 / shape));
	double *w;

	*n = (size_t)ceil((down + up) / fine) + 1;
	*first = log(k) - down;
	w = calloc(*n, sizeof(*w));
	for (size_t i = 0; w && i < *n; i++) {
		double x = (double)i * fine - down;

		w[i] = fine * exp(shape * (x + 1 - exp(x)));
	}
	return w;
}

/* F at all y: the sum over lambda of its weight times the density of log lambda - y. */
static void fill(double y[], double f[], const double *w, double first, size_t n, double *p, double n_insn,
                 double least)
{
	size_t n_p = n + FINER * (N_POINTS - 1);

	/* p[i] is the density at first - y[N_POINTS - 1] + i fine steps. */
	for (size_t i = 0; i < n_p; i++)
		p[i] = density(first - y[N_POINTS - 1] + (double)i * step / FINER, n_insn, least);
	for (size_t j = 0; j < N_POINTS; j++) {
		const double *from = p + FINER * (N_POINTS - 1 - j);
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += w[i] * from[i];
		f[j] = -log(fmax(sum, DBL_MIN));
	}
}

int cost_new(double n_samples, double n_insn, double least, struct cost **out)
{
	double y[N_POINTS], f[N_POINTS], first, *w, *p = NULL;
	struct cost *cost = calloc(1, sizeof(*cost));
	size_t n = 0;

	w = expected(n_samples, &first, &n);
	p = calloc(n + FINER * N_POINTS, sizeof(*p));
	if (cost)
		cost->spline = gsl_spline_alloc(gsl_interp_cspline, N_POINTS);
	if (!w || !p || !cost || !cost->spline) {
		free(w);
		free(p);
		cost_free(cost);
		return sp_fail(SP_ENOMEM, "out of memory for the cost of a block");
	}
	for (size_t j = 0; j < N_POINTS; j++)
		y[j] = log(n_samples) - below + (double)j * step;
	fill(y, f, w, first, n, p, n_insn, least);
	gsl_spline_init(cost->spline, y, f, N_POINTS);
	cost->first = y[0];
	cost->last = y[N_POINTS - 1];
	cost->first_slope = gsl_spline_eval_deriv(cost->spline, cost->first, NULL);
	cost->last_slope = gsl_spline_eval_deriv(cost->spline, cost->last, NULL);
	free(w);
	free(p);
	*out = cost;
	return 0;
}

void cost_free(struct cost *cost)
{
	if (cost && cost->spline)
		gsl_spline_free(cost->spline);
	free(cost);
}

/* Past its ends the curve goes on straight: its second derivative is zero there. */
double cost_at(const struct cost *cost, double y)
{
	double in = fmin(fmax(y, cost->first), cost->last);

	return gsl_spline_eval(cost->spline, in, NULL) +
	       (y - in) * (y < in ? cost->first_slope : cost->last_slope);
}

void cost_slope(const struct cost *cost, double y, double *slope, double *curve)
{
	double in = fmin(fmax(y, cost->first), cost->last);

	*slope = gsl_spline_eval_deriv(cost->spline, in, NULL);
	*curve = fmax(least_curve, gsl_spline_eval_deriv2(cost->spline, in, NULL));
}
