/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/dbscan.h"

#include <stdbool.h>
#include <stdlib.h>

#include "profiler/base/err.h"

enum { UNSEEN = -2 };

struct cloud {
	const double *points;
	size_t n, dims, least;
	double eps;
};

static bool is_near(const struct cloud *c, size_t a, size_t b)
{
	double sum = 0;

	for (size_t k = 0; k < c->dims; k++) {
		double d = c->points[a * c->dims + k] - c->points[b * c->dims + k];

		sum += d * d;
	}
	return sum <= c->eps * c->eps;
}

static bool is_core(const struct cloud *c, size_t i)
{
	size_t near = 0;

	for (size_t k = 0; k < c->n && near < c->least; k++)
		near += is_near(c, i, k);
	return near >= c->least;
}

/* Everything that can be reached from a core point; `open` has room for n. */
static void grow(const struct cloud *c, size_t from, int id, int *cluster, size_t *open)
{
	size_t n_open = 0;

	cluster[from] = id;
	open[n_open++] = from;
	while (n_open) {
		size_t i = open[--n_open];

		if (!is_core(c, i))
			continue;
		for (size_t k = 0; k < c->n; k++) {
			if (cluster[k] >= 0 || !is_near(c, i, k))
				continue;
			cluster[k] = id;
			open[n_open++] = k;
		}
	}
}

long dbscan(const double *points, size_t n, size_t dims, double eps, size_t least, int *cluster)
{
	const struct cloud c = { points, n, dims, least, eps };
	size_t *open = calloc(n ? n : 1, sizeof(*open));
	int id = 0;

	if (!open)
		return sp_fail(SP_ENOMEM, "out of memory for %zu points", n);
	for (size_t i = 0; i < n; i++)
		cluster[i] = UNSEEN;
	for (size_t i = 0; i < n; i++) {
		if (cluster[i] != UNSEEN)
			continue;
		if (is_core(&c, i))
			grow(&c, i, id++, cluster, open);
		else
			cluster[i] = DBSCAN_NOISE;
	}
	free(open);
	return id;
}
