/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A flow through everything that can carry one: on graphs made by hand, and on random ones against a linear program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glpk.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/interior.h"
#include "correct/infer/space.h"
#include "profiler/base/err.h"

enum { MAX_BLOCKS = 200, MAX_EDGES = 2000 };

static struct flow_region plain, recursive = { .recursive = true };

/* A region under construction. */
struct made {
	struct problem_block blocks[MAX_BLOCKS];
	struct problem_edge edges[MAX_EDGES];
	bool usable[MAX_EDGES];
	double flow[MAX_EDGES];
	struct problem p;
};

static void add(struct made *m, uint32_t from, uint32_t to, uint8_t kind, int32_t call)
{
	assert_true(m->p.n_edges < MAX_EDGES && from < MAX_BLOCKS && to < MAX_BLOCKS);
	/* Nothing tells to which activation of a recursion a return belongs. */
	if (m->p.region->recursive)
		call = -1;
	m->edges[m->p.n_edges] = (struct problem_edge){ from, to, (uint32_t)m->p.n_edges, call, kind };
	m->p.n_edges++;
	m->p.n_blocks = m->p.n_blocks > from ? m->p.n_blocks : from + 1;
	m->p.n_blocks = m->p.n_blocks > to ? m->p.n_blocks : to + 1;
}

static struct made *make(const struct flow_region *r)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->p.region = r;
	m->p.blocks = m->blocks;
	m->p.edges = m->edges;
	return m;
}

static int by_from(const void *a, const void *b)
{
	const struct problem_edge *x = a, *y = b;

	return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->graph_edge < y->graph_edge ? -1 : 1;
}

static int find(struct made *m)
{
	qsort(m->edges, m->p.n_edges, sizeof(*m->edges), by_from);
	return interior_find(&m->p, NULL, m->usable, m->flow);
}

/* The warm blocks are named; 1 << b for block b.  Returns which blocks are left, in the same way. */
static uint32_t blocks_by_warm(struct made *m, uint32_t warm_blocks)
{
	bool warm[32];
	uint32_t left = 0;

	for (int b = 0; b < 32; b++)
		warm[b] = warm_blocks >> b & 1;
	assert_int_equal(find(m), 0);
	assert_int_equal(interior_find(&m->p, warm, m->usable, m->flow), 0);
	for (size_t e = 0; e < m->p.n_edges; e++)
		if (m->usable[e])
			left |= 1u << m->edges[e].from | 1u << m->edges[e].to;
	return left;
}

/* Rows of the balance of blocks and calls, one entry at a time. */
static int entries(const struct problem *p, size_t e, int row[4], double value[4])
{
	const struct problem_edge *edge = &p->edges[e];
	int n = 0;

	if (edge->from != edge->to) {
		row[n] = (int)edge->from;
		value[n++] = -1;
		row[n] = (int)edge->to;
		value[n++] = 1;
	}
	if (edge->call >= 0) {
		row[n] = (int)p->n_blocks + edge->call;
		value[n++] = edge->kind == FLOW_CALL ? 1 : -1;
	}
	return n;
}

static void check_balanced(const struct made *m)
{
	double sum[2 * MAX_BLOCKS] = { 0 }, most = 0, least = INFINITY;

	for (size_t e = 0; e < m->p.n_edges; e++) {
		double value[4];
		int row[4], n = entries(&m->p, e, row, value);

		assert_true(m->usable[e] ? m->flow[e] > 0 : m->flow[e] == 0);
		for (int k = 0; k < n; k++)
			sum[row[k]] += value[k] * m->flow[e];
		most = fmax(most, m->flow[e]);
		least = m->usable[e] ? fmin(least, m->flow[e]) : least;
	}
	for (size_t i = 0; i < 2 * m->p.n_blocks; i++)
		assert_float_equal(sum[i], 0, 1e-9 * most);
	/* A search for the mode doubles what is too small with each step. */
	assert_true(least > 0.01);
}

