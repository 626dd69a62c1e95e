/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/stats.h"

#include <math.h>

static int sign(double d)
{
	return (d > 0) - (d < 0);
}

double stats_tau(const double *x, const double *y, size_t n)
{
	double sum = 0, pairs_x = 0, pairs_y = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			int dx = sign(x[i] - x[j]), dy = sign(y[i] - y[j]);

			sum += dx * dy;
			pairs_x += dx != 0;
			pairs_y += dy != 0;
		}
	}
	return pairs_x > 0 && pairs_y > 0 ? sum / sqrt(pairs_x * pairs_y) : NAN;
}
