/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/fixture_problem.h"

#include <math.h>

#include "correct/evidence/evidence.h"

/* A graph of six blocks; the region is 1, 2, 4, 5: 2 calls function 4, 5, which returns to 1. */
static void a_region_gets_numbers_of_its_own(void **state)
{
	const uint32_t n_insn[] = { 2, 3, 1, 7, 4, 5 };
	const struct flow_edge edges[] = {
		{ 0, 1, FLOW_FALL },  { 1, 2, FLOW_FALL }, { 2, 4, FLOW_CALL, .call = 2 },
		{ 3, 0, FLOW_TAKEN }, { 4, 5, FLOW_FALL }, { 5, 1, FLOW_RET, .call = 2 },
	};
	uint32_t blocks[] = { 1, 2, 4, 5 }, inside[] = { 1, 2, 4, 5 };
	struct flow_region r = { .blocks = blocks, .n_blocks = 4, .edges = inside, .n_edges = 4 };
	struct fixture f;
	struct problem *p;

	(void)state;
	fixture_make(&f, n_insn, 6, edges, 6);
	p = problem_new(&f.g, &r);
	assert_int_equal(p->n_blocks, 4);
	assert_int_equal(p->n_edges, 4);
	assert_int_equal(p->n_insns, 3 + 1 + 4 + 5);
	assert_int_equal(p->blocks[2].graph_block, 4);
	assert_int_equal(p->blocks[2].insn0, 4);
	assert_int_equal(p->blocks[2].n_insn, 4);
	/* block 4 begins after 2 + 3 + 1 + 7 = 13 instructions of the graph */
	assert_int_equal(p->insns[4].vaddr, 0x1000 + 4 * 13);
	assert_int_equal(p->edges[1].from, 1);
	assert_int_equal(p->edges[1].to, 2);
	assert_int_equal(p->edges[1].kind, FLOW_CALL);
	assert_int_equal(p->edges[1].call, 1);
	assert_int_equal(p->edges[3].from, 3);
	assert_int_equal(p->edges[3].to, 0);
	assert_int_equal(p->edges[3].call, 1);
	assert_int_equal(p->edges[3].graph_edge, 5);
	assert_int_equal(p->edges[0].call, -1);
	for (size_t i = 0; i < p->n_insns; i++)
		assert_true(p->seen_insn[i] == 0 && p->seen_cyc[i] == 0);
	problem_free(p);
	fixture_fini(&f);
}

/*
 * eq. 1.  0 is the loop's and calls f = 1, 2, 3, 4: 1 calls f or goes on to 3, 2 is what it comes back to, 3 calls g = 5,
 * 4 returns.  The call within f is of a recursion, those of f from 0 and of g are not.
 */
static void calls_of_a_recursion_are_not_matched(void **state)
{
	const uint32_t n_insn[] = { 2, 2, 2, 2, 2, 10 };
	const struct flow_edge edges[] = {
		{ 0, 1, FLOW_CALL, .call = 0 }, { 1, 1, FLOW_CALL, .call = 1 },
		{ 1, 3, FLOW_TAKEN },           { 2, 3, FLOW_FALL },
		{ 3, 5, FLOW_CALL, .call = 3 }, { 4, 0, FLOW_RET, .call = 0 },
		{ 4, 2, FLOW_RET, .call = 1 },  { 5, 4, FLOW_RET, .call = 3 },
	};
	struct evidence_input in = { .n = 1 };
	struct equations eqs = { 0 };
	struct problem *p;
	struct fixture f;

	(void)state;
	fixture_make(&f, n_insn, 6, edges, 8);
	f.r.recursive = true;
	p = problem_new(&f.g, &f.r);
	for (size_t e = 0; e < p->n_edges; e++) {
		bool of_recursion =
		        edges[e].kind != FLOW_TAKEN && edges[e].kind != FLOW_FALL && edges[e].call == 1;
		bool matched = (edges[e].kind == FLOW_CALL || edges[e].kind == FLOW_RET) && !of_recursion;

		assert_int_equal(p->edges[e].recursive, of_recursion ? 2 : 0);
		assert_int_equal(p->edges[e].call, matched ? (int32_t)edges[e].call : -1);
	}
	/* 40,000 instructions in 20 that are known: each ran 2000 times in the mean, and 2% of that is 40. */
	p->total_insn = 40000;
	in.problems = &p;
	/* Without a state of its own, this kind is shown the input. */
	assert_null(evidence_calls.begin);
	assert_int_equal(evidence_calls.equations(&in, 0, NULL, &eqs), 0);
	assert_int_equal(eqs.n, 1);
	assert_float_equal(eqs.v[0].sd, 40, 1e-9);
	assert_float_equal(eqs.v[0].value, 0, 1e-9);
	for (size_t e = 0; e < p->n_edges; e++)
		assert_float_equal(eqs.v[0].w[e], e == 1 ? 1 : e == 6 ? -1 : 0, 1e-9);
	equations_fini(&eqs);
	problem_free(p);
	fixture_fini(&f);
}

