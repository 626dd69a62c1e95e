/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/assemble/calls.h"

enum { DRAWS = 101 };

/*
 * One function of three blocks of one instruction each: entry (0), a loop of one block (1), and the way out (2).  In draw d
 * the entry ran 100 + d times and the loop ten times as often.
 */
static struct profile *one_loop(void)
{
	static const struct profile_term terms[] = {
		{ 0, 1 }, /* calls; and what enters the loop */
		{ 1, 1 },
		{ 0, -1 }, /* back */
	};
	struct profile *p = calloc(1, sizeof(*p));

	p->n_regions = 1;
	p->regions = calloc(1, sizeof(*p->regions));
	p->regions[0] =
	        (struct profile_region){ .n_blocks = 3, .n_draws = DRAWS, .n_samples = 100, .insn = 1800 };
	p->regions[0].draws = calloc(3 * DRAWS, sizeof(float));
	for (int d = 0; d < DRAWS; d++) {
		float *draw = p->regions[0].draws + (size_t)3 * d;

		draw[0] = draw[2] = (float)(100 + d);
		draw[1] = 10 * draw[0];
	}
	p->n_funcs = 2;
	p->funcs = calloc(2, sizeof(*p->funcs));
	p->funcs[0].calls.n_terms = 1;
	p->funcs[0].rolled.insn = 1800;
	p->n_insns = p->n_blocks = 3;
	p->insns = calloc(3, sizeof(*p->insns));
	p->blocks = calloc(3, sizeof(*p->blocks));
	for (uint32_t i = 0; i < 3; i++) {
		/* The loop is a function put in place. */
		p->insns[i] = (struct profile_insn){ .vaddr = 0x10 + 4 * i, .func = i == 1, .block = i };
		p->insns[i].count = (struct profile_count){ .insn = i == 1 ? 1500 : 150, .cyc = 300 };
		p->blocks[i] = (struct profile_block){ .vaddr = 0x10 + 4 * i,
			                               .end_vaddr = 0x14 + 4 * i,
			                               .insn = i,
			                               .trips = i == 1 ? 0 : UINT32_MAX };
	}
	p->n_terms = 3;
	p->terms = malloc(sizeof(terms));
	memcpy(p->terms, terms, sizeof(terms));
	p->n_ways = 2;
	p->ways = calloc(2, sizeof(*p->ways));
	p->ways[0] = (struct profile_way){
		.from = 1, .to = 1, .taken = true, .known = true, .term0 = 1, .n_terms = 2
	};
	p->ways[1] = (struct profile_way){ .from = 1, .to = 2, .known = true, .term0 = 0, .n_terms = 1 };
	p->n_trips = 1;
	p->trips_blocks = calloc(1, sizeof(*p->trips_blocks));
	p->trips_blocks[0] = 1;
	p->trips = calloc(1, sizeof(*p->trips));
	p->trips[0] = (struct profile_trips){
		.header = 1, .n_in = 1, .parent = UINT32_MAX, .depth = 1, .term0 = 0, .n_terms = 1
	};
	return p;
}

static void calls_are_executions_of_the_entry(void **state)
{
	struct profile *p = one_loop();
	const struct profile_calls *c = &p->funcs[0].calls;

	(void)state;
	calls_count(p);
	assert_float_equal(c->n, 150, 1e-6);
	/* The shortest that holds nine in ten; all are of one length here. */
	assert_float_equal(c->hi - c->lo, 90, 1e-6);
	/* Entry and way out are its own, two a call; with the loop put in place twelve. */
	assert_float_equal(c->own.insn, 2, 1e-6);
	assert_float_equal(c->own.lo, 2, 1e-6);
	assert_float_equal(c->own.cyc, 4, 1e-6);
	assert_float_equal(c->rolled.insn, 12, 1e-6);
	assert_float_equal(c->rolled.hi, 12, 1e-6);
	assert_float_equal(c->rolled.cyc, 6, 1e-6);
	/* What is only put in place is not called. */
	assert_true(isnan(p->funcs[1].calls.n));
	profile_free(p);
}

/* Executions are known to a third, their ratio exactly: it is of the same draws. */
static void a_trip_count_is_a_ratio_within_each_draw(void **state)
{
	struct profile *p = one_loop();

	(void)state;
	calls_count(p);
	assert_float_equal(p->trips[0].iterations, 1500, 1e-6);
	assert_float_equal(p->trips[0].entries, 150, 1e-6);
	assert_float_equal(p->trips[0].mean, 10, 1e-6);
	assert_float_equal(p->trips[0].lo, 10, 1e-6);
	assert_float_equal(p->trips[0].hi, 10, 1e-6);
	profile_free(p);
}

