/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/score.h"

/* eps of raw counts, n of them, at most 3. */
static double eps_of(const double *raw, const double *truth, size_t n)
{
	struct score_row rows[3] = { 0 };
	struct score s;

	for (size_t i = 0; i < n; i++)
		rows[i] = (struct score_row){
			.name = "", .truth = truth[i], .raw = raw[i], .lo = NAN, .hi = NAN
		};
	compare_score(rows, n, 0.01, &s);
	return s.eps_raw;
}

/* eq. 21: shares 0.5 0.3 0.2 against 0.4 0.4 0.2: 1/2 (0.1 + 0.1 + 0) = 0.1, whatever the totals are. */
static void eps_is_half_the_sum_of_share_differences(void **state)
{
	const double estimate[] = { 500, 300, 200 }, truth[] = { 4, 4, 2 };

	(void)state;
	assert_float_equal(eps_of(estimate, truth, 3), 0.1, 1e-12);
}

static void eps_is_0_for_equal_and_1_for_disjoint_shares(void **state)
{
	const double a[] = { 3, 1, 0 }, b[] = { 6, 2, 0 }, c[] = { 0, 0, 7 };

	(void)state;
	assert_float_equal(eps_of(a, b, 3), 0, 1e-12);
	assert_float_equal(eps_of(a, c, 3), 1, 1e-12);
}

static void eps_of_nothing_is_not_a_number(void **state)
{
	const double a[] = { 0, 0 }, b[] = { 1, 1 };

	(void)state;
	assert_true(isnan(eps_of(a, b, 2)));
	assert_true(isnan(eps_of(b, a, 2)));
}

/*
 * truth 600 395 5, raw 500 480 20, fixed 606 389 5.
 * raw errors -100/600 = -0.166667, 85/395 = 0.215190, 3; fixed 0.01, -6/395 = -0.015190, 0.
 * 5 of 1000 is under 1%: the third row is not scored.
 * mean raw (0.166667 + 0.215190)/2 = 0.190928, fixed (0.01 + 0.015190)/2 = 0.012595.
 * eps raw 1/2 (0.1 + 0.085 + 0.015) = 0.1, fixed 1/2 (0.006 + 0.006 + 0) = 0.006.
 */
static void errors_are_those_of_the_functions_that_matter(void **state)
{
	struct score_row rows[] = {
		{ .name = "a", .truth = 600, .raw = 500, .fixed = 606, .lo = 590, .hi = 620 },
		{ .name = "b", .truth = 395, .raw = 480, .fixed = 389, .lo = 380, .hi = 394 },
		{ .name = "c", .truth = 5, .raw = 20, .fixed = 5, .lo = NAN, .hi = NAN },
	};
	struct score s;

	(void)state;
	compare_score(rows, 3, 0.01, &s);
	assert_float_equal(rows[0].raw_err, -0.166667, 1e-6);
	assert_float_equal(rows[1].raw_err, 0.215190, 1e-6);
	assert_float_equal(rows[2].raw_err, 3, 1e-12);
	assert_float_equal(rows[0].fixed_err, 0.01, 1e-12);
	assert_float_equal(s.mean_err_raw, 0.190928, 1e-6);
	assert_float_equal(s.worst_err_raw, 0.215190, 1e-6);
	assert_float_equal(s.mean_err_fixed, 0.012595, 1e-6);
	assert_float_equal(s.worst_err_fixed, 0.015190, 1e-6);
	assert_float_equal(s.eps_raw, 0.1, 1e-12);
	assert_float_equal(s.eps_fixed, 0.006, 1e-12);
	assert_int_equal(s.n_scored, 2);
	assert_false(rows[2].scored);
	/* 600 lies in 590..620; 395 not in 380..394; c has none. */
	assert_int_equal(s.n_intervals, 2);
	assert_int_equal(s.n_inside, 1);
}

/* A function that never ran has no relative error, but its share counts against eps. */
static void what_never_ran_has_no_relative_error(void **state)
{
	struct score_row rows[] = {
		{ .name = "a", .truth = 100, .raw = 90, .fixed = 100, .lo = NAN, .hi = NAN },
		{ .name = "ghost", .truth = 0, .raw = 10, .fixed = 0, .lo = NAN, .hi = NAN },
	};
	struct score s;

	(void)state;
	compare_score(rows, 2, 0, &s);
	assert_true(isnan(rows[1].raw_err));
	assert_false(rows[1].scored);
	assert_float_equal(s.worst_err_raw, 0.1, 1e-12);
	/* 1/2 (|0.9 - 1| + |0.1 - 0|) = 0.1 */
	assert_float_equal(s.eps_raw, 0.1, 1e-12);
}

static void no_functions_give_no_numbers(void **state)
{
	struct score s;

	(void)state;
	compare_score(NULL, 0, 0.01, &s);
	assert_true(isnan(s.eps_raw) && isnan(s.eps_fixed) && isnan(s.mean_err_raw) &&
	            isnan(s.worst_err_fixed));
	assert_int_equal(s.n_scored, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eps_is_half_the_sum_of_share_differences),
		cmocka_unit_test(eps_is_0_for_equal_and_1_for_disjoint_shares),
		cmocka_unit_test(eps_of_nothing_is_not_a_number),
		cmocka_unit_test(errors_are_those_of_the_functions_that_matter),
		cmocka_unit_test(what_never_ran_has_no_relative_error),
		cmocka_unit_test(no_functions_give_no_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
