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
			throttled_sample(t, THREAD, 0, (ms * 1000 + i * 10) * US, 1);
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
	throttled_settle(t, 0, UINT64_MAX);
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
	throttled_settle(t, 0, UINT64_MAX);
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
		throttled_sample(t, THREAD, 3, i * 10 * US, 1);
	throttled_record(t, THREAD, 3, STREAM, true, 110 * US);
	/* Twice is once, and another's end is not its own. */
	throttled_record(t, THREAD, 3, STREAM, true, 150 * US);
	throttled_exit(t, THREAD + 1, 160 * US);
	throttled_exit(t, THREAD, 210 * US);
	throttled_exit(t, THREAD, 310 * US);
	throttled_settle(t, 0, UINT64_MAX);
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
		throttled_sample(t, THREAD, 0, i * 10 * US, 1);
	throttled_settle(t, 0, UINT64_MAX);
	assert_float_equal(throttled_share(t, 0), 0.5, 1e-6);
	throttled_free(t);
}

/* perf's frequency begins with periods of one and ends with millions: a gap is long or short for what was counted in it. */
static void a_gap_with_many_events_is_no_sleep(void **state)
{
	struct throttled *t = throttled_new();

	(void)state;
	assert_non_null(t);
	for (uint64_t i = 0; i < 20; i++)
		throttled_sample(t, THREAD, 0, (100 + i) * US, 1000);
	throttled_record(t, THREAD, 0, STREAM, true, 119 * US);
	throttled_record(t, THREAD, 0, STREAM, false, 1119 * US);
	throttled_sample(t, THREAD, 0, 2100 * US, 1e6);
	throttled_settle(t, 0, UINT64_MAX);
	/* 19 us and 981 us were counted, 1000 us were not. */
	assert_float_equal(throttled_share(t, 0), 0.5, 1e-6);
	throttled_free(t);
}

/* With a counter on each processor a thread that moves leaves one behind that never goes on: it has been sampled elsewhere since. */
static void a_counter_left_on_another_processor_stops_nothing(void **state)
{
	struct throttled *t = throttled_new();

	(void)state;
	assert_non_null(t);
	for (uint64_t i = 1; i <= 11; i++)
		throttled_sample(t, THREAD, 0, i * 10 * US, 1);
	/* The interrupt that stops it has its sample a little later. */
	throttled_record(t, THREAD, 0, STREAM, true, 110 * US);
	throttled_sample(t, THREAD, 0, 110 * US + 60, 1);
	for (uint64_t i = 13; i <= 32; i++)
		throttled_sample(t, THREAD, 0, i * 10 * US, 1);
	throttled_record(t, THREAD, 0, STREAM + 1, true, 320 * US);
	throttled_record(t, THREAD, 0, STREAM + 2, true, 340 * US);
	throttled_record(t, THREAD, 0, STREAM + 2, false, 360 * US);
	throttled_exit(t, THREAD, 100000 * US);
	throttled_settle(t, 0, UINT64_MAX);
	/* Stopped: 20 us each; counted: what is left of 310. */
	assert_float_equal(throttled_share(t, 0), 60.0 / (310 - 20 + 60), 0.01);
	throttled_free(t);
}

/* A thread that sleeps while its counter is stopped is asleep when the tick comes that ends it. */
static void sleep_in_a_stop_is_no_stop(void **state)
{
	struct throttled *t = throttled_new();
	uint64_t now = 0;

	(void)state;
	assert_non_null(t);
	for (uint64_t n = 1; n <= 10; n++) {
		for (uint64_t i = 0; i < 10; i++, now += 10)
			throttled_sample(t, THREAD, 0, (now + 10) * US, 1);
		throttled_record(t, THREAD, 0, STREAM, true, now * US);
		now += n == 10 ? 100000 : 100;
		throttled_record(t, THREAD, 0, STREAM, false, now * US);
	}
	throttled_sample(t, THREAD, 0, (now + 10) * US, 1);
	throttled_settle(t, 0, UINT64_MAX);
	assert_float_equal(throttled_share(t, 0), 0.5, 0.01);
	throttled_free(t);
}

/* Stopped for 100 us of 200, and another thread for as long as it lives: a window has its part of each stop, as long as most are. */
static void a_window_has_its_part_of_stops(void **state)
{
	struct throttled *t = throttled_new();
	uint64_t now = 0;

	(void)state;
	throttled_record(t, THREAD + 1, 0, STREAM + 1, true, 10 * US);
	for (uint64_t n = 1; n <= 10; n++) {
		for (uint64_t i = 0; i < 10; i++, now += 10)
			(n < 6 ? throttled_elsewhen(t, THREAD, 0, (now + 10) * US)
			       : throttled_sample(t, THREAD, 0, (now + 10) * US, 1));
		throttled_record(t, THREAD, 0, STREAM, true, now * US);
		now += 100;
		throttled_record(t, THREAD, 0, STREAM, false, now * US);
	}
	throttled_exit(t, THREAD + 1, 100000 * US);
	throttled_settle(t, 1000 * US, 2000 * US);
	assert_float_equal(throttled_share(t, 0), 0.5, 0.06);
	throttled_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_has_its_part_of_stops),
		cmocka_unit_test(what_was_stopped_is_a_share),
		cmocka_unit_test(sleep_is_no_time),
		cmocka_unit_test(the_end_of_a_thread_ends_it),
		cmocka_unit_test(a_window_may_begin_with_it),
		cmocka_unit_test(a_gap_with_many_events_is_no_sleep),
		cmocka_unit_test(a_counter_left_on_another_processor_stops_nothing),
		cmocka_unit_test(sleep_in_a_stop_is_no_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
