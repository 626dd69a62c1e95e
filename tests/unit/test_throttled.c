/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correct/recording/ended.h"

enum { THREAD = 7, STREAM = 41, US = 1000 };

/* Ten samples, one every 10 us, of each ms; stopped from the last one on until the next ms, of which the thread sleeps the last part. */
static struct throttled *show(uint64_t awake_us)
{
	struct throttled *t = throttled_new();

	assert_non_null(t);
	for (uint64_t ms = 1; ms <= 50; ms++) {
		for (uint64_t i = 0; i < 10; i++)
			throttled_sample(t, THREAD, 0, (ms * 1000 + i * 10) * US);
		throttled_record(t, THREAD, 0, STREAM, true, (ms * 1000 + 90) * US);
		throttled_record(t, THREAD, 0, STREAM, false, (ms * 1000 + awake_us) * US);
	}
	return t;
}

/* eq. 5: 100 us of each ms are counted, and 900 of it are not. */
static void what_was_stopped_is_a_share(void **state)
{
	struct throttled *t = show(990);

	(void)state;
	throttled_settle(t);
	assert_float_equal(throttled_share(t, 0), 0.9, 0.002);
	assert_float_equal(throttled_share(t, 1), 0, 0);
	assert_float_equal(throttled_share(t, -1), 0, 0);
	throttled_free(t);
}

/* It goes on after 190 us, and sleeps: 100 us were stopped, for 90 that were counted. */
static void sleep_is_no_time(void **state)
{
	struct throttled *t = show(190);

	(void)state;
	throttled_settle(t);
	assert_float_equal(throttled_share(t, 0), 100.0 / 190, 0.01);
	throttled_free(t);
}

/* The thread ends while its counter stands still: until then it did. */
static void the_end_of_a_thread_ends_it(void **state)
{
	struct throttled *t = throttled_new();

	(void)state;
	assert_non_null(t);
	for (uint64_t i = 1; i <= 11; i++)
		throttled_sample(t, THREAD, 3, i * 10 * US);
	throttled_record(t, THREAD, 3, STREAM, true, 110 * US);
	/* Twice is once, and another's end is not its own. */
	throttled_record(t, THREAD, 3, STREAM, true, 150 * US);
	throttled_exit(t, THREAD + 1, 160 * US);
	throttled_exit(t, THREAD, 210 * US);
	throttled_exit(t, THREAD, 310 * US);
	throttled_settle(t);
	assert_float_equal(throttled_share(t, 3), 0.5, 1e-6);
	throttled_free(t);
}

/* The window begins while a counter stands still, before its first sample there: what was stopped since counts. */
static void a_window_may_begin_with_it(void **state)
{
	struct throttled *t = throttled_new();

	(void)state;
	assert_non_null(t);
	throttled_record(t, THREAD, 0, STREAM, true, 50 * US);
	throttled_record(t, THREAD, 0, STREAM, false, 150 * US);
	for (uint64_t i = 15; i <= 25; i++)
		throttled_sample(t, THREAD, 0, i * 10 * US);
	throttled_settle(t);
	assert_float_equal(throttled_share(t, 0), 0.5, 1e-6);
	throttled_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_stopped_is_a_share),
		cmocka_unit_test(sleep_is_no_time),
		cmocka_unit_test(the_end_of_a_thread_ends_it),
		cmocka_unit_test(a_window_may_begin_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
