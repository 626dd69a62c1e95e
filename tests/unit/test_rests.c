/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 5: how long an event was without a counter, from where others have samples and it has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correct/recording/rests.h"

/*
 * Two events, a sample of each every 10 us, half a gap apart; of every ms the first rests 0.4 and the second, elsewhere, rests.
 * With sleep the thread sleeps for half of the time between.
 */
static struct rests *show(uint64_t rest0_us, uint64_t rest1_us, uint64_t sleep_us)
{
	struct rests *r = rests_new();
	uint64_t now = 1000;

	assert_non_null(r);
	for (int ms = 0; ms < 200; ms++, now += sleep_us * 1000)
		for (uint64_t us = 0; us < 1000; us += 10, now += 10000) {
			if (us >= rest0_us)
				rests_sample(r, 7, 0, now, true);
			if (us < 500 || us >= 500 + rest1_us)
				rests_sample(r, 7, 1, now + 5000, true);
		}
	rests_settle(r, -1, -1);
	return r;
}

static void rests_are_silent_while_others_have_samples(void **state)
{
	struct rests *r = show(400, 300, 0);

	(void)state;
	assert_float_equal(rests_share(r, 0), 0.4, 0.01);
	assert_float_equal(rests_share(r, 1), 0.3, 0.01);
	assert_float_equal(rests_share(r, 2), 0, 0);
	assert_true(rests_is_rest(r, 0, 400000, 40));
	assert_false(rests_is_rest(r, 0, 400000, 3));
	assert_false(rests_is_rest(r, 0, 20000, 4));
	rests_free(r);
}

/* What is looked at is a tenth of a ms in each tenth one: there the first event rests for all of it, for some, or for none. */
static double share_in_part(uint64_t from_us, int event)
{
	struct rests *r = rests_new();
	uint64_t now = 1000;
	double share;

	assert_non_null(r);
	for (int ms = 0; ms < 200; ms++)
		for (uint64_t us = 0; us < 1000; us += 10, now += 10000) {
			bool in_part = ms % 10 == 0 && us >= from_us && us < from_us + 100;

			if (us < 400 || us >= 800)
				rests_sample(r, 7, 0, now, in_part);
			rests_sample(r, 7, 1, now + 5000, in_part);
		}
	rests_settle(r, -1, -1);
	share = rests_share(r, event);
	rests_free(r);
	return share;
}

static void a_part_is_told_by_all_of_the_recording(void **state)
{
	(void)state;
	assert_float_equal(share_in_part(0, 0), 0, 0);
	assert_float_equal(share_in_part(750, 0), 0.5, 0.03);
	assert_float_equal(share_in_part(370, 0), 0.7, 0.03);
	assert_float_equal(share_in_part(500, 0), 0.99, 0);
	assert_float_equal(share_in_part(750, 1), 0, 0);
}

static void what_needs_no_counter_never_rests(void **state)
{
	struct rests *r = rests_new();

	(void)state;
	assert_non_null(r);
	rests_never(r, 0);
	rests_never(r, -1);
	for (uint64_t us = 1; us < 200000; us += 10)
		rests_sample(r, 7, us / 1000 % 2, us * 1000, true);
	rests_settle(r, -1, -1);
	assert_float_equal(rests_share(r, 0), 0, 0);
	assert_float_equal(rests_share(r, 1), 0.5, 0.05);
	rests_free(r);
}

static void sleep_is_no_rest(void **state)
{
	struct rests *r = show(0, 0, 1000);

	(void)state;
	assert_float_equal(rests_share(r, 0), 0, 0);
	assert_float_equal(rests_share(r, 1), 0, 0);
	rests_free(r);
	r = show(400, 0, 1000);
	assert_float_equal(rests_share(r, 0), 0.4, 0.02);
	rests_free(r);
}

/* 40 gaps of ten times the middle one, one after the other: code that is slow, no rests. */
static void slow_code_is_no_rest(void **state)
{
	struct rests *r = rests_new();
	uint64_t now = 1000;

	(void)state;
	assert_non_null(r);
	for (int phase = 0; phase < 20; phase++)
		for (int i = 0; i < 4000; i++, now += 1000) {
			if (phase % 2 ? i % 100 == 0 : i % 10 == 0)
				rests_sample(r, 7, 0, now, true);
			if (i % 10 == 5)
				rests_sample(r, 7, 1, now, true);
		}
	rests_settle(r, 0, 1);
	assert_float_equal(rests_share(r, 0), 0, 0);
	rests_free(r);
}

/* Of two rests, each of a fifth of the time, where n samples of what comes seldom tell that the thread ran: what always occurs rested. */
static double share_of_two(int n, int always)
{
	struct rests *r = rests_new();
	uint64_t now = 1000;
	double share;

	assert_non_null(r);
	for (int slot = 0; slot < 5; slot++)
		for (int i = 0; i < 1000; i++, now += 1000) {
			if (slot % 2 == 0)
				rests_sample(r, 7, 0, now, true);
			if (i % (1000 / n) == 1000 / n / 2)
				rests_sample(r, 7, 1, now + 500, true);
		}
	rests_settle(r, always, -1);
	share = rests_share(r, 0);
	rests_free(r);
	return share;
}

static void a_few_long_rests_are_no_chance_for_what_always_occurs(void **state)
{
	(void)state;
	assert_float_equal(share_of_two(20, 0), 0.4, 0.02);
	/* Other events may be none of that code's; and of fewer samples nothing is told. */
	assert_float_equal(share_of_two(20, 1), 0, 0);
	assert_float_equal(share_of_two(10, 0), 0, 0);
}

/*
 * Of every ms instructions (0) and cycles (1) have no counter for 0.4.  For half of the time code is slow: 300 us, nearly as long as they
 * rest, from one sample of instructions to the next.
 */
static struct rests *show_slow(int cyc)
{
	struct rests *r = rests_new();
	uint64_t now = 1000;
	int counted = 0;

	assert_non_null(r);
	for (int ms = 0; ms < 200; ms++)
		for (int us = 0; us < 1000; us += 10, now += 10000) {
			rests_sample(r, 7, 2, now, true);
			if (us < 400)
				continue;
			if (counted++ % (ms / 10 % 2 ? 30 : 1) == 0)
				rests_sample(r, 7, 0, now + 3000, true);
			rests_sample(r, 7, 1, now + 5000, true);
		}
	rests_settle(r, 0, cyc);
	return r;
}

static void where_code_is_slow_cycles_tell_rests(void **state)
{
	struct rests *r = show_slow(-1);

	(void)state;
	/* By themselves half tells nothing, and is taken to be as the other half; of that a rest in ten lies at its border. */
	assert_float_equal(rests_share(r, 0), 0.4, 0.03);
	assert_true(rests_untold(r, 0) > 0.3);
	rests_free(r);
	r = show_slow(1);
	assert_float_equal(rests_share(r, 0), 0.4, 0.02);
	assert_float_equal(rests_untold(r, 0), 0, 0.01);
	rests_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rests_are_silent_while_others_have_samples),
		cmocka_unit_test(a_part_is_told_by_all_of_the_recording),
		cmocka_unit_test(what_needs_no_counter_never_rests),
		cmocka_unit_test(sleep_is_no_rest),
		cmocka_unit_test(slow_code_is_no_rest),
		cmocka_unit_test(where_code_is_slow_cycles_tell_rests),
		cmocka_unit_test(a_few_long_rests_are_no_chance_for_what_always_occurs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
