/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which loops of a region are solved apart: a graph of two loops that share a callee, and samples in a row. */
#include "correct/divide/scopes.h"
#include "tests/unit/flow_graphs.h"

/*
 * main: 0 begins an outer loop; in it a loop L of blocks 1, 2, where 1 calls
 * 7; then M of 3, 4, where 3 calls 7; 5 goes back to 0.  6 is the end.  7, 8:
 * the callee.
 */
enum { L = 1, L_END = 2, M = 3, M_END = 4, GLUE = 5, SHARED = 7 };
static const uint32_t entry[] = { 0, 7 };
static const struct flow_edge edges[] = {
	F(0, 1),    CALL(1, 7), SKIP(1, 2),   RET(8, 2, 1), J(2, 1), F(2, 3), /* L */
	CALL(3, 7), SKIP(3, 4), RET(8, 4, 3), J(4, 3),      F(4, 5),          /* M */
	J(5, 0),    F(5, 6),    F(7, 8),
};

struct fixture {
	struct flow_graph *g;
	struct flow_regions *regions;
	struct scope_sample samples[1200];
	size_t n;
	int32_t way[8];
	struct scopes scopes;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->g = graph_by_hand(9, entry, 2, edges, COUNT(edges));
	f->regions = regions_of(f->g, 0);
	*state = f;
	return f->regions->n == 1 ? 0 : -1; /* all of it is one region, by its outer loop */
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scopes_fini(&f->scopes);
	flow_regions_free(f->regions);
	flow_free(f->g);
	free(f);
	return 0;
}

static void say(struct fixture *f, uint32_t thread, int32_t block, size_t times)
{
	for (size_t i = 0; i < times; i++)
		f->samples[f->n++] = (struct scope_sample){ .thread = thread, .block = block };
}

static void find(struct fixture *f)
{
	assert_true(f->n <= COUNT(f->samples));
	scopes_find(f->g, f->regions, &(struct scope_samples){ f->samples, f->n, f->way }, NULL, &f->scopes);
}

/* The only scope that holds a block; -1 when several do, -2 when none does. */
static int32_t scope_with(const struct fixture *f, uint32_t block)
{
	int32_t at = -2;

	for (size_t s = 0; s < f->scopes.n; s++)
		for (size_t i = 0; i < f->scopes.v[s].region->n_blocks; i++)
			if (f->scopes.v[s].region->blocks[i] == block)
				at = at == -2 ? (int32_t)s : -1;
	return at;
}

/* 100 samples of L, half of them in the callee, then 100 of M: the callee is in both, each sample in one. */
static void loops_that_run_in_phases_are_solved_apart(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 19; i++)
		say(f, 0, L, 1), say(f, 0, SHARED, 1);
	for (int i = 0; i < 19; i++)
		say(f, 0, M, 1), say(f, 0, SHARED, 1);
	/* 40 samples at least must tell where it is: 38 do. */
	find(f);
	assert_int_equal(f->scopes.n, 1);
	scopes_fini(&f->scopes);

	f->n = 0;
	for (int i = 0; i < 50; i++)
		say(f, 0, SHARED, 1), say(f, 0, L, 1);
	for (int i = 0; i < 50; i++)
		say(f, 0, M_END, 1), say(f, 0, SHARED, 1);
	find(f);
	assert_int_equal(f->scopes.n, 2);
	assert_int_equal(scope_with(f, SHARED), -1);
	assert_int_equal(scope_with(f, GLUE), -2);
	assert_true(scope_with(f, L) >= 0);
	assert_true(scope_with(f, M) >= 0);
	assert_int_not_equal(scope_with(f, L), scope_with(f, M));
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(f->scopes.of_sample[i], scope_with(f, L));
	for (size_t i = 100; i < 200; i++)
		assert_int_equal(f->scopes.of_sample[i], scope_with(f, M));
	for (size_t s = 0; s < 2; s++) {
		assert_int_equal(f->scopes.v[s].parent, 0);
		assert_false(f->scopes.v[s].whole);
		/* Two blocks of the loop, two of the callee. */
		assert_int_equal(f->scopes.v[s].region->n_blocks, 4);
	}
}

/*
 * M is nearly always in the callee: one sample in 21 is not, and each in the callee between two of those is its own.
 * Of fewer than 10 that are not it can't be told where it began: then all stays one, for raw is worse.
 */
static void a_loop_may_be_in_what_it_calls_nearly_always(void **state)
{
	struct fixture *f = *state;

	for (int own = 9; own <= 10; own++) {
		f->n = 0;
		say(f, 0, L, 60);
		for (int i = 0; i < own; i++)
			say(f, 0, M, 1), say(f, 0, SHARED, 20);
		find(f);
		assert_int_equal(f->scopes.n, own == 10 ? 2 : 1);
		for (size_t i = 60; i < f->n; i++)
			assert_int_equal(f->scopes.of_sample[i], own == 10 ? scope_with(f, M) : 0);
		assert_true(f->scopes.v[0].whole == (own == 9));
		scopes_fini(&f->scopes);
	}
}

