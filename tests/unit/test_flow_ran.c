/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/flow_graphs.h"

#include "correct/flow/ran.h"
#include "correct/flow/region.h"

/*
 * 0 falls into 1, which jumps to 3 or falls into 2, 2 into 3; 3 jumps back to
 * 0 or to 4, where a cold loop 4-5-4 lies, and 5 jumps to 0.  Blocks are 16 bytes.
 */
static const uint32_t one_func[] = { 0 };
static const struct flow_edge edges[] = { F(0, 1), J(1, 3), F(1, 2), F(2, 3), J(3, 0),
	                                  F(3, 4), F(4, 5), J(5, 4), J(5, 0) };

static bool marked(const struct flow_graph *g, const struct flow_ran *ran, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < g->n_edges; i++)
		if (g->edges[i].from == from && g->edges[i].to == to)
			return ran->edge[i];
	fail_msg("no edge from %u to %u", from, to);
	return false;
}

/* On record: 1 to 3 and 3 to 0 as branches, and the straight runs 0 to 1 and 3 to 3. */
static void what_is_on_record_ran(void **state)
{
	const struct flow_seen seen[] = { { 0, 0, 16, 48, 9 }, { 0, 0, 48, 0, 9 } };
	const struct flow_seen runs[] = { { 0, 0, 0, 16, 9 }, { 0, 0, 48, 48, 9 } };
	struct flow_graph *g = graph_by_hand(6, one_func, 1, edges, COUNT(edges));
	struct flow_ran ran;

	(void)state;
	flow_ran_find(g, seen, 2, runs, 2, &ran);
	assert_true(ran.block[0] && ran.block[1] && ran.block[3]);
	assert_false(ran.block[2] || ran.block[4] || ran.block[5]);
	assert_true(marked(g, &ran, 0, 1) && marked(g, &ran, 1, 3) && marked(g, &ran, 3, 0));
	assert_false(marked(g, &ran, 1, 2) || marked(g, &ran, 2, 3) || marked(g, &ran, 3, 4));
	for (size_t i = 0; i < g->n_edges; i++)
		assert_true(ran.taken[i] == (g->edges[i].kind == FLOW_TAKEN && ran.edge[i] ? 9 : 0));
	flow_ran_fini(&ran);
	flow_free(g);
}

/* A longer run takes in the block between, and the edges along it, but none beyond its end. */
static void a_run_goes_straight_on(void **state)
{
	const struct flow_seen runs[] = { { 0, 0, 0, 48, 1 } };
	struct flow_graph *g = graph_by_hand(6, one_func, 1, edges, COUNT(edges));
	struct flow_ran ran;

	(void)state;
	flow_ran_find(g, NULL, 0, runs, 1, &ran);
	assert_true(ran.block[2] && marked(g, &ran, 1, 2) && marked(g, &ran, 2, 3));
	assert_false(ran.block[4] || marked(g, &ran, 1, 3) || marked(g, &ran, 3, 4));
	flow_ran_fini(&ran);
	flow_free(g);
}

/* Addresses in no block, and a run that ends before it begins, say nothing. */
static void nonsense_marks_nothing(void **state)
{
	const struct flow_seen seen[] = { { 0, 0, 0xfff0, 0, 1 }, { 7, 0, 16, 0, 1 } };
	const struct flow_seen runs[] = { { 0, 0, 48, 0, 1 }, { 0, 1, 0, 48, 1 } };
	struct flow_graph *g = graph_by_hand(6, one_func, 1, edges, COUNT(edges));
	struct flow_ran ran;

	(void)state;
	flow_ran_find(g, seen, 2, runs, 2, &ran);
	for (int i = 0; i < 6; i++)
		assert_false(ran.block[i]);
	flow_ran_fini(&ran);
	flow_free(g);
}

/* The region of what ran is the loop 0-1-3; without the records it holds 2, 4 and 5 too. */
static void a_region_of_what_ran_leaves_out_cold_code(void **state)
{
	const struct flow_seen seen[] = { { 0, 0, 16, 48, 9 }, { 0, 0, 48, 0, 9 } };
	const struct flow_seen runs[] = { { 0, 0, 0, 16, 9 } };
	const double heat[] = { 5, 5, 0, 5, 0, 0 };
	struct flow_graph *g = graph_by_hand(6, one_func, 1, edges, COUNT(edges));
	struct flow_ran ran;
	struct flow_regions *r = NULL;

	(void)state;
	flow_ran_find(g, seen, 2, runs, 1, &ran);
	r = flow_regions_find(g, NULL, heat, 0, 0, NULL);
	assert_int_equal(r->v[0].n_blocks, 6);
	flow_regions_free(r);
	r = flow_regions_find(g, &ran, heat, 0, 0, NULL);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].n_blocks, 3);
	assert_int_equal(r->v[0].n_edges, 3);
	flow_regions_free(r);
	flow_ran_fini(&ran);
	flow_free(g);
}

