/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 20: where samples were caused, the counted number of instructions back along the flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/back.h"
#include "correct/profile.h"

/* A loop with two ways, blocks of 3, 4, 2 and 3 instructions: one time in four by block 1, else by block 2. */
enum { N_INSN = 12, N_BLOCKS = 4, N_EDGES = 5, MAX_WALKS = 16 };

static struct flow_region plain_region;
static struct problem_block blocks[] = { { 0, 3, 0 }, { 3, 4, 1 }, { 7, 2, 2 }, { 9, 3, 3 } };
static struct problem_edge edges[] = { { 0, 1, 0, -1, FLOW_FALL },
	                               { 0, 2, 1, -1, FLOW_TAKEN },
	                               { 1, 3, 2, -1, FLOW_TAKEN },
	                               { 2, 3, 3, -1, FLOW_FALL },
	                               { 3, 0, 4, -1, FLOW_TAKEN } };
static const double flow[] = { 1, 3, 1, 3, 4 };

static double seen[N_INSN];

static struct problem make(struct problem_walk *walks, size_t n_walks)
{
	struct problem p = { .region = &plain_region,
		             .blocks = blocks,
		             .n_blocks = N_BLOCKS,
		             .edges = edges,
		             .n_edges = N_EDGES,
		             .n_insns = N_INSN,
		             .seen_insn = seen,
		             .walks = walks,
		             .n_walks = n_walks,
		             .total_insn = 34,
		             .insn_per_sample = 1 };

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < n_walks; i++)
		seen[walks[i].insn] += walks[i].weight;
	return p;
}

static void a_sample_is_walked_back_the_counted_way_and_one_more(void **state)
{
	/*
	 * The first stays in block 0, one back.  The second was caused at the end of block 1 or 2.  The third
	 * goes 4 back from the second instruction of block 3: to the second of block 1, or past the two of
	 * block 2 to the last of block 0.
	 */
	struct problem_walk walks[] = { { 2, 0, 100 }, { 9, 0, 160 }, { 10, 3, 1600 } };
	struct problem p = make(walks, 3);
	double caused[N_BLOCKS], unsure[N_BLOCKS];

	(void)state;
	assert_int_equal(back_caused(&p, flow, caused, unsure), 0);
	assert_float_equal(caused[0], 100 + 1600 * 0.75, 1e-9);
	assert_float_equal(caused[1], 160 * 0.25 + 1600 * 0.25, 1e-9);
	assert_float_equal(caused[2], 160 * 0.75, 1e-9);
	assert_float_equal(caused[3], 0, 1e-9);
	/* Of what goes one way with 1/4, 1/4 x 3/4 may have come the other way. */
	assert_float_equal(unsure[0], 1600 * 0.75 * 0.25, 1e-9);
	assert_float_equal(unsure[1], 1760 * 0.75 * 0.25, 1e-9);
	assert_float_equal(unsure[2], 160 * 0.75 * 0.25, 1e-9);
}

/* One sample of each execution of each instruction, seen at the next: 12 + 4 + 6 + 12 of them. */
static size_t all_seen_at_the_next(struct problem_walk *walks)
{
	static const double n[] = { 4, 1, 3, 4 };
	size_t k = 0;

	for (uint32_t b = 0; b < N_BLOCKS; b++)
		for (uint32_t i = 0; i < blocks[b].n_insn; i++)
			walks[k++] = (struct problem_walk){ blocks[b].insn0 + i, 0, n[b] };
	return k;
}

static double miss_of(const struct equation *eq, const double *f)
{
	double sum = -eq->value;

	for (size_t e = 0; e < N_EDGES; e++)
		sum += eq->w[e] * f[e];
	return sum;
}

static void blocks_run_as_often_as_they_caused_samples(void **state)
{
	/* Under flows of 2 and 2 block 1 would have run 8 instructions; it caused 3 seen in it and half of 4. */
	const double miss_even[] = { 0, 8 - 5, 4 - 5, 0 }, even[] = { 2, 2, 2, 2, 4 };
	struct problem_walk walks[MAX_WALKS];
	struct problem p = make(walks, all_seen_at_the_next(walks));
	struct equations eqs = { 0 };
	struct space *space = NULL;
	double t[N_EDGES];
	bool tells;

	(void)state;
	assert_int_equal(space_new(&p, NULL, &space), 0);
	assert_int_equal(space->n_free, 2);
	for (size_t k = 0; k < 2; k++)
		t[k] = flow[space->free_edge[k]];
	assert_int_equal(back_tells(&p, space, t, &tells), 0);
	assert_true(tells);
	assert_int_equal(back_equations(&p, space, t, &eqs), 0);
	assert_int_equal(eqs.n, N_BLOCKS);
	for (size_t b = 0; b < N_BLOCKS; b++)
		assert_float_equal(miss_of(&eqs.v[b], flow), 0, 1e-9);
	/* 4 due and a period more; 3/4 of the one that came from its end may be the other's, 0.6 of it wrong. */
	assert_float_equal(eqs.v[1].sd, sqrt((4 + 1) + 0.6 * 0.75 * 0.6 * 0.75), 1e-9);
	equations_fini(&eqs);

	for (size_t k = 0; k < 2; k++)
		t[k] = even[space->free_edge[k]];
	eqs = (struct equations){ 0 };
	assert_int_equal(back_equations(&p, space, t, &eqs), 0);
	for (size_t b = 0; b < N_BLOCKS; b++)
		assert_float_equal(miss_of(&eqs.v[b], even), miss_even[b], 1e-9);
	equations_fini(&eqs);
	space_free(space);
}

static void it_tells_nothing_without_the_counts_or_from_far_away(void **state)
{
	struct problem_walk walks[MAX_WALKS], far[] = { { 9, 2000, 10 } };
	struct problem p = make(walks, all_seen_at_the_next(walks));
	struct space *space = NULL;
	double t[N_EDGES];
	bool tells;

	(void)state;
	assert_int_equal(space_new(&p, NULL, &space), 0);
	for (size_t k = 0; k < 2; k++)
		t[k] = flow[space->free_edge[k]];
	/* Block 3's, 12 of 34, come without. */
	p.n_walks -= 3;
	assert_int_equal(back_tells(&p, space, t, &tells), 0);
	assert_false(tells);
	/* Some 200 turns back. */
	p = make(far, 1);
	assert_int_equal(back_tells(&p, space, t, &tells), 0);
	assert_false(tells);
	space_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_walked_back_the_counted_way_and_one_more),
		cmocka_unit_test(blocks_run_as_often_as_they_caused_samples),
		cmocka_unit_test(it_tells_nothing_without_the_counts_or_from_far_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
