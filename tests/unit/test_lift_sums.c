/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "report/lift/lift.h"
#include "report/lift/stats.h"

static void never(const struct tool *t, const struct tool_block *b, struct tool_prediction *out)
{
	(void)t;
	(void)b;
	(void)out;
}

static const struct tool_ops blockwise = { .name = "blockwise", .predict = never };

enum { N_BLOCKS = 6, N_KERNELS = 3, N_TOOLS = 2 };

/* Three kernels of two blocks, two tools; what each test changes. */
struct fixture {
	struct lift l;
	struct tool tools[N_TOOLS];
	struct lift_kernel kernels[N_KERNELS];
	struct lift_block blocks[N_BLOCKS];
	struct tool_prediction predictions[N_BLOCKS * N_TOOLS];
};

static struct fixture *fixture_new(void)
{
	static const double n[N_BLOCKS] = { 10, 1000, 5, 200, 1, 50 };
	static const double cyc[N_BLOCKS][N_TOOLS] = { { 4, 2 }, { 1.5, 1 }, { 8, 4 },
		                                       { 2, 3 }, { 10, 5 },  { 0.5, 1 } };
	static const double measured[N_KERNELS] = { 1400, 550, 70 };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	for (size_t b = 0; b < N_BLOCKS; b++) {
		f->blocks[b] = (struct lift_block){ .kernel = (uint32_t)b / 2, .n_insn = 2, .n = n[b] };
		for (size_t t = 0; t < N_TOOLS; t++)
			f->predictions[b * N_TOOLS + t].cyc = cyc[b][t];
	}
	for (size_t k = 0; k < N_KERNELS; k++)
		f->kernels[k] = (struct lift_kernel){
			.block0 = 2 * k, .n_blocks = 2, .cyc = measured[k], .insn = 100
		};
	for (size_t t = 0; t < N_TOOLS; t++)
		f->tools[t].ops = &blockwise;
	f->l = (struct lift){ .exact = true,
		              .kernels = f->kernels,
		              .n_kernels = N_KERNELS,
		              .blocks = f->blocks,
		              .n_blocks = N_BLOCKS,
		              .tools = f->tools,
		              .n_tools = N_TOOLS,
		              .predictions = f->predictions };
	return f;
}

static void fixture_free(struct fixture *f)
{
	for (size_t k = 0; k < N_KERNELS; k++)
		free(f->kernels[k].sums);
	free(f->l.scores);
	free(f);
}

/* 10 x 4 + 1000 x 1.5 = 1540, of 1400 measured +10%; 5 x 8 + 200 x 2 = 440, of 550 -20%. */
static void lifted_is_the_sum_of_executions_times_predictions(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	assert_int_equal(lift_sum_up(&f->l), 0);
	assert_float_equal(f->kernels[0].sums[0].cyc, 1540, 1e-9);
	assert_float_equal(f->kernels[0].sums[0].error, 0.1, 1e-9);
	assert_float_equal(f->kernels[1].sums[0].cyc, 440, 1e-9);
	assert_float_equal(f->kernels[1].sums[0].error, -0.2, 1e-9);
	fixture_free(f);
}

/*
 * The third: 1 x 10 + 50 x 0.5 = 35 of 70, -50%.  |error| 0.1 0.2 0.5: mean
 * 0.8/3, median 0.2, quartiles half way to the neighbours: 0.15 and 0.35.
 * Lifted 1540 440 35 and measured 1400 550 70 are in the same order: tau 1.
 */
static void scores_are_of_absolute_errors(void **state)
{
	struct fixture *f = fixture_new();
	const struct lift_score *s;

	(void)state;
	assert_int_equal(lift_sum_up(&f->l), 0);
	s = &f->l.scores[0];
	assert_int_equal(s->n_kernels, 3);
	assert_int_equal(s->n_out, 0);
	assert_float_equal(s->mean, 0.8 / 3, 1e-9);
	assert_float_equal(s->median, 0.2, 1e-9);
	assert_float_equal(s->q1, 0.15, 1e-9);
	assert_float_equal(s->q3, 0.35, 1e-9);
	assert_float_equal(s->worst, 0.5, 1e-9);
	assert_float_equal(s->tau, 1, 1e-9);
	assert_float_equal(s->coverage, 1, 1e-9);
	fixture_free(f);
}

