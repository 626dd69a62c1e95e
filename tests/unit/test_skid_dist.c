/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/skid/dist.h"
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

/* eq. 5: samples 100 apart of which half hide one overflow are of overflows 100 / 1.5 apart, and 120 is one and a half of these. */
static void overflows_within_a_skid_are_hidden(void **state)
{
	struct skid_dist d;

	(void)state;
	skid_dist_constant(&d, 100);
	assert_float_equal(skid_dist_hidden(&d, 150), 0, 1e-12);
	assert_float_equal(skid_dist_hidden(&d, 0), 0, 1e-12);
	/* As many may be hidden as samples are closer. */
	assert_float_equal(skid_dist_hidden(&d, 100), 1, 1e-12);
	assert_float_equal(skid_dist_hidden(&d, 1), 1, 1e-12);
	for (int k = 0; k < SKID_POINTS; k++)
		d.s_cyc[k] = k < SKID_POINTS / 2 ? 10 : 120;
	assert_float_equal(skid_dist_hidden(&d, 121), 0, 1e-12);
	assert_float_equal(skid_dist_hidden(&d, 100), 0.5, 1e-12);
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

static double next_uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

/* Half of the skids are 300 to 320 cycles, half 300 to 1300, as sharp and as long as real ones. */
static double draw(uint64_t *state)
{
	double to = next_uniform(state) < 0.5 ? 20 : 1000;

	return 300 + to * next_uniform(state);
}

/*
 * An overflow of cycles, and at a random moment up to 1400 cycles before it or after it one of another event: the first
 * wait to end ends both, and two thirds of the interrupts are shared.  Of 20,000 the median (317.9..320: 2% of it) and the
 * 90th percentile (1100, with a standard error of 5) are those of the skids alone; those of what was seen are not.
 */
static void skids_beside_a_busy_event_come_out_as_drawn(void **state)
{
	enum { N = 20000 };
	struct skid_seen *seen = calloc(N, sizeof(*seen));
	double *out = calloc(N, sizeof(*out));
	uint64_t random = 1;
	size_t low = 0;

	(void)state;
	assert_non_null(seen);
	assert_non_null(out);
	for (int i = 0; i < N; i++) {
		double mine = draw(&random), other = 1400 * (2 * next_uniform(&random) - 1);
		double theirs = other + draw(&random), end = fmin(mine, theirs);

		/* Apart: the other's interrupt was over before, or its overflow came after ours was served. */
		seen[i] = theirs < 0 || other > mine ? (struct skid_seen){ mine, false }
		                                     : (struct skid_seen){ end, true };
		low += seen[i].s_cyc < 300;
	}
	assert_true(low > N / 20);
	skid_unshare(seen, N, out);
	/* Few are shorter than any is: which of two waits ended is not asked. */
	assert_true(out[N / 20] >= 0.9 * 300);
	assert_true(fabs(out[N / 2] - 320) < 0.02 * 320);
	assert_true(fabs(out[N * 9 / 10] - 1100) < 0.02 * 1100);
	free(seen);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_interrupts_cut_skids_short),
		cmocka_unit_test(skids_beside_a_busy_event_come_out_as_drawn),
		cmocka_unit_test(skids_of_interrupts_of_their_own_stay_what_they_are),
		cmocka_unit_test(sixty_four_samples_are_their_own_quantiles),
		cmocka_unit_test(few_samples_are_joined_by_lines),
		cmocka_unit_test(what_is_no_skid_is_refused),
		cmocka_unit_test(overflows_within_a_skid_are_hidden),
		cmocka_unit_test(a_constant_skid_has_one_value),
		cmocka_unit_test(the_default_says_what_it_was_measured_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
