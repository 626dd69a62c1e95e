/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 39: what intervals count that cross from one scope to another. */
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

#include "correct/evidence/borders.h"

enum { EVENT = 1, OTHER = 2 };

static const int events[] = { EVENT };

static void cross(struct edges *e, struct borders *b, int32_t from, int32_t to, double insn, double cyc,
                  double count)
{
	assert_int_equal(borders_add(b,
	                             &(struct border){ edges_n_crossings(e), from, to, events, &count, 1 }),
	                 0);
	assert_int_equal(edges_cross(e, 0, from, to, insn, cyc), 0);
}

static void settle(struct edges *e)
{
	struct edge_samples many[2] = { { 1e4, 1e4 }, { 1e4, 1e4 } };
	struct edge_sum sums[2] = { 0 };

	assert_int_equal(edges_settle(e, 0, many, sums), 0);
}

/* Four crossings of 1000 instructions, half on either side as no cycles say otherwise; all count 300. */
static void joined(const struct ratio inside[2], struct ratio out[2])
{
	const double share[2] = { 0.2, 0.2 };
	struct edges *e = edges_new(2);
	struct borders *b = borders_new();

	for (int i = 0; i < 4; i++)
		cross(e, b, i % 2, !(i % 2), 1000, 0, 300);
	settle(e);
	assert_int_equal(borders_join(b, e, EVENT, inside, share, out, 2), 0);
	borders_free(b);
	edges_free(e);
}

/*
 * Inside, scopes 0 and 1 count 0.1 and 0.2 an instruction, so 50 + 100 of the
 * 300.  Scope 1 is the same everywhere, so the other 150 are scope 0's: 200 of
 * its 500 there.  These are a fifth of it: 0.8 * 0.1 + 0.2 * 0.4 = 0.16.
 */
static void what_differs_is_the_side_s_that_varies(void **state)
{
	const struct ratio inside[2] = { { .ratio = 0.1, .counted_insn = 1e5, .spread = 0.2 },
		                         { .ratio = 0.2, .counted_insn = 1e5 } };
	struct ratio out[2];

	(void)state;
	joined(inside, out);
	assert_float_equal(out[0].ratio, 0.16, 1e-9);
	assert_float_equal(out[1].ratio, 0.2, 1e-9);
	assert_float_equal(out[0].se, 0, 1e-9);
}

/*
 * Both vary alike: 75 more to each, and as it may be the other's, sqrt(1/4) of
 * 150 is not known of either's 500 instructions: 0.2 * 75 / 500 = 0.03.
 */
static void what_may_be_either_s_is_noise_of_both(void **state)
{
	const struct ratio inside[2] = { { .ratio = 0.1, .counted_insn = 1e5, .spread = 0.2 },
		                         { .ratio = 0.2, .counted_insn = 1e5, .spread = 0.2 } };
	struct ratio out[2];

	(void)state;
	joined(inside, out);
	assert_float_equal(out[0].ratio, 0.8 * 0.1 + 0.2 * (50 + 75) / 500, 1e-9);
	assert_float_equal(out[1].ratio, 0.8 * 0.2 + 0.2 * (100 + 75) / 500, 1e-9);
	assert_float_equal(out[0].se, 0.03, 1e-9);
}

/* Neither varies, so what differs is code of neither: no ratio moves, but is less sure. */
static void what_is_too_far_off_is_neither_s(void **state)
{
	const struct ratio inside[2] = { { .ratio = 0.1, .counted_insn = 1e5 },
		                         { .ratio = 0.2, .counted_insn = 1e5 } };
	struct ratio out[2];

	(void)state;
	joined(inside, out);
	assert_float_equal(out[0].ratio, 0.1, 1e-9);
	assert_float_equal(out[1].ratio, 0.2, 1e-9);
	assert_float_equal(out[0].se, 0.2 * 75 / 500, 1e-9);
}

