/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/assemble/lost_callers.h"

enum { MAIN, A, B, LEAF, N_FUNCS, TID = 7 };

static uint32_t add_frame(struct profile *p, uint32_t parent, uint32_t func)
{
	p->frames = realloc(p->frames, (p->n_frames + 1) * sizeof(*p->frames));
	p->frames[p->n_frames] = (struct profile_frame){ parent, func, func, 0, 0, false, 0 };
	return (uint32_t)p->n_frames++;
}

static struct profile *new_profile(void)
{
	struct profile *p = calloc(1, sizeof(*p));

	p->n_funcs = N_FUNCS;
	p->funcs = calloc(N_FUNCS, sizeof(*p->funcs));
	add_frame(p, UINT32_MAX, UINT32_MAX);
	return p;
}

static void it_is_what_its_thread_had_last(void **state)
{
	struct profile *p = new_profile();
	struct lost_callers l = { 0 };
	uint32_t at = add_frame(p, 0, MAIN), a = add_frame(p, at, A), b = add_frame(p, at, B),
	         below_a = add_frame(p, a, LEAF), below_b = add_frame(p, b, LEAF);

	(void)state;
	assert_int_equal(lost_callers_find(&l, p, TID, LEAF), 0);
	lost_callers_learn(&l, p, TID, below_a, true);
	assert_int_equal(lost_callers_find(&l, p, TID, LEAF), a);
	lost_callers_learn(&l, p, TID, below_b, true);
	assert_int_equal(lost_callers_find(&l, p, TID, LEAF), b);
	assert_int_equal(lost_callers_find(&l, p, TID, A), at);
	assert_int_equal(lost_callers_find(&l, p, TID + 1, LEAF), 0);
	/* Nobody called it. */
	assert_int_equal(lost_callers_find(&l, p, TID, MAIN), 0);
	lost_callers_free(&l);
	profile_free(p);
}

/* a -> b -> a: of a recursion the outermost. */
static void of_a_recursion_it_is_who_began_it(void **state)
{
	struct profile *p = new_profile();
	struct lost_callers l = { 0 };
	uint32_t at = add_frame(p, 0, MAIN), a = add_frame(p, at, A);

	(void)state;
	lost_callers_learn(&l, p, TID, add_frame(p, add_frame(p, a, B), A), true);
	assert_int_equal(lost_callers_find(&l, p, TID, A), at);
	lost_callers_free(&l);
	profile_free(p);
}

/* Of three stacks with a caller of leaf the second has another than the first: of what the others tell one in two is wrong. */
static void stacks_that_have_it_tell_how_often_it_is_wrong(void **state)
{
	struct profile *p = new_profile();
	struct lost_callers l = { 0 };
	uint32_t at = add_frame(p, 0, MAIN), a = add_frame(p, at, A), b = add_frame(p, at, B),
	         below_a = add_frame(p, a, LEAF), below_b = add_frame(p, b, LEAF),
	         lost = add_frame(p, b, LEAF), unknown = add_frame(p, at, A);

	(void)state;
	p->frames[lost].doubt = p->frames[unknown].doubt = 1;
	lost_callers_learn(&l, p, TID, below_a, true);
	lost_callers_learn(&l, p, TID, below_b, true);
	lost_callers_learn(&l, p, TID, below_b, true);
	/* What was found says nothing of what is. */
	lost_callers_learn(&l, p, TID, lost, true);
	lost_callers_judge(&l, p);
	assert_float_equal(p->frames[lost].doubt, (1. + 1) / (2 + 2), 1e-12);
	assert_float_equal(p->frames[unknown].doubt, .5, 1e-12);
	assert_float_equal(p->frames[below_a].doubt, 0, 0);
	lost_callers_free(&l);
	profile_free(p);
}

/* a, b, b, a: a is come to twice, and b once, in one thread; a sample of time between tells nothing. */
static void visits_are_runs_of_a_thread_s_stacks(void **state)
{
	struct profile *p = new_profile();
	struct lost_callers l = { 0 };
	uint32_t at = add_frame(p, 0, MAIN), a = add_frame(p, at, A), b = add_frame(p, at, B);

	(void)state;
	lost_callers_learn(&l, p, TID, a, true);
	lost_callers_learn(&l, p, TID + 1, a, true);
	lost_callers_learn(&l, p, TID, b, true);
	lost_callers_learn(&l, p, TID, a, false);
	lost_callers_learn(&l, p, TID, b, true);
	lost_callers_learn(&l, p, TID, a, true);
	lost_callers_judge(&l, p);
	assert_float_equal(p->funcs[A].visits, 3, 0);
	assert_float_equal(p->funcs[B].visits, 1, 0);
	assert_float_equal(p->funcs[MAIN].visits, 2, 0);
	assert_float_equal(p->funcs[LEAF].visits, 0, 0);
	lost_callers_free(&l);
	profile_free(p);
}