/* One block that fails puts the tool out for its kernel, not for the others, and not the other tool. */
static void a_tool_that_fails_on_a_block_is_out_for_that_kernel(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	f->predictions[3 * N_TOOLS].cyc = NAN;
	assert_int_equal(lift_sum_up(&f->l), 0);
	assert_true(isnan(f->kernels[1].sums[0].cyc));
	assert_int_equal(f->kernels[1].sums[0].n_failed, 1);
	assert_int_equal(f->kernels[1].sums[0].first_failed, 3);
	assert_float_equal(f->kernels[1].sums[1].cyc, 5 * 4 + 200 * 3, 1e-9);
	assert_int_equal(f->l.scores[0].n_kernels, 2);
	assert_int_equal(f->l.scores[0].n_out, 1);
	assert_float_equal(f->l.scores[0].mean, (0.1 + 0.5) / 2, 1e-9);
	assert_float_equal(f->l.scores[0].coverage, 2.0 / 3, 1e-9);
	assert_int_equal(f->l.scores[1].n_out, 0);
	fixture_free(f);
}

/* 15 misses in 100 loads are borne; 16 keep their row and are in no average. */
static void kernels_that_miss_are_in_no_average(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	f->kernels[1].n_load = f->kernels[2].n_load = 100;
	f->kernels[1].n_miss = 15;
	f->kernels[2].n_miss = 16;
	assert_int_equal(lift_sum_up(&f->l), 0);
	assert_float_equal(f->kernels[2].sums[0].error, -0.5, 1e-9);
	assert_int_equal(f->l.scores[0].n_kernels, 2);
	assert_float_equal(f->l.scores[0].worst, 0.2, 1e-9);
	assert_int_equal(f->l.scores[0].n_out, 0);
	fixture_free(f);
}

/* What unreliable executions add up to says nothing of a tool, and is told. */
static void unreliable_kernels_are_in_no_average(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	assert_int_equal(lift_verdict(&f->l), 0);
	f->kernels[0].status = PROFILE_WEAK;
	f->kernels[2].status = PROFILE_UNRELIABLE;
	assert_int_equal(lift_sum_up(&f->l), 0);
	assert_float_equal(f->kernels[2].sums[0].error, -0.5, 1e-9);
	assert_int_equal(f->l.scores[0].n_kernels, 2);
	assert_float_equal(f->l.scores[0].worst, 0.2, 1e-9);
	assert_int_equal(lift_verdict(&f->l), -SP_EDOUBT);
	fixture_free(f);
}

static void without_measured_cycles_there_is_no_error(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	for (size_t k = 0; k < N_KERNELS; k++)
		f->kernels[k].cyc = NAN;
	assert_int_equal(lift_sum_up(&f->l), 0);
	assert_float_equal(f->kernels[0].sums[0].cyc, 1540, 1e-9);
	assert_true(isnan(f->kernels[0].sums[0].error));
	assert_int_equal(f->l.scores[0].n_kernels, 0);
	assert_true(isnan(f->l.scores[0].mean));
	fixture_free(f);
}

/* 1540 cycles in 2 x 10 + 2 x 1000 = 2020 instructions; exact ones have no interval. */
static void cycles_an_instruction_are_lifted_cycles_over_instructions(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	assert_int_equal(lift_sum_up(&f->l), 0);
	assert_float_equal(f->kernels[0].sums[0].cpi, 1540.0 / 2020, 1e-12);
	assert_true(isnan(f->kernels[0].sums[0].cpi_lo));
	fixture_free(f);
}

/* The first kernel's two blocks, of two instructions each, are all of a region with two draws. */
struct drawn {
	struct profile profile;
	struct profile_region region;
	struct profile_insn insns[4];
	float draws[4];
	int32_t profile_module;
};

