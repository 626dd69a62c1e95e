/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/flow_graphs.h"

static const uint32_t one_func[] = { 0 };

static bool holds(const struct flow_region *r, uint32_t block)
{
	for (size_t i = 0; i < r->n_blocks; i++)
		if (r->blocks[i] == block)
			return true;
	return false;
}

static bool has_edge(const struct flow_graph *g, const struct flow_region *r, uint32_t from, uint32_t to,
                     enum flow_edge_kind kind)
{
	for (size_t i = 0; i < r->n_edges; i++) {
		const struct flow_edge *e = &g->edges[r->edges[i]];

		if (e->from == from && e->to == to && e->kind == kind)
			return true;
	}
	return false;
}

static void straight_code_is_no_region(void **state)
{
	const struct flow_edge e[] = { F(0, 1), F(1, 2) };
	struct flow_graph *g = graph_by_hand(3, one_func, 1, e, COUNT(e));
	struct flow_regions *r = regions_of(g, 0);

	(void)state;
	assert_int_equal(r->n, 0);
	assert_int_equal(r->of_block[1], -1);
	flow_regions_free(r);
	flow_free(g);
}

static void a_copy_of_a_region_outlives_it(void **state)
{
	const struct flow_edge e[] = { F(0, 1), J(1, 0), F(1, 2) };
	struct flow_graph *g = graph_by_hand(3, one_func, 1, e, COUNT(e));
	struct flow_regions *r = regions_of(g, 0);
	struct flow_region *copy;

	(void)state;
	assert_int_equal(r->n, 1);
	copy = flow_region_copy(&r->v[0]);
	assert_non_null(copy);
	assert_int_equal(copy->n_headers, r->v[0].n_headers);
	flow_regions_free(r);
	assert_int_equal(copy->n_blocks, 2);
	assert_true(holds(copy, 0) && holds(copy, 1));
	assert_int_equal(copy->n_edges, 2);
	assert_true(has_edge(g, copy, 1, 0, FLOW_TAKEN));
	flow_region_free(copy);
	flow_region_free(NULL);
	flow_free(g);
}

/* main calls f twice, one call behind the other: f -> 1 -> f is no path of the program. */
static void two_calls_in_a_row_are_no_loop(void **state)
{
	const uint32_t entry[] = { 0, 3 };
	const struct flow_edge e[] = { CALL(0, 3), RET(3, 1, 0), SKIP(0, 1),
		                       CALL(1, 3), RET(3, 2, 1), SKIP(1, 2) };
	struct flow_graph *g = graph_by_hand(4, entry, 2, e, COUNT(e));
	struct flow_regions *r = regions_of(g, 0);

	(void)state;
	assert_int_equal(r->n, 0);
	flow_regions_free(r);
	flow_free(g);
}

static void a_loop_takes_its_callees_in_without_their_dead_ends(void **state)
{
	/* 0 enters; 1 calls f; 2 goes back or out to 3.  f: 4 returns, or goes to 5, which never comes back. */
	const uint32_t entry[] = { 0, 4 };
	const struct flow_edge e[] = { F(0, 1), CALL(1, 4), RET(4, 2, 1), SKIP(1, 2),
		                       J(2, 1), F(2, 3),    J(4, 5) };
	struct flow_graph *g = graph_by_hand(6, entry, 2, e, COUNT(e));
	struct flow_regions *r = regions_of(g, 0);

	(void)state;
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].header, 1);
	assert_int_equal(r->v[0].n_blocks, 3);
	assert_true(holds(&r->v[0], 4));
	assert_false(holds(&r->v[0], 5));
	assert_int_equal(r->v[0].n_edges, 3);
	assert_false(has_edge(g, &r->v[0], 1, 2, FLOW_SKIP));
	assert_int_equal(r->of_block[4], 0);
	assert_int_equal(r->of_block[0], -1);
	flow_regions_free(r);
	flow_free(g);
}

static void a_call_outside_the_graph_is_stepped_over(void **state)
{
	const struct flow_edge e[] = { F(0, 1), SKIP(1, 2), J(2, 1) };
	struct flow_graph *g = graph_by_hand(3, one_func, 1, e, COUNT(e));
	struct flow_regions *r = regions_of(g, 0);

	(void)state;
	assert_int_equal(r->n, 1);
	assert_true(has_edge(g, &r->v[0], 1, 2, FLOW_SKIP));
	flow_regions_free(r);
	flow_free(g);
}

/*
 * main (0, 1 .. 2): a loop over two inner loops, which call f each.
 *   0 -> 1(call f) -> 2 -> 1 or 3;  3(call f) -> 4 -> 3 or 5;  5 -> 0 or 6.   f = 7.
 */
static const uint32_t phases_entry[] = { 0, 7 };
static const struct flow_edge phases[] = {
	F(0, 1),      CALL(1, 7), RET(7, 2, 1), SKIP(1, 2), J(2, 1), F(2, 3), CALL(3, 7),
	RET(7, 4, 3), SKIP(3, 4), J(4, 3),      F(4, 5),    J(5, 0), F(5, 6),
};

