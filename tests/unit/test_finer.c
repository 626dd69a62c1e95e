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

/* In these tests the kernel's ids are the events' numbers. */
long tasks_event(const struct tasks *t, uint64_t id)
{
	(void)t;
	return id < N ? (long)id : -1;
}

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
		                                     .sample_period = 2 * MS,
		                                     .inherit_stat = 1 };
	g->v[BURSTS] = (struct pe_event){ .attr = g->v[CLOCK].attr, .leader = BURSTS };
	g->v[BURSTS].attr.inherit_stat = 0;
	/* A moment in 12 ms, and samples every 0.25. */
	assert_int_equal(finer_join(g, 12 * MS), 48);
	assert_int_equal(g->n, N);
	assert_int_equal(g->v[FINER].attr.sample_period, MS / 4);
	assert_int_equal(g->v[FINER].attr.wakeup_events, 48);
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

static void end(struct finer *f, uint64_t event, uint64_t ran_ns)
{
	const struct {
		struct perf_event_header header;
		uint64_t task, value, enabled, running, id;
	} rec = { { PERF_RECORD_READ, 0, sizeof(rec) }, 7, ran_ns, ran_ns, ran_ns, event };

	finer_ended(f, &rec.header, NULL);
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
	g.v[0].attr.inherit_stat = 1;
	g.v[0].attr.sample_period = MS / 5;
	assert_int_equal(finer_join(&g, 0), 0);
	assert_int_equal(g.n, 1);
	/* What is missed is known all the same. */
	assert_int_equal(finer_new(g.v, g.n, 1, &f), 0);
	end(f, 0, MS / 2);
	assert_int_equal(finer_missed_ns(f), MS / 10);
	finer_free(f);
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
		end(f, CLOCK, MS);
	finer_look(f, NULL, now += 30 * MS);
	assert_false(enabled[FINER]);
	for (int i = 0; i < 5; i++)
		end(f, CLOCK, MS);
	finer_look(f, NULL, now += 30 * MS);
	assert_true(enabled[FINER] && !enabled[CLOCK] && !enabled[BURSTS]);
	assert_int_equal(finer_missed_ns(f), 10 * MS);
	/* Of them the finer one misses a fourth of a period at most. */
	for (int i = 0; i < 100; i++)
		end(f, FINER, 9 * MS / 8);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_added_where_it_is_of_no_use),
		cmocka_unit_test(one_of_eight_is_kept_on_each_cpu_and_all_of_the_clock),
		cmocka_unit_test(young_threads_change_it_over_and_old_ones_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
