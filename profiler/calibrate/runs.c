/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/runs.h"

#include <math.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

double runs_quantile(const struct cliff *c)
{
	if (c->is_far || c->shape == CLIFF_CHASE)
		return 0.25;
	return c->shape == CLIFF_PAIR ? 0.5 : 0.25;
}

static double quantile(const double *sorted, size_t n, double q)
{
	return gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
}

static double quartiles_distance(const double *sorted, size_t n)
{
	return quantile(sorted, n, 0.75) - quantile(sorted, n, 0.25);
}

void runs_read(struct runs *r, double q, double *response, double *spread)
{
	double iterations = (double)(r->n_many - r->n_few), width;

	gsl_sort(r->few, 1, r->n);
	gsl_sort(r->many, 1, r->n);
	width = quartiles_distance(r->many, r->n) + quartiles_distance(r->few, r->n);
	*response = (quantile(r->many, r->n, q) - quantile(r->few, r->n, q)) / iterations;
	/* Of a normal distribution: sd = distance of the quartiles / 1.35, of its median 1.25 sd / sqrt(n). */
	*spread = 1.96 * 1.25 / 1.35 * width / sqrt((double)r->n) / iterations;
}