static void a_branch_has_the_share_that_was_taken(void **state)
{
	struct profile *p = one_loop();
	struct profile_range r;

	(void)state;
	profile_way_count(p, &p->ways[0], &r);
	assert_float_equal(r.mean, 1350, 1e-6);
	profile_way_share(p, &p->ways[0], &r);
	assert_float_equal(r.mean, 0.9, 1e-6);
	assert_float_equal(r.lo, 0.9, 1e-6);
	p->ways[0].known = false;
	profile_way_share(p, &p->ways[0], &r);
	assert_true(isnan(r.mean));
	profile_free(p);
}

/* No draws: the counts as they stand, and no interval. */
static void exact_counts_give_exact_calls(void **state)
{
	struct profile *p = one_loop();

	(void)state;
	p->regions[0].n_draws = 0;
	p->insns[1].count.insn = 1950;
	calls_count(p);
	assert_float_equal(p->funcs[0].calls.n, 150, 1e-6);
	assert_true(isnan(p->funcs[0].calls.lo));
	assert_float_equal(p->trips[0].mean, 13, 1e-6);
	assert_true(isnan(p->trips[0].hi));
	profile_free(p);
}

/* Where instructions are shares, so would be calls; what a call comes to is not one. */
static void shares_have_rates_and_no_calls(void **state)
{
	struct profile *p = one_loop();

	(void)state;
	p->meta.relative = true;
	calls_count(p);
	assert_true(isnan(p->funcs[0].calls.n));
	assert_float_equal(p->funcs[0].calls.rolled.insn, 12, 1e-6);
	assert_true(isnan(p->funcs[0].calls.rolled.cyc));
	assert_true(isnan(p->trips[0].iterations));
	assert_float_equal(p->trips[0].mean, 10, 1e-6);
	profile_free(p);
}

static void draws_that_never_enter_leave_the_upper_end_open(void **state)
{
	struct profile *p = one_loop();

	(void)state;
	for (int d = 0; d < DRAWS; d += 2)
		p->regions[0].draws[3 * d] = 0;
	calls_count(p);
	assert_true(isinf(p->trips[0].hi));
	assert_float_equal(p->trips[0].lo, 10, 1e-6);
	profile_free(p);
}

/* 100 samples of 1,800 instructions: ten of them stand for 180. */
static void what_hardly_any_sample_saw_is_not_told(void **state)
{
	struct profile *p = one_loop();

	(void)state;
	p->funcs[0].rolled.insn = 179;
	calls_count(p);
	assert_true(isnan(p->funcs[0].calls.n));
	assert_float_equal(p->trips[0].mean, 10, 1e-6);
	p->regions[0].n_samples = 11;
	calls_count(p);
	assert_true(isnan(p->trips[0].mean));
	profile_free(p);
}

static void blocks_and_instructions_are_found_by_address(void **state)
{
	struct profile *p = one_loop();

	(void)state;
	assert_int_equal(profile_block_at(p, 0, 0x16), 1);
	assert_int_equal(profile_block_at(p, 0, 0xf), -1);
	assert_int_equal(profile_block_at(p, 0, 0x1c), -1);
	assert_int_equal(profile_block_at(p, 1, 0x14), -1);
	assert_int_equal(profile_insn_at(p, 0, 0x18), 2);
	assert_int_equal(profile_insn_at(p, 0, 0x19), -1);
	profile_free(p);
}

/* Calls[n], sorted by callee, of functions 0 to 4; n < 0: the flow goes over it and does not tell how often. */
struct called {
	uint32_t caller, callee;
	double n;
};

static struct profile *calling(const struct called *calls, size_t n)
{
	struct profile *p = calloc(1, sizeof(*p));

	p->n_funcs = 5;
	p->funcs = calloc(5, sizeof(*p->funcs));
	p->n_calls = n;
	p->calls = calloc(n, sizeof(*p->calls));
	for (size_t i = 0; i < n; i++)
		p->calls[i] = (struct profile_call){ .caller = calls[i].caller,
			                             .callee = calls[i].callee,
			                             .taken = !isnan(calls[i].n),
			                             .n = calls[i].n < 0 ? NAN : calls[i].n };
	return p;
}

