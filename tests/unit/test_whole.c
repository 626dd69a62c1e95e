/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eqs. 9 and 13: executions from branch stacks alone, over a graph made by hand. */
#include "tests/unit/fixture_recording.h"

#include <math.h>

#include "correct/evidence/whole.h"
#include "tests/unit/fixture_problem.h"

/* The loop of test_evidence_path.c: a lap by B runs 19 instructions (A B C), one past it 14 (A C). */
static const uint32_t n_insn[] = { 10, 5, 4 };
static const struct pd_branch back = { .from_ip = 0x1048, .to_ip = 0x1000 }, past = { 0x1024, 0x103c },
                              again = { 0x1048, 0x103c }, astray = { 0x5000, 0x5f00 };
static const struct hand_event events[] = {
	{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
	{ "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000, 0, true },
};
enum { A, B, C, N_DRAWS = 400 };

struct bench {
	struct fixture f;
	struct recording *rec;
	struct whole *whole;
	float draws[N_DRAWS * 3];
};

static int setup(void **state)
{
	static const uint8_t wanted[] = { 1, 1, 1 };
	struct bench *b = calloc(1, sizeof(*b));

	fixture_hmmer(&b->f, n_insn);
	b->f.g.n_funcs = 1; /* all blocks are its own */
	b->rec = recording_by_hand(events, 2);
	b->whole = whole_begin(b->rec, &b->f.g, wanted);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	whole_end(b->whole);
	recording_close(b->rec);
	fixture_fini(&b->f);
	free(b);
	return 0;
}

static void show(struct bench *b, int event, const struct pd_branch *stack, size_t n)
{
	struct pd_branch with[HAND_MAX + 1];
	struct pd_record r = hand_record(event, stack, n, with);
	struct sample_seen s = { .rec = b->rec, .record = &r, .scope = -1 };

	whole_sample(b->whole, &s);
}

/* Mean of a block's draws, and their standard deviation over it. */
static double mean_of(const struct bench *b, int block, double *spread)
{
	double sum = 0, sum2 = 0;

	for (size_t i = 0; i < N_DRAWS; i++) {
		double n = (double)b->draws[i * 3 + (size_t)block];

		sum += n;
		sum2 += n * n;
	}
	*spread = sqrt(sum2 / N_DRAWS - sum / N_DRAWS * (sum / N_DRAWS)) / (sum / N_DRAWS);
	return sum / N_DRAWS;
}

/* Laps in turn; stacks end at each of the three branches of two laps, `times` as often at the second. */
static void show_laps(struct bench *b, int times)
{
	const struct pd_branch after_past[] = { back, past, back }, in_past[] = { past, back, back },
	                       after_b[] = { back, back, past };

	for (int i = 0; i < 100; i++) {
		show(b, 0, after_past, 3);
		show(b, 0, after_b, 3);
		for (int k = 0; k < times; k++)
			show(b, 0, in_past, 3);
	}
}

/* 1000 laps of each kind are 33,000 instructions; groups of stacks are much alike: draws differ by the 1% of (26), and little more. */
static void executions_are_those_along_the_stacks(void **state)
{
	struct bench *b = *state;
	double spread;

	show_laps(b, 1);
	assert_int_equal(whole_draws(b->whole, 33000, 1, N_DRAWS, b->draws), 0);
	assert_float_equal(mean_of(b, A, &spread), 2000, 20);
	assert_true(spread > 0.009 && spread < 0.016);
	assert_float_equal(mean_of(b, B, &spread), 1000, 10);
	assert_float_equal(mean_of(b, C, &spread), 2000, 30);
}

/*
 * Samples that see one place four times too often.  Unweighed the stacks are C A, four times A ABC, and ABC C:
 * 10 executions of A, 5 of B and 7 of C in 153 instructions, C short by a quarter.  Three rounds leave an eighth of that.
 */
static void a_slow_place_is_not_counted_more_often(void **state)
{
	struct bench *b = *state;
	double spread;

	show_laps(b, 4);
	assert_int_equal(whole_draws(b->whole, 33000, 1, N_DRAWS, b->draws), 0);
	assert_float_equal(mean_of(b, C, &spread), 2000, 70);
}

/*
 * Two loops that never lead to one another, 1000 instructions a sample: what one
 * takes is its share of the samples, not of the branches on record.  C alone
 * has 4 instructions a branch, a lap by B 19.
 */
static void phases_keep_their_share_of_the_instructions(void **state)
{
	struct bench *b = *state;
	const struct pd_branch only_c[] = { again, again, again }, only_b[] = { back, back, back };
	double spread;

	for (int i = 0; i < 300; i++)
		show(b, 0, i % 3 ? only_c : only_b, 3);
	assert_int_equal(whole_draws(b->whole, 300000, 1, N_DRAWS, b->draws), 0);
	assert_float_equal(mean_of(b, B, &spread), 100000 / 19., 60);
	assert_float_equal(mean_of(b, C, &spread), 100000 / 19. + 200000 / 4., 300);
}

/* Samples of cycles are even in time: one loop that takes long must not count for more. */
static void samples_of_cycles_are_left_out(void **state)
{
	struct bench *b = *state;
	const struct pd_branch only_past[] = { back, past, back, past, back };
	double spread;

	show_laps(b, 1);
	for (int i = 0; i < 1000; i++)
		show(b, 1, only_past, 5);
	assert_int_equal(whole_draws(b->whole, 33000, 1, N_DRAWS, b->draws), 0);
	assert_float_equal(mean_of(b, B, &spread), 1000, 10);
}

static void code_that_is_not_there_says_nothing(void **state)
{
	struct bench *b = *state;
	const struct pd_branch elsewhere[] = { { 0x5f80, 0x5000 }, { 0x5f80, 0x5000 }, astray };

	assert_int_equal(whole_draws(b->whole, 33000, 1, N_DRAWS, b->draws), -SP_EDOMAIN);
	for (int i = 0; i < 200; i++)
		show(b, 0, elsewhere, 3);
	assert_int_equal(whole_draws(b->whole, 33000, 1, N_DRAWS, b->draws), -SP_EDOMAIN);
}

/* From C to memory without a file, 5 instructions there, and back to A: three laps by B in 62 instructions. */
static void stacks_lead_through_memory_without_a_file(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { back, { 0x900010, 0x1000 }, { 0x1048, 0x900000 }, back, back };
	double spread;

	for (int i = 0; i < 200; i++)
		show(b, 0, stack, 5);
	assert_int_equal(whole_draws(b->whole, 62000, 1, N_DRAWS, b->draws), 0);
	assert_float_equal(mean_of(b, A, &spread), 3000, 30);
}

/* Four laps by B, and as many stacks that end behind one C, which stand for four: in 92 instructions A 4 times and C 8 times. */
static void what_is_cut_short_counts_as_if_it_went_on(void **state)
{
	struct bench *b = *state;
	const struct pd_branch laps[] = { back, back, back, back, back },
	                       cut[] = { back, past, { 0x1048, 0x1030 }, back, back };
	double spread;

	for (int i = 0; i < 200; i++) {
		show(b, 0, laps, 5);
		show(b, 0, cut, 5);
	}
	assert_int_equal(whole_draws(b->whole, 92000, 1, N_DRAWS, b->draws), 0);
	assert_float_equal(mean_of(b, A, &spread), 4000, 40);
	assert_float_equal(mean_of(b, C, &spread), 8000, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(executions_are_those_along_the_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(a_slow_place_is_not_counted_more_often, setup, teardown),
		cmocka_unit_test_setup_teardown(phases_keep_their_share_of_the_instructions, setup, teardown),
		cmocka_unit_test_setup_teardown(samples_of_cycles_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(code_that_is_not_there_says_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(stacks_lead_through_memory_without_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_cut_short_counts_as_if_it_went_on, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
