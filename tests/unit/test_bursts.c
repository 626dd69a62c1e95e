/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of a program's time bursts may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/pmu/bursts.h"

static const uint64_t MS = 1000000;

/* 2% of 199 ms is less than the 4 ms that the first one is expected to take, of 200 ms just as much. */
static void the_first_one_waits_for_what_it_is_expected_to_take(void **state)
{
	const struct burst_account a = { .budget = 0.02, .expected_ns = 4 * MS };

	(void)state;
	assert_int_equal(burst_branches(&a), 40);
	assert_int_equal(burst_account_allows(&a, 40, 0), 0);
	assert_int_equal(burst_account_allows(&a, 40, 199 * MS), 0);
	assert_int_equal(burst_account_allows(&a, 40, 200 * MS), 8 * MS);
}

/*
 * 80 branches took 10 ms, so 40 take 5.  2% of 700 ms leave 4 ms; 2% of 800 ms leave 6, and what it
 * takes beyond what was expected comes off the next one's.
 */
static void the_next_one_waits_for_what_its_branches_should_take(void **state)
{
	const struct burst_account a = {
		.budget = 0.02, .held_ns = 10 * MS, .n_branches = 80, .expected_ns = 4 * MS
	};

	(void)state;
	assert_int_equal(burst_account_allows(&a, 40, 700 * MS), 0);
	assert_int_equal(burst_account_allows(&a, 40, 800 * MS), 11 * MS);
	assert_int_equal(burst_account_allows(&a, 160, 800 * MS), 0);
	assert_int_equal(burst_account_allows(&a, 160, 1500 * MS), 40 * MS);
}

/* A branch in 0.25 ms: 160 in the 40 ms that a thread may well be held.  In 0.5 ms: 80.  In 2 ms: 20 would be too few. */
static void a_burst_is_as_long_as_steps_are_cheap(void **state)
{
	struct burst_account a = { .budget = 0.02, .n_branches = 1600, .held_ns = 400 * MS };

	(void)state;
	assert_int_equal(burst_branches(&a), 160);
	a.held_ns = 20 * MS;
	assert_int_equal(burst_branches(&a), 160);
	a.held_ns = 800 * MS;
	assert_int_equal(burst_branches(&a), 80);
	a.held_ns = 3200 * MS;
	assert_int_equal(burst_branches(&a), 40);
}

static void without_a_budget_there_are_none(void **state)
{
	const struct burst_account a = { .budget = 0 };

	(void)state;
	assert_int_equal(burst_account_allows(&a, 40, 1000 * MS), 0);
	assert_int_equal(burst_account_allows(&a, 0, 1000 * MS), 0);
}

/*
 * Nine replays held it for 1.7 ms, and came to a branch or two before the program called the system: with the 0.3 ms that
 * one was expected to take the next one takes 0.2, and not a thousand times what a branch took.
 */
static void replays_that_end_early_put_none_off(void **state)
{
	const struct burst_account a = { .budget = 0.02,
		                         .held_ns = 17 * MS / 10,
		                         .n_branches = 12,
		                         .n_asked = 9,
		                         .expected_ns = 3 * MS / 10 };

	(void)state;
	assert_int_equal(burst_account_allows(&a, 0, 94 * MS), 0);
	assert_int_equal(burst_account_allows(&a, 0, 100 * MS), 5 * MS / 10);
}

/*
 * 0.2 ms each: nine tenths of 2% are 90 a second of the program's time, however much of that a second has.  Not so
 * often that the recorder does nothing else, nor so seldom that a program of a few seconds is never seen.
 */
static void as_many_as_the_budget_allows(void **state)
{
	struct burst_account a = { .budget = 0.02, .held_ns = 180 * MS, .n_asked = 899 };

	(void)state;
	assert_float_equal(burst_account_hz(&a, 10, 10), 90, 1e-9);
	assert_float_equal(burst_account_hz(&a, 10, 3), 90, 1e-9);
	assert_float_equal(burst_account_hz(&a, 10, 100), 90, 1e-9);
	a.held_ns = MS;
	assert_float_equal(burst_account_hz(&a, 10, 10), 1000, 1e-9);
	assert_float_equal(burst_account_hz(&a, 40, 10), 250, 1e-9);
	a.held_ns = 100000 * MS;
	assert_float_equal(burst_account_hz(&a, 10, 10), 2, 1e-9);
	/* Half of all moments are in the kernel, or come to nothing otherwise. */
	a = (struct burst_account){ .budget = 0.02, .held_ns = 180 * MS, .n_asked = 899, .n_wanted = 1799 };
	assert_float_equal(burst_account_hz(&a, 10, 10), 180, 1e-9);
	/* At first: as one that is always busy, and as dear as is expected. */
	a = (struct burst_account){ .budget = 0.02, .expected_ns = MS };
	assert_float_equal(burst_account_hz(&a, 0, 0), 18, 1e-9);
}

/*
 * 0.2 ms each, and in ten seconds a third was taken of what may be: in ten more seconds the rest of that is made up for.
 * The same too much: as many fewer.
 */
static void what_was_left_is_made_use_of(void **state)
{
	struct burst_account a = { .budget = 0.02, .held_ns = 60 * MS, .n_asked = 299 };

	(void)state;
	assert_float_equal(burst_account_hz(&a, 10, 10), 150, 1e-9);
	a.held_ns = 300 * MS;
	a.n_asked = 1499;
	assert_float_equal(burst_account_hz(&a, 10, 10), 30, 1e-9);
	/* At the beginning within a second. */
	a.held_ns = 3 * MS;
	a.n_asked = 14;
	assert_float_equal(burst_account_hz(&a, 0.5, 0.5), 120, 1e-9);
}

/* 2% of a second for forty, nine tenths of it: 0.45 ms each.  One that costs 1 us a branch has 450. */
static void a_replay_is_as_long_as_pages_are_cheap(void **state)
{
	struct burst_account a = { .budget = 0.02 };

	(void)state;
	assert_int_equal(burst_account_length(&a), 1000);
	for (int i = 0; i < 400; i++)
		burst_account_learn(&a, 1000ull * burst_account_length(&a));
	assert_in_range(burst_account_length(&a), 441, 459);
	for (int i = 0; i < 400; i++)
		burst_account_learn(&a, MS);
	assert_int_equal(burst_account_length(&a), 160);
	for (int i = 0; i < 400; i++)
		burst_account_learn(&a, MS / 10);
	assert_int_equal(burst_account_length(&a), 2000);
}

/* A second of dear code changes what the next ones are by less than half. */
static void a_length_that_is_found_moves_slowly(void **state)
{
	struct burst_account a = { .budget = 0.02 };

	(void)state;
	for (int i = 0; i < 100; i++)
		burst_account_learn(&a, 1000ull * burst_account_length(&a));
	for (int i = 0; i < 30; i++)
		burst_account_learn(&a, 10 * MS);
	assert_in_range(burst_account_length(&a), 225, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_one_waits_for_what_it_is_expected_to_take),
		cmocka_unit_test(the_next_one_waits_for_what_its_branches_should_take),
		cmocka_unit_test(a_burst_is_as_long_as_steps_are_cheap),
		cmocka_unit_test(a_replay_is_as_long_as_pages_are_cheap),
		cmocka_unit_test(a_length_that_is_found_moves_slowly),
		cmocka_unit_test(without_a_budget_there_are_none),
		cmocka_unit_test(replays_that_end_early_put_none_off),
		cmocka_unit_test(as_many_as_the_budget_allows),
		cmocka_unit_test(what_was_left_is_made_use_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