/*
 * L is in the callee in 9 samples of 10, M in none of 100: 18 samples in the
 * callee in a row are L's, wherever in them M began.  And the other way round.
 */
static void a_border_lies_where_shared_code_is_rare(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 100; i++)
		say(f, 0, L, 1), say(f, 0, SHARED, 9);
	say(f, 0, SHARED, 9);
	say(f, 0, M, 100);
	say(f, 0, SHARED, 18);
	say(f, 0, L, 1);
	find(f);
	assert_int_equal(f->scopes.n, 2);
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(f->scopes.of_sample[i], scope_with(f, f->samples[i].block == M ? M : L));
	/* 18 samples lie at each of the two borders, and may as well be M's. */
	assert_int_equal(f->scopes.v[scope_with(f, L)].n_samples, 100 * 10 + 9 + 18 + 1);
	assert_int_equal(f->scopes.v[scope_with(f, L)].n_border, 36);
	assert_int_equal(f->scopes.v[scope_with(f, M)].n_samples, 100);
	assert_int_equal(f->scopes.v[scope_with(f, M)].n_border, 36);
}

/* 100 samples of 300 lie between the two, and nothing tells whose they are: more than a twentieth, so that all stays one. */
static void a_long_run_between_two_phases_keeps_the_region_whole(void **state)
{
	struct fixture *f = *state;

	say(f, 0, L, 90);
	for (int i = 0; i < 10; i++)
		say(f, 0, SHARED, 1), say(f, 0, L, 1);
	say(f, 0, SHARED, 100);
	say(f, 0, M, 90);
	find(f);
	assert_int_equal(f->scopes.n, 1);
	assert_true(f->scopes.v[0].whole);
}

/* Where neither loop is known to call it more than the other, such samples stay raw. */
static void a_shared_sample_between_two_phases_is_nobodys(void **state)
{
	struct fixture *f = *state;

	say(f, 0, L, 100);
	say(f, 0, SHARED, 3);
	say(f, 0, M, 100);
	find(f);
	assert_int_equal(f->scopes.n, 2);
	for (size_t i = 100; i < 103; i++)
		assert_int_equal(f->scopes.of_sample[i], -1);
}

/* Every other sample is in the other loop: what lies between two samples belongs to both. */
static void loops_that_alternate_are_solved_as_one(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 200; i++)
		say(f, 0, L, 1), say(f, 0, M, 1);
	find(f);
	assert_int_equal(f->scopes.n, 1);
	assert_true(f->scopes.v[0].whole);
	assert_ptr_equal(f->scopes.v[0].region, &f->regions->v[0]);
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(f->scopes.of_sample[i], 0);
}

/* Stays of 40 samples, five each: 9 switches over 200 samples of the rarer loop are below a tenth twice over. */
static void stays_of_many_samples_are_phases(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++)
		say(f, 0, L, 40), say(f, 0, M, 40);
	find(f);
	assert_int_equal(f->scopes.n, 2);
	assert_int_equal(f->scopes.of_sample[0], scope_with(f, L));
	assert_int_equal(f->scopes.of_sample[399], scope_with(f, M));
}

/* Three times in a row L, 4, L with nothing of M between: 4 runs in turns too short to be seen. */
static void code_seen_between_two_samples_of_one_loop_keeps_it_whole(void **state)
{
	struct fixture *f = *state;

	say(f, 0, L, 300);
	for (int i = 0; i < 3; i++)
		say(f, 0, GLUE, 1), say(f, 0, L, 50);
	say(f, 0, M, 300);
	find(f);
	assert_int_equal(f->scopes.n, 1);
	assert_true(f->scopes.v[0].whole);
}

/*
 * Only L is hot.  A sample of the code around it before all others is of a loop begun once; one between two of L may be the only
 * one seen of many turns.
 */
static void a_lone_loop_is_kept_whole_by_one_sample_between(void **state)
{
	struct fixture *f = *state;

	say(f, 0, GLUE, 1), say(f, 0, L, 800);
	find(f);
	assert_int_equal(f->scopes.n, 1);
	assert_false(f->scopes.v[0].whole);
	assert_int_equal(scope_with(f, GLUE), -2);
	scopes_fini(&f->scopes);

	f->n = 0;
	say(f, 0, L, 400), say(f, 0, GLUE, 1), say(f, 0, L, 400);
	find(f);
	assert_int_equal(f->scopes.n, 1);
	assert_true(f->scopes.v[0].whole);
}

/* 8 samples of 808, 1% of them and no more, between the phases: they stay raw, in no scope. */
static void a_few_samples_between_the_phases_stay_raw(void **state)
{
	struct fixture *f = *state;

	say(f, 0, L, 400);
	say(f, 0, GLUE, 8);
	say(f, 0, M, 400);
	find(f);
	assert_int_equal(f->scopes.n, 2);
	assert_int_equal(f->scopes.of_sample[403], -1);
}

