/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lbfgs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double rosenbrock(void *data, const double *x, double *g, const int n, const double step)
{
	double f = 0;

	(void)data, (void)step;
	for (int i = 0; i < n; i += 2) {
		double a = 1 - x[i], b = 10 * (x[i + 1] - x[i] * x[i]);

		g[i + 1] = 20 * b;
		g[i] = -2 * (x[i] * g[i + 1] + a) + cos(x[i]) * 1e-3;
		f += a * a + b * b + sin(x[i]) * 1e-3;
	}
	return f;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	double *x = lbfgs_malloc(n), f = 0;
	lbfgs_parameter_t p;
	double sum = 0;

	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < n; i++)
			x[i] = i % 2 ? 1 : -1.2 + .01 * ((i * 7 + round) % 13);
		lbfgs_parameter_init(&p);
		lbfgs(n, x, &f, rosenbrock, NULL, NULL, &p);
		sum += f;
	}
	printf("%g\n", sum);
	return 0;
}
