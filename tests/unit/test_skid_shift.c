/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/skid/dist.h"
#include "profiler/base/err.h"
#include "tests/unit/shift_model.h"

/* [SKID] (1), c = 1 2 3 4: from 0 the sums are 2, 5, 9, 10, 12 ...; from 3 they are 1, 3, 6, 10, 11 ... */
static void eq_1_is_the_first_instruction_to_reach_the_skid(void **state)
{
	const double c[] = { 1, 2, 3, 4 };
	struct shift_loop l;

	(void)state;
	assert_int_equal(shift_loop_init(&l, c, 4), 0);
	assert_int_equal(shift_distance(&l, 0, 0.5), 1);
	assert_int_equal(shift_distance(&l, 0, 2), 1);
	assert_int_equal(shift_distance(&l, 0, 2.5), 2);
	assert_int_equal(shift_distance(&l, 0, 9), 3);
	assert_int_equal(shift_distance(&l, 0, 10), 4);
	assert_int_equal(shift_distance(&l, 3, 1), 1);
	assert_int_equal(shift_landing(&l, 3, 1), 0);
	assert_int_equal(shift_distance(&l, 3, 3.5), 3);
	assert_int_equal(shift_landing(&l, 3, 3.5), 2);
	shift_loop_fini(&l);
}

/* [SKID] (1) past the paper's bound S <= 10 cycles: 20 = 1 lap + 10, 10.5 = 1 lap + 0.5, 1003 = 100 laps + 3. */
static void eq_1_goes_round_the_loop_as_often_as_the_skid_takes(void **state)
{
	const double c[] = { 1, 2, 3, 4 };
	struct shift_loop l;

	(void)state;
	assert_int_equal(shift_loop_init(&l, c, 4), 0);
	assert_int_equal(shift_distance(&l, 0, 20), 8);
	assert_int_equal(shift_landing(&l, 0, 20), 0);
	assert_int_equal(shift_distance(&l, 3, 10.5), 5);
	assert_int_equal(shift_distance(&l, 3, 1003), 402);
	assert_int_equal(shift_distance(&l, 0, 1e12), 400000000000);
	shift_loop_fini(&l);
}

/* [SKID] (1), c = 2 0 0 3: instructions without cycles are passed over, never landed on. */
static void eq_1_never_lands_where_no_cycles_pass(void **state)
{
	const double c[] = { 2, 0, 0, 3 };
	struct shift_loop l;

	(void)state;
	assert_int_equal(shift_loop_init(&l, c, 4), 0);
	assert_int_equal(shift_distance(&l, 0, 1), 3);
	assert_int_equal(shift_distance(&l, 1, 3), 2);
	assert_int_equal(shift_distance(&l, 0, 5), 4);
	assert_int_equal(shift_distance(&l, 3, 2), 1);
	assert_int_equal(shift_distance(&l, 3, 2.1), 4);
	shift_loop_fini(&l);
}

static void without_skid_or_without_cycles_a_sample_stays(void **state)
{
	const double c[] = { 1, 2, 3 }, none[] = { 0, 0, 0 };
	double seen[3];
	struct shift_loop l;

	(void)state;
	assert_int_equal(shift_loop_init(&l, c, 3), 0);
	assert_int_equal(shift_distance(&l, 1, 0), 0);
	shift_counts(&l, 0, seen);
	for (int j = 0; j < 3; j++)
		assert_true(seen[j] == 1);
	shift_loop_fini(&l);
	assert_int_equal(shift_loop_init(&l, none, 3), 0);
	assert_int_equal(shift_distance(&l, 1, 100), 0);
	shift_counts(&l, 100, seen);
	for (int j = 0; j < 3; j++)
		assert_true(seen[j] == 1);
	shift_loop_fini(&l);
}

/* [SKID] (2), c = 1 2 3 4, S = 2: 0 -> 1, 1 -> 2, 2 -> 3, 3 -> 1 (1 < 2 <= 1 + 2).  S = 10: each on itself. */
static void eq_2_counts_the_causes_of_each_place(void **state)
{
	const double c[] = { 1, 2, 3, 4 };
	double seen[4];
	struct shift_loop l;

	(void)state;
	assert_int_equal(shift_loop_init(&l, c, 4), 0);
	shift_counts(&l, 2, seen);
	assert_true(seen[0] == 0 && seen[1] == 2 && seen[2] == 1 && seen[3] == 1);
	shift_counts(&l, 12, seen);
	assert_true(seen[0] == 0 && seen[1] == 2 && seen[2] == 1 && seen[3] == 1);
	shift_counts(&l, 10, seen);
	assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 1 && seen[3] == 1);
	shift_loop_fini(&l);
}

