/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 6: ratios of events, also of one that was counted for part of the time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "correct/evidence/ratio.h"
#include "correct/infer/cholesky.h"

enum { EVENT = 1, OTHER = 2 };

/* One interval of 1000 instructions; count < 0: the other group's. */
static void add_to(struct ratios *r, double count, uint32_t *run)
{
	static const int counted[] = { EVENT }, other[] = { OTHER };
	struct ratio_interval v = {
		.insn = 1000, .events = count < 0 ? other : counted, .counts = &count, .n = 1
	};

	ratios_add(r, &v, run);
	assert_int_not_equal(*run, UINT32_MAX);
}

/* A run by itself. */
static void add(struct ratios *r, double count)
{
	uint32_t run = UINT32_MAX;

	add_to(r, count, &run);
}

static struct ratio answer(struct ratios *r, double total)
{
	struct ratio s;

	ratios_of(r, EVENT, total, &s);
	ratios_free(r);
	return s;
}

/* Half is counted: 10 of scatter a count, of 200, for the other half; and as much as half again. */
static void what_was_not_counted_differs_by_the_scatter(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct ratios *r = ratios_new();
	double sum = 0;
	struct ratio s;

	(void)state;
	for (int i = 0; i < 400; i++) {
		double count = 100 + gsl_ran_gaussian(rng, 10);

		sum += i % 2 ? count : 0;
		add(r, i % 2 ? count : -1);
	}
	s = answer(r, 400000);
	assert_float_equal(s.ratio, sum / 200 / 1000, 1e-9);
	assert_float_equal(s.se, 10 / sqrt(200) * sqrt(0.5 * 1.5) / 1000, 0.1 * s.se);
	gsl_rng_free(rng);
}

