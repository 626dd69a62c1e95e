/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/profile.h"

static void strings_live_as_long_as_the_profile(void **state)
{
	struct profile *p = calloc(1, sizeof(*p));
	const char *first = profile_string(p, "first");
	char *large = malloc(200001);

	(void)state;
	memset(large, 'x', 200000);
	large[200000] = '\0';
	for (int i = 0; i < 20000; i++)
		assert_string_equal(profile_string(p, "another"), "another");
	assert_string_equal(profile_string(p, large), large);
	assert_string_equal(profile_string(p, ""), "");
	assert_string_equal(first, "first");
	free(large);
	profile_free(p);
}

static void freeing_no_profile_is_fine(void **state)
{
	(void)state;
	profile_free(NULL);
}

static void status_words_are_those_of_the_manual(void **state)
{
	(void)state;
	assert_string_equal(profile_status_word(PROFILE_FIXED), "fixed");
	assert_string_equal(profile_status_word(PROFILE_RAW), "raw");
	assert_string_equal(profile_status_word(PROFILE_WEAK), "weak");
	assert_string_equal(profile_status_word(PROFILE_UNRELIABLE), "unreliable");
}

static void what_is_not_known_to_5_percent_is_not_fixed(void **state)
{
	struct profile_count c = { .insn = 1000, .lo = 959, .hi = 1042 };

	(void)state;
	assert_int_equal(profile_judge(PROFILE_FIXED, &c), PROFILE_FIXED);
	c.hi = 1044;
	assert_int_equal(profile_judge(PROFILE_FIXED, &c), PROFILE_WEAK);
	assert_int_equal(profile_judge(PROFILE_UNRELIABLE, &c), PROFILE_UNRELIABLE);
	assert_int_equal(profile_judge(PROFILE_RAW, &c), PROFILE_RAW);
	/* Exact, or never drawn. */
	c.lo = c.hi = NAN;
	assert_int_equal(profile_judge(PROFILE_FIXED, &c), PROFILE_FIXED);
	c = (struct profile_count){ 0 };
	assert_int_equal(profile_judge(PROFILE_FIXED, &c), PROFILE_FIXED);
}

/*
 * 1000 precise samples of a million instructions.  Wilson: of a tenth (0.1 + z^2/2n)/(1 + z^2/n) is 0.10108, and to either side are
 * z/(1 + z^2/n) sqrt(0.09/n + z^2/4n^2) = 0.01562.  Of none z^2/n/(1 + z^2/n) = 0.0027.
 */
static void raw_counts_that_only_chance_is_wrong_with_have_its_interval(void **state)
{
	struct profile p = { .meta = { .chance_samples = 1000, .chance_insn = 1e6 } };
	double lo, hi;

	(void)state;
	profile_chance(&p, 1e5, &lo, &hi);
	assert_float_equal(lo, 85458, 1);
	assert_float_equal(hi, 116702, 1);
	profile_chance(&p, 0, &lo, &hi);
	assert_float_equal(lo, 0, 1e-6);
	assert_float_equal(hi, 2699, 1);
	p.meta.chance_samples = 0;
	profile_chance(&p, 1e5, &lo, &hi);
	assert_true(isnan(lo) && isnan(hi));
}

/*
 * Region 0: two blocks, 101 draws: block 0 ran 1000 + d times, block 1 500 - d.
 * Region 1: one block, 50 draws, always 7.
 */
static struct profile *two_regions(void)
{
	struct profile *p = calloc(1, sizeof(*p));

	p->n_regions = 2;
	p->regions = calloc(2, sizeof(*p->regions));
	p->regions[0].n_blocks = 2;
	p->regions[0].n_draws = 101;
	p->regions[0].draws = calloc(202, sizeof(float));
	for (int d = 0; d <= 100; d++) {
		p->regions[0].draws[2 * d] = (float)(1000 + d);
		p->regions[0].draws[2 * d + 1] = (float)(500 - d);
	}
	p->regions[1].n_blocks = 1;
	p->regions[1].n_draws = 50;
	p->regions[1].draws = calloc(50, sizeof(float));
	for (int d = 0; d < 50; d++)
		p->regions[1].draws[d] = 7;
	p->n_insns = 5;
	p->insns = calloc(5, sizeof(*p->insns));
	p->insns[0] = (struct profile_insn){ .region = 0, .block = 0 };
	p->insns[1] = (struct profile_insn){ .region = 0, .block = 1 };
	p->insns[2] = (struct profile_insn){ .region = 1, .block = 0 };
	p->insns[3] = (struct profile_insn){ .region = -1, .block = UINT32_MAX, .count = { .insn = 40 } };
	p->insns[4] = (struct profile_insn){ .region = 0, .block = UINT32_MAX, .count = { .insn = 2 } };
	return p;
}

