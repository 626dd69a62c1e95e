/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eqs. 31, 35, 36, 37: whose the instructions between a sample in one scope and the next in another are; worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/evidence/edges.h"

#define NEAR(value, expected, percent) assert_float_equal(value, expected, (percent) / 100. * (expected))

static const struct edge_samples many[3] = { { 1e6, 1e6 }, { 1e6, 1e6 }, { 1e6, 1e6 } };

static struct edge_sum sums[3];

enum { SKID = 100 };

static void stay(struct edges *e, int32_t scope, double pace)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(edges_inside(e, 0, scope, 1000 * pace, 1000), 0);
}

static void settle(struct edges *e)
{
	assert_int_equal(edges_settle(e, SKID, many, sums), 0);
	edges_free(e);
}

/* From scope 0 to 1, at a pace each, in one interval. */
static void one_crossing(double before, double insn, double cyc, double after)
{
	struct edges *e = edges_new(2);

	stay(e, 0, before);
	assert_int_equal(edges_cross(e, 0, 0, 1, insn, cyc), 0);
	stay(e, 1, after);
	settle(e);
}

/* 2 instructions a cycle, then 6: 1000 cycles of 3000 instructions were 750 of the one and 250 of the other. */
static void two_paces_tell_when_the_one_ended(void **state)
{
	(void)state;
	one_crossing(2, 3000, 1000, 6);
	NEAR(sums[0].insn, 1500, 3);
	NEAR(sums[1].insn, 1500, 3);
	assert_float_equal(sums[0].insn + sums[1].insn, 3000, 1e-9);
	assert_float_equal(sums[0].n_ends, 1, 1e-9);
	assert_float_equal(sums[1].n_ends, 1, 1e-9);
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
	NEAR(sums[0].insn, 2000 + 350, 1);
	NEAR(sums[1].insn, 2000 + 250, 1);
}

/* One instruction of 100,000 cycles, as rep movsb may be: all of what comes after it is the next scope's. */
static void a_pace_of_none_is_a_pace(void **state)
{
	(void)state;
	one_crossing(0, 30000, 50000, 6);
	assert_true(sums[0].insn < 0.05 * 30000);
	NEAR(sums[1].insn, 30000, 5);
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
	NEAR(sums[0].insn, 500, 6);
	NEAR(sums[1].insn, 2500, 2);
}

/* A group rests between two scopes that cross at 1 and 3 of 4: its interval, half of it from inside 0, is divided alike. */
static void an_interval_in_two_pieces_is_divided_as_others_are(void **state)
{
	static const int32_t first[4] = { 0, 1, 1, 1 }, same[4] = { 2, 2, 2, 0 };
	struct edges *e = edges_new(3);

	(void)state;
	stay(e, 0, 2);
	assert_int_equal(edges_cross(e, 0, 0, 1, 40000, 10000), 0);
	stay(e, 1, 6);
	/* 0 has 10000 of the 40000: the gap's pieces are 10000 and 30000, the other's two halves of 6000. */
	assert_int_equal(edges_rest(e, first, 46000), 0);
	/* Nothing is known of 2: all of it is taken to be 0's, of which intervals are known. */
	assert_int_equal(edges_rest(e, same, 100), 0);
	settle(e);
	NEAR(sums[0].insn - 100, 2 * 10000, 6);
	NEAR(sums[1].insn, 30000 + 36000, 3);
	assert_true(sums[2].insn == 0);
	assert_float_equal(sums[0].insn + sums[1].insn, 86100, 1e-6);
	assert_float_equal(sums[0].n_ends, 2, 1e-9);
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
	NEAR(sums[0].insn, 1500, 3);
}

/*
 * At 6.9 and 7.1 a stall at the edge, of which neither pace knows, would by (31) alone be 40 cycles of 7 instructions and
 * so move the edge out of the interval: half, and what that may be off by every time.
 */
static void like_paces_tell_little(void **state)
{
	(void)state;
	one_crossing(6.9, 6700, 1000, 7.1);
	NEAR(sums[0].insn, 3350, 10);
	/* u = 40 x 7.1 / 0.2 = 1420 cycles (in flight: nothing to speak of), v = 1000^2 / 12: 7 v u / (v + u^2) = 394. */
	NEAR(sums[0].wrong, 394, 1);
	NEAR(sums[1].wrong, 394, 1);
}

/* What is wrong at every edge alike adds up; what is wrong between other scopes is another matter. */
static void the_same_wrong_adds_up(void **state)
{
	struct edges *e = edges_new(3);
	double one;

	(void)state;
	for (int i = 0; i < 2; i++) {
		stay(e, 0, 2);
		assert_int_equal(edges_cross(e, 0, 0, 1, 4000, 1000), 0);
	}
	stay(e, 1, 6);
	assert_int_equal(edges_cross(e, 0, 1, 2, 4000, 1000), 0);
	stay(e, 2, 2);
	settle(e);
	one = sums[2].wrong;
	assert_true(one > 0);
	NEAR(sums[0].wrong, 2 * one, 1);
	NEAR(sums[1].wrong, sqrt(5) * one, 1);
}

/* No mixture of 2 and 6 is 1 instruction a cycle: something else ran in between. */
static void what_neither_pace_explains_is_wrong(void **state)
{
	(void)state;
	one_crossing(2, 5000, 5000, 6);
	assert_true(sums[0].wrong > 3000 && sums[0].wrong < 6000);
}