/*
 * 0 is the loop's and calls f = 1, 2, 3: 1 goes on to 3 and returns, or to 2, which calls g = 4.  That jumps away to 0.
 * What f returns to, 6, calls h = 5 and goes on to 0.
 */
static void calls_that_are_left_need_not_return(void **state)
{
	const uint32_t n_insn[] = { 2, 2, 2, 2, 2, 2, 2 };
	const struct flow_edge edges[] = {
		{ 0, 1, FLOW_CALL, .call = 0 }, { 1, 2, FLOW_FALL },
		{ 1, 3, FLOW_TAKEN },           { 2, 4, FLOW_CALL, .call = 2 },
		{ 3, 6, FLOW_RET, .call = 0 },  { 4, 0, FLOW_IND, .away = true },
		{ 5, 0, FLOW_RET, .call = 6 },  { 6, 5, FLOW_CALL, .call = 6 },
	};
	struct problem *p;
	struct fixture f;

	(void)state;
	fixture_make(&f, n_insn, 7, edges, 8);
	f.r.recursive = true;
	p = problem_new(&f.g, &f.r);
	for (size_t e = 0; e < p->n_edges; e++) {
		bool of_h = edges[e].kind != FLOW_IND && edges[e].call == 6;

		assert_int_equal(p->edges[e].recursive, 0);
		assert_int_equal(p->edges[e].call, of_h ? 6 : -1);
	}
	problem_free(p);
	fixture_fini(&f);
}

static void a_solution_starts_empty_and_ends_empty(void **state)
{
	const uint32_t n_insn[] = { 4, 2, 3 };
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_hmmer(&f, n_insn);
	solution_init(&s, f.p, 5);
	assert_int_equal(s.n_draws, 5);
	for (int k = 0; k < 15; k++)
		assert_true(s.draws[k] == 0);
	solution_fini(&s);
	assert_null(s.draws);
	solution_fini(&s);
	fixture_fini(&f);
}

/* Draws of 1000 times 1 to 3, and 10% more noise. */
static void draws_are_spread_about_their_mean(void **state)
{
	const uint32_t n_insn[] = { 4, 2, 3 };
	struct solution s;
	struct fixture f;
	double mean = 0, var = 0;

	(void)state;
	fixture_hmmer(&f, n_insn);
	solution_init(&s, f.p, 1000);
	for (int i = 0; i < 1000; i++)
		for (int b = 0; b < 3; b++)
			s.draws[3 * i + b] = 1000.f * (float)(b + 1);
	solution_spread(&s, 3, 0, 1);
	assert_true(s.draws[0] == 1000);
	solution_spread(&s, 3, 0.1, 1);
	for (int i = 0; i < 1000; i++) {
		/* One total, one factor. */
		assert_float_equal(s.draws[3 * i + 2], 3 * s.draws[3 * i], 1e-2);
		mean += s.draws[3 * i] / 1000;
	}
	for (int i = 0; i < 1000; i++)
		var += (s.draws[3 * i] - mean) * (s.draws[3 * i] - mean) / 1000;
	assert_float_equal(mean, 1000, 0.01);
	assert_float_equal(sqrt(var), 100, 1);
	/* No count is less than none. */
	solution_spread(&s, 3, 10, 1);
	for (int i = 0; i < 1000; i++)
		assert_true(s.draws[3 * i] >= 0);
	solution_fini(&s);
	fixture_fini(&f);
}

