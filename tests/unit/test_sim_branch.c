/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the simulated branch predictor knows by heart, and what it can't. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/sim/branch.h"

enum { BITS = 12, TABLES = 8, HISTORY = 137 };

static struct sim_predictor p;
static uint64_t seed;

static unsigned draw(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((seed >> 33) % n);
}

static void start(uint32_t bits, uint32_t tables, uint32_t history)
{
	const struct sim_config config = { .predictor_bits = bits,
		                           .predictor_tables = tables,
		                           .predictor_history = history,
		                           .btb_entries = 1024,
		                           .return_stack = 16 };

	seed = 1;
	assert_int_equal(sim_predictor_init(&p, &config), 0);
}

/* A conditional branch; true when it was mispredicted. */
static bool branch(uint64_t ip, bool taken)
{
	bool wrong = sim_predict_direction(&p, ip, taken);

	if (taken)
		sim_predict_path(&p, ip, ip + 16);
	return wrong;
}

static void jump(uint64_t ip)
{
	sim_predict_path(&p, ip, ip + 32);
}

/* A branch that repeats n directions drawn at random: mispredictions in the last repetition, and those of its loop. */
static unsigned pattern_missed(unsigned n, unsigned repetitions)
{
	static bool taken[1 << 15];
	unsigned missed = 0;

	for (unsigned i = 0; i < n; i++)
		taken[i] = draw(2);
	for (unsigned r = 0; r < repetitions; r++) {
		missed = 0;
		for (unsigned i = 0; i < n; i++) {
			missed += branch(0x401000, taken[i]);
			missed += branch(0x401020, true);
		}
	}
	sim_predictor_fini(&p);
	return missed;
}

/* 8 tables of 4096 have place for 8192 branches, of which about half are foretold without; 8 of 16 have not. */
static void a_pattern_is_known_after_some_repetitions(void **state)
{
	(void)state;
	start(BITS, TABLES, HISTORY);
	assert_int_equal(pattern_missed(1000, 8), 0);
	start(BITS, TABLES, HISTORY);
	assert_true(pattern_missed(8192, 12) < 8192 / 100);
	start(4, TABLES, HISTORY);
	assert_true(pattern_missed(8192, 12) > 8192 / 4);
}

/* Core files without the keys of tables and history: three tables, 60 branches. */
static void three_tables_know_a_short_pattern(void **state)
{
	(void)state;
	start(14, 3, 60);
	assert_int_equal(pattern_missed(200, 16), 0);
}

/* A branch that always falls through is never wrong, not even the first time; a taken one is, once or twice. */
static void what_was_never_taken_falls_through(void **state)
{
	unsigned missed = 0;

	(void)state;
	start(BITS, TABLES, HISTORY);
	for (unsigned i = 0; i < 100; i++)
		assert_false(branch(0x401000, false));
	for (unsigned i = 0; i < 100; i++)
		missed += branch(0x501000, true);
	assert_in_range(missed, 1, 2);
	sim_predictor_fini(&p);
}

/* Share of mispredictions of a branch that does what another, n branches before, did at random. */
static double copy_missed(unsigned n, bool taken_between)
{
	enum { TURNS = 4000 };
	unsigned missed = 0;

	start(BITS, TABLES, HISTORY);
	for (unsigned t = 0; t < 2 * TURNS; t++) {
		bool taken = draw(2), wrong;

		branch(0x401000, taken);
		for (unsigned i = 0; i < n; i++)
			if (taken_between)
				jump(0x402000 + 32 * i);
			else
				branch(0x402000 + 32 * i, false);
		wrong = branch(0x409000, taken);
		missed += wrong && t >= TURNS;
		jump(0x409020);
	}
	sim_predictor_fini(&p);
	return (double)missed / TURNS;
}

/* The first branch is one of the 137, so 136 may lie between; with 137 the second one is a matter of luck: 50%, 5 sd are 4%. */
static void taken_branches_push_others_out_of_the_history(void **state)
{
	(void)state;
	assert_float_equal(copy_missed(8, true), 0, 0.001);
	assert_float_equal(copy_missed(HISTORY - 1, true), 0, 0.001);
	assert_float_equal(copy_missed(HISTORY, true), 0.5, 0.04);
	assert_float_equal(copy_missed(500, false), 0, 0.001);
}

/* The last turn of 138 is the only one with 137 taken branches of its own before it; of 139, two are. */
static void loops_as_long_as_the_history_end_as_foretold(void **state)
{
	unsigned missed[2] = { 0 };

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		start(BITS, TABLES, HISTORY);
		for (unsigned round = 0; round < 2000; round++) {
			for (unsigned turn = HISTORY + 1 + k; turn-- > 0;)
				missed[k] += branch(0x401000, turn > 0) && round >= 1000;
			jump(0x401020);
		}
		sim_predictor_fini(&p);
	}
	assert_int_equal(missed[0], 0);
	assert_in_range(missed[1], 1000, 2000);
}

/* Targets of one jump, in an order of 1000 drawn at random: each in eight is right by luck at first, all later. */
static void targets_in_an_order_are_learned(void **state)
{
	unsigned order[1000], missed[10] = { 0 };

	(void)state;
	start(BITS + 2, TABLES, HISTORY);
	for (unsigned i = 0; i < 1000; i++)
		order[i] = draw(8);
	for (unsigned r = 0; r < 10; r++)
		for (unsigned i = 0; i < 1000; i++) {
			uint64_t target = 0x402000 + 64 * order[i];

			missed[r] += sim_predict_indirect(&p, 0x401000, target);
			sim_predict_path(&p, 0x401000, target);
			jump(0x403000);
		}
	assert_true(missed[0] > 700);
	assert_true(missed[9] < 10);
	sim_predictor_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_is_known_after_some_repetitions),
		cmocka_unit_test(three_tables_know_a_short_pattern),
		cmocka_unit_test(what_was_never_taken_falls_through),
		cmocka_unit_test(taken_branches_push_others_out_of_the_history),
		cmocka_unit_test(loops_as_long_as_the_history_end_as_foretold),
		cmocka_unit_test(targets_in_an_order_are_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
