/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/skid/shift.h"
#include "profiler/base/err.h"

/* 64 samples 63, 62 ... 0: sorted, they are the 64 points themselves. */
static void sixty_four_samples_are_their_own_quantiles(void **state)
{
	double s[SKID_POINTS];
	struct skid_dist d;

	(void)state;
	for (int k = 0; k < SKID_POINTS; k++)
		s[k] = SKID_POINTS - 1 - k;
	assert_int_equal(skid_dist_fit(&d, s, SKID_POINTS), 0);
	for (int k = 0; k < SKID_POINTS; k++)
		assert_float_equal(d.s_cyc[k], k, 1e-12);
	assert_float_equal(skid_dist_mean(&d), 31.5, 1e-12);
	assert_float_equal(skid_dist_quantile(&d, 0.5), 31.5, 1e-12);
	assert_float_equal(skid_dist_quantile(&d, 0), 0, 1e-12);
	assert_float_equal(skid_dist_quantile(&d, 1), 63, 1e-12);
}

/* Two samples 100 and 200 stand at 1/4 and 3/4: the median is half way, below 1/4 it is 100. */
static void few_samples_are_joined_by_lines(void **state)
{
	const double s[] = { 200, 100 };
	struct skid_dist d;

	(void)state;
	assert_int_equal(skid_dist_fit(&d, s, 2), 0);
	assert_float_equal(d.s_cyc[0], 100, 1e-12);
	assert_float_equal(d.s_cyc[SKID_POINTS - 1], 200, 1e-12);
	/* point 31 stands at 31.5 / 64: position 2 * 31.5 / 64 - 0.5 = 0.484375 between the two */
	assert_float_equal(d.s_cyc[31], 148.4375, 1e-9);
	assert_float_equal(skid_dist_quantile(&d, 0.5), 150, 1e-9);
}

static void what_is_no_skid_is_refused(void **state)
{
	const double negative[] = { -1 }, infinite[] = { INFINITY };
	struct skid_dist d;

	(void)state;
	assert_int_equal(skid_dist_fit(&d, negative, 0), -SP_EDOMAIN);
	assert_int_equal(skid_dist_fit(&d, negative, 1), -SP_EDOMAIN);
	assert_int_equal(skid_dist_fit(&d, infinite, 1), -SP_EDOMAIN);
}

static void a_constant_skid_has_one_value(void **state)
{
	struct skid_dist d;

	(void)state;
	skid_dist_constant(&d, 40);
	assert_float_equal(skid_dist_quantile(&d, 0.1), 40, 0);
	assert_float_equal(skid_dist_quantile(&d, 0.9), 40, 0);
}

/* The published figures of the measured machine: p10 310, median 378, p90 646 cycles. */
static void the_default_says_what_it_was_measured_on(void **state)
{
	struct skid_dist d;
	const char *basis = NULL;

	(void)state;
	assert_true(skid_dist_default("Intel(R) Xeon(R) W-2195 CPU @ 2.30GHz", &d, &basis));
	assert_non_null(basis);
	assert_float_equal(skid_dist_quantile(&d, 0.1), 310, 2);
	assert_float_equal(skid_dist_quantile(&d, 0.5), 378, 3);
	assert_float_equal(skid_dist_quantile(&d, 0.9), 646, 20);
	for (int k = 1; k < SKID_POINTS; k++)
		assert_true(d.s_cyc[k] >= d.s_cyc[k - 1]);
	assert_false(skid_dist_default("AMD EPYC 9R14", &d, &basis));
	assert_false(skid_dist_default(NULL, &d, &basis));
	assert_non_null(basis);
}

/*
 * 100 ends of 5: a fifth is over.  200 and 300 are shared, so half of 4 and half of 3 are: 0.8 x 7/8 = 0.7, x 5/6 =
 * 0.583 are left.  400 ends of 2: 0.292 are left, and 500 is the last.  So the five quantiles 0.1, 0.3 ... 0.9 are
 */
static void shared_interrupts_cut_skids_short(void **state)
{
	struct skid_seen seen[] = {
		{ 400, false }, { 200, true }, { 500, false }, { 300, true }, { 100, false }
	};
	static const double want[] = { 100, 200, 400, 400, 500 };
	double out[5];

	(void)state;
	skid_unshare(seen, 5, out);
	for (int i = 0; i < 5; i++)
		assert_true(out[i] == want[i]);
}

static void skids_of_interrupts_of_their_own_stay_what_they_are(void **state)
{
	enum { N = 1000 };
	static struct skid_seen seen[N];
	static double out[N];

	(void)state;
	for (int i = 0; i < N; i++)
		seen[i].s_cyc = (i * 7919) % N;
	skid_unshare(seen, N, out);
	for (int i = 0; i < N; i++)
		assert_true(out[i] == i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_interrupts_cut_skids_short),
		cmocka_unit_test(skids_of_interrupts_of_their_own_stay_what_they_are),
		cmocka_unit_test(sixty_four_samples_are_their_own_quantiles),
		cmocka_unit_test(few_samples_are_joined_by_lines),
		cmocka_unit_test(what_is_no_skid_is_refused),
		cmocka_unit_test(a_constant_skid_has_one_value),
		cmocka_unit_test(the_default_says_what_it_was_measured_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
