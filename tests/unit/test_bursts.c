/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of a program's time bursts may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/pmu/bursts.h"

enum { MS = 1000000 };

/* 2% of 199 ms is less than the 4 ms that the first one is expected to take, of 200 ms just as much. */
static void the_first_one_waits_for_what_it_is_expected_to_take(void **state)
{
	const struct burst_account a = { .budget = 0.02, .expected_ns = 4 * MS };

	(void)state;
	assert_int_equal(burst_account_allows(&a, 0), 0);
	assert_int_equal(burst_account_allows(&a, 199 * MS), 0);
	assert_int_equal(burst_account_allows(&a, 200 * MS), 4 * MS);
}

/* Two took 10 ms.  2% of 700 ms leave 4 ms, less than their 5 ms; 2% of 800 ms leave 6 ms. */
static void the_next_one_waits_for_what_they_took_on_average(void **state)
{
	const struct burst_account a = { .budget = 0.02, .held_ns = 10 * MS, .n = 2, .expected_ns = 4 * MS };

	(void)state;
	assert_int_equal(burst_account_allows(&a, 700 * MS), 0);
	assert_int_equal(burst_account_allows(&a, 800 * MS), 6 * MS);
}

static void without_a_budget_there_are_none(void **state)
{
	const struct burst_account a = { .budget = 0 };

	(void)state;
	assert_int_equal(burst_account_allows(&a, 1000 * MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_one_waits_for_what_it_is_expected_to_take),
		cmocka_unit_test(the_next_one_waits_for_what_they_took_on_average),
		cmocka_unit_test(without_a_budget_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
