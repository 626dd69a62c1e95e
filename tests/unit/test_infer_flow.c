/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/fixture_problem.h"

#include <math.h>
#include <stdio.h>

#include "correct/profile.h"

static const struct infer_opts OPTS = INFER_OPTS_DEFAULT;

/* Give block b the raw count n: n times its instructions, all seen at its first. */
static void set_count(struct fixture *f, size_t b, double n)
{
	const struct problem_block *pb = &f->p->blocks[b];

	f->p->seen_insn[pb->insn0] = n * pb->n_insn;
	f->p->total_insn += n * pb->n_insn;
}

/* Counts 30 10 30 are a flow already: nothing is changed. */
static void a_flow_stays_as_it_is(void **state)
{
	const uint32_t n_insn[] = { 4, 2, 3 };
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_hmmer(&f, n_insn);
	set_count(&f, 0, 30);
	set_count(&f, 1, 10);
	set_count(&f, 2, 30);
	assert_int_equal(method_flow(f.p, &OPTS, &s), 0);
	assert_float_equal(s.draws[0], 30, 1e-4);
	assert_float_equal(s.draws[1], 10, 1e-4);
	assert_float_equal(s.draws[2], 30, 1e-4);
	assert_float_equal(s.edge_flow[0], 10, 1e-6);
	assert_float_equal(s.edge_flow[1], 20, 1e-6);
	assert_float_equal(s.edge_flow[3], 30, 1e-6);
	assert_int_equal(s.evidence, PROFILE_BY_FLOW);
	solution_fini(&s);
	fixture_fini(&f);
}

/*
 * Counts 30 10 24 of one instruction each.  Raising the third by 6 costs 60,
 * lowering the first costs 120, so 30 10 30; the total 64 then scales it by
 * 64 / 70.
 */
static void raising_is_cheaper_than_lowering(void **state)
{
	const uint32_t n_insn[] = { 1, 1, 1 };
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_hmmer(&f, n_insn);
	set_count(&f, 0, 30);
	set_count(&f, 1, 10);
	set_count(&f, 2, 24);
	assert_int_equal(method_flow(f.p, &OPTS, &s), 0);
	assert_float_equal(s.draws[0], 30 * 64.0 / 70, 1e-4);
	assert_float_equal(s.draws[1], 10 * 64.0 / 70, 1e-4);
	assert_float_equal(s.draws[2], 30 * 64.0 / 70, 1e-4);
	assert_int_equal(s.verdict, VERDICT_WEAK);
	solution_fini(&s);
	fixture_fini(&f);
}

/*
 * A block between two of 30 has no samples: raising it costs 330, less than
 * lowering both, 1200.  Round 0 -> 1 -> 2 -> 0 all are 30, scaled by 60 / 90.
 */
static void a_block_without_samples_is_filled_in(void **state)
{
	const uint32_t n_insn[] = { 1, 1, 1 };
	const struct flow_edge edges[] = { { 0, 1, FLOW_FALL }, { 1, 2, FLOW_FALL }, { 2, 0, FLOW_TAKEN } };
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_make(&f, n_insn, 3, edges, 3);
	set_count(&f, 0, 30);
	set_count(&f, 2, 30);
	assert_int_equal(method_flow(f.p, &OPTS, &s), 0);
	for (int b = 0; b < 3; b++)
		assert_float_equal(s.draws[b], 20, 1e-4);
	solution_fini(&s);
	fixture_fini(&f);
}

/*
 * Two callers of one function: 0 calls 4 and goes on at 1, 2 calls 4 and goes
 * on at 3; 1 branches to 0 or 2, 3 to 0.  The counts 20 11 10 19 30 would be
 * a flow if 9 of the calls from 0 could return to 3.
 */
static void a_call_returns_to_its_caller(void **state)
{
	const uint32_t n_insn[] = { 1, 1, 1, 1, 1 };
	const struct flow_edge edges[] = {
		{ 0, 4, FLOW_CALL, .call = 0 }, { 1, 0, FLOW_TAKEN }, { 1, 2, FLOW_FALL },
		{ 2, 4, FLOW_CALL, .call = 2 }, { 3, 0, FLOW_TAKEN }, { 4, 1, FLOW_RET, .call = 0 },
		{ 4, 3, FLOW_RET, .call = 2 },
	};
	const double n[] = { 20, 11, 10, 19, 30 };
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_make(&f, n_insn, 5, edges, 7);
	for (size_t b = 0; b < 5; b++)
		set_count(&f, b, n[b]);
	assert_int_equal(method_flow(f.p, &OPTS, &s), 0);
	assert_float_equal(s.edge_flow[0], s.edge_flow[5], 1e-6);
	assert_float_equal(s.edge_flow[3], s.edge_flow[6], 1e-6);
	assert_true(s.edge_flow[5] > 0 && s.edge_flow[6] > 0);
	solution_fini(&s);
	fixture_fini(&f);
}

static void no_samples_give_no_flow_and_say_so(void **state)
{
	const uint32_t n_insn[] = { 4, 2, 3 };
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_hmmer(&f, n_insn);
	assert_int_equal(method_flow(f.p, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_UNRELIABLE);
	assert_true(s.draws[0] == 0);
	solution_fini(&s);
	fixture_fini(&f);
}

/* 333 diamonds in a row, 1000 blocks: conserved at every block, and done in seconds. */
static void a_thousand_blocks_are_no_trouble(void **state)
{
	enum { DIAMONDS = 333, BLOCKS = 3 * DIAMONDS + 1 };
	static struct flow_edge edges[4 * DIAMONDS + 1];
	static uint32_t n_insn[BLOCKS];
	static double in[BLOCKS], out[BLOCKS];
	struct solution s;
	struct fixture f;
	size_t n = 0;

	(void)state;
	srand(5);
	for (uint32_t d = 0; d < DIAMONDS; d++) {
		edges[n++] = (struct flow_edge){ 3 * d, 3 * d + 1, FLOW_FALL };
		edges[n++] = (struct flow_edge){ 3 * d, 3 * d + 2, FLOW_TAKEN };
		edges[n++] = (struct flow_edge){ 3 * d + 1, 3 * d + 3, FLOW_TAKEN };
		edges[n++] = (struct flow_edge){ 3 * d + 2, 3 * d + 3, FLOW_FALL };
	}
	edges[n++] = (struct flow_edge){ BLOCKS - 1, 0, FLOW_TAKEN };
	for (size_t b = 0; b < BLOCKS; b++)
		n_insn[b] = 1 + (uint32_t)rand() % 9;
	fixture_make(&f, n_insn, BLOCKS, edges, n);
	for (size_t b = 0; b < BLOCKS; b++)
		set_count(&f, b, rand() % 4 ? rand() % 100000 : 0);
	assert_int_equal(method_flow(f.p, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_WEAK);
	for (size_t e = 0; e < n; e++) {
		out[edges[e].from] += s.edge_flow[e];
		in[edges[e].to] += s.edge_flow[e];
	}
	for (size_t b = 0; b < BLOCKS; b++) {
		assert_float_equal(in[b], out[b], 1e-4 * in[0]);
		assert_float_equal(in[b], s.draws[b], 1e-4 * in[0]);
	}
	solution_fini(&s);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_stays_as_it_is),
		cmocka_unit_test(raising_is_cheaper_than_lowering),
		cmocka_unit_test(a_block_without_samples_is_filled_in),
		cmocka_unit_test(a_call_returns_to_its_caller),
		cmocka_unit_test(no_samples_give_no_flow_and_say_so),
		cmocka_unit_test(a_thousand_blocks_are_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
