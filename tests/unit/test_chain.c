/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>

#include "correct/infer/problem.h"

enum { CHAINS = 4, DRAWS = 2000 };

/* x[k][t] = offset[k] + a first-order autoregression of unit variance with correlation rho. */
static double *make_chains(double rho, const double *offset)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double *x = malloc(sizeof(*x) * CHAINS * DRAWS);

	assert_non_null(rng);
	assert_non_null(x);
	for (int k = 0; k < CHAINS; k++) {
		double z = gsl_ran_gaussian(rng, 1);

		for (int t = 0; t < DRAWS; t++) {
			x[k * DRAWS + t] = z + (offset ? offset[k] : 0);
			z = rho * z + sqrt(1 - rho * rho) * gsl_ran_gaussian(rng, 1);
		}
	}
	gsl_rng_free(rng);
	return x;
}

static void independent_draws_count_in_full(void **state)
{
	double *x = make_chains(0, NULL), r_hat, n_eff;

	(void)state;
	chain_diagnose(x, CHAINS, DRAWS, &r_hat, &n_eff);
	/* The means of 8 halves of 1000 draws have variance 1/1000: R-hat = 1 + about 0.0005. */
	assert_float_equal(r_hat, 1, 0.003);
	/* sd of the estimate is a few lags' worth of 1 / sqrt(8000), doubled: under 5% */
	assert_float_equal(n_eff, CHAINS * DRAWS, 0.15 * CHAINS * DRAWS);
	free(x);
}

/* AR(1): the correlation time is (1 + rho) / (1 - rho): 3 for rho = 1/2, 19 for 0.9. */
static void correlated_draws_count_for_their_correlation_time(void **state)
{
	double *x = make_chains(0.5, NULL), r_hat, n_eff;

	(void)state;
	chain_diagnose(x, CHAINS, DRAWS, &r_hat, &n_eff);
	assert_float_equal(n_eff, CHAINS * DRAWS / 3.0, 0.2 * CHAINS * DRAWS / 3.0);
	free(x);
	x = make_chains(0.9, NULL);
	chain_diagnose(x, CHAINS, DRAWS, &r_hat, &n_eff);
	assert_float_equal(n_eff, CHAINS * DRAWS / 19.0, 0.35 * CHAINS * DRAWS / 19.0);
	assert_true(r_hat < 1.1);
	free(x);
}

/* Negative correlation, (1 - 0.5) / (1 + 0.5) = 1/3: worth more than their number. */
static void alternating_draws_are_worth_more(void **state)
{
	double *x = make_chains(-0.5, NULL), r_hat, n_eff;

	(void)state;
	chain_diagnose(x, CHAINS, DRAWS, &r_hat, &n_eff);
	assert_float_equal(n_eff, 3.0 * CHAINS * DRAWS, 0.2 * 3 * CHAINS * DRAWS);
	free(x);
}

/*
 * Means 0, 0, 0, 3, two halves each: their variance is 8/7 * 9 * 3/16 = 1.93,
 * so R-hat = sqrt(1 + 1.93) = 1.71; the eight sequences are worth about as many draws.
 */
static void chains_in_different_places_are_found_out(void **state)
{
	const double offset[CHAINS] = { 0, 0, 0, 3 };
	double *x = make_chains(0, offset), r_hat, n_eff;

	(void)state;
	chain_diagnose(x, CHAINS, DRAWS, &r_hat, &n_eff);
	assert_float_equal(r_hat, 1.71, 0.06);
	assert_true(n_eff < 20);
	free(x);
}

/* One chain that drifts: its halves differ, which unsplit chains would not show. */
static void a_drift_is_seen_by_splitting(void **state)
{
	double *x = make_chains(0, NULL), r_hat, n_eff;

	(void)state;
	for (int i = 0; i < CHAINS * DRAWS; i++)
		x[i] += 4.0 * (i % DRAWS) / DRAWS;
	chain_diagnose(x, CHAINS, DRAWS, &r_hat, &n_eff);
	assert_true(r_hat > 1.2);
	free(x);
}

static void draws_that_never_change_have_met(void **state)
{
	const double same[8] = { 5, 5, 5, 5, 5, 5, 5, 5 };
	const double apart[8] = { 5, 5, 5, 5, 6, 6, 6, 6 };
	double r_hat, n_eff;

	(void)state;
	chain_diagnose(same, 2, 4, &r_hat, &n_eff);
	assert_float_equal(r_hat, 1, 0);
	assert_float_equal(n_eff, 8, 0);
	chain_diagnose(apart, 2, 4, &r_hat, &n_eff);
	assert_true(isinf(r_hat));
	assert_float_equal(n_eff, 2, 0);
	chain_diagnose(same, 2, 3, &r_hat, &n_eff);
	assert_true(isnan(r_hat) && isnan(n_eff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_draws_count_in_full),
		cmocka_unit_test(correlated_draws_count_for_their_correlation_time),
		cmocka_unit_test(alternating_draws_are_worth_more),
		cmocka_unit_test(chains_in_different_places_are_found_out),
		cmocka_unit_test(a_drift_is_seen_by_splitting),
		cmocka_unit_test(draws_that_never_change_have_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