/*
 * The loop 0-1 calls f, which loops at 2 and returns from 3.  The return is on no record, so that no turn of 0-1 is;
 * many of the loop at 2 are.
 */
static void loops_inside_one_whose_turn_is_not_on_record_are_found(void **state)
{
	const uint32_t entry[] = { 0, 2 };
	const struct flow_edge e[] = { CALL(0, 2), RET(3, 1, 0), SKIP(0, 1), J(1, 0), J(2, 2), F(2, 3) };
	const double heat[] = { 1, 1, 97, 1 };
	struct flow_graph *g = graph_by_hand(4, entry, 2, e, COUNT(e));
	uint8_t block[] = { 1, 1, 1, 1 }, edge[COUNT(e)];
	const struct flow_ran ran = { block, edge };
	struct flow_regions *r = NULL;

	(void)state;
	memset(edge, 1, sizeof(edge));
	r = flow_regions_find(g, &ran, heat, 0, 0, NULL);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].n_blocks, 4);
	flow_regions_free(r);
	for (size_t i = 0; i < COUNT(e); i++)
		edge[i] = g->edges[i].kind != FLOW_RET;
	r = flow_regions_find(g, &ran, heat, 0, 0, NULL);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].header, 2);
	assert_int_equal(r->v[0].n_blocks, 1);
	flow_regions_free(r);
	flow_free(g);
}

/*
 * The loop 0-1 turns by a branch from 0 to 1, and now and then calls f, which loops at 3 and returns from 4.  The return
 * is on no record: f is no part of the outer loop, and its own loop is a region, if it is hot.
 */
static void loops_called_from_one_that_turns_are_found_if_they_are_not_seen_to_return(void **state)
{
	const uint32_t entry[] = { 0, 3 };
	const struct flow_edge e[] = { J(0, 1),    F(0, 2),      J(1, 0), CALL(2, 3),
		                       SKIP(2, 1), RET(4, 1, 2), J(3, 3), F(3, 4) };
	double heat[] = { 30, 29, 1, 40, 0 };
	struct flow_graph *g = graph_by_hand(5, entry, 2, e, COUNT(e));
	uint8_t block[] = { 1, 1, 1, 1, 1 }, edge[COUNT(e)];
	const struct flow_ran ran = { block, edge, NULL };
	struct flow_regions *r = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT(e); i++)
		edge[i] = g->edges[i].kind != FLOW_RET && g->edges[i].kind != FLOW_SKIP;
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	assert_int_equal(r->n, 2);
	/* The hotter one first. */
	assert_int_equal(r->v[0].n_blocks, 2);
	assert_int_equal(r->v[1].header, 3);
	assert_int_equal(r->v[1].n_blocks, 1);
	for (size_t b = 0; b < 5; b++)
		assert_int_equal(r->of_block[b], b < 2 ? 0 : b == 3 ? 1 : -1);
	flow_regions_free(r);
	/* Nor is it looked for where even with all that is left there would be too little: 101 of 100. */
	r = flow_regions_find(g, &ran, heat, 0.01, 101, NULL);
	assert_int_equal(r->n, 1);
	flow_regions_free(r);
	heat[3] = 0.1;
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	assert_int_equal(r->n, 1);
	flow_regions_free(r);
	flow_free(g);
}

/*
 * Straight code, a loop at 1, which no record is of, a loop at 3, which is on record, and a loop at 5 that goes through 3 and 4
 * or past them: past them it is one without them.
 */
static void loops_that_no_record_is_of_are_found_if_samples_are(void **state)
{
	const struct flow_edge e[] = { F(0, 1), J(1, 1), F(1, 2), F(2, 5), J(3, 3),
		                       F(3, 4), J(4, 5), F(5, 6), J(5, 3), J(6, 5) };
	double heat[] = { 1, 20, 1, 60, 1, 10, 10 };
	struct flow_graph *g = graph_by_hand(7, one_func, 1, e, COUNT(e));
	uint8_t block[] = { 0, 0, 0, 1, 0, 0, 0 }, edge[COUNT(e)];
	const struct flow_ran ran = { block, edge, NULL };
	struct flow_regions *r = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT(e); i++)
		edge[i] = g->edges[i].from == 3 && g->edges[i].to == 3;
	block[4] = 1;
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	assert_int_equal(r->n, 2);
	assert_int_equal(r->v[0].header, 3);
	assert_int_equal(r->v[1].header, 1);
	for (size_t b = 0; b < 7; b++)
		assert_int_equal(r->of_block[b], b == 3 ? 0 : b == 1 ? 1 : -1);
	flow_regions_free(r);
	/* Too little heat for a region. */
	heat[1] = 0.5;
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	assert_int_equal(r->n, 1);
	flow_regions_free(r);
	flow_free(g);
}

