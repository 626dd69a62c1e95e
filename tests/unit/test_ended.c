/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correct/recording/ended.h"

enum { MS = 1000000 };

static const struct perf_event_attr clock_2ms = { .type = PERF_TYPE_SOFTWARE, .sample_period = 2 * MS };

static void show_life(struct ended *e, uint32_t tid, uint64_t born_ms, uint64_t length_ms)
{
	struct pd_record rec = { .type = PERF_RECORD_FORK, .pid = tid, .tid = tid, .time_ns = born_ms * MS };

	ended_record(e, &rec, NULL);
	rec.type = PERF_RECORD_EXIT;
	rec.time_ns += length_ms * MS;
	ended_record(e, &rec, NULL);
}

static void show_read(struct ended *e, uint32_t pid, uint64_t value, uint64_t running_ns)
{
	const struct pd_value v = { .value = value };
	const struct pd_record rec = { .type = PERF_RECORD_READ,
		                       .pid = pid,
		                       .tid = pid,
		                       .sample = { .values = &v,
		                                   .n_values = 1,
		                                   .time_enabled_ns = value,
		                                   .time_running_ns = running_ns } };

	ended_record(e, &rec, &clock_2ms);
}

static void half_a_period_is_missed_of_each_thread(void **state)
{
	struct ended *e = ended_new();

	(void)state;
	assert_float_equal(ended_share(e, 0, 0, 0), 0, 0);
	assert_float_equal(ended_share(e, 10, 45, 0), 0.1, 1e-9);
	ended_free(e);
}

/* Two lived for 1 and 9 ms, a quarter of a gap between samples and more than two of them. */
static void a_thread_without_samples_misses_what_it_lived(void **state)
{
	struct ended *e = ended_new();

	(void)state;
	for (uint64_t i = 1; i <= 5; i++)
		ended_sample(e, 1, i * 4 * MS);
	show_life(e, 2, 30, 1);
	show_life(e, 3, 30, 9);
	assert_float_equal(ended_share(e, 0, 5, 0), 0.75 / 5.75, 1e-9);
	assert_float_equal(ended_share(e, 0, 5, 2 * MS), 1 / 6.0, 1e-9);
	ended_free(e);
}

static void one_with_samples_is_no_such_thread_until_its_number_is_anothers(void **state)
{
	struct ended *e = ended_new();
	struct pd_record fork = { .type = PERF_RECORD_FORK, .tid = 2, .time_ns = 10 * MS }, end = fork;

	(void)state;
	end.type = PERF_RECORD_EXIT;
	end.time_ns = 20 * MS;
	ended_record(e, &fork, NULL);
	ended_sample(e, 2, 15 * MS);
	ended_record(e, &end, NULL);
	assert_float_equal(ended_share(e, 1, 1, 0), 1 / 3.0, 1e-9);
	show_life(e, 2, 30, 9);
	assert_float_equal(ended_share(e, 1, 1, 0), 0.5, 1e-9);
	ended_free(e);
}

static void counts_of_threads_tell_it_and_a_count_of_all_better(void **state)
{
	struct ended *e = ended_new();

	(void)state;
	show_life(e, 2, 30, 9);
	show_read(e, 2, 5 * MS, 5 * MS);
	show_read(e, 3, 1 * MS, 1 * MS);
	assert_float_equal(ended_share(e, 1, 2, 2 * MS), 2 / 6.0, 1e-9);
	show_read(e, 0, 4 * MS, 1 * MS);
	/* The last one is of all. */
	show_read(e, 0, 8 * MS, 6 * MS);
	assert_float_equal(ended_share(e, 1, 2, 2 * MS), 0.25, 1e-9);
	ended_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_a_period_is_missed_of_each_thread),
		cmocka_unit_test(a_thread_without_samples_misses_what_it_lived),
		cmocka_unit_test(one_with_samples_is_no_such_thread_until_its_number_is_anothers),
		cmocka_unit_test(counts_of_threads_tell_it_and_a_count_of_all_better),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
