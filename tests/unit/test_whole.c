/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eqs. 9 and 13: executions from branch stacks alone, over a graph made by hand. */
#include "tests/unit/fixture_recording.h"

#include <math.h>

#include "correct/evidence/whole.h"
#include "correct/infer/space.h"
#include "correct/model/effort.h"
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

/*
 * RUNGS such loops' A, B and C, each C falling into the next A and the last going back: one branch count of each rung is free, which
 * is more than is solved together beside stacks.  In lap k rung r jumps past its B where r + k is a multiple of three.  Stacks
 * come along the whole way, 20 to 40 branches apart.
 */
enum { RUNGS = 900, LAPS = 300, STACK = 17, EVERY = 20, RUNG_BYTES = 4 * 19 };

struct ladder {
	struct fixture f;
	struct recording *rec;
	struct whole *whole;
	float *draws;
	double n_b[RUNGS]; /* executions */
	struct pd_branch *way;
	size_t n_way;
};

static int setup_ladder(void **state)
{
	struct ladder *l = calloc(1, sizeof(*l));
	static uint8_t wanted[3 * RUNGS];

	assert_non_null(l);
	memset(wanted, 1, sizeof(wanted));
	fixture_make_ladder(&l->f, n_insn, RUNGS);
	l->f.g.n_funcs = 1;
	l->rec = recording_by_hand(events, 2);
	l->whole = whole_begin(l->rec, &l->f.g, wanted);
	l->draws = calloc((size_t)3 * RUNGS * N_DRAWS, sizeof(*l->draws));
	l->way = calloc((size_t)RUNGS * LAPS, sizeof(*l->way));
	*state = l;
	return 0;
}

static int teardown_ladder(void **state)
{
	struct ladder *l = *state;

	whole_end(l->whole);
	recording_close(l->rec);
	fixture_fini(&l->f);
	free(l->draws);
	free(l->way);
	free(l);
	return 0;
}

/* Returns the instructions of all laps. */
static double climb(struct ladder *l)
{
	double insn = 0;

	for (size_t lap = 0; lap < LAPS; lap++) {
		for (size_t r = 0; r < RUNGS; r++) {
			const uint64_t a = 0x1000 + r * RUNG_BYTES;
			const bool jumps = (r + lap) % 3 == 0;

			if (jumps)
				l->way[l->n_way++] =
				        (struct pd_branch){ .from_ip = a + 0x24, .to_ip = a + 0x3c };
			l->n_b[r] += !jumps;
			insn += jumps ? 14 : 19;
		}
		l->way[l->n_way++] =
		        (struct pd_branch){ .from_ip = 0x1000 + RUNGS * RUNG_BYTES - 4, .to_ip = 0x1000 };
	}
	return insn;
}

static int by_value(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Of 900 rungs each B ran 200 times: draws of nine in ten hold that and are a quarter of it off at most, and their sum is within a hundredth. */
static void executions_of_what_is_too_large_to_solve_lie_within_their_draws(void **state)
{
	struct ladder *l = *state;
	const double insn = climb(l);
	size_t n_free, held = 0;
	unsigned seed = 1;
	double sum = 0, truth = 0, width = 0;

	space_size(l->f.p, NULL, &n_free);
	assert_int_equal(n_free, RUNGS + 1);
	assert_true(n_free > EFFORT_FREE_STACKS);
	for (size_t at = STACK; at < l->n_way; at += EVERY + rand_r(&seed) % EVERY) {
		struct pd_branch stack[STACK], with[HAND_MAX + 1];
		struct pd_record r;
		struct sample_seen s = { .rec = l->rec, .record = &r, .scope = -1 };

		for (size_t i = 0; i < STACK; i++)
			stack[i] = l->way[at - i];
		r = hand_record(0, stack, STACK, with);
		whole_sample(l->whole, &s);
	}
	assert_int_equal(whole_draws(l->whole, insn, 1, N_DRAWS, l->draws), 0);
	for (size_t r = 0; r < RUNGS; r++) {
		float v[N_DRAWS];

		for (size_t d = 0; d < N_DRAWS; d++) {
			v[d] = l->draws[d * 3 * RUNGS + 3 * r + B];
			sum += (double)v[d] / N_DRAWS;
		}
		qsort(v, N_DRAWS, sizeof(*v), by_value);
		held += l->n_b[r] >= (double)v[N_DRAWS / 20] &&
		        l->n_b[r] <= (double)v[N_DRAWS - 1 - N_DRAWS / 20];
		width += (double)(v[N_DRAWS - 1 - N_DRAWS / 20] - v[N_DRAWS / 20]);
		truth += l->n_b[r];
	}
	assert_float_equal(sum, truth, 0.01 * truth);
	assert_true(width < 0.5 * truth);
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
		cmocka_unit_test_setup_teardown(
		        executions_of_what_is_too_large_to_solve_lie_within_their_draws, setup_ladder,
		        teardown_ladder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