/* a, a, b, a, a, main: b, which is a way of a's, and the last main are of one stack each. */
static void brief_are_those_of_one_stack(void **state)
{
	struct profile *p = new_profile();
	struct lost_callers l = { 0 };
	uint32_t at = add_frame(p, 0, MAIN), a = add_frame(p, at, A), b = add_frame(p, 0, B);

	(void)state;
	for (int i = 0; i < 5; i++)
		lost_callers_learn(&l, p, TID, i == 2 ? b : a, true);
	lost_callers_learn(&l, p, TID, at, true);
	lost_callers_judge(&l, p);
	assert_float_equal(p->funcs[A].visits, 2, 0);
	assert_float_equal(p->funcs[A].brief, 1, 0);
	assert_float_equal(p->funcs[B].visits, 1, 0);
	assert_float_equal(p->funcs[B].brief, 1, 0);
	assert_float_equal(p->funcs[MAIN].visits, 2, 0);
	assert_float_equal(p->funcs[MAIN].brief, 1, 0);
	lost_callers_free(&l);
	profile_free(p);
}

/* main -> a -> leaf was the last that had a caller of leaf: what a cut above leaf in other stacks would be taken for. */
static void whole_stacks_test_what_is_found(void **state)
{
	static const uint32_t leaf[] = { LEAF }, with_a[] = { LEAF, A }, with_b[] = { LEAF, B },
	                      a_main[] = { A, MAIN }, b_main[] = { B, MAIN }, a_a_main[] = { A, A, MAIN },
	                      only_main[] = { MAIN };
	const struct {
		const uint32_t *held, *above;
		size_t n_held, n_above;
		bool wrong;
	} cases[] = {
		{ leaf, a_main, 1, 2, false },
		{ leaf, b_main, 1, 2, true },
		{ leaf, a_a_main, 1, 3, false }, /* how often makes no matter ... */
		{ leaf, only_main, 1, 1, true },
		{ with_a, only_main, 2, 1, false }, /* ... nor what is left */
		{ with_b, b_main, 2, 2, true },
	};
	struct profile *p = new_profile();
	struct lost_callers l = { 0 };
	uint32_t a = add_frame(p, add_frame(p, 0, MAIN), A);
	uint64_t n_wrong = 0;

	(void)state;
	lost_callers_test(&l, p, &(struct lost_test){ TID, LEAF, leaf, a_main, 1, 2 });
	assert_int_equal(l.n_tested, 0);
	lost_callers_learn(&l, p, TID, add_frame(p, a, LEAF), true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		lost_callers_test(&l, p,
		                  &(struct lost_test){ TID, LEAF, cases[i].held, cases[i].above,
		                                       cases[i].n_held, cases[i].n_above });
		n_wrong += cases[i].wrong;
		assert_int_equal(l.n_tested, i + 1);
		assert_int_equal(l.n_wrong, n_wrong);
	}
	lost_callers_free(&l);
	profile_free(p);
}

/* Stacks with a caller say that it is always another, tests that it makes no matter. */
static void doubt_is_what_tests_tell_where_there_are_some(void **state)
{
	static const uint32_t leaf[] = { LEAF }, b_main[] = { B, MAIN };
	struct profile *p = new_profile();
	struct lost_callers l = { 0 };
	uint32_t at = add_frame(p, 0, MAIN), a = add_frame(p, at, A), b = add_frame(p, at, B),
	         below_a = add_frame(p, a, LEAF), below_b = add_frame(p, b, LEAF),
	         lost = add_frame(p, b, LEAF);

	(void)state;
	for (int i = 0; i < 10; i++) {
		lost_callers_learn(&l, p, TID, below_a, true);
		lost_callers_learn(&l, p, TID, below_b, true);
		p->frames[lost].doubt = 1;
		lost_callers_judge(&l, p);
		assert_true(p->frames[lost].doubt > .5);
		lost_callers_test(&l, p, &(struct lost_test){ TID, LEAF, leaf, b_main, 1, 2 });
	}
	lost_callers_judge(&l, p);
	assert_float_equal(p->frames[lost].doubt, 1. / 12, 1e-12);
	lost_callers_free(&l);
	profile_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_its_thread_had_last),
		cmocka_unit_test(of_a_recursion_it_is_who_began_it),
		cmocka_unit_test(stacks_that_have_it_tell_how_often_it_is_wrong),
		cmocka_unit_test(whole_stacks_test_what_is_found),
		cmocka_unit_test(doubt_is_what_tests_tell_where_there_are_some),
		cmocka_unit_test(visits_are_runs_of_a_thread_s_stacks),
		cmocka_unit_test(brief_are_those_of_one_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
