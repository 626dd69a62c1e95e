/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/fixture_problem.h"

#include <math.h>

#include "profiler/base/err.h"

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
	assert_int_equal(problem_new(&f.g, &r, &p), 0);
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

static void an_edge_out_of_the_region_is_refused(void **state)
{
	const uint32_t n_insn[] = { 1, 1 };
	const struct flow_edge edges[] = { { 0, 1, FLOW_FALL }, { 1, 0, FLOW_TAKEN } };
	uint32_t blocks[] = { 0 }, inside[] = { 0 };
	struct flow_region r = { .blocks = blocks, .n_blocks = 1, .edges = inside, .n_edges = 1 };
	struct problem *p = NULL;
	struct fixture f;

	(void)state;
	fixture_make(&f, n_insn, 2, edges, 2);
	assert_int_equal(problem_new(&f.g, &r, &p), -SP_EDOMAIN);
	assert_null(p);
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
	assert_int_equal(solution_init(&s, f.p, 5), 0);
	assert_int_equal(s.n_draws, 5);
	for (int k = 0; k < 15; k++)
		assert_true(s.draws[k] == 0);
	assert_true(isnan(s.r_hat) && isnan(s.n_eff));
	solution_fini(&s);
	assert_null(s.draws);
	solution_fini(&s);
	assert_int_equal(solution_init(&s, f.p, SIZE_MAX / 2), -SP_ENOMEM);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_region_gets_numbers_of_its_own),
		cmocka_unit_test(an_edge_out_of_the_region_is_refused),
		cmocka_unit_test(a_solution_starts_empty_and_ends_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