/* Two stages by turns, ten intervals each, and slots of twelve: neighbours are alike, and it is slots that are a sample. */
static void the_standard_error_is_the_scatter_of_runs(void **state)
{
	enum { TIMES = 400, TURNS = 120 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double z_sq = 0;

	(void)state;
	for (int t = 0; t < TIMES; t++) {
		struct ratios *r = ratios_new();
		double truth = 0, n = 0;
		struct ratio s;

		for (int turn = 0; turn < TURNS; turn++) {
			bool is_counted = gsl_rng_uniform_int(rng, 4) == 0;
			unsigned long at = gsl_rng_uniform_int(rng, 20);
			uint32_t run = UINT32_MAX;

			for (unsigned long i = 0; i < 12; i++) {
				double count = (at + i) / 10 % 2 == 0 ? 100 : 0;

				truth += count;
				n++;
				add_to(r, is_counted ? count : -1, &run);
			}
		}
		s = answer(r, 1000 * n);
		/* The last factor of se, for what was not counted, is beside the sampling (part 1/4). */
		z_sq += pow((s.ratio - truth / n / 1000) / s.se, 2) * 1.75;
	}
	assert_float_equal(z_sq / TIMES, 1, 0.2);
	gsl_rng_free(rng);
}

/* Of intervals that all counted it, half of what ran: the rest differs by their scatter, whoever may have counted it. */
static void what_no_group_saw_is_not_counted_either(void **state)
{
	struct ratios *r = ratios_new();
	struct ratio s;

	(void)state;
	for (int i = 0; i < 100; i++)
		add(r, i % 2 ? 120 : 80);
	s = answer(r, 200000);
	assert_float_equal(s.ratio, 0.1, 1e-8);
	assert_float_equal(s.se, 20 / sqrt(99) / 1000 * sqrt(0.5 * 1.5), 1e-8);
}

/* All was counted: nothing is left to chance, however it scatters. */
static void what_was_counted_all_along_is_exact(void **state)
{
	struct ratios *r = ratios_new();
	struct ratio s;

	(void)state;
	for (int i = 0; i < 100; i++)
		add(r, i % 2 ? 120 : 80);
	s = answer(r, 100000);
	assert_float_equal(s.ratio, 0.1, 1e-8);
	assert_float_equal(s.se, 0, 1e-8);
}

/*
 * Intervals of next to no instructions, as where two samples come at once, are many and ran nothing: of a tenth of all intervals each has half
 * an instruction and as many stores, all others 1000 and 100.  What was not counted has the ratio of what ran, and not of how often it was read.
 */
static void near_empty_intervals_weigh_what_they_ran(void **state)
{
	static const int counted[] = { EVENT };
	struct ratios *r = ratios_new();
	double few = 0.5, many = 100;
	struct ratio s;

	(void)state;
	for (int i = 0; i < 400; i++) {
		uint32_t run = UINT32_MAX;
		bool is_empty = i % 10 == 0;
		struct ratio_interval v = { .insn = is_empty ? 0.5 : 1000,
			                    .events = counted,
			                    .counts = is_empty ? &few : &many,
			                    .n = 1 };

		ratios_add(r, &v, &run);
	}
	ratios_of(r, EVENT, 4 * 360020, &s);
	assert_float_equal(s.ratio, 36020. / 360020, 1e-9);
	assert_true(s.ratio > 0 && s.ratio + 3 * s.se < 0.11);
	ratios_free(r);
}

/* Fewer than three counted intervals tell nothing. */
static void few_intervals_tell_little(void **state)
{
	struct ratios *r = ratios_new();
	struct ratio s = { 0 };

	(void)state;
	for (int i = 0; i < 40; i++)
		add(r, i < 2 ? 100 + 100 * (i % 2) : -1);
	ratios_of(r, EVENT, 40000, &s);
	assert_float_equal(s.counted_insn, 0, 0);
	for (int i = 0; i < 7; i++)
		add(r, 100);
	s = answer(r, 47000);
	assert_float_equal(s.ratio, (300 + 7 * 100) / 9000., 1e-8);
	assert_float_equal(s.counted_insn, 9000, 0);
}

/* A run of 1000 instructions that counted n events. */
static void add_run(struct ratios *r, const int *events, const double *counts, size_t n)
{
	struct ratio_interval v = { .insn = 1000, .events = events, .counts = counts, .n = n };
	uint32_t run = UINT32_MAX;

	ratios_add(r, &v, &run);
}

/*
 * Four runs of 1000 instructions count 1 and 2, of which the one has what the other lacks: their correlation is -1, times
 * 1 - 2/4, for two means took two of four.  Twenty that count 1 and 3 have no part in it, but in how 1 scatters.
 */
static void what_was_counted_at_once_errs_together(void **state)
{
	static const int pair[] = { 1, 2 }, other[] = { 1, 3 }, all[] = { 1, 2, 3 };
	struct ratios *r = ratios_new();
	double c[9];

	(void)state;
	for (int i = 0; i < 4; i++)
		add_run(r, pair, (double[]){ 100 + (i % 2 ? 10 : -10), 50 - (i % 2 ? 10 : -10) }, 2);
	ratios_correlate(r, pair, 2, c);
	assert_float_equal(c[0], 1, 0);
	assert_float_equal(c[2], -0.5, 1e-12);
	assert_float_equal(c[3], 1, 0);
	for (int i = 0; i < 20; i++)
		add_run(r, other, (double[]){ 100 + (i % 2 ? 10 : -10), 30 + (i % 4 < 2 ? 1 : -1) }, 2);
	ratios_correlate(r, all, 3, c);
	/* -400 over sqrt(2400) sqrt(400), of 1 - 2/24 and 1 - 2/4. */
	assert_float_equal(c[3], -sqrt(1 / 6. * (1 - 2 / 24.) * 0.5), 1e-12);
	/* 2 and 3 were never counted at once, and 3 has no part in what 1 does. */
	assert_float_equal(c[6], 0, 1e-12);
	assert_float_equal(c[7], 0, 0);
	ratios_free(r);
}

/*
 * A loop runs one way or the other, which differ in three events: slots that saw more of the one have all three off at once.
 * In units of their noise apart, the squares of what they miss by come to three where their correlations are known.
 */
static void misses_of_events_of_one_slot_are_one_miss(void **state)
{
	enum { TIMES = 400, SLOTS = 80 };
	static const int of_one[] = { 1, 2, 3 }, of_other[] = { 4 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double squares = 0;

	(void)state;
	for (int t = 0; t < TIMES; t++) {
		struct ratios *r = ratios_new();
		double truth[3] = { 0 }, c[9], z[3] = { 0 };

		for (int slot = 0; slot < SLOTS; slot++) {
			double way = gsl_ran_flat(rng, 0, 1),
			       n[3] = { 100 + 50 * way + gsl_ran_gaussian(rng, 10),
				        200 - 80 * way + gsl_ran_gaussian(rng, 10),
				        30 * way + gsl_ran_gaussian(rng, 10) };

			for (int k = 0; k < 3; k++)
				truth[k] += n[k] / SLOTS / 1000;
			if (slot % 4)
				add_run(r, of_other, (double[]){ 1 }, 1);
			else
				add_run(r, of_one, n, 3);
		}
		ratios_correlate(r, of_one, 3, c);
		assert_int_equal(cholesky_factor(c, 3), 0);
		for (int k = 0; k < 3; k++) {
			struct ratio s;

			ratios_of(r, of_one[k], 1000. * SLOTS, &s);
			/* The factor of se for what was not counted is beside the sampling. */
			z[k] = (s.ratio - truth[k]) / s.se * sqrt(1.75);
			for (int j = 0; j < k; j++)
				z[k] -= c[k * 3 + j] * z[j];
			z[k] /= c[k * 3 + k];
			squares += z[k] * z[k];
		}
		ratios_free(r);
	}
	/* Correlations of twenty runs are known to a seventh, and the scatter has a tail. */
	assert_float_equal(squares / TIMES, 3, 0.6);
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_counted_differs_by_the_scatter),
		cmocka_unit_test(the_standard_error_is_the_scatter_of_runs),
		cmocka_unit_test(what_no_group_saw_is_not_counted_either),
		cmocka_unit_test(what_was_counted_all_along_is_exact),
		cmocka_unit_test(near_empty_intervals_weigh_what_they_ran),
		cmocka_unit_test(few_intervals_tell_little),
		cmocka_unit_test(what_was_counted_at_once_errs_together),
		cmocka_unit_test(misses_of_events_of_one_slot_are_one_miss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