/* 1000..1100 evenly: mean 1050, quantiles at 0.05 and 0.95 are 1005 and 1095. */
static void one_block_has_the_quantiles_of_its_draws(void **state)
{
	struct profile *p = two_regions();
	const uint32_t insns[] = { 0 };
	double mean, lo, hi;

	(void)state;
	profile_interval(p, insns, 1, &mean, &lo, &hi);
	assert_float_equal(mean, 1050, 1e-9);
	assert_float_equal(lo, 1005, 1e-9);
	assert_float_equal(hi, 1095, 1e-9);
	profile_free(p);
}

/* The blocks of one draw belong together: 1000 + d + 500 - d = 1500 in each. */
static void blocks_of_one_region_are_summed_draw_by_draw(void **state)
{
	struct profile *p = two_regions();
	const uint32_t insns[] = { 0, 1 };
	double mean, lo, hi;

	(void)state;
	profile_interval(p, insns, 2, &mean, &lo, &hi);
	assert_float_equal(mean, 1500, 1e-9);
	assert_float_equal(lo, 1500, 1e-9);
	assert_float_equal(hi, 1500, 1e-9);
	profile_free(p);
}

/*
 * What a kernel is lifted to over the draws: 2 (1000 + d) + 3 (500 - d) = 3500 - d, so the blocks'
 * errors partly cancel, and 0.5 x 40 raw, as much in doubt: mean 3450 + 20, 3405 to 3495 + 40.
 */
static void weighted_blocks_are_summed_draw_by_draw(void **state)
{
	struct profile *p = two_regions();
	const uint32_t insns[] = { 3, 0, 1 };
	const double weights[] = { 0.5, 2, 3 };
	double mean, lo, hi;

	(void)state;
	profile_weighted_interval(p, insns, weights, 3, &mean, &lo, &hi);
	assert_float_equal(mean, 3470, 1e-9);
	assert_float_equal(lo, 3405, 1e-9);
	assert_float_equal(hi, 3535, 1e-9);
	profile_free(p);
}

/* 40 raw and 2 of an unknown block are in doubt, 7 of the other region are certain. */
static void what_was_not_drawn_adds_its_count(void **state)
{
	struct profile *p = two_regions();
	const uint32_t insns[] = { 3, 0, 4, 2 };
	double mean, lo, hi;

	(void)state;
	profile_interval(p, insns, 4, &mean, &lo, &hi);
	assert_float_equal(mean, 1050 + 49, 1e-9);
	assert_float_equal(lo, 1005 + 7, 1e-9);
	assert_float_equal(hi, 1095 + 7 + 2 * 42, 1e-9);
	profile_free(p);
}

/* Of the 1000..1100 executions 20 are raw: the interval is wider by 20 on either side, twice that for weight 2. */
static void raw_counts_among_the_draws_widen_the_interval(void **state)
{
	struct profile *p = two_regions();
	const uint32_t insns[] = { 0 };
	const double weights[] = { 2 };
	double mean, lo, hi;

	(void)state;
	p->regions[0].doubt = calloc(2, sizeof(float));
	p->regions[0].doubt[0] = 20;
	assert_float_equal(profile_doubt(p, &p->insns[0]), 20, 0);
	assert_float_equal(profile_doubt(p, &p->insns[1]), 0, 0);
	assert_float_equal(profile_doubt(p, &p->insns[3]), 0, 0);
	profile_interval(p, insns, 1, &mean, &lo, &hi);
	assert_float_equal(mean, 1050, 1e-9);
	assert_float_equal(lo, 985, 1e-9);
	assert_float_equal(hi, 1115, 1e-9);
	profile_weighted_interval(p, insns, weights, 1, &mean, &lo, &hi);
	assert_float_equal(lo, 2 * 985, 1e-9);
	profile_free(p);
}