static void draw_from(struct fixture *f, struct drawn *d)
{
	static const float draws[] = { 10, 1000, 20, 990 };

	*d = (struct drawn){ .region = { .n_blocks = 2, .n_draws = 2 } };
	memcpy(d->draws, draws, sizeof(draws));
	d->region.draws = d->draws;
	for (uint32_t i = 0; i < 4; i++)
		d->insns[i] = (struct profile_insn){ .vaddr = i, .block = i / 2 };
	d->profile =
	        (struct profile){ .regions = &d->region, .n_regions = 1, .insns = d->insns, .n_insns = 4 };
	f->l.profile = &d->profile;
	f->l.profile_module = &d->profile_module;
	f->l.exact = false;
	f->l.n_kernels = 1;
	for (size_t b = 0; b < 2; b++) {
		f->blocks[b].n = (draws[b] + draws[b + 2]) / 2;
		f->blocks[b].code = (struct tool_block){ .vaddr = 2 * b, .n_bytes = 2 };
	}
}

/*
 * The draws are 10 x 4 + 1000 x 1.5 = 1540 and 20 x 4 + 990 x 1.5 = 1565
 * cycles, in 2020 instructions both; their mean is 1552.5.  The 5% and 95%
 * points of two draws lie 5% of their distance within them.
 */
static void executions_known_of_each_other_lift_to_a_quotient_with_its_interval(void **state)
{
	struct fixture *f = fixture_new();
	struct drawn d;
	const struct lift_sum *s;

	(void)state;
	draw_from(f, &d);
	f->l.relative = true;
	assert_int_equal(lift_sum_up(&f->l), 0);
	s = &f->kernels[0].sums[0];
	assert_float_equal(s->cpi, 1552.5 / 2020, 1e-9);
	assert_float_equal(s->cpi_lo, 1541.25 / 2020, 1e-9);
	assert_float_equal(s->cpi_hi, 1563.75 / 2020, 1e-9);
	assert_true(isnan(s->cyc) && isnan(s->lo) && isnan(s->error));
	assert_int_equal(f->l.scores[0].n_kernels, 0);
	assert_float_equal(f->l.scores[0].coverage, 1, 1e-9);
	f->l.n_kernels = N_KERNELS;
	fixture_free(f);
}

/* Two kernels of two instructions each in one region: the remedy is another than for one by itself. */
static void kernels_that_share_a_region_are_to_be_recorded_apart(void **state)
{
	struct fixture *f = fixture_new();
	struct drawn d;

	(void)state;
	draw_from(f, &d);
	f->l.n_kernels = 2;
	for (size_t k = 0; k < 2; k++) {
		f->kernels[k].vaddr = 2 * k;
		f->kernels[k].end_vaddr = 2 * k + 2;
		f->kernels[k].status = PROFILE_UNRELIABLE;
	}
	assert_int_equal(lift_verdict(&f->l), -SP_EDOUBT);
	assert_non_null(strstr(sp_error_text(), "a run of its own"));
	f->kernels[1].status = PROFILE_FIXED;
	assert_int_equal(lift_verdict(&f->l), -SP_EDOUBT);
	assert_null(strstr(sp_error_text(), "a run of its own"));
	f->l.n_kernels = N_KERNELS;
	fixture_free(f);
}

/* Over the same draws. */
static void corrected_executions_lift_to_cycles_with_their_interval(void **state)
{
	struct fixture *f = fixture_new();
	struct drawn d;
	const struct lift_sum *s;

	(void)state;
	draw_from(f, &d);
	assert_int_equal(lift_sum_up(&f->l), 0);
	s = &f->kernels[0].sums[0];
	assert_float_equal(s->cyc, 1552.5, 1e-9);
	assert_float_equal(s->lo, 1541.25, 1e-9);
	assert_float_equal(s->hi, 1563.75, 1e-9);
	assert_int_equal(f->kernels[0].status, PROFILE_FIXED);
	f->l.n_kernels = N_KERNELS;
	fixture_free(f);
}