/*
 * Which edges can carry flow: maximise sum s_e with f_e >= s_e, 0 <= s_e <= 1.
 * Circulations are a cone, so all that can be positive are in one solution.
 */
static void by_linear_program(const struct problem *p, bool *usable)
{
	glp_prob *lp = glp_create_prob();
	glp_smcp how;

	glp_set_obj_dir(lp, GLP_MAX);
	glp_add_rows(lp, (int)(2 * p->n_blocks + p->n_edges));
	glp_add_cols(lp, (int)(2 * p->n_edges));
	for (int r = 1; r <= (int)(2 * p->n_blocks); r++)
		glp_set_row_bnds(lp, r, GLP_FX, 0, 0);
	for (size_t e = 0; e < p->n_edges; e++) {
		int row[4], at[6], own = (int)(2 * p->n_blocks + e) + 1, n = 0;
		double value[4], x[6];

		for (int k = entries(p, e, row, value); k-- > 0;) {
			at[++n] = row[k] + 1;
			x[n] = value[k];
		}
		at[++n] = own;
		x[n] = 1;
		glp_set_mat_col(lp, (int)e + 1, n, at, x);
		glp_set_col_bnds(lp, (int)e + 1, GLP_LO, 0, 0);
		at[1] = own;
		x[1] = -1;
		glp_set_mat_col(lp, (int)(p->n_edges + e) + 1, 1, at, x);
		glp_set_col_bnds(lp, (int)(p->n_edges + e) + 1, GLP_DB, 0, 1);
		glp_set_obj_coef(lp, (int)(p->n_edges + e) + 1, 1);
		glp_set_row_bnds(lp, own, GLP_LO, 0, 0);
	}
	glp_init_smcp(&how);
	how.msg_lev = GLP_MSG_OFF;
	assert_int_equal(glp_simplex(lp, &how), 0);
	for (size_t e = 0; e < p->n_edges; e++)
		usable[e] = glp_get_col_prim(lp, (int)(p->n_edges + e) + 1) > 0.5;
	glp_delete_prob(lp);
	glp_free_env();
}

static void edges_that_cannot_carry_flow_are_found(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	/* 0 -> 1 -> 0 is a loop; 1 -> 2 leads nowhere back. */
	add(m, 0, 1, FLOW_FALL, -1);
	add(m, 1, 0, FLOW_TAKEN, -1);
	add(m, 1, 2, FLOW_FALL, -1);
	assert_int_equal(find(m), 0);
	assert_true(m->usable[0] && m->usable[1] && !m->usable[2]);
	check_balanced(m);
	free(m);
}

static void without_a_loop_there_is_none(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	add(m, 0, 1, FLOW_FALL, -1);
	add(m, 1, 2, FLOW_FALL, -1);
	assert_int_equal(find(m), -SP_EDOMAIN);
	free(m);
}

/* A loop (0, 1) calls a leaf (2) twice and a function (3, 4, 5) that never returns. */
static void calls_are_returned_to_where_they_were_made(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	add(m, 0, 2, FLOW_CALL, 0);
	add(m, 2, 1, FLOW_RET, 0);
	add(m, 1, 2, FLOW_CALL, 1);
	add(m, 2, 0, FLOW_RET, 1);
	add(m, 0, 3, FLOW_CALL, 0);
	add(m, 3, 4, FLOW_FALL, -1);
	add(m, 4, 3, FLOW_TAKEN, -1);
	add(m, 3, 5, FLOW_TAKEN, -1);
	assert_int_equal(find(m), 0);
	check_balanced(m);
	/* Its inner loop turns all the same, for all that is known of flows; its entry isn't entered, its end isn't reached. */
	for (size_t e = 0; e < m->p.n_edges; e++)
		assert_int_equal(m->usable[e],
		                 m->edges[e].to != 5 && (m->edges[e].to != 3 || m->edges[e].from == 4));
	free(m);
}

