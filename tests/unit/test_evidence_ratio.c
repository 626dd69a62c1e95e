/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 7: an event that was counted for part of the time, and what is known of all of it. */
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

enum { EVENT = 1, OTHER = 2 };

/* One interval of 1000 instructions, a run by itself; count < 0: the other group's. */
static void add(struct ratios *r, uint32_t place, double count)
{
	static const int counted[] = { EVENT }, other[] = { OTHER };
	struct ratio_interval v = {
		.place = place, .insn = 1000, .events = counted, .counts = &count, .n = 1
	};
	uint32_t run = UINT32_MAX;

	if (count < 0)
		v.events = other;
	ratios_add(r, &v, &run);
	assert_int_not_equal(run, UINT32_MAX);
}

static struct ratio answer(struct ratios *r, double total)
{
	struct ratio s;

	ratios_of(r, EVENT, total, &s);
	ratios_free(r);
	return s;
}

/* Intervals by chance: what all of them count an instruction, and those that were counted. */
struct trial {
	struct ratios *r;
	double truth, bare, n_counted, n;
};

/* Squares of what estimates miss by, and the bare ratio; and in units of their standard error. */
struct misses {
	double sq, bare_sq, z_sq;
};

static void try(struct trial *t, uint32_t place, double count, bool counted)
{
	t->truth += count / 1000;
	t->n++;
	t->n_counted += counted;
	t->bare += counted ? count / 1000 : 0;
	add(t->r, place, counted ? count : -1);
}

static void settle(const struct trial *t, struct misses *m)
{
	struct ratio s = answer(t->r, 1000 * t->n);
	double miss = s.ratio - t->truth / t->n;

	m->sq += miss * miss;
	m->bare_sq += pow(t->bare / t->n_counted - t->truth / t->n, 2);
	/* The last factor of se, for what was not counted, is beside the sampling (part 1/4). */
	m->z_sq += miss * miss / (s.se * s.se / 1.75);
}

/*
 * Intervals that end at place 1 count 300, those at place 0 100, as many of either.  Of those counted one in four ends at
 * place 1: the bare ratio would be 0.15.
 */
static void what_goes_along_with_the_place_is_taken_out(void **state)
{
	struct ratios *r = ratios_new();
	struct ratio s;

	(void)state;
	for (int i = 0; i < 80; i++) {
		uint32_t place = i >= 40;

		add(r, place, i % 40 < (place ? 10 : 30) ? (place ? 300 : 100) : -1);
	}
	s = answer(r, 80000);
	assert_float_equal(s.ratio, 0.2, 1e-8);
	assert_float_equal(s.se, 0, 1e-8);
}

/* Ten counted intervals a place, and as many counts as chance makes: places tell nothing, and are not believed. */
static void chance_is_no_place(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct ratios *r = ratios_new();
	double sum = 0;
	struct ratio s;

	(void)state;
	for (int i = 0; i < 400; i++) {
		double count = 100 + gsl_ran_gaussian(rng, 10);

		sum += i % 2 ? count : 0;
		add(r, (uint32_t)(i / 20), i % 2 ? count : -1);
	}
	s = answer(r, 400000);
	assert_float_equal(s.ratio, sum / 200 / 1000, 0.5 * s.se);
	/* Half is counted: 10 of scatter a count, of 200, for the other half; and as much as half again. */
	assert_float_equal(s.se, 10 / sqrt(200) * sqrt(0.5 * 1.5) / 1000, 0.1 * s.se);
	gsl_rng_free(rng);
}