/* Half of a standard deviation of its intervals, of a fifth of it. */
static void edges_at_which_nothing_was_counted_are_noise(void **state)
{
	const struct ratio inside[1] = {
		{ .ratio = 0.1, .counted_insn = 1e5, .spread = 0.2, .se = 0.02, .se_inside = 0.015 }
	};
	const double share[1] = { 0.2 };
	struct edges *e = edges_new(1);
	struct borders *b = borders_new();
	struct ratio out[1];

	(void)state;
	assert_int_equal(borders_join(b, e, OTHER, inside, share, out, 1), 0);
	assert_float_equal(out[0].ratio, 0.1, 0);
	assert_float_equal(out[0].se, 0.025, 1e-9);
	borders_free(b);
	edges_free(e);
}

/* A program of two scopes in turn; where it is, in instructions. */
struct program {
	double at;
};

/* Of one turn, 20,000 instructions of scope 0 count 0.1 each, then 10,000 0.3; 20,000 of scope 1 count 0.2. */
static const double ends[] = { 20000, 30000, 50000 }, ratios[] = { 0.1, 0.3, 0.2 }, paces[] = { 2, 2, 1 };

static int part_at(double at)
{
	double in_turn = fmod(at, ends[2]);

	return in_turn < ends[0] ? 0 : in_turn < ends[1] ? 1 : 2;
}

static void run(struct program *p, double insn, double *count, double *cyc)
{
	*count = *cyc = 0;
	while (insn > 0) {
		int part = part_at(p->at);
		double left = ends[part] - fmod(p->at, ends[2]), n = fmin(insn, left);

		*count += n * ratios[part];
		*cyc += n / paces[part];
		/* Not short of the end by a rounding. */
		p->at += n == left ? left + 1e-6 : n;
		insn -= n;
	}
}

/*
 * Intervals between samples of scope 0 alone have too little of what it ends
 * with: those that come to it mostly go on into scope 1.  Their ratio is 5% too
 * small; of that less than a tenth is left.
 */
static void code_next_to_an_edge_has_its_part(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct edges *e = edges_new(2);
	struct borders *b = borders_new();
	struct ratios *r[2] = { ratios_new(), ratios_new() };
	struct program p = { 0 };
	struct edge_samples many[2] = { { 1e4, 1e4 }, { 1e4, 1e4 } };
	struct edge_sum sums[2] = { 0 };
	double inside[2] = { 0 }, share[2], truth = (20000 * 0.1 + 10000 * 0.3) / 30000;
	struct ratio in[2], out[2];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		int32_t from = part_at(p.at) == 2, to;
		double insn = gsl_ran_flat(rng, 0, 10000), count, cyc;
		uint32_t one = UINT32_MAX;

		run(&p, insn, &count, &cyc);
		to = part_at(p.at) == 2;
		if (from != to) {
			cross(e, b, from, to, insn, cyc, count);
			continue;
		}
		inside[to] += insn;
		assert_int_equal(edges_inside(e, 0, to, insn, cyc), 0);
		assert_int_equal(ratios_add(r[to],
		                            &(struct ratio_interval){ .insn = insn,
		                                                      .cyc = cyc,
		                                                      .events = events,
		                                                      .counts = &count,
		                                                      .n = 1 },
		                            &one),
		                 0);
	}
	assert_int_equal(edges_settle(e, 0, many, sums), 0);
	for (int s = 0; s < 2; s++) {
		share[s] = sums[s].insn / (sums[s].insn + inside[s]);
		assert_int_equal(ratios_of(r[s], EVENT, inside[s], &in[s]), 0);
		ratios_free(r[s]);
	}
	assert_int_equal(borders_join(b, e, EVENT, in, share, out, 2), 0);
	assert_true(in[0].ratio < truth * 0.97);
	assert_float_equal(out[0].ratio, truth, 0.1 * (truth - in[0].ratio));
	assert_float_equal(out[0].ratio, truth, 2.5 * out[0].se);
	assert_float_equal(out[1].ratio, 0.2, 2.5 * out[1].se + 1e-4);
	borders_free(b);
	edges_free(e);
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_differs_is_the_side_s_that_varies),
		cmocka_unit_test(what_may_be_either_s_is_noise_of_both),
		cmocka_unit_test(what_is_too_far_off_is_neither_s),
		cmocka_unit_test(edges_at_which_nothing_was_counted_are_noise),
		cmocka_unit_test(code_next_to_an_edge_has_its_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