/* All can carry flow.  The last thing that is done with m. */
static void check_filled(struct made *m)
{
	assert_int_equal(find(m), 0);
	check_balanced(m);
	for (size_t e = 0; e < m->p.n_edges; e++)
		assert_true(m->usable[e]);
	free(m);
}

/* A function (2; 3 or 4) of whose two returns each of its two callers saw one: each goes its own way through it. */
static void callers_may_be_returned_to_from_different_places(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	add(m, 0, 2, FLOW_CALL, 0);
	add(m, 1, 2, FLOW_CALL, 1);
	add(m, 2, 3, FLOW_FALL, -1);
	add(m, 2, 4, FLOW_TAKEN, -1);
	add(m, 3, 1, FLOW_RET, 0);
	add(m, 4, 0, FLOW_RET, 1);
	check_filled(m);
}

/*
 * A loop (0, 1) calls f (2, 3), which calls g (4, 5), which either returns or throws to the loop: all are one component, and
 * g, which is called last, has to be known first.
 */
static void callees_that_throw_to_their_callers_are_known_first(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	add(m, 0, 2, FLOW_CALL, 0);
	add(m, 3, 1, FLOW_RET, 0);
	add(m, 1, 0, FLOW_TAKEN, -1);
	add(m, 2, 4, FLOW_CALL, 2);
	add(m, 5, 3, FLOW_RET, 2);
	add(m, 4, 5, FLOW_FALL, -1);
	add(m, 4, 0, FLOW_IND, -1);
	assert_int_equal(find(m), 0);
	check_balanced(m);
	for (size_t e = 0; e < m->p.n_edges; e++)
		assert_int_equal(m->usable[e], m->edges[e].kind != FLOW_IND);
	free(m);
}

/*
 * f (0, 1, 2, 3) calls itself and ends in g (4), as in a memcpy(), which so leads back into it; it calls h (5, 6, 7), which calls
 * g, too, or does not: g has to be known first, or nothing leads through h's call.
 */
static void what_a_recursion_ends_in_is_known_before_its_other_callers(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	add(m, 0, 1, FLOW_FALL, -1);
	add(m, 0, 3, FLOW_TAKEN, -1);
	add(m, 1, 0, FLOW_CALL, -1);
	m->edges[m->p.n_edges - 1].recursive = 1 + 1;
	add(m, 4, 2, FLOW_RET, -1);
	m->edges[m->p.n_edges - 1].recursive = 1 + 1;
	add(m, 3, 0, FLOW_TAKEN, -1);
	add(m, 2, 5, FLOW_CALL, 2);
	add(m, 7, 3, FLOW_RET, 2);
	add(m, 3, 4, FLOW_TAKEN, -1);
	add(m, 5, 7, FLOW_TAKEN, -1);
	add(m, 5, 6, FLOW_FALL, -1);
	add(m, 6, 4, FLOW_CALL, 6);
	add(m, 4, 7, FLOW_RET, 6);
	check_filled(m);
}

/* n functions, each some blocks with random jumps; 0 is a loop.  Each calls later ones, unless it is to be recursive. */
static void make_random(struct made *m, gsl_rng *rng)
{
	enum { FUNCTIONS = 6 };
	uint32_t begin[FUNCTIONS + 1] = { 0 };

	for (int f = 0; f < FUNCTIONS; f++)
		begin[f + 1] = begin[f] + 2 + (uint32_t)gsl_rng_uniform_int(rng, 8);
	for (int f = 0; f < FUNCTIONS; f++)
		for (uint32_t b = begin[f], end = begin[f + 1]; b < end; b++) {
			int callee = m->p.region->recursive
			                     ? (int)gsl_rng_uniform_int(rng, FUNCTIONS)
			                     : f + 1 + (int)gsl_rng_uniform_int(rng, FUNCTIONS);

			if (callee < FUNCTIONS && b + 1 < end && gsl_rng_uniform(rng) < 0.4) {
				add(m, b, begin[callee], FLOW_CALL, (int32_t)b);
				/* Returns from the last block, from any other rarely, and not always seen. */
				for (uint32_t r = begin[callee]; r < begin[callee + 1]; r++)
					if (gsl_rng_uniform(rng) < (r + 1 == begin[callee + 1] ? 0.9 : 0.1))
						add(m, r, b + 1, FLOW_RET, (int32_t)b);
				continue;
			}
			if (b + 1 < end && gsl_rng_uniform(rng) < 0.9)
				add(m, b, b + 1, FLOW_FALL, -1);
			if (gsl_rng_uniform(rng) < 0.4)
				add(m, b, begin[f] + (uint32_t)gsl_rng_uniform_int(rng, end - begin[f]),
				    FLOW_TAKEN, -1);
			/* A tail call, or a jump into another one's middle. */
			if (f + 1 < FUNCTIONS && gsl_rng_uniform(rng) < 0.1)
				add(m, b, begin[f + 1] + (uint32_t)gsl_rng_uniform_int(rng, 2), FLOW_TAKEN,
				    -1);
		}
	add(m, begin[1] - 1, 0, FLOW_TAKEN, -1);
}

