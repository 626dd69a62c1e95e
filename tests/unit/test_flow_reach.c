/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/flow_graphs.h"

#include "correct/flow/reach.h"

static double heat_reached(const struct nest_view *view, const struct nest *n, const double *heat,
                           uint32_t block)
{
	const uint32_t comp = nest_comp(n, block);
	struct reach r;
	double sum = 0;

	reach_find(view, n, heat, &comp, 1, &r);
	for (size_t i = reach_next(&r, 0, 0); i < r.n; i = reach_next(&r, 0, i + 1))
		sum += r.heat[i];
	reach_fini(&r);
	return sum;
}

/* Two loops, 1 and 3, one after the other; both call f (5, 6), the first one behind it g (7), which calls f, too. */
static void loops_share_what_they_call_and_nothing_behind_them(void **state)
{
	const uint32_t entry[] = { 0, 5, 7 };
	const struct flow_edge e[] = { F(0, 1),    CALL(1, 5),   RET(6, 2, 1), SKIP(1, 2),
		                       CALL(2, 7), RET(8, 1, 2), SKIP(2, 1),   F(2, 3),
		                       CALL(3, 5), RET(6, 3, 3), SKIP(3, 3),   F(3, 4),
		                       F(5, 6),    CALL(7, 5),   RET(6, 8, 7), SKIP(7, 8) };
	const double heat[9] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };
	uint8_t all[9 + COUNT(e)], none[9] = { 0 };
	struct flow_graph *g = graph_by_hand(9, entry, 3, e, COUNT(e));
	struct nest_view view = view_of_all(g, all, all, none);
	struct nest n;

	(void)state;
	memset(all, 1, sizeof(all));
	nest_find(&view, &n);
	assert_true(heat_reached(&view, &n, heat, 1) == 2 + 4 + 32 + 64 + 128 + 256);
	assert_true(heat_reached(&view, &n, heat, 3) == 8 + 32 + 64);
	nest_fini(&n);
	view_of_all_free(&view);
	flow_free(g);
}

/* A recursion is left by returns: what its own blocks go on to runs before these. 0 -> 1 (calls 0) -> 2 -> 3. */
static void a_recursion_reaches_what_is_behind_its_call(void **state)
{
	const uint32_t entry[] = { 0 };
	const struct flow_edge e[] = { F(0, 1), J(0, 2), CALL(1, 0), RET(3, 2, 1), SKIP(1, 2), F(2, 3) };
	const double heat[4] = { 0, 1, 2, 4 };
	uint8_t all[4 + COUNT(e)], none[4] = { 0 };
	struct flow_graph *g = graph_by_hand(4, entry, 1, e, COUNT(e));
	struct nest_view view = view_of_all(g, all, all, none);
	struct nest n;

	(void)state;
	memset(all, 1, sizeof(all));
	nest_find(&view, &n);
	assert_true(heat_reached(&view, &n, heat, 0) == 1 + 2 + 4);
	nest_fini(&n);
	view_of_all_free(&view);
	flow_free(g);
}

/* A loop of one block calls 1,300 functions of one block each, every second with heat: two lines of 512. */
static void more_heat_than_a_line_holds_is_reached(void **state)
{
	enum { N = 1300 };
	static uint32_t entry[N + 1];
	static struct flow_edge e[2 * N + 1];
	static double heat[N + 1];
	static uint8_t all[3 * N + 3], none[N + 1];
	struct flow_graph *g;
	struct nest_view view;
	struct nest n;

	(void)state;
	memset(all, 1, sizeof(all));
	for (uint32_t i = 0; i < N; i++) {
		entry[i + 1] = i + 1;
		e[2 * i] = (struct flow_edge)CALL(0, i + 1);
		e[2 * i + 1] = (struct flow_edge)RET(i + 1, 0, 0);
		heat[i + 1] = i % 2;
	}
	e[2 * N] = (struct flow_edge)SKIP(0, 0);
	g = graph_by_hand(N + 1, entry, N + 1, e, COUNT(e));
	view = view_of_all(g, all, all, none);
	nest_find(&view, &n);
	assert_true(heat_reached(&view, &n, heat, 0) == N / 2);
	nest_fini(&n);
	view_of_all_free(&view);
	flow_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_share_what_they_call_and_nothing_behind_them),
		cmocka_unit_test(a_recursion_reaches_what_is_behind_its_call),
		cmocka_unit_test(more_heat_than_a_line_holds_is_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
