/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws are held against the totals that were counted: a scope of 1,000,000 instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "correct/work.h"
#include "profiler/base/err.h"

static int judge(double measured, double fitted, double sd)
{
	struct profile_equation eqs[] = { { "instructions", 1e6, 1e6, 100 },
		                          { "loads", measured, fitted, sd } };
	struct equations_shown shown = { eqs, 2 };

	return solve_judge_totals(&shown, 1e6);
}

static void draws_that_meet_the_totals_are_taken(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 300100, 50), 0);
	assert_int_equal(solve_judge_totals(&(struct equations_shown){ 0 }, 1e6), 0);
}

/* 2% of the instructions are 20,000: more than that, either way, and more than ten times the noise of 1000. */
static void draws_that_leave_a_total_are_refused(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 321000, 1000), -SP_EDOMAIN);
	assert_int_equal(judge(300000, 279000, 1000), -SP_EDOMAIN);
	assert_non_null(strstr(sp_error_text(), "miss the loads counted by 2.1%"));
}

/* 190 of its standard deviations, but 1.9% of the instructions: of no weight in any function. */
static void a_small_miss_of_a_very_exact_total_is_let_pass(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 319000, 100), 0);
}

/* 21,000 are more than 2%, but 9.5 standard deviations of a total that is not known better. */
static void a_miss_within_the_noise_is_let_pass(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 321000, 2210), 0);
}

static void the_total_itself_is_judged_as_any_other(void **state)
{
	struct profile_equation eq = { "instructions", 1e6, 1.03e6, 100 };
	struct equations_shown shown = { &eq, 1 };

	(void)state;
	assert_int_equal(solve_judge_totals(&shown, 1e6), -SP_EDOMAIN);
}

/* A ring of n two-way branches, each a block of its own: n + 1 free flows. */
static int judge_ring(size_t n, bool stacks)
{
	struct flow_region region = { 0 };
	struct problem p = { .region = &region, .n_blocks = n, .n_edges = 2 * n };
	int ret;

	p.edges = calloc(2 * n, sizeof(*p.edges));
	assert_non_null(p.edges);
	for (size_t b = 0; b < n; b++)
		for (size_t way = 0; way < 2; way++)
			p.edges[2 * b + way] = (struct problem_edge){ .from = (uint32_t)b,
				                                      .to = (uint32_t)((b + 1 + way) % n),
				                                      .call = -1 };
	ret = solve_judge_size(&p, NULL, stacks);
	free(p.edges);
	return ret;
}

static void regions_too_large_are_told_at_once(void **state)
{
	(void)state;
	assert_int_equal(judge_ring(1299, false), 0);
	assert_int_equal(judge_ring(1300, false), -SP_EDOMAIN);
	assert_non_null(strstr(sp_error_text(), "1300 blocks with 1301 free flows; branch records (-b)"));
	assert_int_equal(judge_ring(799, true), 0);
	assert_int_equal(judge_ring(800, true), -SP_EDOMAIN);
	assert_null(strstr(sp_error_text(), "(-b)"));
	assert_int_equal(judge_ring(1000000, true), -SP_EDOMAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_that_meet_the_totals_are_taken),
		cmocka_unit_test(draws_that_leave_a_total_are_refused),
		cmocka_unit_test(a_small_miss_of_a_very_exact_total_is_let_pass),
		cmocka_unit_test(a_miss_within_the_noise_is_let_pass),
		cmocka_unit_test(the_total_itself_is_judged_as_any_other),
		cmocka_unit_test(regions_too_large_are_told_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
