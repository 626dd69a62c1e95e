/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Factors that are no normal densities, replaced by those that are; on posteriors of one or two flows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "correct/infer/moments.h"

/* The half of a normal density: mean sqrt(2 / pi), variance 1 - 2 / pi. */
static void a_normal_density_cut_at_its_mean(void **state)
{
	double mean = 0, var = 1;

	(void)state;
	moments_positive(&mean, &var);
	assert_float_equal(mean, 0.7978846, 1e-6);
	assert_float_equal(var, 0.3633802, 1e-6);
	/* One that lies far above zero stays. */
	mean = 100;
	var = 4;
	moments_positive(&mean, &var);
	assert_float_equal(mean, 100, 1e-9);
	assert_float_equal(var, 4, 1e-9);
}

/* Far below, exp(-(x + 100)^2 / 2) falls as exp(-100 x): mean and standard deviation 1/100. */
static void the_far_tail_is_exponential(void **state)
{
	double mean = -100, var = 1, near_mean = -19.999, near_var = 1, far_mean = -20.001, far_var = 1;

	(void)state;
	moments_positive(&mean, &var);
	assert_float_equal(mean, 0.01, 1e-5);
	assert_float_equal(sqrt(var), 0.01, 1e-5);
	/* The two ways to work it out meet: the series leaves out terms of 10 / z^4 and 50 / z^4. */
	moments_positive(&near_mean, &near_var);
	moments_positive(&far_mean, &far_var);
	assert_float_equal(near_mean / far_mean, 1, 3e-4);
	assert_float_equal(near_var / far_var, 1, 1e-3);
}

/* A class that runs x times, is two instructions long and was seen in three samples, one for every two executions. */
static void one_class(struct posterior *post, struct cost **costs, double log_unit[1], uint32_t cost_of[1])
{
	cost_new(3.5, cost_variance(2), 0, costs);
	log_unit[0] = log(0.5);
	cost_of[0] = 0;
	*post = (struct posterior){ .n_classes = 1,
		                    .log_unit = log_unit,
		                    .cost_of = cost_of,
		                    .costs = costs,
		                    .n_costs = 1,
		                    .scale_weight = 0.5 };
}

/* Against sums over a fine grid of x instead of log x. */
static void the_time_of_a_class_beside_a_normal_density(void **state)
{
	double log_unit[1];
	uint32_t cost_of[1];
	struct cost *costs[1];
	const double means[] = { 2, -1, 40 }, sds[] = { 3, 2, 0.5 };
	struct posterior post;

	(void)state;
	one_class(&post, costs, log_unit, cost_of);
	for (int k = 0; k < 3; k++) {
		double mean = means[k], var = sds[k] * sds[k], sum = 0, first = 0, second = 0;

		for (int i = 0; i < 500000; i++) {
			double x = (i + 0.5) * 1e-4, z = (x - means[k]) / sds[k],
			       p = exp(-z * z / 2 - posterior_time(&post, 0, x));

			sum += p;
			first += p * x;
			second += p * x * x;
		}
		moments_timed(&post, 0, &mean, &var);
		assert_float_equal(mean, first / sum, 2e-3 * first / sum);
		assert_float_equal(var, second / sum - first / sum * (first / sum), 5e-3 * var);
	}
	cost_free(costs[0]);
}

/* Flows t_0 ... t_(d-1), which are the edges too; no time. */
static struct posterior flows(size_t d, double *r, double *value, size_t *row0, uint32_t *col, double *one)
{
	for (size_t k = 0; k < d; k++) {
		row0[k + 1] = k + 1;
		col[k] = (uint32_t)k;
		one[k] = 1;
	}
	row0[0] = 0;
	return (struct posterior){
		.n_free = d, .n_edges = d, .n_rows = 1, .z = { d, row0, col, one }, .r = r, .r_value = value
	};
}

