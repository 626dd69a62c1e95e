/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profiler/pmu/finer.h"

enum { MS = 1000000, CLOCK = 0, BURSTS = 1, FINER = 2, N = 3 };

static bool enabled[N];

int tasks_enable_one(struct tasks *t, size_t event, bool on)
{
	(void)t;
	enabled[event] = on;
	return 0;
}

static struct finer *begin(struct event_group *g)
{
	struct finer *f;

	*g = (struct event_group){ .n = 2 };
	g->v[CLOCK].attr = (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
		                                     .config = PERF_COUNT_SW_CPU_CLOCK,
		                                     .sample_period = 2 * MS };
	g->v[CLOCK].lone_clock = true;
	g->v[BURSTS] = (struct pe_event){ .attr = g->v[CLOCK].attr, .leader = BURSTS };
	/* A moment in 12 ms or a little more, and samples every 0.25. */
	assert_int_equal(finer_join(g, 12 * MS), 53);
	assert_int_equal(g->n, N);
	assert_int_equal(g->v[FINER].attr.sample_period, MS / 4);
	assert_int_equal(g->v[FINER].attr.wakeup_events, 53);
	assert_int_equal(finer_new(g->v, g->n, 1, &f), 0);
	assert_non_null(f);
	enabled[CLOCK] = enabled[BURSTS] = true;
	enabled[FINER] = false;
	return f;
}

static bool sample(struct finer *f, bool fine, int cpu)
{
	const struct rewrite_result s = { .event = CLOCK, .fine = fine };
	const struct tasks_source from = { .cpu = cpu, .tid = -1, .inherited = true };

	return finer_sample(f, &s, &from);
}

static void task(struct finer *f, uint32_t type, uint32_t tid, uint64_t time_ns)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time, id;
	} rec = { { type, 0, sizeof(rec) }, 7, 6, tid, 6, time_ns, CLOCK };

	assert_int_equal(finer_task(f, &rec.header), 0);
}

static void live(struct finer *f, uint64_t ns)
{
	static uint32_t tid = 100;

	task(f, PERF_RECORD_FORK, ++tid, 50 * MS);
	task(f, PERF_RECORD_EXIT, tid, 50 * MS + ns);
}

static void nothing_is_added_where_it_is_of_no_use(void **state)
{
	struct event_group g = { .n = 1 };
	struct finer *f;

	(void)state;
	g.v[0].attr = (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE, .sample_period = 2 * MS };
	assert_int_equal(finer_join(&g, 0), 0);
	assert_int_equal(finer_new(g.v, g.n, 1, &f), 0);
	assert_null(f);
	/* As fine by itself. */
	g.v[0].lone_clock = true;
	g.v[0].attr.sample_period = MS / 5;
	assert_int_equal(finer_join(&g, 0), 0);
	assert_int_equal(g.n, 1);
	/* What is missed is known all the same. */
	assert_int_equal(finer_new(g.v, g.n, 1, &f), 0);
	live(f, MS / 2);
	assert_int_equal(finer_missed_ns(f), MS / 10);
	finer_free(f);
}

/* Processes of as many samples each have moments at all of their ages: 88 with 16 samples each would be at two. */
static void moments_are_out_of_step_with_equal_processes(void **state)
{
	static const uint32_t few[] = { 1, 1, 2, 3, 7, 7, 7, 7 };

	(void)state;
	for (uint32_t n = 0; n < 8; n++)
		assert_int_equal(finer_out_of_step(n), few[n]);
	assert_int_equal(finer_out_of_step(48), 53);
	assert_int_equal(finer_out_of_step(88), 89);
	for (uint32_t n_samples = 2; n_samples <= 24; n_samples++) {
		uint32_t ages = 0;

		for (uint32_t i = 0; i < n_samples; i++)
			ages |= 1u << i * finer_out_of_step(88) % n_samples;
		assert_int_equal(ages, (1u << n_samples) - 1);
	}
}

