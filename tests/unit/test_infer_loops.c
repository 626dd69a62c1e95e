/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/fixture_problem.h"

#include <math.h>

#include "correct/baseline/loops.h"
#include "correct/profile.h"
#include "profiler/base/err.h"
#include "tests/unit/shift_model.h"

/*
 * The hmmer graph with blocks of 4, 2 and 3 instructions; F = 10 times
 * through all three, 20 times past the second.  Cycles so that c = 1 in the
 * first and third block, 2 in the second: C = n c = 30 30 30 30, 20 20, 30 30 30.
 */
static const uint32_t HMMER[] = { 4, 2, 3 };
static const double F_HMMER[] = { 10, 20 };

static void make_hmmer(struct fixture *f, double skid_cyc)
{
	const double cyc[] = { 30, 30, 30, 30, 20, 20, 30, 30, 30 };

	fixture_hmmer(f, HMMER);
	memcpy(f->p->seen_cyc, cyc, sizeof(cyc));
	f->p->total_cyc = 250;
	f->p->total_insn = 230;
	for (int i = 0; i < 9; i++) /* what a profiler without skid would see: n_i */
		f->p->seen_insn[i] = i == 4 || i == 5 ? 10 : 30;
	skid_dist_constant(&f->p->skid, skid_cyc);
}

/* eq. 3: |K| = 4 + 2 + 3 = 9 and 4 + 3 = 7: 10 * 9 + 20 * 7 = 230. */
static void eq_3_adds_up_all_instructions(void **state)
{
	struct loops_model m;
	struct fixture f;

	(void)state;
	make_hmmer(&f, 2);
	assert_int_equal(loops_model_init(&m, f.p, &f.loops, 8), 0);
	assert_true(m.size[0] == 9 && m.size[1] == 7);
	assert_true(F_HMMER[0] * m.size[0] + F_HMMER[1] * m.size[1] == 230);
	loops_model_fini(&m);
	fixture_fini(&f);
}

/* [SKID] (4): the first and third block are in both loops, the second in one. */
static void eq_4_sums_the_loops_that_hold_a_block(void **state)
{
	struct loops_model m;
	struct fixture f;
	double n[3];

	(void)state;
	make_hmmer(&f, 2);
	assert_int_equal(loops_model_init(&m, f.p, &f.loops, 8), 0);
	loops_executions(&m, F_HMMER, n);
	assert_true(n[0] == 30 && n[1] == 10 && n[2] == 30);
	loops_model_fini(&m);
	fixture_fini(&f);
}

/* [SKID] (5) */
static void eq_5_is_cycles_over_executions(void **state)
{
	(void)state;
	assert_true(loops_cycles(60, 30) == 2);
	assert_true(loops_cycles(0, 30) == 0);
	assert_true(loops_cycles(60, 0) == 0); /* in no loop that runs: not asked for */
}

/*
 * [SKID] (6): S = 2, that is 1.5 to 2.5.  The loop past the second block has c = 1
 * throughout: every place is seen once a lap, blocks 4 and 3 times.  The
 * loop through it retires at 1 2 3 4, 6 8, 9 10 11.  In the second block,
 * (4, 8], land 3 4 6 for S in (1.5, 2] and 2 3 4 for S in (2, 2.5]: 3.  In
 * the first, (0, 4], land 10 11 1 2, or 9 10 11 1: 4.  The third has the
 * other 2.  So 10 * (4 3 2) + 20 * (4 0 3) = 120 30 80.
 */
static void eq_6_predicts_where_samples_land(void **state)
{
	struct loops_model m;
	struct fixture f;
	double landed[3] = { 0 };

	(void)state;
	make_hmmer(&f, 2);
	assert_int_equal(loops_model_init(&m, f.p, &f.loops, 8), 0);
	loops_executions(&m, F_HMMER, m.n_exec);
	loops_land(&m, 0, 1, landed);
	assert_float_equal(landed[0], 4, 1e-9);
	assert_float_equal(landed[1], 3, 1e-9);
	assert_float_equal(landed[2], 2, 1e-9);
	loops_predict(&m, F_HMMER, landed);
	assert_float_equal(landed[0], 120, 1e-9);
	assert_float_equal(landed[1], 30, 1e-9);
	assert_float_equal(landed[2], 80, 1e-9);
	loops_model_fini(&m);
	fixture_fini(&f);
}