/* x = -1, known to 1, and x >= 0: one factor beside one equation is met exactly. */
static void one_flow_has_the_moments_of_the_cut_density(void **state)
{
	size_t row0[2];
	uint32_t col[1];
	double r[] = { 1 }, value[] = { -1 }, one[1], mode[] = { 0.4 }, mean = -1, var = 1;
	struct posterior post = flows(1, r, value, row0, col, one);
	struct moments m;

	(void)state;
	moments_positive(&mean, &var);
	assert_int_equal(moments_find(&post, mode, &m), 0);
	assert_true(m.settled);
	/* Rounds stop at a twentieth of the standard deviation, each having made more than half of the way. */
	assert_float_equal(m.mean[0], mean, 0.05 * sqrt(var));
	assert_float_equal(m.spread[0] * m.spread[0], var, 0.1 * var);
	moments_fini(&m);
}

/* x + y = 1, to a thousandth, and both positive: neither is the larger, wherever one begins. */
static void what_one_flow_has_the_other_lacks(void **state)
{
	size_t row0[3];
	uint32_t col[2];
	double r[] = { 1000, 1000 }, value[] = { 1000 }, one[2], mode[] = { 0.05, 0.95 };
	struct posterior post = flows(2, r, value, row0, col, one);
	struct moments m;
	double var_x, var_y, cross;

	(void)state;
	assert_int_equal(moments_find(&post, mode, &m), 0);
	assert_true(m.settled);
	assert_float_equal(m.mean[0] + m.mean[1], 1, 2e-3);
	/* sqrt(1 / 12) = 0.29 is the spread of what lies evenly between 0 and 1, of which 0.05 may be left. */
	assert_float_equal(m.mean[0], 0.5, 0.03);
	var_x = m.spread[0] * m.spread[0] + m.spread[2] * m.spread[2];
	var_y = m.spread[3] * m.spread[3];
	cross = m.spread[2] * m.spread[3];
	assert_float_equal(cross / sqrt(var_x * var_y), -1, 1e-3);
	/* Two normal densities in place of two walls come out wider than what is between those, never narrower. */
	assert_true(sqrt(var_x) > 0.289 && sqrt(var_x) < 0.4);
	moments_fini(&m);
}

/* A mean of 1 with a standard deviation of 1: a sixth of the draws would lie below zero. */
static void draws_keep_the_mean_and_stay_positive(void **state)
{
	enum { DRAWS = 4000 };
	size_t row0[2], class_row0[2] = { 0, 1 };
	uint32_t col[1], class_of[] = { 0 };
	double r[] = { 1 }, value[] = { 1 }, one[1], spread[] = { 1 }, mean[] = { 1 }, sum = 0;
	struct posterior post = flows(1, r, value, row0, col, one);
	struct moments m = { .d = 1, .mean = mean, .spread = spread, .settled = true };
	struct problem p = { .n_blocks = 1, .n_edges = 1 };
	struct solution out;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	(void)state;
	assert_non_null(rng);
	post.n_classes = 1;
	post.n = (struct sparse){ 1, class_row0, col, one };
	post.class_of = class_of;
	solution_init(&out, &p, DRAWS);
	moments_draw(&m, &post, rng, &p, &out);
	for (int i = 0; i < DRAWS; i++) {
		assert_true(out.draws[i] >= 0);
		sum += (double)out.draws[i] / DRAWS;
	}
	/* They are floats. */
	assert_float_equal(sum, 1, 1e-5);
	assert_float_equal(out.edge_flow[0], 1, 1e-12);
	solution_fini(&out);
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_normal_density_cut_at_its_mean),
		cmocka_unit_test(the_far_tail_is_exponential),
		cmocka_unit_test(the_time_of_a_class_beside_a_normal_density),
		cmocka_unit_test(one_flow_has_the_moments_of_the_cut_density),
		cmocka_unit_test(what_one_flow_has_the_other_lacks),
		cmocka_unit_test(draws_keep_the_mean_and_stay_positive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
