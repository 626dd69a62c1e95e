/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 31: whose the instructions between a sample in one scope and the next in another are; worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/evidence/edges.h"

#define NEAR(value, expected, percent) assert_float_equal(value, expected, (percent) / 100. * (expected))

static double insn[3], ends[3];

static void stay(struct edges *e, int32_t scope, double pace)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(edges_inside(e, 0, scope, 1000 * pace, 1000), 0);
}

static void settle(struct edges *e)
{
	assert_int_equal(edges_settle(e, insn, ends), 0);
	edges_free(e);
}

/* 2 instructions a cycle, then 6: 1000 cycles of 3000 instructions were 750 of the one and 250 of the other. */
static void two_paces_tell_when_the_one_ended(void **state)
{
	struct edges *e = edges_new(2);

	(void)state;
	stay(e, 0, 2);
	assert_int_equal(edges_cross(e, 0, 0, 1, 3000, 1000), 0);
	stay(e, 1, 6);
	settle(e);
	NEAR(insn[0], 1500, 3);
	NEAR(insn[1], 1500, 3);
	assert_float_equal(insn[0] + insn[1], 3000, 1e-9);
	assert_float_equal(ends[0], 1, 1e-9);
	assert_float_equal(ends[1], 1, 1e-9);
}

/* With one pace either side may have any part: half.  So where a pace is not known, or cycles are not counted. */
static void what_nothing_tells_is_halved(void **state)
{
	struct edges *e = edges_new(2);

	(void)state;
	stay(e, 0, 4);
	assert_int_equal(edges_cross(e, 0, 0, 1, 4000, 1000), 0);
	stay(e, 1, 4);
	assert_int_equal(edges_cross(e, 0, 1, -1, 500, 100), 0);
	assert_int_equal(edges_cross(e, 0, -1, 0, 700, 0), 0);
	settle(e);
	NEAR(insn[0], 2000 + 350, 1);
	NEAR(insn[1], 2000 + 250, 1);
}

/* One instruction of 10,000 cycles, as rep movsb is: all of what comes after it is the next scope's. */
static void a_pace_of_none_is_a_pace(void **state)
{
	struct edges *e = edges_new(2);

	(void)state;
	stay(e, 0, 0);
	assert_int_equal(edges_cross(e, 0, 0, 1, 3000, 5000), 0);
	stay(e, 1, 6);
	settle(e);
	assert_true(insn[0] < 0.05 * 3000);
	NEAR(insn[1], 3000, 5);
}

/* The pace next to the edge counts, not the scope's: here 1 after long at 5. */
static void the_nearest_pace_counts(void **state)
{
	struct edges *e = edges_new(2);

	(void)state;
	for (int i = 0; i < 50; i++)
		stay(e, 0, 5);
	stay(e, 0, 1);
	assert_int_equal(edges_cross(e, 0, 0, 1, 3000, 1000), 0);
	stay(e, 1, 5);
	settle(e);
	NEAR(insn[0], 500, 6);
	NEAR(insn[1], 2500, 2);
}

/* A group rests between two scopes that cross at 1 and 3 of 4: its interval, half of it from inside 0, is divided alike. */
static void an_interval_in_two_pieces_is_divided_as_others_are(void **state)
{
	static const int32_t first[4] = { 0, 1, 1, 1 }, same[4] = { 2, 2, 2, 0 };
	struct edges *e = edges_new(3);

	(void)state;
	stay(e, 0, 2);
	assert_int_equal(edges_cross(e, 0, 0, 1, 4000, 1000), 0);
	stay(e, 1, 6);
	/* 0 has 1000 of the 4000: the gap's pieces are 1000 and 3000, the other's two halves of 6000. */
	assert_int_equal(edges_rest(e, first, 1000), 0);
	/* Nothing is known of 2: all of it is taken to be 0's, of which intervals are known. */
	assert_int_equal(edges_rest(e, same, 100), 0);
	settle(e);
	NEAR(insn[0] - 100, 1000 + 100, 6);
	NEAR(insn[1], 3000 + 900, 3);
	assert_float_equal(insn[0] + insn[1] + insn[2], 5100, 1e-6);
	assert_float_equal(ends[0], 2, 1e-9);
}

/* Threads do not know of each other's paces, and a crossing's paces are those of its own scopes. */
static void each_thread_has_its_own(void **state)
{
	struct edges *e = edges_new(2);

	(void)state;
	stay(e, 0, 2);
	assert_int_equal(edges_cross(e, 0, 0, 1, 3000, 1000), 0);
	assert_int_equal(edges_inside(e, 1, 1, 100, 1000), 0);
	assert_int_equal(edges_inside(e, 1, 1, 100, 1000), 0);
	stay(e, 1, 6);
	settle(e);
	NEAR(insn[0], 1500, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_paces_tell_when_the_one_ended),
		cmocka_unit_test(what_nothing_tells_is_halved),
		cmocka_unit_test(a_pace_of_none_is_a_pace),
		cmocka_unit_test(the_nearest_pace_counts),
		cmocka_unit_test(an_interval_in_two_pieces_is_divided_as_others_are),
		cmocka_unit_test(each_thread_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
