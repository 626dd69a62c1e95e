/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eqs. 4 and 15: whose the instructions between a sample in one scope and the next in another are; worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/evidence/boundary.h"

#define NEAR(value, expected, percent) assert_float_equal(value, expected, (percent) / 100. * (expected))

static const double many[3] = { 2e6, 2e6, 2e6 };

static struct boundary_sum sums[3];

enum { SKID = 100 };

static void stay(struct boundary *e, int32_t scope, double pace)
{
	for (int i = 0; i < 2; i++)
		boundary_inside(e, scope, 1000 * pace, 1000);
}

static void settle(struct boundary *e)
{
	boundary_settle(e, SKID, many, sums);
	boundary_free(e);
}

/*
 * 4000 instructions in 1000 cycles, at 2 and 6 a cycle: 500 cycles of each, 1000 and 3000.  Half would be wrong by a quarter, and
 * paces that are 1% off make them so by 0.01 / 0.5 / 2: of the quarter 0.0625 / (0.0625 + 0.0001) is believed.
 */
static const double trust = 0.0625 / 0.0626, unsure = 4000 * 0.25 * 0.01 / 0.2502; /* sqrt(0.0626) */

static void paces_say_where_the_crossing_was(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	stay(e, 0, 2);
	boundary_cross(e, 0, 1, 4000, 1000);
	stay(e, 1, 6);
	settle(e);
	NEAR(sums[0].insn, 2000 - 1000 * trust, 1e-4);
	NEAR(sums[1].insn, 2000 + 1000 * trust, 1e-4);
	for (int s = 0; s < 2; s++) {
		assert_float_equal(sums[s].n_ends, 1, 1e-9);
		NEAR(sums[s].wrong, unsure, 1e-3);
	}
}

/* 8000 instructions are more than 1000 cycles have at either pace: all are of the faster one. */
static void no_crossing_lies_outside_its_interval(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	stay(e, 0, 2);
	boundary_cross(e, 0, 1, 8000, 1000);
	stay(e, 1, 6);
	settle(e);
	NEAR(sums[0].insn, 4000 - 4000 * trust, 1e-2);
	NEAR(sums[1].insn, 4000 + 4000 * trust, 1e-2);
}

/*
 * Like paces leave half to each, and nothing that is wrong every time.  Beside a pace of none, as a long rep movsb has, all is the
 * other's: half would be wrong by a half, the paces make it 0.005.
 */
static void like_paces_are_right_in_the_mean(void **state)
{
	struct boundary *e = boundary_new(3);

	(void)state;
	stay(e, 0, 4);
	stay(e, 1, 4);
	stay(e, 2, 0);
	boundary_cross(e, 0, 1, 4000, 1000);
	boundary_cross(e, 1, 2, 3000, 1000);
	settle(e);
	assert_float_equal(sums[0].insn, 2000, 1e-9);
	assert_float_equal(sums[0].wrong, 0, 1e-9);
	NEAR(sums[1].insn, 2000 + 1500 + 1500 * 0.25 / 0.250025, 1e-6);
	NEAR(sums[1].wrong, 3000 * 0.5 * 0.005 / sqrt(0.250025), 1e-6);
	NEAR(sums[2].wrong, 3000 * 0.5 * 0.005 / sqrt(0.250025), 1e-6);
}

/* A quarter of what a pace that is not known ran, an eighth where cycles are not counted; a thread's first interval has no crossing. */
static void where_paces_are_not_known_a_guess_is(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	stay(e, 0, 4);
	boundary_cross(e, -1, 0, 700, 0);
	boundary_cross(e, 0, 1, 4000, 1000);
	settle(e);
	NEAR(sums[0].insn, 350 + 2000, 1e-6);
	NEAR(sums[0].wrong, 1000, 1e-6);
	e = boundary_new(2);
	boundary_cross(e, 0, 1, 4000, 0);
	settle(e);
	NEAR(sums[1].wrong, 500, 1e-6);
}