/*
 * A loop at 0, on record, and of which there is no record one at depth + 1, inside `depth` others, each entered from 0 and left
 * to 0 at a block of its own: these are none of which nothing is on record, and opened until the innermost shows.
 */
static size_t n_found_inside(uint32_t depth)
{
	const uint32_t last = depth + 1;
	struct flow_edge e[64] = { J(0, 0) };
	double heat[16] = { 50 };
	uint8_t block[16] = { 1 }, edge[64] = { 0 };
	const struct flow_ran ran = { block, edge, NULL };
	struct flow_regions *r = NULL;
	struct flow_graph *g;
	size_t n = 1, n_regions;

	for (uint32_t i = 1; i <= depth; i++) {
		e[n++] = (struct flow_edge)J(0, i);
		e[n++] = (struct flow_edge)F(i, i + 1);
		e[n++] = (struct flow_edge)J(i, 0);
		e[n++] = (struct flow_edge)J(last, i);
	}
	e[n++] = (struct flow_edge)J(last, last);
	heat[last] = 40;
	g = graph_by_hand(last + 1, one_func, 1, e, n);
	for (size_t i = 0; i < g->n_edges; i++)
		edge[i] = g->edges[i].from == 0 && g->edges[i].to == 0;
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	n_regions = r->n;
	assert_true(n_regions >= 1 && r->v[0].header == 0 && r->v[0].n_blocks == 1);
	if (n_regions > 1)
		assert_true(r->v[1].header == last && r->v[1].n_blocks == 1);
	flow_regions_free(r);
	flow_free(g);
	return n_regions - 1;
}

/* Eight are opened at the most, and one that is left then is no region. */
static void loops_in_many_others_are_given_up(void **state)
{
	(void)state;
	assert_int_equal(n_found_inside(1), 1);
	assert_int_equal(n_found_inside(8), 1);
	assert_int_equal(n_found_inside(9), 0);
	assert_int_equal(n_found_inside(12), 0);
}

/* A loop of 1, 2 and 3 that was come to once, from 0 to its middle, of which there is no record. */
static void a_loop_is_entered_where_its_function_leads_to_it(void **state)
{
	const struct flow_edge e[] = { J(0, 2), F(1, 2), F(2, 3), J(3, 1), F(3, 4) };
	const double heat[] = { 0, 10, 10, 10, 0 };
	struct flow_graph *g = graph_by_hand(5, one_func, 1, e, COUNT(e));
	uint8_t block[] = { 0, 1, 1, 1, 0 }, edge[COUNT(e)];
	const struct flow_ran ran = { block, edge, NULL };
	struct flow_regions *r = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT(e); i++)
		edge[i] = block[g->edges[i].from] && block[g->edges[i].to];
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].n_blocks, 3);
	assert_int_equal(r->v[0].header, 2);
	flow_regions_free(r);
	flow_free(g);
}

/* main's loops 0-1 and 2-3, of so much heat, call f (4, 5).  How many blocks has the hottest region? */
static size_t blocks_where_a_loop_calls(uint64_t n_calls, uint64_t n_others, double own_heat, double f_heat)
{
	const uint32_t entry[] = { 0, 4 };
	const struct flow_edge e[] = { CALL(0, 4), SKIP(0, 1), RET(5, 1, 0), J(1, 0), F(1, 2),
		                       CALL(2, 4), SKIP(2, 3), RET(5, 3, 2), J(3, 2), F(4, 5) };
	/* Of 16 bytes each: branches from the end of one to the beginning of another, and f run through. */
	const struct flow_seen seen[] = { { 0, 0, 0, 64, n_others }, { 0, 0, 80, 16, n_others },
		                          { 0, 0, 16, 0, n_others }, { 0, 0, 32, 64, n_calls },
		                          { 0, 0, 80, 48, n_calls }, { 0, 0, 48, 32, n_calls } };
	const struct flow_seen runs[] = { { 0, 0, 64, 80, n_others } };
	const double heat[] = { 50, 50, own_heat / 2, own_heat / 2, f_heat / 2, f_heat / 2 };
	struct flow_graph *g = graph_by_hand(6, entry, 2, e, COUNT(e));
	struct flow_ran ran;
	struct flow_regions *r = NULL;
	size_t n;

	flow_ran_find(g, seen, COUNT(seen), runs, 1, &ran);
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	n = r->v[0].n_blocks;
	assert_int_equal(r->n, n == 6 || own_heat == 0 ? 1 : 2);
	assert_int_equal(r->v[0].n_headers, n == 6 ? 2 : 1);
	flow_regions_free(r);
	flow_ran_fini(&ran);
	flow_free(g);
	return n;
}