static void an_outer_loop_is_one_region_and_its_children_share_a_callee(void **state)
{
	struct flow_graph *g = graph_by_hand(8, phases_entry, 2, phases, COUNT(phases));
	struct flow_regions *r = regions_of(g, 0), *inner = NULL;
	const double w[] = { 1, 10, 10, 10, 10, 1, 1, 10 };

	(void)state;
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].header, 0);
	assert_int_equal(r->v[0].n_blocks, 7);
	/* f is a third of each inner loop: both are one region, with two headers. */
	inner = flow_region_children(g, &r->v[0], w, 0);
	assert_int_equal(inner->n, 1);
	assert_int_equal(inner->v[0].n_headers, 2);
	assert_int_equal(inner->v[0].n_blocks, 5);
	assert_false(has_edge(g, &inner->v[0], 2, 3, FLOW_FALL));
	assert_true(inner->v[0].weight == 50);
	flow_regions_free(inner);
	flow_regions_free(r);
	flow_free(g);
}

/* A loop with less than half of the heat that the hottest reaches is none of its main ones: the region is not named after it. */
static void main_loops_are_told_from_others_of_a_region(void **state)
{
	struct flow_graph *g = graph_by_hand(8, phases_entry, 2, phases, COUNT(phases));
	struct flow_regions *r = regions_of(g, 0);

	(void)state;
	for (int cold = 0; cold < 2; cold++) {
		const double own = cold ? 2 : 10, w[] = { 1, own, own, 10, 10, 1, 1, 10 };
		struct flow_regions *inner = flow_region_children(g, &r->v[0], w, 0);

		assert_int_equal(inner->n, 1);
		assert_int_equal(inner->v[0].n_headers, 2);
		assert_int_equal(inner->v[0].n_main, cold ? 1 : 2);
		if (cold)
			assert_int_equal(inner->v[0].headers[0], 3);
		flow_regions_free(inner);
	}
	flow_regions_free(r);
	flow_free(g);
}

static void a_cold_shared_callee_belongs_to_the_hotter_loop(void **state)
{
	struct flow_graph *g = graph_by_hand(8, phases_entry, 2, phases, COUNT(phases));
	struct flow_regions *r = regions_of(g, 0), *inner = NULL;
	/* f: 1 of 1000 and more; under 2% of both. */
	const double w[] = { 0, 500, 501, 1000, 1000, 0, 0, 1 };

	(void)state;
	inner = flow_region_children(g, &r->v[0], w, 0);
	assert_int_equal(inner->n, 2);
	assert_int_equal(inner->v[0].header, 3);
	assert_true(holds(&inner->v[0], 7));
	assert_true(has_edge(g, &inner->v[0], 3, 7, FLOW_CALL));
	assert_false(holds(&inner->v[1], 7));
	assert_true(has_edge(g, &inner->v[1], 1, 2, FLOW_SKIP));
	assert_int_equal(inner->of_block[7], 0);
	flow_regions_free(inner);
	flow_regions_free(r);
	flow_free(g);
}

static void a_recursive_function_is_a_region(void **state)
{
	/* 0 calls f = 2: 2 calls itself, 3 is behind that, 4 returns. */
	const uint32_t entry[] = { 0, 2 };
	const struct flow_edge e[] = { CALL(0, 2),   RET(4, 1, 0), SKIP(0, 1), CALL(2, 2),
		                       RET(4, 3, 2), SKIP(2, 3),   F(3, 4),    J(2, 4) };
	struct flow_graph *g = graph_by_hand(5, entry, 2, e, COUNT(e));
	struct flow_regions *r = regions_of(g, 0);

	(void)state;
	assert_int_equal(r->n, 1);
	assert_true(r->v[0].recursive);
	assert_int_equal(r->v[0].header, 2);
	/* 2-2 by the call and 3-4-3 by the return are circulations of their own, joined by 2 -> 4. */
	assert_int_equal(r->v[0].n_blocks, 3);
	assert_true(has_edge(g, &r->v[0], 2, 2, FLOW_CALL));
	assert_true(has_edge(g, &r->v[0], 4, 3, FLOW_RET));
	assert_true(has_edge(g, &r->v[0], 3, 4, FLOW_FALL));
	assert_false(holds(&r->v[0], 0));
	flow_regions_free(r);
	flow_free(g);
}