/* [SKID] (7): seen without skid 120 20 90, predicted 120 30 80: phi = 0 + 100 + 100.  Without skid nothing is amiss. */
static void eq_7_sums_squares_over_blocks(void **state)
{
	struct loops_model m;
	struct fixture f;

	(void)state;
	make_hmmer(&f, 2);
	assert_int_equal(loops_model_init(&m, f.p, &f.loops, 8), 0);
	assert_float_equal(loops_misfit(&m, F_HMMER), 200, 1e-7);
	loops_model_fini(&m);
	fixture_fini(&f);
	make_hmmer(&f, 0);
	assert_int_equal(loops_model_init(&m, f.p, &f.loops, 8), 0);
	assert_float_equal(loops_misfit(&m, F_HMMER), 0, 1e-9);
	loops_model_fini(&m);
	fixture_fini(&f);
}

/* Two cells of a skid spread evenly from 10 to 30 have the corners 10, 20, 30 and one height, 1/20. */
static void the_density_of_the_skid_is_made_of_steps(void **state)
{
	struct loops_knot k[4];
	struct skid_dist d;
	size_t n;

	(void)state;
	for (int q = 0; q < SKID_POINTS; q++)
		d.s_cyc[q] = 10 + 20.0 * q / (SKID_POINTS - 1);
	n = loops_knots(&d, 2, k);
	assert_int_equal(n, 3);
	assert_float_equal(k[0].s_cyc, 10, 1e-9);
	assert_float_equal(k[1].s_cyc, 20, 1e-9);
	assert_float_equal(k[2].s_cyc, 30, 1e-9);
	assert_float_equal(k[0].coef, 0.05, 1e-9);
	assert_float_equal(k[2].coef, -0.05, 1e-9);
	skid_dist_constant(&d, 40);
	n = loops_knots(&d, 2, k);
	assert_int_equal(n, 2); /* 39.5 to 40.5, both cells */
	assert_float_equal(k[0].s_cyc, 39.5, 1e-9);
	assert_float_equal(k[0].coef, 1, 1e-9);
	assert_float_equal(k[1].s_cyc, 40.5, 1e-9);
	assert_float_equal(k[1].coef, -1, 1e-9);
}

/* Instructions per block, in order, of what loop l sees, by [SKID] (2) at many S between the corners. */
static void landing_by_walking(const struct loops_model *m, size_t l, double a, double b, double *seen)
{
	enum { POINTS = 4000, MAX = 400 };
	double c[MAX], counts[MAX];
	size_t n = 0;
	struct shift_loop loop;

	for (size_t k = m->path0[l]; k < m->path0[l + 1]; k++)
		for (uint32_t i = 0; i < m->p->blocks[m->path[k]].n_insn; i++)
			c[n++] = loops_cycles(m->p->seen_cyc[m->p->blocks[m->path[k]].insn0 + i],
			                      m->n_exec[m->path[k]]);
	assert_int_equal(shift_loop_init(&loop, c, n), 0);
	for (int q = 0; q < POINTS; q++) {
		size_t j = 0;

		shift_counts(&loop, a + (b - a) * (q + 0.5) / POINTS, counts);
		for (size_t k = m->path0[l]; k < m->path0[l + 1]; k++)
			for (uint32_t i = 0; i < m->p->blocks[m->path[k]].n_insn; i++)
				seen[m->path[k]] += counts[j++] / POINTS;
	}
	shift_loop_fini(&loop);
}