/* Draws of 10 x 4 + 1000 x 1.5 = 1540 and 20 x 4 + 500 x 1.5 = 830 cycles: 54% of their mean apart. */
static void a_kernel_with_a_wide_interval_is_weak(void **state)
{
	struct fixture *f = fixture_new();
	struct drawn d;

	(void)state;
	draw_from(f, &d);
	d.draws[3] = 500;
	f->blocks[1].n = 750;
	assert_int_equal(lift_sum_up(&f->l), 0);
	assert_int_equal(f->kernels[0].status, PROFILE_WEAK);
	f->l.n_kernels = N_KERNELS;
	fixture_free(f);
}

/* Of a function with 99 cycles in one region, 1 in another and 5 in none, the first's counts are left. */
static void a_function_keeps_the_counts_of_the_region_with_most_of_its_time(void **state)
{
	struct profile_insn insns[] = { { .region = 1, .count.cyc = 1 },
		                        { .region = 0, .count.cyc = 50 },
		                        { .region = 0, .count.cyc = 49 },
		                        { .region = -1, .count.cyc = 5 },
		                        { .region = 1, .count.cyc = 2, .phys_func = 1 } };
	struct lift_insn counts[5] = { { .n = 7 }, { .n = 7 }, { .n = 7 }, { .n = 7 }, { .n = 7 } };
	struct profile p = { .insns = insns, .n_insns = 5, .n_regions = 2 };
	struct lift l = { .profile = &p, .relative = true };
	struct lift_counts c = { counts, 5 };

	(void)state;
	assert_int_equal(lift_keep_regions(&l, &c), 0);
	assert_true(counts[0].n == 0 && counts[1].n == 7 && counts[2].n == 7 && counts[3].n == 0);
	assert_true(counts[4].n == 7);
}

/*
 * x 1 2 3 4, y 1 3 2 4: of six pairs one is discordant: (5 - 1) / 6.
 * With a tie in x (1 1 2 3) and y 1 2 3 4: five concordant pairs, one tied:
 * 5 / sqrt(5 x 6).
 */
static void tau_counts_pairs_in_order(void **state)
{
	const double up[] = { 1, 2, 3, 4 }, mixed[] = { 1, 3, 2, 4 }, down[] = { 4, 3, 2, 1 },
	             tied[] = { 1, 1, 2, 3 }, flat[] = { 7, 7, 7, 7 };

	(void)state;
	assert_float_equal(stats_tau(up, up, 4), 1, 1e-12);
	assert_float_equal(stats_tau(up, down, 4), -1, 1e-12);
	assert_float_equal(stats_tau(up, mixed, 4), 4.0 / 6, 1e-12);
	assert_float_equal(stats_tau(tied, up, 4), 5 / sqrt(30), 1e-12);
	assert_true(isnan(stats_tau(flat, up, 4)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lifted_is_the_sum_of_executions_times_predictions),
		cmocka_unit_test(scores_are_of_absolute_errors),
		cmocka_unit_test(a_tool_that_fails_on_a_block_is_out_for_that_kernel),
		cmocka_unit_test(kernels_that_miss_are_in_no_average),
		cmocka_unit_test(unreliable_kernels_are_in_no_average),
		cmocka_unit_test(without_measured_cycles_there_is_no_error),
		cmocka_unit_test(cycles_an_instruction_are_lifted_cycles_over_instructions),
		cmocka_unit_test(executions_known_of_each_other_lift_to_a_quotient_with_its_interval),
		cmocka_unit_test(kernels_that_share_a_region_are_to_be_recorded_apart),
		cmocka_unit_test(corrected_executions_lift_to_cycles_with_their_interval),
		cmocka_unit_test(a_function_keeps_the_counts_of_the_region_with_most_of_its_time),
		cmocka_unit_test(a_kernel_with_a_wide_interval_is_weak),
		cmocka_unit_test(tau_counts_pairs_in_order),
	};

	return cmocka_run_group_tests_name("lift sums", tests, NULL, NULL);
}
