/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 16: what samples of time say of executions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "correct/infer/cost.h"

/* Density of the cost r over the mean, as the equation has it; not normalised, in log r. */
static double density(double r, double n_insn, double least)
{
	double var = 0.4 + 8 / pow(n_insn, 1.5), middle = log(1 - least) - var / 2;
	double far = (log(r) - middle) / 2.5, p = 1e-4 * exp(-far * far / 2), z;

	if (r <= least)
		return p;
	z = (log(r - least) - middle) / sqrt(var);
	return p + exp(-z * z / 2) * r / (r - least);
}

/* F by a sum over the samples expected, lambda, in steps far finer than it changes. */
static double exact(double k, double n_insn, double least, double y)
{
	double shape = 1 / (1 / k + 0.01), sum = 0;

	for (double log_ratio = -40; log_ratio < 6; log_ratio += 1e-4) {
		double ratio = exp(log_ratio), lambda = k * ratio;

		/* A gamma density: lambda^k e^-lambda for few, a tenth wide for many. */
		sum += 1e-4 * exp(shape * (log_ratio + 1 - ratio)) * density(lambda / exp(y), n_insn, least);
	}
	return -log(sum);
}

static void the_density_is_that_of_the_equation(void **state)
{
	static const struct {
		double k, n_insn, least;
	} cases[] = {
		{ 0.5, 20, 0.2 }, { 0.5, 1, 0 }, { 3.5, 2, 0 }, { 20.5, 10, 0.12 }, { 5000.5, 14, 0.4 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double k = cases[i].k, n_insn = cases[i].n_insn, least = cases[i].least;
		struct cost *cost = NULL;

		cost_new(k, cost_variance(n_insn), least, &cost);
		/* Between points 0.045 apart, where it falls off steeply: three thousandths of the density. */
		for (double y = log(k) - 7.33; y < log(k) + 5; y += 0.77)
			assert_float_equal(cost_at(cost, y), exact(k, n_insn, least, y), 3e-3);
		cost_free(cost);
	}
}

static void slopes_are_derivatives_everywhere(void **state)
{
	static const double ks[] = { 0.5, 7.5, 400.5 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct cost *cost = NULL;

		cost_new(ks[i], cost_variance(8), 0.1, &cost);
		for (double y = -30; y < 40; y += 0.0937) {
			double h = 1e-5, slope, curve;

			cost_slope(cost, y, &slope, &curve);
			assert_float_equal(slope, (cost_at(cost, y + h) - cost_at(cost, y - h)) / (2 * h),
			                   1e-4);
			assert_true(curve > 0);
		}
		cost_free(cost);
	}
}

/*
 * Thousand samples, seen where e^y were to be.  What ten times the mean costs, log r - m = 2.55 of s = 0.7, is as rare as z^2 / 2 = 6.6
 * says, less the 0.06 of the mean itself, less what the broad density and the noise of counts give; a tenth of the mean is rarer
 * still where the least is a fifth, and less rare, (2.06 / 0.7)^2 / 2 = 4.3, where there is none.
 */
static void cheap_is_rarer_than_dear_where_there_is_a_least(void **state)
{
	struct cost *with = NULL, *without = NULL;
	double mean = log(1000), cheap = mean + log(10), dear = mean - log(10);

	(void)state;
	cost_new(1000, cost_variance(20), 0.2, &with);
	cost_new(1000, cost_variance(20), 0, &without);
	assert_true(cost_at(with, cheap) - cost_at(with, mean) > 9);
	assert_true(cost_at(with, dear) - cost_at(with, mean) < 8);
	assert_float_equal(cost_at(without, dear) - cost_at(without, mean), 6.5, 0.3);
	assert_float_equal(cost_at(without, cheap) - cost_at(without, mean), 4.3, 0.3);
	cost_free(with);
	cost_free(without);
}

/* None seen: the less the better, but hardly so once less than one sample was to be. */
static void unseen_code_ran_seldom(void **state)
{
	struct cost *cost = NULL;

	(void)state;
	cost_new(0.5, cost_variance(20), 0.2, &cost);
	assert_true(cost_at(cost, log(100)) - cost_at(cost, log(1)) > 6);
	assert_true(fabs(cost_at(cost, log(1)) - cost_at(cost, log(0.1))) < 2);
	cost_free(cost);
}

static void the_least_cost_is_that_of_a_core_ten_wide(void **state)
{
	(void)state;
	/* 0.1 / 0.5 of the mean, less what short blocks share with others: 1 - 4/10 of it */
	assert_float_equal(cost_least(10, 0.5), 0.12, 1e-12);
	/* Where all runs that fast, half of the mean. */
	assert_float_equal(cost_least(10, 0.1), 0.3, 1e-12);
	assert_float_equal(cost_least(4, 0.5), 0, 0);
	assert_float_equal(cost_least(1, 0.5), 0, 0);
	assert_float_equal(cost_least(10, 0), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_density_is_that_of_the_equation),
		cmocka_unit_test(slopes_are_derivatives_everywhere),
		cmocka_unit_test(cheap_is_rarer_than_dear_where_there_is_a_least),
		cmocka_unit_test(unseen_code_ran_seldom),
		cmocka_unit_test(the_least_cost_is_that_of_a_core_ten_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
