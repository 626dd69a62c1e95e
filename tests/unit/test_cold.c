/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a scope is left out of the flow, and what becomes of its samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "correct/solve/solve.h"
#include "profiler/base/err.h"

/* Blocks 0 and 1 are a loop; each other is a way of its own from the one to the other, five instructions long. */
enum { WAYS = 400, BLOCKS = WAYS + 2, EDGES = 2 * WAYS + 2, SIZE = 5, PERIOD = 1000 };

struct loop {
	struct flow_region region;
	struct problem_block blocks[BLOCKS];
	struct problem_edge edges[EDGES];
	double seen_insn[BLOCKS * SIZE], seen_cyc[BLOCKS * SIZE];
	bool usable[EDGES];
	double flow[EDGES];
	struct problem p;
};

static void edge(struct loop *l, uint32_t from, uint32_t to)
{
	l->edges[l->p.n_edges] = (struct problem_edge){ from, to, (uint32_t)l->p.n_edges, -1, FLOW_TAKEN };
	l->p.n_edges++;
}

static struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->p = (struct problem){ .region = &l->region,
		                 .blocks = l->blocks,
		                 .edges = l->edges,
		                 .seen_insn = l->seen_insn,
		                 .seen_cyc = l->seen_cyc,
		                 .n_blocks = BLOCKS,
		                 .insn_per_sample = PERIOD,
		                 .cyc_per_sample = PERIOD };
	for (uint32_t b = 0; b < BLOCKS; b++)
		l->blocks[b] = (struct problem_block){ .graph_block = b, .insn0 = SIZE * b, .n_insn = SIZE };
	for (uint32_t b = 1; b < BLOCKS; b++)
		edge(l, 0, b);
	for (uint32_t b = 1; b < BLOCKS; b++)
		edge(l, b, b == 1 ? 0 : 1);
	return l;
}

static void sampled(struct loop *l, uint32_t block, double n_insn, double n_cyc)
{
	l->seen_insn[SIZE * block + 2] = n_insn * PERIOD;
	l->seen_cyc[SIZE * block + 3] = n_cyc * PERIOD;
	l->p.total_insn += n_insn * PERIOD;
	l->p.total_cyc += n_cyc * PERIOD;
}

/* How many of the ways are left. */
static size_t cut_beside(struct loop *l, bool stacks, const uint8_t *on_record, uint32_t *n_left_out)
{
	size_t n = 0;

	assert_int_equal(cold_cut(&l->p, stacks, on_record, l->usable, l->flow, n_left_out), 0);
	for (size_t e = 0; e < EDGES; e++) {
		assert_true(l->usable[e] == (l->flow[e] > 0));
		n += l->usable[e] && l->edges[e].to > 1;
	}
	return n;
}

static size_t cut(struct loop *l, bool stacks, uint32_t *n_left_out)
{
	return cut_beside(l, stacks, NULL, n_left_out);
}

/* A few bursts show two ways more; they are no reason to keep all. */
static void what_is_on_record_is_kept(void **state)
{
	struct loop *l = loop_new();
	uint8_t on_record[BLOCKS] = { [0] = 1, [12] = 1, [40] = 1 };
	uint32_t n_left_out;

	(void)state;
	sampled(l, 0, 500, 98);
	sampled(l, 7, 1, 0);
	assert_int_equal(cut_beside(l, false, on_record, &n_left_out), 3);
	assert_int_equal(n_left_out, WAYS - 3);
	free(l);
}

static void what_has_no_samples_is_left_out(void **state)
{
	struct loop *l = loop_new();
	uint32_t n_left_out;

	(void)state;
	sampled(l, 0, 400, 98);
	sampled(l, 7, 1, 0);
	/* Of 499 samples one is not as good as none, so they say nothing of what has none. */
	assert_int_equal(cut(l, false, &n_left_out), WAYS);
	assert_int_equal(n_left_out, 0);
	sampled(l, 9, 0, 1);
	assert_int_equal(cut(l, false, &n_left_out), 2);
	assert_int_equal(n_left_out, WAYS - 2);
	/* Stacks tell what ran. */
	assert_int_equal(cut(l, true, &n_left_out), WAYS);
	free(l);
}

/* A block of few ways may have run without ever being seen. */
static void small_scopes_stay_whole(void **state)
{
	struct loop *l = loop_new();
	uint32_t n_left_out;

	(void)state;
	l->p.n_blocks = 12;
	l->p.n_edges = 0;
	for (uint32_t b = 1; b < 12; b++)
		edge(l, 0, b);
	for (uint32_t b = 1; b < 12; b++)
		edge(l, b, b == 1 ? 0 : 1);
	sampled(l, 0, 402, 98);
	assert_int_equal(cut(l, false, &n_left_out), 10);
	assert_int_equal(n_left_out, 0);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_samples_is_left_out),
		cmocka_unit_test(what_is_on_record_is_kept),
		cmocka_unit_test(small_scopes_stay_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
