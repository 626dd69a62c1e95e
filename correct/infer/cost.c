/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/cost.h"

#include <float.h>
#include <gsl/gsl_spline.h>
#include <math.h>
#include <stdlib.h>

#include "correct/model/model.h"
#include "profiler/base/mem.h"

/* Steps of y and, finer, of the logarithms of r and lambda that are summed over. */
enum { FINER = 2, N_POINTS = 312 };
static const double step = 0.045, below = 8;

/* Where the curve is flat, or bends the other way, Newton's step needs one. */
static const double flat = 1e-6;

/*
 * The natural cubic spline through the points, which GSL finds; it is looked up some hundred million times, for which a
 * polynomial for each step lies ready.
 */
struct cost {
	double y[N_POINTS];
	struct piece {
		double at, b, c, d; /* at + x (b + x (c + x d)), x from its point on */
	} pieces[N_POINTS - 1];
	double first_slope, last_slope;
};

double cost_least(double n_insn, double cyc_per_insn)
{
	if (!(cyc_per_insn > 0))
		return 0;
	/* No code is cheaper than half of what all costs where that runs as fast as the core can. */
	return fmin(model->least_cyc_per_insn / cyc_per_insn, 0.5) *
	       fmax(0, 1 - model->insn_without_least / n_insn);
}

double cost_variance(double n_insn)
{
	return model->long_variance + model->short_variance / (n_insn * sqrt(n_insn));
}

double cost_function_variance(double n_insn)
{
	return model->function_variance + model->short_function_variance / n_insn;
}

/* Density of log r, not normalised. */
static double density(double log_r, double var, double least)
{
	/* The mean of r is 1. */
	double middle = log1p(-least) - var / 2;
	double far = (log_r - middle) / model->broad_sd, over = exp(log_r) - least, p = 0, z;

	if (over > 0) {
		z = (log(over) - middle) / sqrt(var);
		p = exp(-z * z / 2) * exp(log_r) / over;
	}
	return p + model->broad_share * exp(-far * far / 2);
}

/* The samples expected where k were seen: weights [n] of lambda, in fine steps of its logarithm from *first. */
static double *expected(double k, double *first, size_t *n)
{
	double fine = step / FINER, shape = 1 / (1 / k + model->skid_variance);
	/* To where shape (x + 1 - e^x) is below -15: far down it falls as x does, near its top as x^2 / 2. */
	double down = 15 / shape + sqrt(30 / shape), up = log1p(15 / shape + sqrt(30 / shape));
	double *w;

	*n = (size_t)ceil((down + up) / fine) + 1;
	*first = log(k) - down;
	w = mem_calloc(*n, sizeof(*w));
	for (size_t i = 0; i < *n; i++) {
		double x = (double)i * fine - down;

		w[i] = fine * exp(shape * (x + 1 - exp(x)));
	}
	return w;
}

/* F at all y: the sum over lambda of its weight times the density of log lambda - y. */
static void fill(double y[], double f[], const double *w, double first, size_t n, double *p, double var,
                 double least)
{
	size_t n_p = n + FINER * (N_POINTS - 1);

	/* p[i] is the density at first - y[N_POINTS - 1] + i fine steps. */
	for (size_t i = 0; i < n_p; i++)
		p[i] = density(first - y[N_POINTS - 1] + (double)i * step / FINER, var, least);
	for (size_t j = 0; j < N_POINTS; j++) {
		const double *from = p + FINER * (N_POINTS - 1 - j);
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += w[i] * from[i];
		f[j] = -log(fmax(sum, DBL_MIN));
	}
}

/* The polynomials, as GSL's own evaluation has them: the same bits. */
static void fill_pieces(struct cost *cost, const double f[])
{
	gsl_spline *spline = mem_have(gsl_spline_alloc(gsl_interp_cspline, N_POINTS));
	const double *y = cost->y;

	gsl_spline_init(spline, y, f, N_POINTS);
	for (size_t j = 0; j + 1 < N_POINTS; j++) {
		double dx = y[j + 1] - y[j], c = gsl_spline_eval_deriv2(spline, y[j], NULL) / 2;
		double next = j + 2 < N_POINTS ? gsl_spline_eval_deriv2(spline, y[j + 1], NULL) / 2 : 0;

		cost->pieces[j] = (struct piece){ f[j], (f[j + 1] - f[j]) / dx - dx * (next + 2.0 * c) / 3.0,
			                          c, (next - c) / (3.0 * dx) };
	}
	gsl_spline_free(spline);
}

/* The step that y, which is within the points, lies in. */
static inline const struct piece *piece_at(const struct cost *cost, double y, double *x)
{
	size_t j = (size_t)((y - cost->y[0]) / step);

	j = j < N_POINTS - 1 ? j : N_POINTS - 2;
	/* Rounding may miss by one. */
	if (y < cost->y[j])
		j--;
	else if (j + 2 < N_POINTS && y >= cost->y[j + 1])
		j++;
	*x = y - cost->y[j];
	return &cost->pieces[j];
}

static double slope_at(const struct cost *cost, double y)
{
	double x;
	const struct piece *p = piece_at(cost, y, &x);

	return p->b + x * (2.0 * p->c + 3.0 * p->d * x);
}

void cost_new(double n_samples, double var, double least, struct cost **out)
{
	double f[N_POINTS], first, *w, *p = NULL;
	struct cost *cost = mem_calloc(1, sizeof(*cost));
	size_t n = 0;

	w = expected(n_samples, &first, &n);
	p = mem_calloc(n + FINER * N_POINTS, sizeof(*p));
	for (size_t j = 0; j < N_POINTS; j++)
		cost->y[j] = log(n_samples) - below + (double)j * step;
	fill(cost->y, f, w, first, n, p, var, least);
	fill_pieces(cost, f);
	free(w);
	free(p);
	cost->first_slope = slope_at(cost, cost->y[0]);
	cost->last_slope = slope_at(cost, cost->y[N_POINTS - 1]);
	*out = cost;
}

void cost_free(struct cost *cost)
{
	free(cost);
}

/* y, no farther than the ends. */
static inline double within(const struct cost *cost, double y)
{
	return y < cost->y[0] ? cost->y[0] : y > cost->y[N_POINTS - 1] ? cost->y[N_POINTS - 1] : y;
}

/* Past its ends the curve goes on straight: its second derivative is zero there. */
double cost_at(const struct cost *cost, double y)
{
	double in = within(cost, y), x;
	const struct piece *p = piece_at(cost, in, &x);

	return p->at + x * (p->b + x * (p->c + x * p->d)) +
	       (y - in) * (y < in ? cost->first_slope : cost->last_slope);
}

void cost_slope(const struct cost *cost, double y, double *slope, double *curve)
{
	double in = within(cost, y), x;
	const struct piece *p = piece_at(cost, in, &x);

	*slope = slope_at(cost, in);
	*curve = fmax(flat, 2.0 * p->c + 6.0 * p->d * x);
}