/* [SKID] (6) by blocks against [SKID] (1) and (2) instruction by instruction, S within a lap, across laps and over many. */
static void blocks_land_as_their_instructions_do(void **state)
{
	const uint32_t n_insn[] = { 17, 40, 5 };
	const double range[][2] = { { 0, 6 }, { 20, 21 }, { 90, 170 }, { 300, 302 }, { 300, 1300 } };

	(void)state;
	srand(3);
	for (size_t t = 0; t < sizeof(range) / sizeof(*range); t++) {
		double landed[3] = { 0 }, expect[3] = { 0 }, a = range[t][0], b = range[t][1];
		struct loops_model m;
		struct fixture f;

		fixture_hmmer(&f, n_insn);
		for (size_t i = 0; i < f.p->n_insns; i++)
			f.p->seen_cyc[i] = rand() % 3 ? rand() % 90 : 0;
		f.p->total_cyc = f.p->total_insn = 1000;
		for (int q = 0; q < SKID_POINTS; q++)
			f.p->skid.s_cyc[q] = a + (b - a) * q / (SKID_POINTS - 1);
		assert_int_equal(loops_model_init(&m, f.p, &f.loops, 1), 0);
		loops_executions(&m, F_HMMER, m.n_exec);
		loops_land(&m, 0, 1, landed);
		landing_by_walking(&m, 0, a, b, expect);
		assert_float_equal(landed[0] + landed[1] + landed[2], 62, 1e-6);
		for (int k = 0; k < 3;
		     k++) /* 4000 points, each block's count may step by one at each: 62 / 4000 */
			assert_float_equal(landed[k], expect[k], 0.016);
		loops_model_fini(&m);
		fixture_fini(&f);
	}
}

static const struct infer_opts OPTS = INFER_OPTS_DEFAULT;

/*
 * What is seen when the true F are n[0] and n[1] and the model is right:
 * blocks of 40, 30 and 50 instructions of uneven cycles, S = 25 cycles.
 */
static void make_seen(struct fixture *f, double through, double past, double period)
{
	const uint32_t n_insn[] = { 40, 30, 50 };
	const double F[] = { through, past };
	struct loops_model m;

	fixture_hmmer(f, n_insn);
	skid_dist_constant(&f->p->skid, 25);
	for (size_t i = 0; i < f->p->n_insns; i++) {
		double c = i % 7 == 0 ? 9 : i % 3 == 0 ? 0 : 1;
		double n = i >= 40 && i < 70 ? through : through + past;

		f->p->seen_cyc[i] = n * c;
		f->p->total_cyc += n * c;
		f->p->total_insn += n;
	}
	f->p->insn_per_sample = f->p->cyc_per_sample = period;
	assert_int_equal(loops_model_init(&m, f->p, &f->loops, 32), 0);
	loops_predict(&m, F, m.landed);
	for (size_t b = 0; b < 3; b++) /* where in a block does not matter to [SKID] (7) */
		f->p->seen_insn[f->p->blocks[b].insn0] = m.landed[b];
	loops_model_fini(&m);
}

/*
 * 2000 and 3000 laps, one sample in 10 instructions.  The noise allows
 * phi(F) = B sigma^2; the true F has phi = 0, so the mean lies within the interval.
 */
static void the_chain_finds_the_flow_when_the_model_is_right(void **state)
{
	struct solution s;
	struct fixture f;
	double mean = 0;

	(void)state;
	make_seen(&f, 2000, 3000, 10);
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &s), 0);
	assert_int_equal(s.n_draws, OPTS.n_chains * OPTS.n_keep);
	for (size_t k = 0; k < s.n_draws; k++) {
		double insns = 40.0 * s.draws[3 * k] + 30.0 * s.draws[3 * k + 1] + 50.0 * s.draws[3 * k + 2];

		assert_float_equal(insns, f.p->total_insn, 1e-4 * f.p->total_insn); /* eq. 3, in floats */
		assert_float_equal(s.draws[3 * k], s.draws[3 * k + 2], 1e-6 * s.draws[3 * k]);
		mean += s.draws[3 * k + 1] / (double)s.n_draws;
	}
	assert_true(s.loop_lo[0] <= 2000 && 2000 <= s.loop_hi[0]);
	assert_true(s.loop_lo[1] <= 3000 && 3000 <= s.loop_hi[1]);
	assert_float_equal(mean, 2000, 60);
	assert_float_equal(s.edge_flow[0], s.loop_count[0], 1e-6);
	assert_float_equal(s.edge_flow[3], s.loop_count[0] + s.loop_count[1], 1e-6);
	assert_true(s.r_hat < 1.1 && s.n_eff > 100);
	assert_int_equal(s.verdict, VERDICT_OK);
	assert_string_equal(s.why, "");
	assert_true(s.evidence & PROFILE_BY_LOOPS);
	solution_fini(&s);
	fixture_fini(&f);
}