static void one_of_eight_is_kept_on_each_cpu_and_all_of_the_clock(void **state)
{
	struct event_group g;
	struct finer *f = begin(&g);
	uint64_t places = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_true(sample(f, false, 0));
	for (int round = 0; round < 200; round++) {
		int n[2] = { 0 };

		for (int i = 0; i < 8; i++) {
			bool kept = sample(f, true, 0);

			n[0] += kept;
			n[1] += sample(f, true, 5);
			places |= (uint64_t)kept << i;
		}
		assert_int_equal(n[0], 1);
		assert_int_equal(n[1], 1);
	}
	/* Not always the same one. */
	assert_int_equal(places, 0xff);
	finer_free(f);
}

static void young_threads_change_it_over_and_old_ones_back(void **state)
{
	struct event_group g;
	struct finer *f = begin(&g);
	uint64_t now = 5000 * (uint64_t)MS;

	(void)state;
	/* 100 ms of a thread that goes on, and five of a millisecond that end. */
	finer_look(f, NULL, now);
	for (int i = 0; i < 50; i++)
		sample(f, false, 0);
	for (int i = 0; i < 5; i++)
		live(f, MS);
	finer_look(f, NULL, now += 30 * MS);
	assert_false(enabled[FINER]);
	for (int i = 0; i < 5; i++)
		live(f, MS);
	finer_look(f, NULL, now += 30 * MS);
	assert_true(enabled[FINER] && !enabled[CLOCK] && !enabled[BURSTS]);
	assert_int_equal(finer_missed_ns(f), 10 * MS);
	/* Of them the finer one misses half of its period. */
	for (int i = 0; i < 100; i++)
		live(f, 9 * MS / 8);
	assert_int_equal(finer_missed_ns(f), 10 * MS + 100 * MS / 8);
	assert_int_equal(finer_time_ns(f), 110 * MS + 100 * MS / 8);
	finer_look(f, NULL, now += 1200 * MS);
	assert_true(enabled[FINER]);
	for (int i = 0; i < 4000; i++)
		sample(f, true, 0);
	finer_look(f, NULL, now + 1200 * MS);
	assert_true(!enabled[FINER] && enabled[CLOCK] && enabled[BURSTS]);
	finer_free(f);
}

/* The ring of the CPU that it ended on may be read before that of the one it was begun on; its number is given away again. */
static void a_task_of_unknown_age_lacks_half_a_period(void **state)
{
	struct event_group g;
	struct finer *f = begin(&g);

	(void)state;
	task(f, PERF_RECORD_EXIT, 9, 60 * MS);
	assert_int_equal(finer_missed_ns(f), MS);
	task(f, PERF_RECORD_FORK, 9, 61 * MS);
	task(f, PERF_RECORD_EXIT, 9, 61 * MS + MS / 4);
	assert_int_equal(finer_missed_ns(f), MS + MS / 4);
	task(f, PERF_RECORD_EXIT, 9, 62 * MS);
	assert_int_equal(finer_missed_ns(f), 2 * MS + MS / 4);
	task(f, PERF_RECORD_COMM, 9, 63 * MS);
	assert_int_equal(finer_missed_ns(f), 2 * MS + MS / 4);
	finer_free(f);
}

/* While the finer event samples a kept sample stands for eight of those that are lost; none is forgotten. */
static void lost_samples_are_counted_as_those_that_are_kept(void **state)
{
	struct event_group g;
	struct finer *f = begin(&g);

	(void)state;
	assert_int_equal(finer_lost(f, 5), 5);
	finer_look(f, NULL, 5000 * (uint64_t)MS);
	for (int i = 0; i < 20; i++)
		live(f, MS);
	finer_look(f, NULL, 5030 * (uint64_t)MS);
	assert_true(enabled[FINER]);
	assert_int_equal(finer_lost(f, 7), 0);
	assert_int_equal(finer_lost(f, 9), 2);
	assert_int_equal(finer_lost(f, 12315), 1539);
	finer_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_added_where_it_is_of_no_use),
		cmocka_unit_test(moments_are_out_of_step_with_equal_processes),
		cmocka_unit_test(one_of_eight_is_kept_on_each_cpu_and_all_of_the_clock),
		cmocka_unit_test(young_threads_change_it_over_and_old_ones_back),
		cmocka_unit_test(a_task_of_unknown_age_lacks_half_a_period),
		cmocka_unit_test(lost_samples_are_counted_as_those_that_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
