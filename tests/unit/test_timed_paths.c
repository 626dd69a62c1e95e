/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 10: what timed paths say of a whole program. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correct/recording/timed_paths.h"

/* A path of `rest` more instructions than its runs have, of a loop. */
static void add_of(struct timed_paths *t, int32_t loop, uint64_t ns, uint64_t rest, uint64_t in_runs)
{
	const struct pd_sample head = { .addr = ns, .period = rest },
	                       run = { .stream_id = 5, .addr = 0x1010, .ip = 0x1000, .period = in_runs };

	timed_paths_add(t, &head, 3, 0x1000);
	if (in_runs)
		timed_paths_add(t, &run, 3, 0x1010);
	t->v.v[t->v.n - 1].loop = loop;
}

static void add(struct timed_paths *t, uint64_t ns, uint64_t rest, uint64_t in_runs)
{
	add_of(t, -1, ns, rest, in_runs);
}

/* Of a program with two loops of so much of its time. */
static struct timed_rate rate_of(const struct timed_paths *t, double first, double second)
{
	const double share[] = { first, second };
	struct timed_rate r;

	timed_paths_rate(t, share, 2, &r);
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
	r = rate_of(&t, 0, 0);
	assert_int_equal(r.n, 20);
	assert_int_equal(r.n_failed, 0);
	assert_true(fabs(r.rate - 3) < 1e-9);
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
	assert_true(rate_of(&t, 0, 0).rate == 0);
	assert_int_equal(rate_of(&t, 0, 0).n, 9);
	add(&t, 1000, 2000, 0);
	assert_true(rate_of(&t, 0, 0).rate == 2);
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
	assert_int_equal(rate_of(&t, 0, 0).n_failed, 10);
	assert_true(rate_of(&t, 0, 0).rate == 2);
	add(&t, 0, 0, 0);
	assert_true(rate_of(&t, 0, 0).rate == 0);
	timed_paths_fini(&t);
}

/* Of one loop, too, that has as many paths as are enough: half of the time, of whose 20 moments 11 tell nothing. */
static void moments_without_one_count_in_each_loop(void **state)
{
	struct timed_paths t = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++) {
		add_of(&t, 0, i < 11 ? 0 : 1000, i < 11 ? 0 : 2000, 0);
		add_of(&t, 1, i < 2 ? 0 : 1000, i < 2 ? 0 : 2000, 0);
	}
	assert_int_equal(rate_of(&t, 0.5, 0.5).n_failed, 13);
	assert_true(rate_of(&t, 0.5, 0.5).rate == 2);
	add_of(&t, 0, 0, 0, 0);
	add_of(&t, 0, 0, 0, 0);
	assert_true(rate_of(&t, 0.5, 0.5).rate == 0);
	assert_true(rate_of(&t, 0.3, 0.7).rate == 2);
	timed_paths_fini(&t);
}

/*
 * Of fast code a replay takes long, and few paths are timed: a loop of 12 instructions a nanosecond has half of the time and
 * 4 paths of 20, one of 4 has the others.
 */
static void loops_have_their_time(void **state)
{
	struct timed_paths t = { 0 };
	struct timed_rate r;

	(void)state;
	for (int i = 0; i < 20; i++)
		add_of(&t, i % 5 == 0, 1000, i % 5 == 0 ? 11500 + 1000 * (i % 2) : 4000, 0);
	r = rate_of(&t, 0.5, 0.5);
	assert_true(fabs(r.rate - 8) < 1e-9);
	/*
	 * Two of 11.5 and two of 12.5: four squares of 0.5 / 12, over the 3 and 15 degrees of freedom of both loops, for 4 paths are
	 * too few for a scatter of their own: 36 / 4 * 0.006944 / 18.
	 */
	assert_true(fabs(r.hi - 8 - 1.7341 * hypot(sqrt(0.003472), 0.06 * 8)) < 1e-3);
	timed_paths_fini(&t);
}

/* A quarter of the time is of a loop that has no path: how paths of the only other one differ says nothing of its pace. */
static void a_loop_without_a_path_may_have_another_pace(void **state)
{
	struct timed_paths t = { 0 };
	struct timed_rate r;

	(void)state;
	for (int i = 0; i < 20; i++)
		add_of(&t, 0, 1000, 2000 + 2000 * (i % 2), 0);
	r = rate_of(&t, 0.75, 0.25);
	assert_true(fabs(r.rate - 3) < 1e-9);
	/*
	 * The variance of paces is 20/19, a twentieth of it where the mean is known: 0.5625 / 19 = 0.0296.  Loops differ by 70%,
	 * and so do the two, 0.0625 * 2 * 2.1^2 = 0.5513: 0.5809, of 7314 degrees of freedom.
	 */
	assert_true(fabs(r.hi - 3 - 1.6451 * hypot(sqrt(0.5809), 0.18)) < 1e-3);
	timed_paths_fini(&t);
}

/* Three loops of steady paces 2, 3 and 4: a fourth, of a quarter of the time, is known to what they differ by, and no better. */
static void a_pace_that_is_lent_is_not_shown_narrow(void **state)
{
	const double share[] = { 0.25, 0.25, 0.25, 0.25 };
	struct timed_paths t = { 0 };
	struct timed_rate r;

	(void)state;
	for (int i = 0; i < 30; i++)
		add_of(&t, i % 3, 1000, (uint64_t)(2000 + 1000 * (i % 3)), 0);
	timed_paths_rate(&t, share, 4, &r);
	assert_true(fabs(r.rate - 3) < 1e-9);
	/* (3 * 2/3 + 2.1^2) / 3 = 2.1367, a sixteenth of that and of the third that their mean is off by: 0.1781. */
	assert_true(fabs(r.hi - 3 - 1.6449 * hypot(sqrt(0.17806), 0.18)) < 1e-3);
	timed_paths_fini(&t);
}

/*
 * A path goes on into the next loop: half of the moments are in either, but of a path that begins in the second a quarter is of
 * the first.  Its instructions are those that ran, whatever loop the moment was in.
 */
static void a_part_of_paths_may_be_asked_for(void **state)
{
	const double share[] = { 0.5, 0.5 };
	struct timed_paths t = { 0 };
	struct timed_rate r;
	double insn[20];

	(void)state;
	for (int i = 0; i < 20; i++) {
		add_of(&t, i % 2, 1000, 1000, 3000);
		insn[i] = i % 2 ? 1000 : 4000;
	}
	timed_paths_rate_in(&t, 0, insn, share, 2, &r);
	assert_true(fabs(r.rate - 2.5) < 1e-9);
	assert_int_equal(t.runs.n, 20);
	assert_int_equal(t.runs.v[19].path, 19);
	assert_true(t.runs.v[19].insn == 3000 && t.runs.v[19].vaddr == 0x1010 && t.runs.v[19].module == 3);
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
		cmocka_unit_test(moments_without_one_count_in_each_loop),
		cmocka_unit_test(loops_have_their_time),
		cmocka_unit_test(a_loop_without_a_path_may_have_another_pace),
		cmocka_unit_test(a_pace_that_is_lent_is_not_shown_narrow),
		cmocka_unit_test(a_part_of_paths_may_be_asked_for),
		cmocka_unit_test(runs_without_a_path_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
