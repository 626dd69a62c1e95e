/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Landing along the flow against the shift model of eqs. 1 and 2, where both apply: a simple loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "correct/infer/landing.h"

enum { N_INSN = 12, N_BLOCKS = 3 };

static struct flow_region plain_region;
static struct problem_block blocks[] = { { 0, 5, 0 }, { 5, 4, 1 }, { 9, 3, 2 } };
static struct problem_edge edges[] = { { 0, 1, 0, -1, FLOW_FALL },
	                               { 1, 2, 1, -1, FLOW_FALL },
	                               { 2, 0, 2, -1, FLOW_TAKEN } };

/* Cycles per turn of each instruction: 40 in all. */
static const double cyc[N_INSN] = { 1, 0, 12, 1, 2, 0, 0, 15, 1, 6, 1, 1 };
static const double turns = 1e6;

static struct problem make_loop(double *seen_insn, double *seen_cyc, double s_cyc)
{
	struct problem p = { .region = &plain_region,
		             .blocks = blocks,
		             .n_blocks = N_BLOCKS,
		             .edges = edges,
		             .n_edges = 3,
		             .n_insns = N_INSN,
		             .seen_insn = seen_insn,
		             .seen_cyc = seen_cyc,
		             .total_insn = N_INSN * turns,
		             .total_cyc = 40 * turns,
		             .insn_per_sample = 1000,
		             .cyc_per_sample = 1000 };

	memset(seen_insn, 0, N_INSN * sizeof(*seen_insn));
	for (int i = 0; i < N_INSN; i++)
		seen_cyc[i] = cyc[i] * turns;
	skid_dist_constant(&p.skid, s_cyc);
	return p;
}

/* What eq. 2 says each block sees. */
static void by_shift(double s_cyc, double *block)
{
	double seen[N_INSN];
	struct shift_loop loop;

	assert_int_equal(shift_loop_init(&loop, cyc, N_INSN), 0);
	shift_counts(&loop, s_cyc, seen);
	for (int b = 0; b < N_BLOCKS; b++) {
		block[b] = 0;
		for (uint32_t i = 0; i < blocks[b].n_insn; i++)
			block[b] += seen[blocks[b].insn0 + i] * turns;
	}
	shift_loop_fini(&loop);
}

static void a_simple_loop_lands_where_the_shift_model_says(void **state)
{
	const double skids[] = { 3, 9, 14, 22, 31, 39, 55 };
	double seen_insn[N_INSN], seen_cyc[N_INSN];
	const double f[] = { turns, turns, turns };

	(void)state;
	for (size_t k = 0; k < sizeof(skids) / sizeof(skids[0]); k++) {
		struct problem p = make_loop(seen_insn, seen_cyc, skids[k]);
		double predicted[N_BLOCKS], moved[N_BLOCKS], want[N_BLOCKS], sum = 0;

		assert_int_equal(landing_predict(&p, f, predicted, moved), 0);
		by_shift(skids[k], want);
		for (int b = 0; b < N_BLOCKS; b++) {
			/*
			 * Ages are kept in steps of a quarter block (3.3 cycles), and block ends stand on
			 * 12- and 15-cycle instructions: the causes of two instructions may change sides.
			 */
			assert_float_equal(predicted[b], want[b], 2 * turns);
			sum += predicted[b];
		}
		/* Nothing is lost or made. */
		assert_float_equal(sum, N_INSN * turns, 0.02 * N_INSN * turns);
	}
}

/* S of many periods lands as time is spread, whatever the flow: 16, 16 and 8 of 40 cycles. */
static void a_long_skid_lands_as_time_does(void **state)
{
	double seen_insn[N_INSN], seen_cyc[N_INSN], predicted[N_BLOCKS], moved[N_BLOCKS];
	const double f[] = { turns, turns, turns };
	struct problem p = make_loop(seen_insn, seen_cyc, 0);

	(void)state;
	for (int i = 0; i < SKID_POINTS; i++)
		p.skid.s_cyc[i] = 2000 + 13.7 * i;
	assert_int_equal(landing_predict(&p, f, predicted, moved), 0);
	assert_float_equal(predicted[0] / (N_INSN * turns), 16.0 / 40, 0.01);
	assert_float_equal(predicted[1] / (N_INSN * turns), 16.0 / 40, 0.01);
	assert_float_equal(predicted[2] / (N_INSN * turns), 8.0 / 40, 0.01);
}

/* Without skid every sample stays, and each equation reads n_b I_b = E_b. */
static void no_skid_lands_where_it_was_caused(void **state)
{
	double seen_insn[N_INSN], seen_cyc[N_INSN], predicted[N_BLOCKS], moved[N_BLOCKS];
	const double f[] = { turns, turns, turns };
	struct problem p = make_loop(seen_insn, seen_cyc, 0);

	(void)state;
	assert_int_equal(landing_predict(&p, f, predicted, moved), 0);
	for (int b = 0; b < N_BLOCKS; b++) {
		assert_float_equal(predicted[b], blocks[b].n_insn * turns, 1);
		assert_float_equal(moved[b], 0, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_simple_loop_lands_where_the_shift_model_says),
		cmocka_unit_test(a_long_skid_lands_as_time_does),
		cmocka_unit_test(no_skid_lands_where_it_was_caused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