/* A group rests: without cycles its interval has a quarter at either end of either piece. */
static void an_interval_in_two_pieces_has_four_ends(void **state)
{
	struct boundary *e = boundary_new(3);

	(void)state;
	boundary_rest(e, (int32_t[]){ 0, 1, 1, -1 }, 4000, 0);
	settle(e);
	NEAR(sums[0].insn, 1000, 1e-6);
	NEAR(sums[1].insn, 2000, 1e-6);
	assert_float_equal(sums[0].n_ends, 0.5, 1e-9);
	assert_float_equal(sums[1].n_ends, 1, 1e-9);
	assert_true(sums[2].insn == 0 && sums[2].n_ends == 0);
}

/*
 * With cycles, paces say it as of one that went on.  Of three, 0.5, 2 (twice) and 3.5 instructions a cycle, 2500 in 1000 cycles move 0.5 a cycle
 * over squares of 2 * 1.5 * 1.5 = 4.5: the ends have 1/4 -+ 1/6 of the cycles, 1/24, 1/2 and 35/24 thousand instructions.
 * Half of an end is off by half of the deviation of paces over their mean, sqrt(4.5 / 4) / 4.
 */
static void paces_divide_an_interval_in_two_pieces(void **state)
{
	const double half = sqrt(4.5 / 4) / 4,
	             k = half * half / (half * half + 0.01 * 0.01 / 16 / (half * half));
	struct boundary *e = boundary_new(3);

	(void)state;
	stay(e, 0, 2);
	boundary_rest(e, (int32_t[]){ 0, 0, 1, 1 }, 4000, 1000);
	stay(e, 1, 6);
	settle(e);
	NEAR(sums[0].insn, 2000 - 1000 * trust, 1e-3);
	NEAR(sums[1].wrong, unsure, 1e-3);
	/* The thread crossed in another group's slot: that group's interval tells what was carried. */
	assert_true(sums[0].out == 0 && sums[1].in == 0);
	e = boundary_new(3);
	stay(e, 0, 0.5);
	stay(e, 1, 2);
	stay(e, 2, 3.5);
	boundary_rest(e, (int32_t[]){ 0, 1, 1, 2 }, 2500, 1000);
	settle(e);
	NEAR(sums[0].insn, 625 + k * (1000. / 24 - 625), 1e-3);
	NEAR(sums[1].insn, 1250 + k * (1000 - 1250), 1e-3);
	NEAR(sums[2].insn, 625 + k * (35000. / 24 - 625), 1e-3);
	NEAR(sums[0].out, 50 / 2., 1e-3);
	NEAR(sums[2].in, 200 / 2., 1e-3);
}

/* What is wrong at every crossing alike adds up; what is wrong between other scopes is another matter. */
static void the_same_wrong_adds_up(void **state)
{
	struct boundary *e = boundary_new(3);

	(void)state;
	for (int i = 0; i < 2; i++)
		boundary_cross(e, 0, 1, 4000, 1000);
	boundary_cross(e, 1, 2, 4000, 1000);
	stay(e, 0, 2);
	stay(e, 1, 6);
	stay(e, 2, 2);
	settle(e);
	NEAR(sums[2].wrong, unsure, 1e-3);
	NEAR(sums[0].wrong, 2 * unsure, 1e-3);
	NEAR(sums[1].wrong, sqrt(5) * unsure, 1e-3);
}

/* Of S = 100 cycles, overflows of 2 x 100 instructions before the one crossing, and 6 x 100 before the other, lie after it. */
static void the_skid_carries_samples_from_scope_to_scope(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	boundary_cross(e, -1, 0, 700, 0); /* the thread's first: nothing ran before */
	stay(e, 0, 2);
	stay(e, 1, 6);
	boundary_cross(e, 0, 1, 3000, 1000);
	boundary_cross(e, 1, 0, 3000, 1000);
	settle(e);
	NEAR(sums[0].out, 200, 1e-6);
	NEAR(sums[0].in, 600, 1e-6);
	NEAR(sums[1].in, 200, 1e-6);
	NEAR(sums[1].out, 600, 1e-6);
	NEAR(sums[1].unsure, 0.06 * 800, 1e-6);
}

