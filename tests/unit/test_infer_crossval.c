/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 18: equations left out one at a time, and predicted from the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correct/infer/crossval.h"

static void misses_of_independent_predictions_are_in_their_own_noise(void **state)
{
	double cov[] = { 4, 0, 0, 9 }, sum;
	const double miss[] = { 2, 6 };

	(void)state;
	sum = crossval_squares(cov, miss, 2);
	assert_float_equal(sum, 1 + 4, 1e-12);
}

/*
 * The inverse is 1/3 (2 -1; -1 2), times the misses (1, -1): each misses by 1 / (2/3) = 1.5 when the other is
 * known, with variance 1.5.
 */
static void what_goes_together_is_predicted_from_the_others(void **state)
{
	double cov[] = { 2, 1, 1, 2 }, sum;
	const double miss[] = { 1, -1 };

	(void)state;
	sum = crossval_squares(cov, miss, 2);
	assert_float_equal(sum, 1.5 + 1.5, 1e-12);
}

/*
 * x + y = 10, x = 4 and y = 5, each to 1: the mode is (13/3, 16/3).  Without x = 4 it is (5, 5) and x has
 * variance 2; the equation's own noise makes it 3, and it misses by 1.
 */
static void a_row_of_a_posterior_is_predicted_without_it(void **state)
{
	double r[] = { 1, 1, 1, 0, 0, 1 }, value[] = { 10, 4, 5 };
	double loose_r[] = { 1, 1, 0, 1 }, loose_value[] = { 10, 5 };
	const struct posterior post = { .n_free = 2, .n_rows = 3, .r = r, .r_value = value },
	                       loose = { .n_free = 2, .n_rows = 2, .r = loose_r, .r_value = loose_value };
	const double mode[] = { 13.0 / 3, 16.0 / 3 };
	const size_t rows[] = { 1, 2 };
	double sum;

	(void)state;
	sum = crossval_of(&post, &loose, mode, rows);
	assert_float_equal(sum, 1.0 / 3, 1e-8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misses_of_independent_predictions_are_in_their_own_noise),
		cmocka_unit_test(what_goes_together_is_predicted_from_the_others),
		cmocka_unit_test(a_row_of_a_posterior_is_predicted_without_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