static void the_same_seed_gives_the_same_bits(void **state)
{
	struct infer_opts other = OPTS;
	struct solution a, b, c;
	struct fixture f;

	(void)state;
	make_seen(&f, 2000, 3000, 10);
	other.seed = 2;
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &a), 0);
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &b), 0);
	assert_int_equal(loops_infer(f.p, &f.loops, &other, &c), 0);
	assert_memory_equal(a.draws, b.draws, a.n_draws * 3 * sizeof(*a.draws));
	assert_memory_not_equal(a.draws, c.draws, a.n_draws * 3 * sizeof(*a.draws));
	solution_fini(&a);
	solution_fini(&b);
	solution_fini(&c);
	fixture_fini(&f);
}

/* Skids spread over many laps: samples lie as the cycles do, whatever F is; the interval must say so. */
static void a_skid_of_many_laps_leaves_the_flow_open(void **state)
{
	struct solution s;
	struct fixture f;

	(void)state;
	make_seen(&f, 2000, 3000, 10);
	for (int q = 0; q < SKID_POINTS; q++)
		f.p->skid.s_cyc[q] = 5000 + 100 * q;
	for (size_t b = 0; b < 3; b++) {
		double cyc = 0;

		for (uint32_t i = 0; i < f.p->blocks[b].n_insn; i++)
			cyc += f.p->seen_cyc[f.p->blocks[b].insn0 + i];
		f.p->seen_insn[f.p->blocks[b].insn0] = f.p->total_insn * cyc / f.p->total_cyc;
	}
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_WEAK);
	assert_true(s.loop_hi[0] > 2 * s.loop_lo[0]);
	assert_true(s.loop_lo[0] <= 2000 && 2000 <= s.loop_hi[0]);
	solution_fini(&s);
	fixture_fini(&f);
}

/* One loop has no freedom: |E| / |K| = 7000 / 7 laps. */
static void one_loop_is_settled_by_eq_3(void **state)
{
	const uint32_t n_insn[] = { 3, 4 };
	const struct flow_edge edges[] = { { 0, 1, FLOW_FALL }, { 1, 0, FLOW_TAKEN } };
	const uint32_t lap[] = { 0, 1 };
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_make(&f, n_insn, 2, edges, 2);
	fixture_loop(&f, lap, 2);
	f.p->seen_insn[5] = f.p->total_insn = 7000;
	f.p->seen_cyc[5] = f.p->total_cyc = 9000;
	skid_dist_constant(&f.p->skid, 300);
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_OK);
	assert_int_equal(s.n_free, 1);
	assert_int_equal(s.n_rank, 1);
	assert_float_equal(s.draws[0], 1000, 1e-9);
	assert_float_equal(s.draws[1], 1000, 1e-9);
	assert_float_equal(s.loop_count[0], 1000, 1e-9);
	solution_fini(&s);
	fixture_fini(&f);
}

static void too_many_loops_are_refused_aloud(void **state)
{
	struct solution s;
	struct fixture f;

	(void)state;
	make_seen(&f, 2000, 3000, 10);
	f.loops.capped = true;
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_UNRELIABLE);
	assert_non_null(strstr(s.why, "1000 simple loops"));
	assert_true(s.draws[0] > 0);
	solution_fini(&s);
	fixture_fini(&f);
}

static void a_skid_of_another_machine_is_no_proof(void **state)
{
	struct solution s;
	struct fixture f;

	(void)state;
	make_seen(&f, 2000, 3000, 10);
	f.p->skid_known = false;
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_WEAK);
	assert_non_null(strstr(s.why, "not measured"));
	solution_fini(&s);
	fixture_fini(&f);
}