/* A pace of unknown code is guessed by the interval; cycles that were not counted leave nothing to go by. */
static void what_is_carried_may_be_a_guess(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	boundary_cross(e, -1, 0, 3000, 1000);
	stay(e, 0, 2);
	boundary_cross(e, 0, 1, 3000, 0);
	settle(e);
	NEAR(sums[0].in, 300, 1e-6);
	NEAR(sums[0].unsure, 150, 1e-6);
	assert_true(isnan(sums[0].out) && isnan(sums[1].in));
	e = boundary_new(1);
	stay(e, 0, 2);
	boundary_cross(e, 0, -1, 3000, 1000);
	boundary_cross(e, -1, 0, 3000, 0);
	boundary_settle(e, NAN, many, sums);
	boundary_free(e);
	assert_true(isnan(sums[0].out) && isnan(sums[0].in));
}

/* As much as the sample stands for may be of either scope, by its intervals and by itself; twice in one direction adds up. */
static void an_overflow_before_the_kernel_may_be_of_either(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	for (int i = 0; i < 2; i++) {
		boundary_cross(e, 0, 1, 4000, 1000);
		boundary_late(e, 0, 1, 4000, 5000);
		boundary_cross(e, 1, 0, 4000, 1000);
	}
	settle(e);
	for (int s = 0; s < 2; s++) {
		/* Beside a quarter of each interval, paces not being known: of both ways. */
		NEAR(sums[s].wrong, hypot(2 * (4000 + 1000), 2 * 1000), 1);
		assert_true(sums[s].unsure >= 2 * 5000);
	}
}

/* Two scopes of 30 and 90 samples, 20 stays in each: 20 / 30 of 3 / 4 independent, eq. 4.  A third is of no account. */
static void samples_that_alternate_are_mixed(void **state)
{
	static const double n[3] = { 30, 90, 2000 };
	const double mu = 20. / 30 / 0.75, all = 20 * 2 * 4000 / 2.;
	struct boundary *e = boundary_new(3);

	(void)state;
	for (int i = 0; i < 20; i++) {
		boundary_cross(e, 0, 1, 4000, 0);
		boundary_cross(e, 1, 0, 4000, 0);
	}
	boundary_cross(e, 2, 0, 0, 0);
	boundary_settle(e, SKID, n, sums);
	boundary_free(e);
	NEAR(sums[1].mixed, sqrt(2) * (mu - 0.5) * (mu - 0.5) * all, 5);
	assert_true(sums[2].mixed < 0.05 * sums[1].mixed);
}

/* As mixed as can be, but there is hardly anything of the one that could be the other's. */
static void what_is_mixed_is_no_more_than_there_is(void **state)
{
	static const double n[2] = { 1e6, 20 };
	struct boundary *e = boundary_new(2);

	(void)state;
	for (int i = 0; i < 1000; i++)
		boundary_inside(e, 0, 1e6, 0);
	for (int i = 0; i < 20; i++) {
		boundary_cross(e, 0, 1, 4000, 0);
		boundary_cross(e, 1, 0, 4000, 0);
	}
	boundary_settle(e, SKID, n, sums);
	boundary_free(e);
	/* Half of 40 intervals of 4000: a quarter of that, from either side. */
	NEAR(sums[1].mixed, sqrt(2) * 0.25 * 80000, 1);
	NEAR(sums[0].mixed, sqrt(2) * 0.25 * 80000, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paces_say_where_the_crossing_was),
		cmocka_unit_test(no_crossing_lies_outside_its_interval),
		cmocka_unit_test(like_paces_are_right_in_the_mean),
		cmocka_unit_test(where_paces_are_not_known_a_guess_is),
		cmocka_unit_test(an_interval_in_two_pieces_has_four_ends),
		cmocka_unit_test(paces_divide_an_interval_in_two_pieces),
		cmocka_unit_test(the_same_wrong_adds_up),
		cmocka_unit_test(the_skid_carries_samples_from_scope_to_scope),
		cmocka_unit_test(what_is_carried_may_be_a_guess),
		cmocka_unit_test(an_overflow_before_the_kernel_may_be_of_either),
		cmocka_unit_test(samples_that_alternate_are_mixed),
		cmocka_unit_test(what_is_mixed_is_no_more_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