/* One slow instruction collects nearly all: c = 1 1 96 1 1, S = 50 is reached within the 96 from 0 and 1, 3, 4. */
static void a_slow_instruction_collects_its_neighbours_samples(void **state)
{
	const double c[] = { 1, 1, 96, 1, 1 };
	double seen[5];
	struct shift_loop l;

	(void)state;
	assert_int_equal(shift_loop_init(&l, c, 5), 0);
	shift_counts(&l, 50, seen);
	/* from 2 itself: 1 + 1 + 1 + 1 = 4 cycles, then the next 96 */
	assert_true(seen[2] == 5);
	shift_loop_fini(&l);
}

/* Walk along the loop one instruction at a time: the definition, for integer cycles. */
static size_t walked(const double *c, size_t n, size_t i, double s)
{
	double sum = 0;
	size_t g = 0;

	do {
		g++;
		sum += c[(i + g) % n];
	} while (sum < s);
	return g;
}

static void prefix_sums_agree_with_walking(void **state)
{
	double c[40], seen[40], expect[40];
	struct shift_loop l;

	(void)state;
	srand(7);
	for (int round = 0; round < 300; round++) {
		size_t n = 1 + (size_t)rand() % 40;
		double s = 1 + rand() % 200;

		for (size_t j = 0; j < n; j++)
			c[j] = rand() % 3 ? rand() % 9 : 0;
		c[rand() % (int)n] = 5;
		assert_int_equal(shift_loop_init(&l, c, n), 0);
		for (size_t j = 0; j < n; j++)
			expect[j] = 0;
		for (size_t i = 0; i < n; i++) {
			size_t g = walked(c, n, i, s);

			assert_int_equal(shift_distance(&l, i, s), g);
			expect[(i + g) % n]++;
		}
		shift_counts(&l, s, seen);
		for (size_t j = 0; j < n; j++)
			assert_true(seen[j] == expect[j]);
		shift_loop_fini(&l);
	}
}

/* Half the skids 2 cycles, half 10: the mean of the counts above, (1 + 0) / 2, (1 + 2) / 2, 1, 1. */
static void a_distribution_gives_the_mean_of_its_points(void **state)
{
	const double c[] = { 1, 2, 3, 4 };
	double seen[4], work[4];
	struct skid_dist d;
	struct shift_loop l;

	(void)state;
	for (int k = 0; k < SKID_POINTS; k++)
		d.s_cyc[k] = k < SKID_POINTS / 2 ? 2 : 10;
	assert_int_equal(shift_loop_init(&l, c, 4), 0);
	shift_counts_mean(&l, &d, seen, work);
	assert_float_equal(seen[0], 0.5, 1e-12);
	assert_float_equal(seen[1], 1.5, 1e-12);
	assert_float_equal(seen[2], 1, 1e-12);
	assert_float_equal(seen[3], 1, 1e-12);
	shift_loop_fini(&l);
}

static void impossible_cycles_are_refused(void **state)
{
	const double negative[] = { 1, -1 }, nan[] = { NAN };
	struct shift_loop l;

	(void)state;
	assert_int_equal(shift_loop_init(&l, negative, 2), -SP_EDOMAIN);
	assert_int_equal(shift_loop_init(&l, nan, 1), -SP_EDOMAIN);
	assert_int_equal(shift_loop_init(&l, negative, 0), -SP_EDOMAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eq_1_is_the_first_instruction_to_reach_the_skid),
		cmocka_unit_test(eq_1_goes_round_the_loop_as_often_as_the_skid_takes),
		cmocka_unit_test(eq_1_never_lands_where_no_cycles_pass),
		cmocka_unit_test(without_skid_or_without_cycles_a_sample_stays),
		cmocka_unit_test(eq_2_counts_the_causes_of_each_place),
		cmocka_unit_test(a_slow_instruction_collects_its_neighbours_samples),
		cmocka_unit_test(prefix_sums_agree_with_walking),
		cmocka_unit_test(a_distribution_gives_the_mean_of_its_points),
		cmocka_unit_test(impossible_cycles_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
