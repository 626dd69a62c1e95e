/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 4: whose the instructions between a sample in one scope and the next in another are; worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/evidence/boundary.h"

#define NEAR(value, expected, percent) assert_float_equal(value, expected, (percent) / 100. * (expected))

static struct boundary_sum sums[3];

static void stay(struct boundary *e, int32_t scope, double pace)
{
	for (int i = 0; i < 2; i++)
		boundary_inside(e, scope, 1000 * pace, 1000);
}

static void settle(struct boundary *e)
{
	boundary_settle(e, sums);
	boundary_free(e);
}

/* At 2 and 6 a cycle an interval is a half faster or slower than the mean: half to each is off by a quarter of it. */
static const double unsure = 4000 * 0.25;

static void half_is_each_scopes_and_may_be_off_by_their_paces(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	stay(e, 0, 2);
	assert_int_equal(boundary_cross(e, 0, 1, 4000, 1000), 0);
	stay(e, 1, 6);
	settle(e);
	for (int s = 0; s < 2; s++) {
		NEAR(sums[s].insn, 2000, 1e-9);
		assert_float_equal(sums[s].n_ends, 1, 1e-9);
		NEAR(sums[s].wrong, unsure, 1e-9);
	}
}

/* Like paces leave nothing that is wrong every time.  Beside a pace of none, as a long rep movsb has, all may be the other's. */
static void like_paces_are_right_in_the_mean(void **state)
{
	struct boundary *e = boundary_new(3);

	(void)state;
	stay(e, 0, 4);
	stay(e, 1, 4);
	stay(e, 2, 0);
	assert_int_equal(boundary_cross(e, 0, 1, 4000, 1000), 0);
	assert_int_equal(boundary_cross(e, 1, 2, 3000, 1000), 0);
	settle(e);
	assert_float_equal(sums[0].insn, 2000, 1e-9);
	assert_float_equal(sums[0].wrong, 0, 1e-9);
	NEAR(sums[1].insn, 2000 + 1500, 1e-6);
	NEAR(sums[1].wrong, 1500, 1e-6);
	NEAR(sums[2].wrong, 1500, 1e-6);
}

/* A quarter of what a pace that is not known ran, an eighth where cycles are not counted; a thread's first interval has no crossing. */
static void where_paces_are_not_known_a_guess_is(void **state)
{
	struct boundary *e = boundary_new(2);

	(void)state;
	stay(e, 0, 4);
	assert_int_equal(boundary_cross(e, -1, 0, 700, 0), 0);
	assert_int_equal(boundary_cross(e, 0, 1, 4000, 1000), 0);
	settle(e);
	NEAR(sums[0].insn, 350 + 2000, 1e-6);
	NEAR(sums[0].wrong, 1000, 1e-6);
	e = boundary_new(2);
	assert_int_equal(boundary_cross(e, 0, 1, 4000, 0), 0);
	settle(e);
	NEAR(sums[1].wrong, 500, 1e-6);
}

/* A group rests: its interval has a quarter at either end of either piece. */
static void an_interval_in_two_pieces_has_four_ends(void **state)
{
	struct boundary *e = boundary_new(3);

	(void)state;
	boundary_rest(e, (int32_t[]){ 0, 1, 1, -1 }, 4000);
	settle(e);
	NEAR(sums[0].insn, 1000, 1e-6);
	NEAR(sums[1].insn, 2000, 1e-6);
	assert_float_equal(sums[0].n_ends, 0.5, 1e-9);
	assert_float_equal(sums[1].n_ends, 1, 1e-9);
	assert_true(sums[2].insn == 0 && sums[2].n_ends == 0);
}

/* What is wrong at every crossing alike adds up; what is wrong between other scopes is another matter. */
static void the_same_wrong_adds_up(void **state)
{
	struct boundary *e = boundary_new(3);

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(boundary_cross(e, 0, 1, 4000, 1000), 0);
	assert_int_equal(boundary_cross(e, 1, 2, 4000, 1000), 0);
	stay(e, 0, 2);
	stay(e, 1, 6);
	stay(e, 2, 2);
	settle(e);
	NEAR(sums[2].wrong, unsure, 1e-3);
	NEAR(sums[0].wrong, 2 * unsure, 1e-3);
	NEAR(sums[1].wrong, sqrt(5) * unsure, 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_is_each_scopes_and_may_be_off_by_their_paces),
		cmocka_unit_test(like_paces_are_right_in_the_mean),
		cmocka_unit_test(where_paces_are_not_known_a_guess_is),
		cmocka_unit_test(an_interval_in_two_pieces_has_four_ends),
		cmocka_unit_test(the_same_wrong_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