/* The same with the simple loops looked for: both are found, whatever their order. */
static void the_two_loops_of_hmmer_are_found(void **state)
{
	struct solution s;
	struct fixture f;
	size_t through;

	(void)state;
	make_seen(&f, 2000, 3000, 10);
	assert_int_equal(method_loops(f.p, &OPTS, &s), 0);
	assert_non_null(s.loops);
	assert_int_equal(s.loops->n, 2);
	through = s.loops->v[0].n == 3 ? 0 : 1;
	assert_int_equal(s.loops->v[through].n, 3);
	assert_int_equal(s.loops->v[1 - through].n, 2);
	assert_true(s.loop_lo[through] <= 2000 && 2000 <= s.loop_hi[through]);
	assert_true(s.loop_lo[1 - through] <= 3000 && 3000 <= s.loop_hi[1 - through]);
	solution_fini(&s);
	fixture_fini(&f);
}

/*
 * Block 0 loops on itself and calls the function of block 2 with a loop of
 * its own, which returns to 1: simple loops 0 -> 2 -> 1 -> 0 across the call,
 * and 2 -> 2 within it.  |K| = 5 + 4 + 3 and 4.
 */
static void a_loop_crosses_a_call_and_the_callees_loop_is_its_own(void **state)
{
	const uint32_t n_insn[] = { 5, 3, 4 };
	const struct flow_edge edges[] = {
		{ 0, 2, FLOW_CALL, .call = 0 }, { 0, 1, FLOW_SKIP, .call = 0 }, { 1, 0, FLOW_TAKEN },
		{ 2, 1, FLOW_RET, .call = 0 },  { 2, 2, FLOW_TAKEN },
	};
	struct solution s;
	struct fixture f;

	(void)state;
	fixture_make(&f, n_insn, 3, edges, 5);
	/* 100 laps of the outer loop and 900 of the inner: 12 * 100 + 4 * 900, no skid */
	for (size_t i = 0; i < 12; i++)
		f.p->seen_insn[i] = f.p->seen_cyc[i] = i < 8 ? 100 : 1000;
	f.p->total_insn = f.p->total_cyc = 4800;
	skid_dist_constant(&f.p->skid, 0);
	assert_int_equal(method_loops(f.p, &OPTS, &s), 0);
	assert_int_equal(s.loops->n, 2);
	for (size_t l = 0; l < 2; l++) {
		double want = s.loops->v[l].n == 3 ? 100 : 900;

		assert_true(s.loop_lo[l] <= want && want <= s.loop_hi[l]);
	}
	assert_true(s.edge_flow[0] == s.edge_flow[2]);
	solution_fini(&s);
	fixture_fini(&f);
}

static void what_is_missing_is_named(void **state)
{
	struct solution s;
	struct fixture f;

	(void)state;
	make_seen(&f, 2000, 3000, 10);
	memset(f.p->seen_cyc, 0, f.p->n_insns * sizeof(*f.p->seen_cyc));
	f.p->total_cyc = 0;
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_UNRELIABLE);
	assert_non_null(strstr(s.why, "no cycles"));
	solution_fini(&s);
	f.p->total_insn = 0;
	assert_int_equal(loops_infer(f.p, &f.loops, &OPTS, &s), 0);
	assert_int_equal(s.verdict, VERDICT_UNRELIABLE);
	solution_fini(&s);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eq_3_adds_up_all_instructions),
		cmocka_unit_test(eq_4_sums_the_loops_that_hold_a_block),
		cmocka_unit_test(eq_5_is_cycles_over_executions),
		cmocka_unit_test(eq_6_predicts_where_samples_land),
		cmocka_unit_test(eq_7_sums_squares_over_blocks),
		cmocka_unit_test(the_density_of_the_skid_is_made_of_steps),
		cmocka_unit_test(blocks_land_as_their_instructions_do),
		cmocka_unit_test(the_chain_finds_the_flow_when_the_model_is_right),
		cmocka_unit_test(the_same_seed_gives_the_same_bits),
		cmocka_unit_test(a_skid_of_many_laps_leaves_the_flow_open),
		cmocka_unit_test(one_loop_is_settled_by_eq_3),
		cmocka_unit_test(too_many_loops_are_refused_aloud),
		cmocka_unit_test(a_skid_of_another_machine_is_no_proof),
		cmocka_unit_test(the_two_loops_of_hmmer_are_found),
		cmocka_unit_test(a_loop_crosses_a_call_and_the_callees_loop_is_its_own),
		cmocka_unit_test(what_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
