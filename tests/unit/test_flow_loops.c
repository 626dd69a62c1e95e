/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/flow_graphs.h"

#include <math.h>
#include <time.h>

static const uint32_t one_func[] = { 0 };

struct case_loops {
	struct flow_graph *g;
	struct flow_regions *r;
	struct flow_loops *l;
};

static struct case_loops loops_in(uint32_t n_blocks, const uint32_t *entry, size_t n_funcs,
                                  const struct flow_edge *edges, size_t n_edges, size_t cap)
{
	struct case_loops c = { .g = graph_by_hand(n_blocks, entry, n_funcs, edges, n_edges) };

	c.r = regions_of(c.g, 0);
	assert_int_equal(c.r->n, 1);
	flow_loops_find(c.g, &c.r->v[0], cap, &c.l);
	return c;
}

static void done(struct case_loops *c)
{
	flow_loops_free(c->l);
	flow_regions_free(c->r);
	flow_free(c->g);
}

/* Edges follow each other, and the last leads to where the first begins. */
static void assert_closed(const struct flow_graph *g, const struct flow_loop *l)
{
	for (size_t i = 0; i < l->n; i++)
		assert_int_equal(g->edges[l->edges[i]].to, g->edges[l->edges[(i + 1) % l->n]].from);
}

static bool has_loop(const struct case_loops *c, const uint32_t *blocks, size_t n)
{
	for (size_t i = 0; i < c->l->n; i++) {
		bool same = c->l->v[i].n == n;

		for (size_t k = 0; same && k < n; k++)
			same = c->g->edges[c->l->v[i].edges[k]].from == blocks[k];
		if (same)
			return true;
	}
	return false;
}

#define HAS(c, ...) has_loop(c, (const uint32_t[]){ __VA_ARGS__ }, COUNT(((const uint32_t[]){ __VA_ARGS__ })))

/* [SKID]'s hmmer loop: a test (0), the rare update (1), the step (2). */
static void hmmer_has_two_simple_loops(void **state)
{
	const struct flow_edge e[] = { F(0, 1), J(0, 2), F(1, 2), J(2, 0) };
	struct case_loops c = loops_in(3, one_func, 1, e, COUNT(e), 100);

	(void)state;
	assert_int_equal(c.l->n, 2);
	assert_false(c.l->capped);
	assert_true(HAS(&c, 0, 1, 2));
	assert_true(HAS(&c, 0, 2));
	done(&c);
}

static void nested_loops_are_found_each(void **state)
{
	/* 0 -> 1 -> 2 -> 0 with an inner 1 -> 1 and, one further in, 1 -> 2 -> 1. */
	const struct flow_edge e[] = { F(0, 1), F(1, 2), J(1, 1), J(2, 1), F(2, 0) };
	struct case_loops c = loops_in(3, one_func, 1, e, COUNT(e), 100);

	(void)state;
	assert_int_equal(c.l->n, 3);
	assert_true(HAS(&c, 0, 1, 2));
	assert_true(HAS(&c, 1, 2));
	assert_true(HAS(&c, 1));
	done(&c);
}

static void loops_with_two_entries_are_found(void **state)
{
	/* 0 enters the loop {1, 2} at both ends; 3 closes the outer one. */
	const struct flow_edge e[] = { F(0, 1), J(0, 2), F(1, 2), J(2, 1), F(2, 3), J(3, 0) };
	struct case_loops c = loops_in(4, one_func, 1, e, COUNT(e), 100);

	(void)state;
	/* 1-2 alone; 0-1-2-3; 0-2-3.  (0-2-1 comes back to 2.) */
	assert_int_equal(c.l->n, 3);
	assert_true(HAS(&c, 1, 2));
	assert_true(HAS(&c, 0, 1, 2, 3));
	assert_true(HAS(&c, 0, 2, 3));
	done(&c);
}

static size_t complete(size_t n, struct flow_edge *e)
{
	size_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			if (i != j)
				e[k++] = (struct flow_edge)J(i, j);
	return k;
}

static void a_complete_graph_of_6_has_409_loops(void **state)
{
	struct flow_edge e[30];
	size_t n = complete(6, e);
	/* sum over k = 2..6 of C(6, k) (k - 1)! = 15 + 20 * 2 + 15 * 6 + 6 * 24 + 120 = 409 */
	struct case_loops c = loops_in(6, one_func, 1, e, n, 1000);

	(void)state;
	assert_int_equal(c.l->n, 409);
	assert_false(c.l->capped);
	for (size_t i = 0; i < c.l->n; i++)
		assert_closed(c.g, &c.l->v[i]);
	done(&c);
}

