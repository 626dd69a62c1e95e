/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 38 on regions by hand; how turns are read from code is for tests/cases/trips.S. */
#include "tests/unit/fixture_problem.h"

#include "correct/evidence/trips.h"
#include "correct/profile.h"

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

static struct equations say(const struct fixture *f, uint32_t from, uint32_t exit)
{
	uint32_t body[] = { 1, 2 };
	struct flow_trip_entry entry = { .from = from, .turns = 16 };
	struct flow_trip t = {
		.header = 1, .exit = exit, .body = body, .n_body = 2, .entries = &entry, .n_entries = 1
	};
	struct equations eqs = { 0 };
	struct space *space;

	assert_int_equal(space_new(f->p, NULL, &space), 0);
	assert_int_equal(trips_equation(f->p, &t, space, &eqs), 0);
	space_free(space);
	return eqs;
}

/* 16 turns are 15 back to the header each time it is come to: back - 15 enter = 0. */
static void turns_are_an_equation_of_the_flow(void **state)
{
	struct fixture f;
	struct equations eqs;

	(void)state;
	make(&f, false);
	eqs = say(&f, 0, LEAVE);
	assert_int_equal(eqs.n, 1);
	assert_float_equal(eqs.v[0].w[BACK], 1, 0);
	assert_float_equal(eqs.v[0].w[ENTER], -15, 0);
	assert_float_equal(eqs.v[0].w[STEP], 0, 0);
	assert_float_equal(eqs.v[0].value, 0, 0);
	/* 1e-4 of 4e6 instructions are 100 executions of four; half a visit is 8 turns. */
	assert_float_equal(eqs.v[0].sd, 108, 1e-9);
	assert_int_equal(eqs.v[0].kind, PROFILE_BY_TRIPS);
	equations_fini(&eqs);
	fixture_fini(&f);
}

static void a_loop_with_another_way_out_is_not_counted(void **state)
{
	struct fixture f;
	struct equations eqs;

	(void)state;
	make(&f, true);
	eqs = say(&f, 0, 4);
	assert_int_equal(eqs.n, 0);
	equations_fini(&eqs);
	fixture_fini(&f);
}

static void a_way_in_of_unknown_turns_says_nothing(void **state)
{
	struct fixture f;
	struct equations eqs;

	(void)state;
	make(&f, false);
	eqs = say(&f, 3, LEAVE);
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
	eqs = say(&f, 0, LEAVE);
	assert_int_equal(eqs.n, 0);
	equations_fini(&eqs);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_are_an_equation_of_the_flow),
		cmocka_unit_test(a_loop_with_another_way_out_is_not_counted),
		cmocka_unit_test(a_way_in_of_unknown_turns_says_nothing),
		cmocka_unit_test(a_loop_without_samples_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