/* What can carry flow can be said exactly: the linear program and the ways must agree on every edge of 400 graphs. */
static void random_regions_are_filled_as_a_linear_program_fills_them(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	bool usable[MAX_EDGES];
	size_t n_calls = 0, n_told = 0;

	(void)state;
	assert_non_null(rng);
	for (int round = 0; round < 400; round++) {
		struct made *m = make(round % 4 ? &plain : &recursive);
		struct space *s = NULL;
		size_t n_free;

		make_random(m, rng);
		if (find(m) < 0) /* some have no loop that all of is returned to */
			memset(m->usable, 0, sizeof(m->usable));
		check_balanced(m);
		by_linear_program(&m->p, usable);
		for (size_t e = 0; e < m->p.n_edges; e++) {
			assert_int_equal(m->usable[e], usable[e]);
			n_calls += usable[e] && m->edges[e].kind == FLOW_CALL;
		}
		s = space_new(&m->p, usable);
		space_size(&m->p, usable, &n_free);
		assert_true(n_free <= s->n_free);
		n_told += n_free == s->n_free;
		space_free(s);
		free(m);
	}
	assert_true(n_calls > 400);
	assert_true(n_told > 390);
	gsl_rng_free(rng);
}

/* Whatever the depth, and without hurry: 60 functions that call the next one twice would be 2^60 calls of the last. */
static void flows_of_deep_calls_stay_finite(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	for (uint32_t f = 0; f < 60; f++) {
		uint32_t a = 3 * f, b = a + 1, end = a + 2;

		add(m, a, a + 3, FLOW_CALL, (int32_t)a);
		add(m, a + 5, b, FLOW_RET, (int32_t)a);
		add(m, b, a + 3, FLOW_CALL, (int32_t)b);
		add(m, a + 5, end, FLOW_RET, (int32_t)b);
	}
	add(m, 180, 181, FLOW_FALL, -1);
	add(m, 181, 182, FLOW_FALL, -1);
	add(m, 2, 0, FLOW_TAKEN, -1);
	assert_int_equal(find(m), 0);
	for (size_t e = 0; e < m->p.n_edges; e++)
		assert_true(m->usable[e] && isfinite(m->flow[e]));
	check_balanced(m);
	free(m);
}

/*
 * 0 -> 1 -> 0 is warm, and so is 4, to which 2 leads, or 3 and 5 do: the shorter way is kept.  6 leads nowhere but back.
 * Between 0 and 1 there is a second edge, by no block: it may well be taken.
 */