/*
 * 1000 draws of 900 and of 1100 instructions, sd 100, which is 110 of 1100, and a total of 1100 known to 100:
 * 121 / 221 of the way.
 */
static void draws_go_half_way_to_a_total_known_about_as_well(void **state)
{
	struct problem_block blocks[] = { { .n_insn = 1 }, { .insn0 = 1, .n_insn = 3 } };
	struct problem p = { .blocks = blocks, .n_blocks = 2 };
	double insn, mean = 0, var = 0;
	struct solution s;

	(void)state;
	solution_init(&s, &p, 1000);
	for (int i = 0; i < 1000; i++) {
		s.draws[2 * i] = 300;
		s.draws[2 * i + 1] = i % 2 ? 200 : 800.f / 3;
	}
	solution_meet_total(&s, &p, 1100, 100, 1, &insn);
	assert_float_equal(insn, 1000 + 100 * 121. / 221, 0.01);
	for (int i = 0; i < 1000; i++) {
		/* Shares within a draw stay. */
		assert_float_equal(s.draws[2 * i + 1] / s.draws[2 * i], (i % 2 ? 6. : 8.) / 9, 1e-5);
		mean += (s.draws[2 * i] + 3 * s.draws[2 * i + 1]) / 1000;
	}
	for (int i = 0; i < 1000; i++) {
		double off = s.draws[2 * i] + 3 * s.draws[2 * i + 1] - mean;

		var += off * off / 1000;
	}
	assert_float_equal(mean, 1000 + 100 * 121. / 221, 5);
	assert_float_equal(sqrt(var), hypot(100 * 100. / 221, 100 * 121. / 221), 4);
	solution_fini(&s);
}

/* A total that is known far better is taken as it is; one that is 10 times the noise away makes draws as much wider. */
static void a_total_that_is_known_better_is_met(void **state)
{
	struct problem_block block = { .n_insn = 1 };
	struct problem p = { .blocks = &block, .n_blocks = 1 };
	double insn, least = INFINITY, most = 0;
	struct solution s;

	(void)state;
	solution_init(&s, &p, 1000);
	for (int i = 0; i < 1000; i++)
		s.draws[i] = i % 2 ? 900 : 1100;
	solution_meet_total(&s, &p, 1100, 1, 1, &insn);
	assert_float_equal(insn, 1100, 0.02);
	for (int i = 0; i < 1000; i++)
		assert_float_equal(s.draws[i], 1100, 4.5);
	solution_meet_total(&s, &p, 2100, 99.995, 1, &insn);
	/* Of 1 of 1100 at 2100: 1.9 times as much. */
	assert_float_equal(insn, 1100 + 1000 * 1e-4 * 2100 * 2100 / 1100 / 1100, 0.05);
	for (int i = 0; i < 1000; i++) {
		least = fmin(least, s.draws[i]);
		most = fmax(most, s.draws[i]);
	}
	assert_true(most - least > 40 && most - least < 100);
	/* One stack of little by chance: draws of 3 and 17, and 1000 counted to 300, which are met nearly. */
	for (int i = 0; i < 1000; i++)
		s.draws[i] = i % 2 ? 3 : 17;
	solution_meet_total(&s, &p, 1000, 300, 1, &insn);
	assert_float_equal(insn, 10 + 990 * 700. * 700 / (700. * 700 + 300. * 300), 1);
	/* Nothing drawn is nothing, whatever was counted. */
	memset(s.draws, 0, 1000 * sizeof(*s.draws));
	solution_meet_total(&s, &p, 100, 1, 1, &insn);
	assert_true(insn == 0 && s.draws[0] == 0);
	solution_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_go_half_way_to_a_total_known_about_as_well),
		cmocka_unit_test(a_total_that_is_known_better_is_met),
		cmocka_unit_test(a_region_gets_numbers_of_its_own),
		cmocka_unit_test(calls_of_a_recursion_are_not_matched),
		cmocka_unit_test(calls_that_are_left_need_not_return),
		cmocka_unit_test(a_solution_starts_empty_and_ends_empty),
		cmocka_unit_test(draws_are_spread_about_their_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