static void callers_share_a_function_as_they_call_it(void **state)
{
	struct profile *p =
	        calling((struct called[]){ { 0, 2, 30 }, { 1, 2, 10 }, { 2, 2, 999 }, { 3, 2, NAN } }, 4);

	(void)state;
	calls_divide(p);
	assert_float_equal(p->calls[0].share, 0.75, 1e-9);
	assert_float_equal(p->calls[1].share, 0.25, 1e-9);
	/* Its calls of itself are for those two, and who is nowhere on record called it hardly ever. */
	assert_float_equal(p->calls[2].share, 0, 1e-9);
	assert_float_equal(p->calls[3].share, 0, 1e-9);
	profile_free(p);
}

/* A bug that was: no burst saw the one call that began a recursion, and what that ran was nobody's. */
static void a_recursion_was_called_by_who_can_call_it(void **state)
{
	struct profile *p = calling((struct called[]){ { 0, 1, NAN }, { 1, 1, 999 } }, 2);

	(void)state;
	calls_divide(p);
	assert_float_equal(p->calls[0].share, 1, 1e-9);
	assert_float_equal(p->calls[1].share, 0, 1e-9);
	profile_free(p);
}

/* 2 and 3 call each other; 0 or 1 may have called the first of them, or 4 the second. */
static void functions_that_call_each_other_were_called_from_outside(void **state)
{
	struct profile *p = calling(
	        (struct called[]){ { 0, 2, NAN }, { 1, 2, NAN }, { 3, 2, 50 }, { 2, 3, 51 }, { 4, 3, NAN } },
	        5);

	(void)state;
	calls_divide(p);
	assert_float_equal(p->calls[0].share, 0.25, 1e-9);
	assert_float_equal(p->calls[1].share, 0.25, 1e-9);
	assert_float_equal(p->calls[2].share, 0.5, 1e-9);
	assert_float_equal(p->calls[3].share, 0.5, 1e-9);
	assert_float_equal(p->calls[4].share, 0.5, 1e-9);
	profile_free(p);
}

/* Code that was never seen called it only where nothing else can have. */
static void unseen_callers_come_last(void **state)
{
	struct profile *p =
	        calling((struct called[]){ { 0, 1, NAN }, { 2, 1, NAN }, { 0, 3, NAN }, { 2, 3, NAN } }, 4);

	(void)state;
	p->calls[0].unseen = p->calls[2].unseen = p->calls[3].unseen = true;
	calls_divide(p);
	assert_float_equal(p->calls[0].share, 0, 1e-9);
	assert_float_equal(p->calls[1].share, 1, 1e-9);
	assert_float_equal(p->calls[2].share, 0.5, 1e-9);
	assert_float_equal(p->calls[3].share, 0.5, 1e-9);
	profile_free(p);
}

/* Of 100 calls 60 are one's; two others have what they leave.  Where the sum is not known they have as much as any. */
static void callers_that_are_not_counted_have_what_is_left(void **state)
{
	struct profile *p = calling((struct called[]){ { 0, 3, 60 }, { 1, 3, -1 }, { 2, 3, -1 } }, 3);

	(void)state;
	p->funcs[3].calls.n_terms = 1;
	p->funcs[3].calls.n = 100;
	calls_divide(p);
	assert_float_equal(p->calls[0].share, 0.6, 1e-9);
	assert_float_equal(p->calls[1].share, 0.2, 1e-9);
	assert_float_equal(p->calls[2].share, 0.2, 1e-9);
	p->funcs[3].calls.n = NAN;
	calls_divide(p);
	assert_float_equal(p->calls[0].share, 1.0 / 3, 1e-9);
	assert_float_equal(p->calls[2].share, 1.0 / 3, 1e-9);
	profile_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_executions_of_the_entry),
		cmocka_unit_test(a_trip_count_is_a_ratio_within_each_draw),
		cmocka_unit_test(a_branch_has_the_share_that_was_taken),
		cmocka_unit_test(exact_counts_give_exact_calls),
		cmocka_unit_test(shares_have_rates_and_no_calls),
		cmocka_unit_test(draws_that_never_enter_leave_the_upper_end_open),
		cmocka_unit_test(what_hardly_any_sample_saw_is_not_told),
		cmocka_unit_test(blocks_and_instructions_are_found_by_address),
		cmocka_unit_test(callers_share_a_function_as_they_call_it),
		cmocka_unit_test(unseen_callers_come_last),
		cmocka_unit_test(a_recursion_was_called_by_who_can_call_it),
		cmocka_unit_test(functions_that_call_each_other_were_called_from_outside),
		cmocka_unit_test(callers_that_are_not_counted_have_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