static void cold_code_that_nothing_needs_is_left_out(void **state)
{
	struct made *m = make(&plain);

	(void)state;
	add(m, 0, 1, FLOW_FALL, -1);
	add(m, 0, 1, FLOW_TAKEN, -1);
	add(m, 1, 0, FLOW_TAKEN, -1);
	add(m, 0, 2, FLOW_TAKEN, -1);
	add(m, 2, 4, FLOW_FALL, -1);
	add(m, 0, 3, FLOW_TAKEN, -1);
	add(m, 3, 5, FLOW_FALL, -1);
	add(m, 5, 4, FLOW_FALL, -1);
	add(m, 4, 0, FLOW_TAKEN, -1);
	add(m, 1, 6, FLOW_FALL, -1);
	add(m, 6, 0, FLOW_TAKEN, -1);
	assert_int_equal(blocks_by_warm(m, 1 << 0 | 1 << 1 | 1 << 4), 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4);
	check_balanced(m);
	assert_true(m->usable[0] && m->usable[1]);
	/* Only the header is: the nearest way back to it.  None is: nothing. */
	assert_int_equal(blocks_by_warm(m, 1 << 0), 1 << 0 | 1 << 1);
	check_balanced(m);
	assert_int_equal(interior_find(&m->p, (bool[7]){ false }, m->usable, m->flow), -SP_EDOMAIN);
	free(m);
}

/* A loop of 0 to 3 calls f = 4, 5, 6 (5 on the longer of its ways) in 0, and g = 7 in 2, which a branch in 1 leads to. */
static struct made *make_calls(void)
{
	struct made *m = make(&plain);

	add(m, 0, 4, FLOW_CALL, 0);
	add(m, 6, 1, FLOW_RET, 0);
	add(m, 1, 3, FLOW_TAKEN, -1);
	add(m, 1, 2, FLOW_FALL, -1);
	add(m, 2, 7, FLOW_CALL, 2);
	add(m, 7, 3, FLOW_RET, 2);
	add(m, 3, 0, FLOW_TAKEN, -1);
	add(m, 4, 5, FLOW_FALL, -1);
	add(m, 4, 6, FLOW_TAKEN, -1);
	add(m, 5, 6, FLOW_FALL, -1);
	return m;
}

static void callees_are_left_out_with_their_calls(void **state)
{
	const uint32_t loop = 1 << 0 | 1 << 1 | 1 << 3, f = 1 << 4 | 1 << 6;
	struct made *m = make_calls();

	(void)state;
	/* f was not seen, but what calls it was: it is passed by its shortest way.  g and its call were not. */
	assert_int_equal(blocks_by_warm(m, loop), loop | f);
	check_balanced(m);
	assert_int_equal(blocks_by_warm(m, loop | 1 << 5), loop | f | 1 << 5);
	check_balanced(m);
	/* g was seen, so it was called, though where it is called from was not. */
	assert_int_equal(blocks_by_warm(m, loop | 1 << 7), loop | f | 1 << 2 | 1 << 7);
	check_balanced(m);
	free(m);
}

/* Whatever is warm, what flows is a flow, and no edge between warm blocks is lost that can carry any. */
static void random_regions_keep_what_is_warm(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	size_t n_kept = 0, n_left_out = 0;

	(void)state;
	assert_non_null(rng);
	for (int round = 0; round < 400; round++) {
		struct made *m = make(round % 4 ? &plain : &recursive);
		bool usable[MAX_EDGES], warm[MAX_BLOCKS];

		make_random(m, rng);
		if (find(m) == 0) {
			memcpy(usable, m->usable, sizeof(usable));
			for (int b = 0; b < MAX_BLOCKS; b++)
				warm[b] = gsl_rng_uniform(rng) < 0.5;
			if (interior_find(&m->p, warm, m->usable, m->flow) < 0)
				memset(m->usable, 0, sizeof(m->usable));
			check_balanced(m);
			for (size_t e = 0; e < m->p.n_edges; e++) {
				assert_true(usable[e] || !m->usable[e]);
				if (usable[e] && m->edges[e].call < 0 && warm[m->edges[e].from] &&
				    warm[m->edges[e].to])
					assert_true(m->usable[e]);
				n_kept += m->usable[e];
				n_left_out += usable[e] && !m->usable[e];
			}
		}
		free(m);
	}
	assert_true(n_kept > 1000);
	assert_true(n_left_out > 1000);
	gsl_rng_free(rng);
}

