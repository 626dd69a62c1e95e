/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 27: what weights of stacks are wrong by; worked out by hand. */
#include <math.h>

#include "correct/evidence/path_impl.h"
#include "correct/infer/space.h"
#include "correct/profile.h"
#include "tests/unit/fixture_problem.h"

/* The hmmer loop: a lap by B is one piece of 19 instructions, one past it is pieces of 4 and 10. */
static const uint32_t n_insn[] = { 10, 5, 4 };
enum { A_TO_B, A_TO_C, B_TO_C, C_TO_A };
enum { LAP, TO_C, TO_A };

struct bench {
	struct fixture f;
	struct space *space;
	struct path path;
	struct scope_stacks r;
	float *weight;
};

static void add_piece(struct bench *b, const uint32_t *edges, uint32_t n, uint32_t insns)
{
	struct piece p = { .edge0 = (uint32_t)b->path.pool.n, .n_edges = n, .n_insn = insns };

	for (uint32_t i = 0; i < n; i++)
		assert_true(vec_push(&b->path.pool, edges[i]) >= 0);
	assert_true(vec_push(&b->path.all, p) >= 0);
}

static int setup(void **state)
{
	static const uint32_t lap[] = { A_TO_B, B_TO_C, C_TO_A }, to_c[] = { A_TO_C }, to_a[] = { C_TO_A };
	struct bench *b = calloc(1, sizeof(*b));

	fixture_hmmer(&b->f, n_insn);
	assert_int_equal(space_new(b->f.p, NULL, &b->space), 0);
	add_piece(b, lap, 3, 19);
	add_piece(b, to_c, 1, 4);
	add_piece(b, to_a, 1, 10);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	vec_fini(&b->path.all);
	vec_fini(&b->path.pool);
	vec_fini(&b->r.stacks);
	vec_fini(&b->r.pieces);
	space_free(b->space);
	fixture_fini(&b->f);
	free(b->weight);
	free(b);
	return 0;
}

/* Newest first. */
static void add_stack(struct bench *b, const uint32_t *pieces, uint32_t n)
{
	struct stack st = { .piece0 = (uint32_t)b->r.pieces.n, .n_pieces = n, .insn = 1 };

	for (uint32_t i = 0; i < n; i++)
		assert_true(vec_push(&b->r.pieces, pieces[i]) >= 0);
	st.near = closing_edge(&b->path, pieces[0]);
	assert_true(vec_push(&b->r.stacks, st) >= 0);
}

static void weights(struct bench *b, float value)
{
	b->weight = calloc(b->r.pieces.n + 1, sizeof(*b->weight));
	assert_non_null(b->weight);
	for (size_t i = 0; i < b->r.pieces.n; i++)
		b->weight[i] = value;
}

/*
 * 100 stacks of a lap by B whose newest is C-A, and 100 of two pieces past it whose newest is A-C: 100 laps of either
 * kind, 3300 instructions.  Of B-C: J = 100 - 1900 x 100 / 3300 = 42.42 and -42.42; the variance that groups add is
 * k^2 2 x 42.42^2.
 */
static double k_of(struct bench *b, double misses_by)
{
	const uint32_t x[] = { TO_C, TO_A }, y[] = { LAP };
	struct path_tally mean = { .edge = calloc(4, sizeof(double)) };
	struct equations totals = { 0 };
	struct path_mean of = { &mean, 1, &totals };
	double cov[4] = { 0 };
	struct equation *eq;

	for (int i = 0; i < 100; i++) {
		add_stack(b, x, 2);
		add_stack(b, y, 1);
	}
	weights(b, 1);
	for (size_t i = 0; i < b->r.stacks.n; i++)
		path_add_stack(&b->path, &b->r, &b->r.stacks.v[i], b->weight, 1, &mean);
	assert_int_equal(b->space->n_free, 2);
	assert_int_equal(b->space->free_edge[0], B_TO_C);
	if (!isnan(misses_by)) {
		eq = equations_add(&totals, 4);
		eq->w[B_TO_C] = 1;
		eq->sd = 0.6;
		eq->value = 100 + misses_by;
		eq->kind = PROFILE_BY_MIX;
	}
	assert_int_equal(path_add_groups(&b->path, &b->r, b->weight, b->space, &of, cov), 0);
	assert_float_equal(cov[1], cov[2], 1e-9);
	equations_fini(&totals);
	free(mean.edge);
	return sqrt(cov[0] / 2) / (1400 * 100 / 3300.);
}

static void without_totals_groups_are_wrong_by_a_tenth(void **state)
{
	assert_float_equal(k_of(*state, NAN), 0.1, 1e-9);
}

/* A total that is met says that they are wrong by less, one that is missed by 36, 60 of its noise, by more. */
static void a_total_that_is_met_makes_groups_surer(void **state)
{
	assert_float_equal(k_of(*state, 0), 0.0541, 0.0005);
}

static void a_total_that_is_missed_makes_groups_less_sure(void **state)
{
	assert_float_equal(k_of(*state, 36), 0.4496, 0.005);
}

#define TEST(x) cmocka_unit_test_setup_teardown(x, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_totals_groups_are_wrong_by_a_tenth),
		TEST(a_total_that_is_met_makes_groups_surer),
		TEST(a_total_that_is_missed_makes_groups_less_sure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
