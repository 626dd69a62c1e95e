/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 8 on regions by hand; how trip counts are read from code is for tests/cases/trips.S. */
#include "tests/unit/fixture_problem.h"

#include <math.h>

#include "correct/evidence/trips.h"
#include "report/profile.h"

/*
 * An outer loop 0 -> 1 -> 2 -> 0 round an inner one at 1, whose block 2 goes
 * back to 1 or on to 3; 3 goes round the outer one.  Four instructions a block.
 */
enum { ENTER, STEP, BACK, LEAVE, ROUND, BREAK };

static const uint32_t four[] = { 4, 4, 4, 4 };

static void make(struct fixture *f, bool broken_off)
{
	const struct flow_edge edges[] = {
		[ENTER] = { 0, 1, FLOW_FALL }, [STEP] = { 1, 2, FLOW_FALL },   [BACK] = { 2, 1, FLOW_TAKEN },
		[LEAVE] = { 2, 3, FLOW_FALL }, [ROUND] = { 3, 0, FLOW_TAKEN },
	};
	const struct flow_edge broken[] = {
		{ 0, 1, FLOW_FALL },  { 1, 2, FLOW_FALL }, { 1, 3, FLOW_TAKEN },
		{ 2, 1, FLOW_TAKEN }, { 2, 3, FLOW_FALL }, { 3, 0, FLOW_TAKEN },
	};

	if (broken_off)
		fixture_make(f, four, 4, broken, 6);
	else
		fixture_make(f, four, 4, edges, 5);
	f->p->total_insn = 4e6;
	f->p->seen_cyc[4] = 30;
}

/* Edges that usable[] leaves out carry no flow; NULL = all do. */
static struct equations say(const struct fixture *f, uint32_t from, uint32_t exit, const bool *usable)
{
	uint32_t body[] = { 1, 2 };
	struct flow_trip_entry entry = { .from = from, .count = 16 };
	struct flow_trip t = {
		.header = 1, .exit = exit, .body = body, .n_body = 2, .entries = &entry, .n_entries = 1
	};
	struct equations eqs = { 0 };
	struct space *space;

	space = space_new(f->p, usable);
	trips_equation(f->p, &t, space, &eqs);
	space_free(space);
	return eqs;
}

/* 16 iterations are 15 back edges for each entry: back - 15 enter = 0. */
static void trip_counts_are_an_equation_of_the_flow(void **state)
{
	struct fixture f;
	struct equations eqs;

	(void)state;
	make(&f, false);
	eqs = say(&f, 0, LEAVE, NULL);
	assert_int_equal(eqs.n, 1);
	assert_float_equal(eqs.v[0].w[BACK], 1, 0);
	assert_float_equal(eqs.v[0].w[ENTER], -15, 0);
	assert_float_equal(eqs.v[0].w[STEP], 0, 0);
	assert_float_equal(eqs.v[0].value, 0, 0);
	/* 1e-4 of 4e6 instructions are 100 executions of four; half a visit is 8 iterations. */
	assert_float_equal(eqs.v[0].sd, 108, 1e-9);
	assert_int_equal(eqs.v[0].kind, PROFILE_BY_TRIPS);
	equations_fini(&eqs);
	fixture_fini(&f);
}

/* Up to 16 iterations of a visit are another scope's: of 12 in 62,500 visits by chance, of all of them alike. */
static void what_a_border_cuts_off_is_noise(void **state)
{
	static const double more[][2] = { { 12, 16.016884 }, { 62500, 288675.13 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct equations eqs;
		struct fixture f;

		make(&f, false);
		f.p->n_crossings = more[i][0];
		eqs = say(&f, 0, LEAVE, NULL);
		assert_int_equal(eqs.n, 1);
		assert_float_equal(eqs.v[0].sd, 108 + more[i][1], 1e-6 * more[i][1]);
		equations_fini(&eqs);
		fixture_fini(&f);
	}
}

/* Leaving at block 1 by edge 2 happens after any number of iterations: nothing is said of it. */
static void a_loop_that_may_be_left_early_says_nothing(void **state)
{
	struct fixture f;
	struct equations eqs;

	(void)state;
	make(&f, true);
	eqs = say(&f, 0, 4, NULL);
	assert_int_equal(eqs.n, 0);
	equations_fini(&eqs);
	fixture_fini(&f);
}

/* A way out that nothing was seen of may have been gone as often as is seen once: then 15 / sqrt(12) of that are added. */
static double sd_with_an_unseen_way_out(struct fixture *f)
{
	const bool usable[] = { true, true, false, true, true, true };
	struct equations eqs = say(f, 0, 4, usable);
	double sd = eqs.n ? eqs.v[0].sd : INFINITY;

	equations_fini(&eqs);
	return sd;
}

static void a_way_out_that_was_not_seen_is_no_proof_that_there_was_none(void **state)
{
	struct fixture f;

	(void)state;
	make(&f, true);
	assert_true(isinf(sd_with_an_unseen_way_out(&f)));
	f.p->total_cyc = 1e6;
	f.p->cyc_per_sample = 1000;
	assert_float_equal(sd_with_an_unseen_way_out(&f), 108 + 4330.127, 1e-3);
	/* Branch records that ran over one instruction in a hundred. */
	f.p->stacked_insn = 4e4;
	assert_float_equal(sd_with_an_unseen_way_out(&f), 108 + 433.0127, 1e-3);
	fixture_fini(&f);
}

static void an_entry_of_unknown_trip_count_says_nothing(void **state)
{
	struct fixture f;
	struct equations eqs;

	(void)state;
	make(&f, false);
	eqs = say(&f, 3, LEAVE, NULL);
	assert_int_equal(eqs.n, 0);
	equations_fini(&eqs);
	fixture_fini(&f);
}

static void a_loop_without_samples_is_left_alone(void **state)
{
	struct fixture f;
	struct equations eqs;

	(void)state;
	make(&f, false);
	f.p->seen_cyc[4] = 9;
	eqs = say(&f, 0, LEAVE, NULL);
	assert_int_equal(eqs.n, 0);
	equations_fini(&eqs);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trip_counts_are_an_equation_of_the_flow),
		cmocka_unit_test(what_a_border_cuts_off_is_noise),
		cmocka_unit_test(a_loop_that_may_be_left_early_says_nothing),
		cmocka_unit_test(a_way_out_that_was_not_seen_is_no_proof_that_there_was_none),
		cmocka_unit_test(an_entry_of_unknown_trip_count_says_nothing),
		cmocka_unit_test(a_loop_without_samples_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