/* Of S = 100 cycles, overflows of 2 x 100 instructions before the one edge, and 6 x 100 before the other, lie after it. */
static void the_skid_carries_samples_over_edges(void **state)
{
	struct edges *e = edges_new(2);

	(void)state;
	assert_int_equal(edges_cross(e, 0, -1, 0, 700, 0), 0); /* the thread's first: nothing ran before */
	stay(e, 0, 2);
	assert_int_equal(edges_cross(e, 0, 0, 1, 3000, 1000), 0);
	stay(e, 1, 6);
	assert_int_equal(edges_cross(e, 0, 1, 0, 3000, 1000), 0);
	stay(e, 0, 2);
	settle(e);
	NEAR(sums[0].out, 200, 1e-6);
	NEAR(sums[0].in, 600, 1e-6);
	NEAR(sums[1].in, 200, 1e-6);
	NEAR(sums[1].out, 600, 1e-6);
	NEAR(sums[1].unsure, 0.05 * 800, 1e-6);
}

/* A pace of unknown code is guessed by the interval; cycles that were not counted leave nothing to go by. */
static void what_is_carried_may_be_a_guess(void **state)
{
	struct edges *e = edges_new(2);

	(void)state;
	assert_int_equal(edges_cross(e, 0, -1, 0, 3000, 1000), 0);
	stay(e, 0, 2);
	assert_int_equal(edges_cross(e, 0, 0, 1, 3000, 0), 0);
	settle(e);
	NEAR(sums[0].in, 300, 1e-6);
	assert_true(isnan(sums[0].out) && isnan(sums[1].in));
	e = edges_new(1);
	stay(e, 0, 2);
	assert_int_equal(edges_cross(e, 0, 0, -1, 3000, 1000), 0);
	assert_int_equal(edges_cross(e, 0, -1, 0, 3000, 0), 0);
	assert_int_equal(edges_settle(e, NAN, many, sums), 0);
	edges_free(e);
	assert_true(isnan(sums[0].out) && isnan(sums[0].in));
}

/* 0.6 samples a visit of one event and 0.5 of the other: 0.4 x 0.5 of all visits have none, as 80 of 100 show. */
static void visits_that_are_alike_hide_alike(void **state)
{
	(void)state;
	NEAR(edges_hidden(&(struct edge_samples){ 60, 50 }, 80), 0.2, 0.01);
	/* One each and more leave none out. */
	assert_float_equal(edges_hidden(&(struct edge_samples){ 80, 20 }, 80), 0, 0);
	assert_float_equal(edges_hidden(&(struct edge_samples){ 500, 500 }, 80), 0, 0);
	assert_float_equal(edges_hidden(&(struct edge_samples){ 0, 0 }, 0), 0, 0);
	assert_float_equal(edges_hidden(&(struct edge_samples){ 1, 1 }, 1e6), 0.9, 0);
}

/* Two scopes of 30 and 90 samples, 20 stays in each: 20 / 30 of 3 / 4 independent, eq. 37.  A third is of no account. */
static void samples_that_alternate_are_mixed(void **state)
{
	static const struct edge_samples n[3] = { { 20, 10 }, { 40, 50 }, { 1000, 1000 } };
	const double mu = 20. / 30 / 0.75, all = 20 * 2 * 4000 / 2.;
	struct edges *e = edges_new(3);

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(edges_cross(e, 0, 0, 1, 4000, 0), 0);
		assert_int_equal(edges_cross(e, 0, 1, 0, 4000, 0), 0);
	}
	assert_int_equal(edges_cross(e, 0, 2, 0, 0, 0), 0);
	assert_int_equal(edges_settle(e, SKID, n, sums), 0);
	edges_free(e);
	NEAR(sums[1].mixed, sqrt(2) * (mu - 0.5) * (mu - 0.5) * all, 5);
	assert_true(sums[2].mixed < 0.05 * sums[1].mixed);
}

/* As mixed as can be, but there is hardly anything of the one that could be the other's. */
static void what_is_mixed_is_no_more_than_there_is(void **state)
{
	static const struct edge_samples n[2] = { { 500000, 500000 }, { 10, 10 } };
	struct edges *e = edges_new(2);

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(edges_inside(e, 0, 0, 1e6, 0), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(edges_cross(e, 0, 0, 1, 4000, 0), 0);
		assert_int_equal(edges_cross(e, 0, 1, 0, 4000, 0), 0);
	}
	assert_int_equal(edges_settle(e, SKID, n, sums), 0);
	edges_free(e);
	/* Half of 40 intervals of 4000: a quarter of that, from either side. */
	NEAR(sums[1].mixed, sqrt(2) * 0.25 * 80000, 1);
	NEAR(sums[0].mixed, sqrt(2) * 0.25 * 80000, 1);
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
		cmocka_unit_test(like_paces_tell_little),
		cmocka_unit_test(the_same_wrong_adds_up),
		cmocka_unit_test(what_neither_pace_explains_is_wrong),
		cmocka_unit_test(the_skid_carries_samples_over_edges),
		cmocka_unit_test(what_is_carried_may_be_a_guess),
		cmocka_unit_test(visits_that_are_alike_hide_alike),
		cmocka_unit_test(samples_that_alternate_are_mixed),
		cmocka_unit_test(what_is_mixed_is_no_more_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