static void the_cap_is_exact_and_said(void **state)
{
	struct flow_edge e[30];
	size_t n = complete(6, e);
	struct case_loops c = loops_in(6, one_func, 1, e, n, 408), all = loops_in(6, one_func, 1, e, n, 409);

	(void)state;
	assert_int_equal(c.l->n, 408);
	assert_true(c.l->capped);
	assert_int_equal(all.l->n, 409);
	assert_false(all.l->capped);
	done(&c);
	done(&all);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Diamond k: block 3k goes to 3k + 1 or 3k + 2, both to 3k + 3; the last block goes back to 0. */
static size_t diamonds(uint32_t n, struct flow_edge *e)
{
	size_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		e[k++] = (struct flow_edge)F(3 * i, 3 * i + 1);
		e[k++] = (struct flow_edge)J(3 * i, 3 * i + 2);
		e[k++] = (struct flow_edge)J(3 * i + 1, 3 * i + 3);
		e[k++] = (struct flow_edge)F(3 * i + 2, 3 * i + 3);
	}
	e[k++] = (struct flow_edge)J(3 * n, 0);
	return k;
}

static void twenty_diamonds_do_not_matter(void **state)
{
	struct flow_edge e[81];
	size_t n = diamonds(20, e);
	double start = seconds();
	struct case_loops c = loops_in(61, one_func, 1, e, n, 1000);

	(void)state;
	/* 2^20 = 1,048,576 loops; a thousand of them take a few ms: 0.5 s is for slow machines and sanitizers. */
	assert_true(seconds() - start < 0.5);
	assert_int_equal(c.l->n, 1000);
	assert_true(c.l->capped);
	assert_int_equal(c.l->v[999].n, 41);
	done(&c);
}

static void ten_diamonds_have_1024_loops(void **state)
{
	struct flow_edge e[41];
	struct case_loops c = loops_in(31, one_func, 1, e, diamonds(10, e), 5000);

	(void)state;
	assert_int_equal(c.l->n, 1024);
	assert_false(c.l->capped);
	done(&c);
}

/*
 * main: 0 calls f, 1 calls f or goes on by itself to 2, 2 back to 0.
 * f: 3, by 4 or directly to 5, which returns.
 */
static const uint32_t two_funcs[] = { 0, 3 };
static const struct flow_edge shared_callee[] = {
	CALL(0, 3), RET(5, 1, 0), SKIP(0, 1), CALL(1, 3), RET(5, 2, 1),
	SKIP(1, 2), J(2, 0),      F(3, 4),    J(3, 5),    F(4, 5),
};

static void a_callee_is_left_to_where_it_was_called_from(void **state)
{
	struct case_loops c = loops_in(6, two_funcs, 2, shared_callee, COUNT(shared_callee), 100);

	(void)state;
	/* Two ways through f at each of two calls. */
	assert_int_equal(c.l->n, 4);
	assert_true(HAS(&c, 0, 3, 4, 5, 1, 3, 4, 5, 2));
	assert_true(HAS(&c, 0, 3, 5, 1, 3, 4, 5, 2));
	assert_true(HAS(&c, 0, 3, 4, 5, 1, 3, 5, 2));
	assert_true(HAS(&c, 0, 3, 5, 1, 3, 5, 2));
	done(&c);
}

static void a_loop_in_a_callee_is_found_once(void **state)
{
	/* The same, and 4 repeats by itself: one loop more however often f is called. */
	struct flow_edge e[COUNT(shared_callee) + 1];
	struct case_loops c;

	(void)state;
	memcpy(e, shared_callee, sizeof(shared_callee));
	e[COUNT(shared_callee)] = (struct flow_edge)J(4, 4);
	c = loops_in(6, two_funcs, 2, e, COUNT(e), 100);
	assert_int_equal(c.l->n, 5);
	assert_true(HAS(&c, 4));
	done(&c);
}

static void recursion_is_looped_without_matching(void **state)
{
	/* main's loop 0 calls f = 1; 1 calls itself or goes to 3; 2 is behind the call; 3 returns. */
	const uint32_t entry[] = { 0, 2 };
	const struct flow_edge e[] = { CALL(0, 2),   RET(4, 1, 0), SKIP(0, 1), J(1, 0), CALL(2, 2),
		                       RET(4, 3, 2), SKIP(2, 3),   F(3, 4),    J(2, 4) };
	struct case_loops c = loops_in(5, entry, 2, e, COUNT(e), 100);

	(void)state;
	assert_true(c.r->v[0].recursive);
	/* 0-2-4-1 and 2-2 and 3-4; and 0-2-... can't pass 3 before 4 returns: 4-3 is the RET of the inner call. */
	assert_int_equal(c.l->n, 3);
	assert_true(HAS(&c, 2));
	assert_true(HAS(&c, 3, 4));
	assert_true(HAS(&c, 0, 2, 4, 1));
	done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hmmer_has_two_simple_loops),
		cmocka_unit_test(nested_loops_are_found_each),
		cmocka_unit_test(loops_with_two_entries_are_found),
		cmocka_unit_test(a_complete_graph_of_6_has_409_loops),
		cmocka_unit_test(the_cap_is_exact_and_said),
		cmocka_unit_test(twenty_diamonds_do_not_matter),
		cmocka_unit_test(ten_diamonds_have_1024_loops),
		cmocka_unit_test(a_callee_is_left_to_where_it_was_called_from),
		cmocka_unit_test(a_loop_in_a_callee_is_found_once),
		cmocka_unit_test(recursion_is_looped_without_matching),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
