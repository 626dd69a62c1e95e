/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selecting gives what sorting gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "profiler/base/select.h"

enum { MOST = 67 };

static uint32_t state_of_numbers = 1;

static uint32_t number_below(uint32_t end)
{
	state_of_numbers = state_of_numbers * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)state_of_numbers * end >> 32);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void every_place_has_what_sorting_puts_there(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		double v[MOST], sorted[MOST];
		/* Few different values: many are equal. */
		uint32_t n = 1 + number_below(MOST), values = 1 + number_below(round % 3 ? 100 : 4),
		         k = number_below(n);

		for (uint32_t i = 0; i < n; i++)
			v[i] = sorted[i] = number_below(values);
		qsort(sorted, n, sizeof(*sorted), by_value);
		assert_true(select_nth(v, n, k) == sorted[k]);
		for (uint32_t i = 0; i < n; i++)
			assert_true(i < k ? v[i] <= v[k] : v[i] >= v[k]);
		qsort(v, n, sizeof(*v), by_value);
		assert_memory_equal(v, sorted, n * sizeof(*v));
	}
}

static void orders_that_are_there_already_are_no_trouble(void **state)
{
	static double v[100000];
	const size_t n = sizeof(v) / sizeof(v[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		v[i] = (double)i;
	assert_true(select_nth(v, n, 77777) == 77777);
	for (size_t i = 0; i < n; i++)
		v[i] = (double)(n - i);
	assert_true(select_nth(v, n, 0) == 1);
	for (size_t i = 0; i < n; i++)
		v[i] = 3;
	assert_true(select_nth(v, n, n - 1) == 3);
}

static void a_quantile_lies_between_neighbours(void **state)
{
	double v[] = { 40, 10, 30, 20, 50 }, one[] = { 7 };

	(void)state;
	assert_float_equal(select_quantile(v, 5, 0.5), 30, 0);
	assert_float_equal(select_quantile(v, 5, 0.05), 12, 1e-12);
	assert_float_equal(select_quantile(v, 5, 0.95), 48, 1e-12);
	assert_float_equal(select_quantile(v, 5, 1), 50, 0);
	assert_float_equal(select_quantile(v, 5, 0), 10, 0);
	assert_float_equal(select_quantile(one, 1, 0.5), 7, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_has_what_sorting_puts_there),
		cmocka_unit_test(orders_that_are_there_already_are_no_trouble),
		cmocka_unit_test(a_quantile_lies_between_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