/* 0-1 is a loop that calls f = 3, 4, 5; 4 calls g = 6, which never returns, but jumps to 1 if that is known. */
static void what_jumps_away_is_part_of_the_loop_that_it_leads_back_to(void **state)
{
	const uint32_t entry[] = { 0, 3, 6 };
	const struct flow_edge e[] = { CALL(0, 3), SKIP(0, 1), RET(5, 1, 0), J(1, 0), F(1, 2),
		                       J(3, 5),    F(3, 4),    CALL(4, 6),   J(6, 1) };

	(void)state;
	for (int away = 0; away < 2; away++) {
		struct flow_graph *g = graph_by_hand(7, entry, 3, e, COUNT(e) - 1 + (size_t)away);
		struct flow_regions *r;

		for (size_t i = 0; i < g->n_edges; i++)
			g->edges[i].away = g->edges[i].from == 6;
		r = regions_of(g, 0);
		assert_int_equal(r->n, 1);
		assert_int_equal(r->v[0].n_blocks, away ? 6 : 4);
		assert_int_equal(holds(&r->v[0], 6), away);
		assert_int_equal(r->v[0].recursive, away);
		assert_true(has_edge(g, &r->v[0], 5, 1, FLOW_RET));
		flow_regions_free(r);
		flow_free(g);
	}
}

static void small_loops_are_left_out_by_share(void **state)
{
	const struct flow_edge e[] = { J(0, 0), F(0, 1), J(1, 1) };
	struct flow_graph *g = graph_by_hand(2, one_func, 1, e, COUNT(e));
	const double w[] = { 99, 1 };
	struct flow_regions *r = NULL;

	(void)state;
	r = flow_regions_find(g, NULL, w, 0.02, 0, NULL);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].header, 0);
	flow_regions_free(r);
	r = flow_regions_find(g, NULL, w, 0.005, 0, NULL);
	assert_int_equal(r->n, 2);
	flow_regions_free(r);
	flow_free(g);
}

static void doubts_are_passed_on(void **state)
{
	const struct flow_edge e[] = { F(0, 1), { .from = 1, .to = 0, .kind = FLOW_IND, .guessed = true } };
	struct flow_graph *g = graph_by_hand(2, one_func, 1, e, COUNT(e));
	struct flow_regions *r;

	(void)state;
	g->blocks[1].unknown_target = true;
	g->blocks[0].undecoded = true;
	r = regions_of(g, 0);
	assert_true(r->v[0].guessed && r->v[0].unknown_target && r->v[0].undecoded);
	assert_true(r->v[0].unknown_weight == 2);
	flow_regions_free(r);
	flow_free(g);
}

/* A loop of three blocks that calls a function nobody decoded, none of whose code has a sample. */
static void what_is_cold_casts_no_doubt(void **state)
{
	const uint32_t entry[] = { 0, 3 };
	const struct flow_edge e[] = { F(0, 1), CALL(1, 3), J(2, 0), RET(3, 2, 1), SKIP(1, 2) };
	const double w[] = { 5, 5, 5, 0 }, warm[] = { 5, 5, 5, 1 };
	struct flow_graph *g = graph_by_hand(4, entry, 2, e, COUNT(e));
	struct flow_regions *r;

	(void)state;
	g->blocks[3].undecoded = true;
	r = flow_regions_find(g, NULL, w, 0, 0, NULL);
	assert_true(r->v[0].undecoded && r->v[0].undecoded_weight == 0);
	flow_regions_free(r);
	r = flow_regions_find(g, NULL, warm, 0, 0, NULL);
	assert_true(r->v[0].undecoded_weight == 1);
	flow_regions_free(r);
	flow_free(g);
}

/* 20,000 blocks in a chain of loops nested one in the other: no recursion on the C stack. */
static void deep_nests_do_not_exhaust_the_stack(void **state)
{
	enum { N = 20000 };
	struct flow_edge *e = calloc(2 * N, sizeof(*e));
	struct flow_graph *g;
	struct flow_regions *r;
	size_t n = 0;

	(void)state;
	for (uint32_t i = 0; i + 1 < N; i++)
		e[n++] = (struct flow_edge)F(i, i + 1);
	for (uint32_t i = 0; i < N / 2; i++)
		e[n++] = (struct flow_edge)J(N - 1 - i, i);
	g = graph_by_hand(N, one_func, 1, e, n);
	r = regions_of(g, 0);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->v[0].n_blocks, N);
	flow_regions_free(r);
	flow_free(g);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(straight_code_is_no_region),
		cmocka_unit_test(a_copy_of_a_region_outlives_it),
		cmocka_unit_test(two_calls_in_a_row_are_no_loop),
		cmocka_unit_test(a_loop_takes_its_callees_in_without_their_dead_ends),
		cmocka_unit_test(a_call_outside_the_graph_is_stepped_over),
		cmocka_unit_test(an_outer_loop_is_one_region_and_its_children_share_a_callee),
		cmocka_unit_test(main_loops_are_told_from_others_of_a_region),
		cmocka_unit_test(a_cold_shared_callee_belongs_to_the_hotter_loop),
		cmocka_unit_test(a_recursive_function_is_a_region),
		cmocka_unit_test(what_jumps_away_is_part_of_the_loop_that_it_leads_back_to),
		cmocka_unit_test(small_loops_are_left_out_by_share),
		cmocka_unit_test(doubts_are_passed_on),
		cmocka_unit_test(what_is_cold_casts_no_doubt),
		cmocka_unit_test(deep_nests_do_not_exhaust_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