/* 9 of 809 are more than 1%: too much to be left out. */
static void much_code_between_the_phases_keeps_the_region_whole(void **state)
{
	struct fixture *f = *state;

	say(f, 0, L, 400);
	say(f, 0, GLUE, 9);
	say(f, 0, M, 400);
	find(f);
	assert_int_equal(f->scopes.n, 1);
}

/* One thread in L, one in M, their samples in turn: each thread has one phase only. */
static void threads_are_followed_each_for_itself(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 150; i++) {
		say(f, 0, i % 3 ? L : SHARED, 1);
		say(f, 1, i % 5 ? M : SHARED, 1);
	}
	find(f);
	assert_int_equal(f->scopes.n, 2);
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(f->scopes.of_sample[i], scope_with(f, i % 2 ? M : L));
}

/* A thread seen once, in shared code, has no neighbour that tells whose it is. */
static void a_lone_sample_in_shared_code_stays_raw(void **state)
{
	struct fixture *f = *state;

	say(f, 0, L, 100);
	say(f, 3, SHARED, 1);
	say(f, 2, M, 1);
	say(f, 0, M, 100);
	find(f);
	assert_int_equal(f->scopes.n, 2);
	assert_int_equal(f->scopes.of_sample[100], -1);
	assert_int_equal(f->scopes.of_sample[101], scope_with(f, M));
}

/* Samples [from, to) have a branch record that says they came from way[way0 .. + n_way]. */
static void come_from(struct fixture *f, size_t from, size_t to, uint32_t way0, uint32_t n_way)
{
	for (size_t i = from; i < to; i++) {
		f->samples[i].way0 = way0;
		f->samples[i].n_way = n_way;
	}
}

/*
 * M is hardly ever sampled itself, only in the callee: too little to be told by, or where it began.  Branch records
 * tell, the latest block of theirs that is in one loop alone; one that lies in no loop, or in no known code, does not.
 */
static void branch_records_tell_which_loop_shared_code_was_called_from(void **state)
{
	struct fixture *f = *state;

	say(f, 0, L, 60), say(f, 0, SHARED, 300), say(f, 0, M, 1);
	find(f);
	assert_int_equal(f->scopes.n, 1);
	scopes_fini(&f->scopes);

	memcpy(f->way, (int32_t[]){ SHARED, L_END, M, SHARED, M, L, GLUE, -1 }, sizeof(f->way));
	come_from(f, 60, 160, 0, 3);
	come_from(f, 160, 360, 3, 3);
	find(f);
	assert_int_equal(f->scopes.n, 2);
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(f->scopes.of_sample[i], scope_with(f, i < 160 ? L : M));
	scopes_fini(&f->scopes);

	for (uint32_t way0 = 6; way0 < 8; way0++) {
		come_from(f, 60, 360, way0, 1);
		find(f);
		assert_int_equal(f->scopes.n, 1);
		scopes_fini(&f->scopes);
	}
}

/* Samples outside of every region are none of its phases. */
static void samples_outside_have_no_scope(void **state)
{
	struct fixture *f = *state;

	say(f, 0, -1, 5);
	say(f, 0, L, 60);
	say(f, 0, -1, 5);
	find(f);
	assert_int_equal(f->scopes.of_sample[0], -1);
	assert_true(f->scopes.of_sample[5] >= 0);
	assert_int_equal(f->scopes.of_sample[65], -1);
}

static void without_samples_every_region_is_one_scope(void **state)
{
	struct fixture *f = *state;

	scopes_find(f->g, f->regions, &(struct scope_samples){ 0 }, NULL, &f->scopes);
	assert_int_equal(f->scopes.n, 1);
	assert_true(f->scopes.v[0].whole);
	assert_null(f->scopes.of_sample);
	scopes_fini(&f->scopes);

	/* None at all, and none in the region. */
	find(f);
	assert_int_equal(f->scopes.n, 1);
	scopes_fini(&f->scopes);
	say(f, 0, -1, 100);
	find(f);
	assert_int_equal(f->scopes.n, 1);
}

#define TEST(x) cmocka_unit_test_setup_teardown(x, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(loops_that_run_in_phases_are_solved_apart),
		TEST(a_loop_may_be_in_what_it_calls_nearly_always),
		TEST(branch_records_tell_which_loop_shared_code_was_called_from),
		TEST(a_border_lies_where_shared_code_is_rare),
		TEST(a_long_run_between_two_phases_keeps_the_region_whole),
		TEST(a_shared_sample_between_two_phases_is_nobodys),
		TEST(loops_that_alternate_are_solved_as_one),
		TEST(stays_of_many_samples_are_phases),
		TEST(code_seen_between_two_samples_of_one_loop_keeps_it_whole),
		TEST(a_lone_loop_is_kept_whole_by_one_sample_between),
		TEST(a_few_samples_between_the_phases_stay_raw),
		TEST(much_code_between_the_phases_keeps_the_region_whole),
		TEST(threads_are_followed_each_for_itself),
		TEST(a_lone_sample_in_shared_code_stays_raw),
		TEST(samples_outside_have_no_scope),
		TEST(without_samples_every_region_is_one_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