/* Scatter beside places: the estimate is off as its standard error says, and by a quarter of what the bare ratio is. */
static void the_standard_error_is_the_scatter(void **state)
{
	enum { TIMES = 400, N = 400, PLACES = 8 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct misses m = { 0 };

	(void)state;
	for (int t = 0; t < TIMES; t++) {
		struct trial trial = { .r = ratios_new() };

		for (int i = 0; i < N; i++) {
			uint32_t place = (uint32_t)gsl_rng_uniform_int(rng, PLACES);
			double count = 100 + 15 * (double)place + gsl_ran_gaussian(rng, 8);

			try(&trial, place, count, gsl_rng_uniform(rng) < 0.25);
		}
		settle(&trial, &m);
	}
	assert_float_equal(m.z_sq / TIMES, 1, 0.2);
	/* A quarter is counted: the scatter of what is not, and that of the places' means in a hundred of them. */
	assert_float_equal(sqrt(m.sq / m.bare_sq),
	                   sqrt(8 * 8 * (0.75 + PLACES / (N / 4.)) / (8 * 8 + 225 * 63 / 12.) / 0.75), 0.05);
	gsl_rng_free(rng);
}

/*
 * Two stages by turns, ten intervals each time: one counts 100 and ends at three places, the other counts none and ends at any of
 * 400.  A multiplexing slot is three such, of which each fourth is counted.  What the other's places, of an interval or two, count is not told by
 * themselves: else those that were counted would fit, the rest would be taken for the mean, and all had more of the first.
 */
static void a_place_does_not_foretell_itself(void **state)
{
	enum { TIMES = 40, TURNS = 60, EACH = 10 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	static const int counted[] = { EVENT }, other[] = { OTHER };
	double sum = 0, z_sq = 0;

	(void)state;
	for (int t = 0; t < TIMES; t++) {
		struct ratios *r = ratios_new();
		double truth = 0, n = 0;
		struct ratio s;

		for (int turn = 0; turn < TURNS; turn++) {
			bool is_counted = gsl_rng_uniform_int(rng, 4) == 0;
			unsigned long at = gsl_rng_uniform_int(rng, 2 * EACH);
			uint32_t run = UINT32_MAX;

			for (int i = 0; i < 3 * EACH; i++) {
				bool first = (at + (unsigned long)i) / EACH % 2 == 0;
				double count = first ? 100 : 0;
				struct ratio_interval v = {
					.place = (uint32_t)(first ? gsl_rng_uniform_int(rng, 3)
					                          : 3 + gsl_rng_uniform_int(rng, 400)),
					.insn = 1000,
					.events = is_counted ? counted : other,
					.counts = &count,
					.n = 1
				};

				truth += count;
				n++;
				ratios_add(r, &v, &run);
			}
		}
		s = answer(r, 1000. * n);
		sum += s.ratio / (truth / n / 1000) - 1;
		z_sq += pow((s.ratio - truth / n / 1000) / s.se, 2) * 1.75;
	}
	assert_float_equal(sum / TIMES, 0, 0.02);
	assert_float_equal(z_sq / TIMES, 1, 0.5);
	gsl_rng_free(rng);
}

/* Of intervals that all counted it, half of what ran: the rest differs by their scatter, and as one of them does. */
static void what_no_group_saw_is_beside_it(void **state)
{
	struct ratios *r = ratios_new();
	struct ratio s;

	(void)state;
	for (int i = 0; i < 100; i++)
		add(r, (uint32_t)i % 2, i % 2 ? 120 : 80);
	s = answer(r, 200000);
	assert_float_equal(s.ratio, 0.1, 1e-8);
	assert_float_equal(s.se, hypot(20 / sqrt(100) / 1000 * sqrt(0.5 * 1.5), 0.5 * 20 / 1000), 1e-8);
}

/* Fewer than twenty counted tell a ratio, and no more; fewer than three not even that. */
static void add_some(struct ratios *r, uint32_t place, double insn, int event, double count)
{
	struct ratio_interval v = {
		.place = place, .insn = insn, .events = &event, .counts = &count, .n = 1
	};
	uint32_t run = UINT32_MAX;

	ratios_add(r, &v, &run);
}

/*
 * At place 9 counters are read twice in a row now and then: 46 intervals of half an instruction, with 142 events each that
 * the ones before would have had.  Nothing is to be made of them for the whole intervals that end there, in which another
 * event was counted: the ratio is what all that was counted come to.
 */
static void intervals_of_hardly_an_instruction_tell_nothing_of_their_place(void **state)
{
	struct ratios *r = ratios_new();
	double insn = 0, sum = 0;
	struct ratio s;

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		double count = i % 2 ? 110 : 90;
		bool counted = i % 8 < 4, twice = i % 87 == 0;

		add_some(r, i % 9, 1000, counted ? EVENT : OTHER, count);
		insn += counted ? 1000 : 0;
		sum += counted ? count : 0;
		if (i % 20 == 0)
			add_some(r, 9, 1000, OTHER, 0);
		if (twice) {
			add_some(r, 9, 0.5, EVENT, 142);
			insn += 0.5;
			sum += 142;
		}
	}
	s = answer(r, 4.2e6);
	assert_float_equal(s.ratio, sum / insn, 0.001);
}

static void few_intervals_tell_little(void **state)
{
	struct ratios *r = ratios_new();
	struct ratio s = { 0 };

	(void)state;
	for (int i = 0; i < 40; i++)
		add(r, i % 2, i < 2 ? 100 + 100 * (i % 2) : -1);
	ratios_of(r, EVENT, 40000, &s);
	assert_float_equal(s.counted_insn, 0, 0);
	for (int i = 0; i < 7; i++)
		add(r, 0, 100);
	s = answer(r, 47000);
	assert_float_equal(s.ratio, (300 + 7 * 100) / 9000., 1e-8);
}

/*
 * 100 intervals end at place 0, all of one group, and 10 at place 1, all of another, which does not count the event: there it
 * may be a tenth of the instructions, so 10/110 of that is not known.  Two intervals at place 2 are too few to say so.
 */
static void a_place_at_which_it_never_was_counted_is_not_known(void **state)
{
	struct ratios *r = ratios_new();
	struct ratio s;

	(void)state;
	for (int i = 0; i < 100; i++)
		add(r, 0, 0);
	for (int i = 0; i < 10; i++)
		add(r, 1, -1);
	s = answer(r, 110000);
	assert_float_equal(s.ratio, 0, 0);
	assert_float_equal(s.se, 0.1 * 10 / 110, 1e-9);
	r = ratios_new();
	for (int i = 0; i < 300; i++)
		add(r, 0, 0);
	for (int i = 0; i < 2; i++)
		add(r, 2, -1);
	assert_float_equal(answer(r, 302000).se, 0, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_along_with_the_place_is_taken_out),
		cmocka_unit_test(chance_is_no_place),
		cmocka_unit_test(the_standard_error_is_the_scatter),
		cmocka_unit_test(a_place_does_not_foretell_itself),
		cmocka_unit_test(what_no_group_saw_is_beside_it),
		cmocka_unit_test(intervals_of_hardly_an_instruction_tell_nothing_of_their_place),
		cmocka_unit_test(few_intervals_tell_little),
		cmocka_unit_test(a_place_at_which_it_never_was_counted_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
