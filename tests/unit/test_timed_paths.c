/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 10: what timed paths say of a whole program. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correct/recording/timed_paths.h"

/* A path of `rest` more instructions than its runs have. */
static void add(struct timed_paths *t, uint64_t ns, uint64_t rest, uint64_t in_runs)
{
	const struct pd_sample head = { .addr = ns, .period = rest },
	                       run = { .stream_id = 5, .addr = 0x1010, .ip = 0x1000, .period = in_runs };

	timed_paths_add(t, &head, 3, 0x1000);
	if (in_runs)
		timed_paths_add(t, &run, 3, 0x1010);
}

static struct timed_rate rate_of(const struct timed_paths *t)
{
	struct timed_rate r;

	timed_paths_rate(t, &r);
	return r;
}

/* Half of the paths have 2 instructions a nanosecond, half have 4: 3, and a standard error of 1 / sqrt(19). */
static void paces_have_the_mean_of_the_whole(void **state)
{
	struct timed_paths t = { 0 };
	struct timed_rate r;
	double half;

	(void)state;
	for (int i = 0; i < 10; i++) {
		add(&t, 1000, 500, 1500);
		add(&t, 500, 0, 2000);
	}
	r = rate_of(&t);
	assert_int_equal(r.n, 20);
	assert_int_equal(r.n_failed, 0);
	assert_true(fabs(r.rate - 3) < 1e-9 && fabs(r.spread - 1.0 / 3) < 1e-9);
	/* Student's t of 19 degrees of freedom at 95%, and the 6% that any has. */
	half = 1.7291 * hypot(1 / sqrt(19), 0.06 * 3);
	assert_true(fabs(r.hi - 3 - half) < 1e-3 && fabs(3 - r.lo - half) < 1e-3);
	timed_paths_fini(&t);
}

static void too_few_say_nothing(void **state)
{
	struct timed_paths t = { 0 };

	(void)state;
	for (int i = 0; i < 9; i++)
		add(&t, 1000, 2000, 0);
	assert_true(rate_of(&t).rate == 0);
	assert_int_equal(rate_of(&t).n, 9);
	add(&t, 1000, 2000, 0);
	assert_true(rate_of(&t).rate == 2);
	timed_paths_fini(&t);
}

/* A third of the moments may be without one. */
static void moments_without_one_count(void **state)
{
	struct timed_paths t = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		add(&t, 1000, 2000, 0);
	for (int i = 0; i < 10; i++)
		add(&t, 0, 0, 0);
	assert_int_equal(rate_of(&t).n_failed, 10);
	assert_true(rate_of(&t).rate == 2);
	add(&t, 0, 0, 0);
	assert_true(rate_of(&t).rate == 0);
	timed_paths_fini(&t);
}

static void runs_belong_to_their_path(void **state)
{
	struct timed_paths t = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		add(&t, 1000, 1000, 3000);
	assert_int_equal(t.runs.n, 20);
	assert_int_equal(t.runs.v[19].path, 19);
	assert_true(t.runs.v[19].insn == 3000 && t.runs.v[19].vaddr == 0x1010 &&
	            t.runs.v[19].last == 0x1020 && t.runs.v[19].module == 3);
	timed_paths_fini(&t);
}

/* What stands before the first path is nobody's. */
static void runs_without_a_path_are_passed_over(void **state)
{
	const struct pd_sample run = { .stream_id = 1, .period = 7 };
	struct timed_paths t = { 0 };

	(void)state;
	timed_paths_add(&t, &run, -1, 0);
	assert_int_equal(t.v.n, 0);
	timed_paths_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paces_have_the_mean_of_the_whole),
		cmocka_unit_test(too_few_say_nothing),
		cmocka_unit_test(moments_without_one_count),
		cmocka_unit_test(runs_belong_to_their_path),
		cmocka_unit_test(runs_without_a_path_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
