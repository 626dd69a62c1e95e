/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gsl/gsl_rng.h>

#include "correct/divide/phases.h"

enum { MOST = 8, MIN = 1000, LABELS = 50 };

struct run {
	uint32_t *label;
	uint8_t *phase;
	size_t n;
	gsl_rng *rng;
};

static struct run run_new(size_t most)
{
	struct run r = { .label = calloc(most, sizeof(*r.label)), .phase = calloc(most, 1) };

	r.rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(r.rng, 20261122);
	return r;
}

static void run_free(struct run *r)
{
	free(r->label);
	free(r->phase);
	gsl_rng_free(r->rng);
}

/* n samples, spread evenly over labels [from, to). */
static void stay(struct run *r, size_t n, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < n; i++)
		r->label[r->n++] = from + (uint32_t)gsl_rng_uniform_int(r->rng, to - from);
}

static long phases_in(struct run *r)
{
	return phases_find(r->label, r->n, LABELS, &(struct phases_opts){ MOST, MIN, MIN }, r->phase);
}

static void a_run_that_stays_the_same_is_one_phase(void **state)
{
	struct run r = run_new(40000);

	(void)state;
	stay(&r, 40000, 0, 40);
	assert_int_equal(phases_in(&r), 1);
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(r.phase[i], 0);
	run_free(&r);
}

static void borders_are_found_to_the_sample(void **state)
{
	struct run r = run_new(9013);

	(void)state;
	stay(&r, 4013, 0, 10);
	stay(&r, 5000, 10, 20);
	assert_int_equal(phases_in(&r), 2);
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(r.phase[i], i >= 4013);
	run_free(&r);
}

static void what_comes_back_is_the_same_phase(void **state)
{
	struct run r = run_new(16000);

	(void)state;
	for (int turn = 0; turn < 4; turn++) {
		stay(&r, 2500, 0, 20);
		stay(&r, 1500, 10, 40);
	}
	assert_int_equal(phases_in(&r), 2);
	for (int turn = 0; turn < 4; turn++) {
		assert_int_equal(r.phase[turn * 4000 + 1250], 0);
		assert_int_equal(r.phase[turn * 4000 + 3250], 1);
	}
	run_free(&r);
}

/* Eq. 2 with 150,000 samples even over 20 blocks and 50,000 over 17 of them: g = 0.138, above 0.1; over 18 it is 0.090. */
static void phases_are_told_apart_by_equation_29(void **state)
{
	(void)state;
	for (uint32_t few = 17; few <= 18; few++) {
		struct run r = run_new(200000);

		stay(&r, 150000, 0, 20);
		stay(&r, 50000, 0, few);
		assert_int_equal(phases_in(&r), few == 17 ? 2 : 1);
		run_free(&r);
	}
}

/* Half of the code is shared by both, and the other half ran in one of them only. */
static void phases_may_share_code(void **state)
{
	struct run r = run_new(8000);
	size_t wrong = 0;

	(void)state;
	stay(&r, 4000, 0, 20);
	stay(&r, 4000, 10, 30);
	assert_int_equal(phases_in(&r), 2);
	for (size_t i = 0; i < r.n; i++)
		wrong += r.phase[i] != (i >= 4000);
	assert_in_range(wrong, 0, 5);
	run_free(&r);
}

static void a_little_more_of_one_function_is_no_phase(void **state)
{
	struct run r = run_new(20000);

	(void)state;
	for (int i = 0; i < 10000; i++)
		stay(&r, 1, 0, i % 10 ? 20 : 10);
	for (int i = 0; i < 10000; i++)
		stay(&r, 1, 0, i % 5 ? 20 : 10);
	assert_int_equal(phases_in(&r), 1);
	run_free(&r);
}

static void what_is_too_short_goes_with_what_it_is_most_alike(void **state)
{
	struct run r = run_new(8400);

	(void)state;
	stay(&r, 4000, 0, 10);
	stay(&r, 400, 15, 25);
	stay(&r, 4000, 20, 30);
	assert_int_equal(phases_in(&r), 2);
	assert_int_equal(r.phase[4200], 1);
	run_free(&r);
}

/* Twelve with code of their own in every second sample, and what all of them call in the others. */
static void there_are_never_too_many(void **state)
{
	struct run r = run_new(30000);
	uint8_t most = 0;

	(void)state;
	for (uint32_t k = 0; k < 12; k++)
		for (int i = 0; i < 1250; i++) {
			stay(&r, 1, 3 * k, 3 * k + 3);
			stay(&r, 1, 40, 50);
		}
	assert_int_equal(phases_in(&r), MOST);
	for (size_t i = 0; i < r.n; i++)
		most = r.phase[i] > most ? r.phase[i] : most;
	assert_int_equal(most, MOST - 1);
	run_free(&r);
}

/* A loop of seven turns in step with the sampling: cells differ by where in it they begin, and by nothing else. */
static void a_loop_in_step_with_the_sampling_has_no_phases(void **state)
{
	struct run r = run_new(20000);

	(void)state;
	for (r.n = 0; r.n < 20000; r.n++)
		r.label[r.n] = (uint32_t)(r.n / 9 % 7);
	assert_int_equal(phases_in(&r), 1);
	run_free(&r);
}

static void few_samples_and_none_are_one_phase(void **state)
{
	struct run r = run_new(1999);

	(void)state;
	assert_int_equal(phases_in(&r), 1);
	stay(&r, 1000, 0, 10);
	stay(&r, 999, 10, 20);
	assert_int_equal(phases_in(&r), 1);
	assert_int_equal(r.phase[1998], 0);
	run_free(&r);
}

/*
 * Twelve loops one after another, each with code of its own and 800 samples: none is told from the others by what the
 * rest of the program knows, so more than MOST of them and fewer samples than MIN are no reason to join any.
 */
static void loops_that_share_no_code_stay_apart(void **state)
{
	enum { LOOPS = 12, EACH = 800 };
	struct run r = run_new(LOOPS * EACH);

	(void)state;
	for (uint32_t i = 0; i < LOOPS; i++)
		stay(&r, EACH, 4 * i, 4 * i + 4);
	assert_int_equal(phases_find(r.label, r.n, LABELS, &(struct phases_opts){ MOST, MIN, 50 }, r.phase),
	                 LOOPS);
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(r.phase[i], i / EACH);
	/* Half the samples that they are to have: joined with others as before. */
	assert_in_range(phases_find(r.label, r.n, LABELS, &(struct phases_opts){ MOST, MIN, 2 * EACH },
	                            r.phase),
	                1, LOOPS / 2);
	run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_stays_the_same_is_one_phase),
		cmocka_unit_test(borders_are_found_to_the_sample),
		cmocka_unit_test(what_comes_back_is_the_same_phase),
		cmocka_unit_test(phases_are_told_apart_by_equation_29),
		cmocka_unit_test(phases_may_share_code),
		cmocka_unit_test(a_little_more_of_one_function_is_no_phase),
		cmocka_unit_test(what_is_too_short_goes_with_what_it_is_most_alike),
		cmocka_unit_test(there_are_never_too_many),
		cmocka_unit_test(a_loop_in_step_with_the_sampling_has_no_phases),
		cmocka_unit_test(few_samples_and_none_are_one_phase),
		cmocka_unit_test(loops_that_share_no_code_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