/* 0 and 4 have a sample of instructions, of cycles; 1 and 3 lead from one to the other, 3 is short; 2 only leads back. */
static void short_blocks_between_warm_ones_are_warm(void **state)
{
	struct made *m = make(&plain);
	bool warm[5] = { [0] = true, [4] = true };

	(void)state;
	add(m, 0, 1, FLOW_FALL, -1);
	add(m, 1, 4, FLOW_FALL, -1);
	add(m, 0, 3, FLOW_TAKEN, -1);
	add(m, 3, 4, FLOW_FALL, -1);
	add(m, 1, 2, FLOW_TAKEN, -1);
	add(m, 2, 0, FLOW_FALL, -1);
	add(m, 4, 0, FLOW_TAKEN, -1);
	for (uint32_t b = 0; b < 5; b++)
		m->blocks[b] = (struct problem_block){ .insn0 = 10 * b, .n_insn = b == 3 || b == 2 ? 3 : 10 };
	interior_warm(&m->p, warm);
	assert_true(warm[0] && !warm[1] && !warm[2] && warm[3] && warm[4]);
	free(m);
}

/* A loop of n calls, each of an entry into one long chain of blocks: n (n - 1) / 2 steps from all entries to its end. */
static int find_chained(uint32_t n)
{
	struct problem_edge *edges = calloc(3 * (size_t)n, sizeof(*edges));
	struct problem_block *blocks = calloc(2 * (size_t)n, sizeof(*blocks));
	bool *usable = calloc(3 * (size_t)n, sizeof(*usable));
	double *flow = calloc(3 * (size_t)n, sizeof(*flow));
	struct problem p = { .region = &plain, .blocks = blocks, .edges = edges, .n_blocks = 2 * (size_t)n };
	int err;

	assert_true(edges && blocks && usable && flow);
	for (uint32_t i = 0; i < n; i++)
		edges[p.n_edges++] = (struct problem_edge){ i, n + i, 0, (int32_t)i, FLOW_CALL };
	for (uint32_t i = 0; i + 1 < n; i++)
		edges[p.n_edges++] = (struct problem_edge){ n + i, n + i + 1, 0, -1, FLOW_FALL };
	for (uint32_t i = 0; i < n; i++)
		edges[p.n_edges++] = (struct problem_edge){ 2 * n - 1, (i + 1) % n, 0, (int32_t)i, FLOW_RET };
	err = interior_find(&p, NULL, usable, flow);
	free(edges);
	free(blocks);
	free(usable);
	free(flow);
	return err;
}

/* Each has a way of its own through all that comes after it: a square of work and memory has an end. */
static void functions_that_run_on_into_one_another_without_end_are_refused(void **state)
{
	(void)state;
	assert_int_equal(find_chained(1000), 0);
	assert_int_equal(find_chained(3000), -SP_EDOMAIN);
	assert_non_null(
	        strstr(sp_error_text(), "6000 blocks, whose functions run on into one another's code"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cold_code_that_nothing_needs_is_left_out),
		cmocka_unit_test(callees_are_left_out_with_their_calls),
		cmocka_unit_test(random_regions_keep_what_is_warm),
		cmocka_unit_test(short_blocks_between_warm_ones_are_warm),
		cmocka_unit_test(edges_that_cannot_carry_flow_are_found),
		cmocka_unit_test(without_a_loop_there_is_none),
		cmocka_unit_test(calls_are_returned_to_where_they_were_made),
		cmocka_unit_test(callers_may_be_returned_to_from_different_places),
		cmocka_unit_test(callees_that_throw_to_their_callers_are_known_first),
		cmocka_unit_test(what_a_recursion_ends_in_is_known_before_its_other_callers),
		cmocka_unit_test(random_regions_are_filled_as_a_linear_program_fills_them),
		cmocka_unit_test(flows_of_deep_calls_stay_finite),
		cmocka_unit_test(functions_that_run_on_into_one_another_without_end_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