/* main's loops 0-1 and 2-3 call f (6) each by a jump of its own, 4 and 5; that of the second has less than 1% of the heat. */
static void calls_through_a_plt_count(void **state)
{
	const uint32_t entry[] = { 0, 4, 5, 6 };
	const struct flow_edge e[] = { CALL(0, 4),
		                       SKIP(0, 1),
		                       RET(6, 1, 0),
		                       J(1, 0),
		                       F(1, 2),
		                       CALL(2, 5),
		                       SKIP(2, 3),
		                       RET(6, 3, 2),
		                       J(3, 2),
		                       { .from = 4, .to = 6, .kind = FLOW_IND },
		                       { .from = 5, .to = 6, .kind = FLOW_IND } };
	const struct flow_seen seen[] = { { 0, 0, 0, 64, 900 },  { 0, 0, 64, 96, 900 }, { 0, 0, 96, 16, 900 },
		                          { 0, 0, 16, 0, 900 },  { 0, 0, 32, 80, 100 }, { 0, 0, 80, 96, 100 },
		                          { 0, 0, 96, 48, 100 }, { 0, 0, 48, 32, 100 } };
	const double heat[] = { 50, 50, 0.4, 0.4, 1, 0, 80 };
	struct flow_graph *g = graph_by_hand(7, entry, 4, e, COUNT(e));
	struct flow_ran ran;
	struct flow_regions *r = NULL;

	(void)state;
	flow_ran_find(g, seen, COUNT(seen), NULL, 0, &ran);
	r = flow_regions_find(g, &ran, heat, 0.01, 0, NULL);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].n_blocks, 7);
	assert_int_equal(r->v[0].n_headers, 2);
	flow_regions_free(r);
	flow_ran_fini(&ran);
	flow_free(g);
}

/*
 * What tears a tree down, say: its loop has three instructions, and all its heat is in a callee of the loop that built the
 * tree.  Without it the calls of that callee would not add up.  A few calls are left out.
 */
static void a_loop_without_heat_that_calls_shared_code_often_is_part_of_the_region(void **state)
{
	(void)state;
	assert_int_equal(blocks_where_a_loop_calls(100, 900, 0, 80), 6);
	assert_int_equal(blocks_where_a_loop_calls(40, 900, 0, 80), 4);
	assert_int_equal(blocks_where_a_loop_calls(100, 45000, 0, 80), 6);
	assert_int_equal(blocks_where_a_loop_calls(80, 45000, 0, 80), 4);
}

/* Where the callee is cold a loop with heat of its own steps over it, but not if every stack of it led out of the region. */
static void a_hot_loop_that_calls_cold_shared_code_often_is_part_of_the_region(void **state)
{
	(void)state;
	assert_int_equal(blocks_where_a_loop_calls(100, 900, 90, 0.5), 6);
	assert_int_equal(blocks_where_a_loop_calls(40, 900, 90, 0.5), 4);
	assert_int_equal(blocks_where_a_loop_calls(100, 45000, 90, 0.5), 6);
	assert_int_equal(blocks_where_a_loop_calls(80, 45000, 90, 0.5), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_on_record_ran),
		cmocka_unit_test(a_run_goes_straight_on),
		cmocka_unit_test(nonsense_marks_nothing),
		cmocka_unit_test(a_region_of_what_ran_leaves_out_cold_code),
		cmocka_unit_test(loops_inside_one_whose_turn_is_not_on_record_are_found),
		cmocka_unit_test(loops_called_from_one_that_turns_are_found_if_they_are_not_seen_to_return),
		cmocka_unit_test(loops_that_no_record_is_of_are_found_if_samples_are),
		cmocka_unit_test(loops_in_many_others_are_given_up),
		cmocka_unit_test(a_loop_is_entered_where_its_function_leads_to_it),
		cmocka_unit_test(calls_through_a_plt_count),
		cmocka_unit_test(a_loop_without_heat_that_calls_shared_code_often_is_part_of_the_region),
		cmocka_unit_test(a_hot_loop_that_calls_cold_shared_code_often_is_part_of_the_region),
	};

	return cmocka_run_group_tests_name("flow_ran", tests, NULL, NULL);
}