static void without_draws_there_is_no_interval(void **state)
{
	struct profile *p = two_regions();
	const uint32_t insns[] = { 3, 4 };
	double mean, lo, hi;

	(void)state;
	profile_interval(p, insns, 2, &mean, &lo, &hi);
	assert_float_equal(mean, 42, 1e-9);
	assert_true(isnan(lo) && isnan(hi));
	profile_interval(p, NULL, 0, &mean, &lo, &hi);
	assert_float_equal(mean, 0, 1e-9);
	assert_true(isnan(lo));
	profile_free(p);
}

/*
 * Two regions with draws 0..99 each in the same order.  Paired by position
 * the sum would be 0..198 with a 90% interval of 178; independent ones have
 * sd sqrt(2) * 28.9 = 40.8 and an interval of 1.29 sd * 2 or so: about 137
 * (a triangle's: 200 - 2 * 200 * sqrt(0.05 / 2) = 136.8).
 */
static void draws_of_two_regions_are_independent(void **state)
{
	struct profile *p = calloc(1, sizeof(*p));
	const uint32_t insns[] = { 0, 1 };
	double mean, lo, hi;

	(void)state;
	p->n_regions = 2;
	p->regions = calloc(2, sizeof(*p->regions));
	p->n_insns = 2;
	p->insns = calloc(2, sizeof(*p->insns));
	for (int r = 0; r < 2; r++) {
		p->regions[r].n_blocks = 1;
		p->regions[r].n_draws = 1000;
		p->regions[r].draws = calloc(1000, sizeof(float));
		for (int d = 0; d < 1000; d++)
			p->regions[r].draws[d] = (float)d / 10;
		p->insns[r] = (struct profile_insn){ .region = r };
	}
	profile_interval(p, insns, 2, &mean, &lo, &hi);
	assert_float_equal(mean, 2 * 49.95, 1e-3);
	assert_true(hi - lo > 127 && hi - lo < 147);
	profile_free(p);
}

/* A line that is corrected but for a little of it is not raw, as its function is not. */
static void a_little_that_is_raw_makes_no_sum_raw(void **state)
{
	struct profile p = { .meta = { .insn_event = 0, .cyc_event = -1 } };
	struct profile_insn corrected = { .status = PROFILE_FIXED, .count = { .insn = 70, .raw_insn = 30 } };
	struct profile_insn raw = { .status = PROFILE_RAW, .count = { .insn = 30, .raw_insn = 30 } };
	struct profile_insn weak = { .status = PROFILE_WEAK, .count = { .insn = 1, .raw_insn = 1 } };
	struct profile_worst worst = { 0 };

	(void)state;
	profile_worst_add(&worst, &p, &corrected);
	profile_worst_add(&worst, &p, &raw);
	assert_int_equal(profile_worst_status(&worst), PROFILE_FIXED);
	profile_worst_add(&worst, &p, &raw);
	profile_worst_add(&worst, &p, &raw);
	assert_int_equal(profile_worst_status(&worst), PROFILE_RAW);
	profile_worst_add(&worst, &p, &weak);
	assert_int_equal(profile_worst_status(&worst), PROFILE_WEAK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_live_as_long_as_the_profile),
		cmocka_unit_test(freeing_no_profile_is_fine),
		cmocka_unit_test(status_words_are_those_of_the_manual),
		cmocka_unit_test(what_is_not_known_to_5_percent_is_not_fixed),
		cmocka_unit_test(raw_counts_that_only_chance_is_wrong_with_have_its_interval),
		cmocka_unit_test(one_block_has_the_quantiles_of_its_draws),
		cmocka_unit_test(blocks_of_one_region_are_summed_draw_by_draw),
		cmocka_unit_test(weighted_blocks_are_summed_draw_by_draw),
		cmocka_unit_test(what_was_not_drawn_adds_its_count),
		cmocka_unit_test(raw_counts_among_the_draws_widen_the_interval),
		cmocka_unit_test(without_draws_there_is_no_interval),
		cmocka_unit_test(draws_of_two_regions_are_independent),
		cmocka_unit_test(a_little_that_is_raw_makes_no_sum_raw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
