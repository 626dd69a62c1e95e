/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The free flows, the posterior of eq. 17 and the mix equations (eq. 6), on graphs made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/full.h"
#include "correct/infer/posterior.h"
#include "correct/recording/events.h"
#include "report/profile.h"
#include "tests/unit/fixture_problem.h"

/*
 * The hmmer loop: A (10 instructions) falls into B (5) or jumps to C (4);
 * B falls into C; C jumps back to A.  Two simple loops: ABC and AC.
 */
enum { A, B, C };
static struct problem_edge hmmer_edges[] = {
	{ A, B, 0, -1, FLOW_FALL },
	{ A, C, 1, -1, FLOW_TAKEN },
	{ B, C, 2, -1, FLOW_FALL },
	{ C, A, 3, -1, FLOW_TAKEN },
};
static struct problem_block hmmer_blocks[] = { { 0, 10, 0 }, { 10, 5, 1 }, { 15, 4, 2 } };

static struct flow_region plain_region;

/* Every edge of the hmmer loop positive: three iterations, two through B. */
static const double interior[] = { 2, 1, 2, 3 };

/* A loads in 3 of its instructions, B in 4, C stores in 1; A and C end in branches. */
static void make_insns(struct insn *insns)
{
	memset(insns, 0, 19 * sizeof(*insns));
	for (int i = 0; i < 19; i++)
		insns[i] = (struct insn){ .vaddr = 0x1000 + 4u * (unsigned)i, .size_bytes = 4 };
	for (int i = 0; i < 3; i++)
		insns[i].flags = INSN_LOAD;
	for (int i = 10; i < 14; i++)
		insns[i].flags = INSN_LOAD;
	insns[15].flags = INSN_STORE;
	insns[9].flow = INSN_COND;
	insns[18].flow = INSN_COND;
}

static struct problem make_hmmer(struct insn *insns, double *seen_insn, double *seen_cyc)
{
	struct problem p;

	make_insns(insns);
	p = (struct problem){
		.region = &plain_region,
		.blocks = hmmer_blocks,
		.n_blocks = 3,
		.edges = hmmer_edges,
		.n_edges = 4,
		.insns = insns,
		.n_insns = 19,
		.seen_insn = seen_insn,
		.seen_cyc = seen_cyc,
		.insn_per_sample = 1000,
		.cyc_per_sample = 1000,
	};
	skid_dist_constant(&p.skid, 5000);
	return p;
}

static struct equation *add(struct equations *eqs, const struct problem *p, double value, double sd)
{
	struct equation *eq = equations_add(eqs, p->n_edges);

	assert_non_null(eq);
	eq->value = value;
	eq->sd = sd;
	eq->kind = PROFILE_BY_MIX;
	return eq;
}

/* Weights of an equation that counts instructions with a flag (0 = all). */
static void count_insns(const struct problem *p, struct equation *eq, unsigned flag)
{
	for (size_t e = 0; e < p->n_edges; e++) {
		const struct problem_block *to = &p->blocks[p->edges[e].to];

		for (uint32_t i = 0; i < to->n_insn; i++)
			eq->w[e] += !flag || (p->insns[to->insn0 + i].flags & flag);
	}
}

static void two_simple_loops_leave_two_free_flows(void **state)
{
	struct insn insns[19];
	double seen[19] = { 0 }, f[4], t[2] = { 30, 70 };
	struct problem p = make_hmmer(insns, seen, seen);
	struct space *s = NULL;

	(void)state;
	s = space_new(&p, NULL);
	/* E - V + 1 = 4 - 3 + 1 */
	assert_int_equal(s->n_free, 2);
	space_flow(s, t, f);
	/* What enters a block leaves it. */
	assert_float_equal(f[3], f[0] + f[1], 1e-9);
	assert_float_equal(f[0], f[2], 1e-9);
	for (size_t k = 0; k < 2; k++)
		assert_float_equal(f[s->free_edge[k]], t[k], 1e-9);
	space_free(s);
}

/*
 * A loop (caller 0, 1) that calls a leaf (2) from two places: returns carry
 * what the calls of the same place brought, so one loop has one free flow.
 */
static void a_return_goes_back_to_its_own_call(void **state)
{
	struct problem_edge edges[] = {
		{ 0, 2, 0, 0, FLOW_CALL }, { 1, 2, 1, 1, FLOW_CALL }, { 1, 0, 2, -1, FLOW_TAKEN },
		{ 2, 1, 3, 0, FLOW_RET },  { 2, 0, 4, 1, FLOW_RET },
	};
	struct problem_block blocks[] = { { 0, 1, 0 }, { 1, 1, 1 }, { 2, 1, 2 } };
	struct problem p = {
		.region = &plain_region, .blocks = blocks, .n_blocks = 3, .edges = edges, .n_edges = 5
	};
	struct space *s = NULL;
	double t[2] = { 3, 5 }, f[5];

	(void)state;
	s = space_new(&p, NULL);
	assert_int_equal(s->n_free, 2);
	space_flow(s, t, f);
	assert_float_equal(f[0], f[3], 1e-9);
	assert_float_equal(f[1], f[4], 1e-9);
	space_free(s);
}

/*
 * 1,000,000 iterations, 300,000 of them through B: 14e6 + 0.3e6 x 5 = 15.5e6
 * instructions, 3e6 + 0.3e6 x 4 = 4.2e6 loads.  Totals that exact settle it,
 * whatever the samples say.
 */
static void exact_totals_settle_two_flows(void **state)
{
	struct insn insns[19];
	double seen_insn[19] = { 0 }, seen_cyc[19] = { 0 }, sum = 0;
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct equations eqs = { 0 };
	struct solution sol = { 0 };
	struct space *s = NULL;

	(void)state;
	/* Samples that say the opposite: nearly all of them seen in B. */
	seen_insn[12] = 15e6;
	seen_cyc[12] = 20e6;
	p.total_insn = 15.5e6;
	p.total_cyc = 20e6;
	s = space_new(&p, NULL);
	count_insns(&p, add(&eqs, &p, 15.5e6, 200), 0);
	count_insns(&p, add(&eqs, &p, 4.2e6, 200), INSN_LOAD);
	assert_int_equal(method_full(&p, s, interior, &eqs, 1, &sol), 0);
	for (size_t i = 0; i < sol.n_draws; i++)
		sum += (double)sol.draws[i * 3 + B];
	/* sd of n_B from either equation is below 200; 1000 is five of them */
	assert_float_equal(sum / (double)sol.n_draws, 300000, 1000);
	assert_float_equal(sol.edge_flow[3], 1e6, 1000);
	assert_int_equal(sol.n_free, 2);
	assert_int_equal(sol.n_rank, 2);
	assert_int_equal(sol.verdict, VERDICT_OK);
	solution_fini(&sol);
	equations_fini(&eqs);
	space_free(s);
}

/* Executions of B of 15.5e6 instructions where trip counts say f_CA = ratio f_AB: rightly 300,000 of 1,000,000 iterations. */
static double b_by_trips(double ratio, struct solution *sol)
{
	struct insn insns[19];
	double seen_insn[19] = { [12] = 15e6 }, seen_cyc[19] = { [12] = 20e6 }, sum = 0;
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct equations eqs = { 0 };
	struct space *s = NULL;
	struct equation *eq;

	p.total_insn = 15.5e6;
	p.total_cyc = 20e6;
	s = space_new(&p, NULL);
	count_insns(&p, add(&eqs, &p, 15.5e6, 200), 0);
	eq = add(&eqs, &p, 0, 100);
	eq->kind = PROFILE_BY_TRIPS;
	eq->w[3] = 1;
	eq->w[0] = -ratio;
	assert_int_equal(method_full(&p, s, interior, &eqs, 1, sol), 0);
	for (size_t i = 0; i < sol->n_draws; i++)
		sum += (double)sol->draws[i * 3 + B] / (double)sol->n_draws;
	equations_fini(&eqs);
	space_free(s);
	return sum;
}

/* 1,000,000 iterations, three in ten through B: eq. 8 settles what no event was counted for. */
static void trip_counts_settle_what_totals_do_not(void **state)
{
	struct solution sol = { 0 };

	(void)state;
	assert_float_equal(b_by_trips(10. / 3, &sol), 300000, 1000);
	assert_true(sol.evidence & PROFILE_BY_TRIPS);
	solution_fini(&sol);
}

/*
 * Sd of how often B is passed by, which stacks know to be 1000 +- 50, beside n totals of n_B and stacks that know it, too:
 * {value, sd} each.  The total of instructions is loose: 33,000 +- 10,000.
 */
static double sd_beside(uint8_t kind, size_t n_totals, const double total[2], const double stacks[2],
                        double *mean_b)
{
	struct insn insns[19];
	double seen[19] = { 0 }, cyc[19] = { 0 }, sum = 0, sq = 0, n;
	struct problem p = make_hmmer(insns, seen, cyc);
	struct equations eqs = { 0 };
	struct solution sol = { 0 };
	struct space *s = NULL;
	struct equation *eq;

	for (int i = 0; i < 19; i++)
		cyc[i] = seen[i] = i < 10 ? 2000 : 1500;
	p.total_insn = 33000;
	p.total_cyc = 33500;
	s = space_new(&p, NULL);
	count_insns(&p, add(&eqs, &p, 33000, 10000), 0);
	for (size_t i = 0; i < n_totals; i++) {
		eq = add(&eqs, &p, total[0], total[1]);
		eq->w[0] = 1;
		eq->kind = kind;
	}
	eq = add(&eqs, &p, stacks[0], stacks[1]);
	eq->w[0] = 1;
	eq->kind = PROFILE_BY_PATH;
	eq = add(&eqs, &p, 1000, 50);
	eq->w[1] = 1;
	eq->kind = PROFILE_BY_PATH;
	assert_int_equal(method_full(&p, s, interior, &eqs, 1, &sol), 0);
	n = (double)sol.n_draws;
	for (size_t i = 0; i < sol.n_draws; i++) {
		double past = (double)sol.draws[i * 3 + A] - (double)sol.draws[i * 3 + B];

		sum += past;
		sq += past * past;
		if (mean_b)
			*mean_b += (double)sol.draws[i * 3 + B] / n;
	}
	solution_fini(&sol);
	equations_fini(&eqs);
	space_free(s);
	return sqrt(sq / n - sum / n * sum / n);
}

static double sd_of_passing(size_t n_totals, const double total[2], const double stacks[2], double *mean_b)
{
	return sd_beside(PROFILE_BY_MIX, n_totals, total, stacks, mean_b);
}

/*
 * Stacks that know n_B to be 1000 +- 0.001, and a total that says 1004 +- 1.  The total misses by 4, with that of
 * instructions a mean square of 8, whether stacks are believed or not: it stays theirs to say how often B is passed by.
 * Their noise was raised six times over before, to more than all there is.  They hit, and settle all that
 * they say: eq. 18 leaves their noise.
 */
static void stacks_are_not_doubted_for_what_doubt_does_not_mend(void **state)
{
	const double total[] = { 1004, 1 }, stacks[] = { 1000, 0.001 };

	(void)state;
	/* 50 within 15% (five of the 3% that 600 independent draws tell it to), and half as much again by the total's miss. */
	assert_in_range((uintmax_t)sd_of_passing(1, total, stacks, NULL), 42, 73);
}

/* A total that says 1040 +- 1 is missed by 40 of these, which is no chance, and some flow meets it: those stacks know it wrongly. */
static void totals_that_a_flow_meets_are_not_doubted_for_stacks(void **state)
{
	const double total[] = { 1040, 1 }, stacks[] = { 1000, 0.001 };
	double mean_b = 0;

	(void)state;
	sd_of_passing(1, total, stacks, &mean_b);
	/* Three deviations of a total that is missed by no more than chance. */
	assert_float_equal(mean_b, 1040, 3);
}

/*
 * eq. 18: totals say that n_B is 1000 and stacks that it is 1016 +- 4, missed by 4: 16 squares, and nothing of n_B is settled by stacks.
 * How often B is passed by they settle themselves.  u_s^2 is (1 + 16) / (1 + 1), however many totals say so; 1/2 where stacks hit.
 */
static void the_noise_of_stacks_is_what_they_miss_by(void **state)
{
	const double total[] = { 1000, 0.1 }, stacks[] = { 1016, 4 }, hit[] = { 1000, 4 };

	(void)state;
	/* Within 15%, five of the 3% that 600 independent draws tell it to. */
	assert_float_equal(sd_of_passing(1, total, stacks, NULL), 50 * sqrt(8.5), 21);
	assert_float_equal(sd_of_passing(12, total, stacks, NULL), 50 * sqrt(8.5), 21);
	assert_float_equal(sd_of_passing(12, total, hit, NULL), 50 * sqrt(0.5), 5.4);
}

/* Stacks go round a counted loop as often as it goes, however few they are: only a miss of it, 16 squares, says that their noise is off. */
static void trips_that_stacks_keep_say_nothing_of_their_noise(void **state)
{
	const double trips[] = { 1000, 0.1 }, stacks[] = { 1016, 4 }, hit[] = { 1000, 4 };

	(void)state;
	assert_float_equal(sd_beside(PROFILE_BY_TRIPS, 1, trips, hit, NULL), 50, 7.5);
	assert_float_equal(sd_beside(PROFILE_BY_TRIPS, 12, trips, hit, NULL), 50, 7.5);
	assert_float_equal(sd_beside(PROFILE_BY_TRIPS, 1, trips, stacks, NULL), 50 * sqrt(8.5), 21);
}

/* With the total alone, to which they are scaled, nothing tells of their noise. */
static void the_total_alone_says_nothing_of_the_noise_of_stacks(void **state)
{
	const double hit[] = { 1000, 4 }, stacks[] = { 1016, 4 };

	(void)state;
	assert_float_equal(sd_of_passing(0, hit, hit, NULL), 50, 7.5);
	assert_float_equal(sd_of_passing(0, hit, stacks, NULL), 50, 7.5);
}

/*
 * A loop (0, 1) of 10 instructions with 100 blocks (2 ...) of two that it hardly ever goes round by instead.  Two totals:
 * of instructions, 1e7 +- 100, and of iterations through the 100, 50 +- 10.
 */
enum { IDLE = 100 };

static void make_idle(struct fixture *f, struct equations *eqs)
{
	struct flow_edge edges[2 + 2 * IDLE];
	uint32_t n_insn[2 + IDLE] = { 5, 5 };
	struct equation *eq;

	edges[0] = (struct flow_edge){ 0, 1, FLOW_FALL };
	for (uint32_t i = 0; i < IDLE; i++) {
		n_insn[2 + i] = 2;
		edges[1 + i] = (struct flow_edge){ 0, 2 + i, FLOW_TAKEN };
		edges[2 + IDLE + i] = (struct flow_edge){ 2 + i, 0, FLOW_TAKEN };
	}
	edges[1 + IDLE] = (struct flow_edge){ 1, 0, FLOW_TAKEN };
	fixture_make(f, n_insn, 2 + IDLE, edges, 2 + 2 * IDLE);
	f->p->total_insn = f->p->total_cyc = 1e7;
	count_insns(f->p, add(eqs, f->p, 1e7, 100), 0);
	eq = add(eqs, f->p, 50, 10);
	for (uint32_t i = 0; i < IDLE; i++)
		eq->w[1 + i] = 1;
}

/*
 * The barrier at the mode was half a nat for each of 202 edges, which two totals paid for: through the 100 at
 * (x - 50) / 10^2 = 100 / x, so 128 iterations, eight standard deviations more than were counted.
 */
static void many_idle_flows_do_not_hold_totals_off(void **state)
{
	struct fixture f;
	struct equations eqs = { 0 };
	struct posterior *post = NULL;
	struct space *s = NULL;
	double *t, *hessian;
	size_t d;

	(void)state;
	make_idle(&f, &eqs);
	s = space_new(f.p, NULL);
	d = s->n_free;
	assert_int_equal(d, IDLE + 1);
	t = fixture_array(d, sizeof(*t));
	hessian = fixture_array(d * d, sizeof(*hessian));
	/* What no more than the totals tell: a flow that meets them is found. */
	for (size_t k = 0; k < d; k++)
		t[k] = 1000;
	post = posterior_new(f.p, s, &eqs);
	assert_false(posterior_nearest(post, t, hessian));
	assert_true(fabs(posterior_miss(post, 0, t)) < 0.5 && fabs(posterior_miss(post, 1, t)) < 0.5);
	posterior_free(post);
	/* Stacks that know each flow, so that nothing pulls it to zero: half an iteration for each of the idle ones. */
	for (size_t k = 0; k < d; k++) {
		uint32_t e = s->free_edge[k];
		bool idle = f.p->edges[e].from >= 2 || f.p->edges[e].to >= 2;
		struct equation *eq = add(&eqs, f.p, idle ? 0.5 : 1e6, idle ? 1 : 100);

		eq->w[e] = 1;
		eq->kind = PROFILE_BY_PATH;
	}
	post = posterior_new(f.p, s, &eqs);
	assert_false(posterior_mode(post, t, hessian));
	assert_true(fabs(posterior_miss(post, 0, t)) < 2 && fabs(posterior_miss(post, 1, t)) < 2);
	posterior_free(post);
	free(t);
	free(hessian);
	equations_fini(&eqs);
	space_free(s);
	fixture_fini(&f);
}

/*
 * Two equations miss by 2 and 1 in units of their noise, of which 0.6 goes together: of the second 0.6 * 2 was to be, and what
 * it misses by beside that has a noise of sqrt(1 - 0.6^2) = 0.8.  The third stands apart.
 */
static void noise_that_goes_together_is_parted(void **state)
{
	struct insn insns[19];
	double seen_insn[19] = { 0 }, seen_cyc[19] = { 0 }, t[2] = { 0 };
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct equations eqs = { 0 };
	struct posterior *post = NULL;
	struct space *s = NULL;

	(void)state;
	p.total_insn = 1e7;
	p.total_cyc = 5e6;
	s = space_new(&p, NULL);
	add(&eqs, &p, 30, 10);
	add(&eqs, &p, 40, 20);
	add(&eqs, &p, 5, 5);
	eqs.first = 1;
	eqs.n_together = 2;
	eqs.together = fixture_array(4, sizeof(double));
	memcpy(eqs.together, (double[]){ 1, 0, 0.6, 0.8 }, 4 * sizeof(double));
	post = posterior_new(&p, s, &eqs);
	assert_float_equal(posterior_miss(post, 0, t), -3, 1e-12);
	assert_float_equal(posterior_miss(post, 1, t), -2, 1e-12);
	assert_float_equal(posterior_miss(post, 2, t), -(1 - 0.6 * 2) / 0.8, 1e-12);
	posterior_free(post);
	equations_fini(&eqs);
	space_free(s);
}

/* With the total alone one flow stays free: draws must spread over much of its range. */
static void what_nothing_settles_has_a_wide_interval(void **state)
{
	struct insn insns[19];
	double seen_insn[19] = { 0 }, seen_cyc[19] = { 0 }, min = INFINITY, max = 0, mean = 0;
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct equations eqs = { 0 };
	struct solution sol = { 0 };
	struct space *s = NULL;

	(void)state;
	for (int i = 0; i < 19; i++) {
		seen_cyc[i] = 1e6;
		seen_insn[i] = 15.5e6 / 19;
	}
	p.total_insn = 15.5e6;
	p.total_cyc = 19e6;
	s = space_new(&p, NULL);
	count_insns(&p, add(&eqs, &p, 15.5e6, 200), 0);
	assert_int_equal(method_full(&p, s, interior, &eqs, 1, &sol), 0);
	for (size_t i = 0; i < sol.n_draws; i++) {
		min = fmin(min, (double)sol.draws[i * 3 + B]);
		max = fmax(max, (double)sol.draws[i * 3 + B]);
		mean += (double)sol.draws[i * 3 + B] / (double)sol.n_draws;
	}
	/* n_B lies between 0 and 15.5e6 / 19 = 816,000: its mean does, whatever the normal density does that stands for it. */
	assert_true(min < 300000);
	assert_true(max > 600000);
	assert_true(mean > 100000 && mean < 816000);
	assert_int_equal(sol.n_rank, 1);
	solution_fini(&sol);
	equations_fini(&eqs);
	space_free(s);
}

static void the_same_seed_gives_the_same_bits(void **state)
{
	struct insn insns[19];
	double seen_insn[19] = { 0 }, seen_cyc[19] = { 1e6 };
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct equations eqs = { 0 };
	struct solution one = { 0 }, two = { 0 };
	struct space *s = NULL;

	(void)state;
	p.total_insn = 1e7;
	p.total_cyc = 1e6;
	s = space_new(&p, NULL);
	count_insns(&p, add(&eqs, &p, 1e7, 100), 0);
	assert_int_equal(method_full(&p, s, interior, &eqs, 7, &one), 0);
	assert_int_equal(method_full(&p, s, interior, &eqs, 7, &two), 0);
	assert_memory_equal(one.draws, two.draws, one.n_draws * 3 * sizeof(float));
	solution_fini(&one);
	solution_fini(&two);
	equations_fini(&eqs);
	space_free(s);
}

/* eq. 6's a_ki: what each event counts. */
static void events_count_the_instructions_they_name(void **state)
{
	struct insn load = { .flags = INSN_LOAD }, ret = { .flow = INSN_RET, .flags = INSN_LOAD };
	struct insn cond = { .flow = INSN_COND }, call = { .flow = INSN_CALL, .flags = INSN_STORE };

	(void)state;
	assert_true(mix_of_insn(MIX_LOAD, &load) == 1 && mix_of_insn(MIX_STORE, &load) == 0);
	assert_true(mix_of_insn(MIX_RETURN, &ret) == 1 && mix_of_insn(MIX_LOAD, &ret) == 1);
	assert_true(mix_of_insn(MIX_BRANCH, &cond) == 1 && mix_of_insn(MIX_COND, &cond) == 1);
	assert_true(mix_of_insn(MIX_CALL, &call) == 1 && mix_of_insn(MIX_STORE, &call) == 1);
	/* A conditional branch is taken on one of its edges only. */
	assert_true(mix_of_insn(MIX_TAKEN, &cond) == 0 && mix_of_insn(MIX_TAKEN, &call) == 1);
	assert_true(mix_of_edge(MIX_TAKEN, &cond, FLOW_TAKEN) == 1 &&
	            mix_of_edge(MIX_TAKEN, &cond, FLOW_FALL) == 0);
	assert_true(mix_of_edge(MIX_NOT_TAKEN, &cond, FLOW_FALL) == 1);
}

static void event_names_of_every_vendor_are_known(void **state)
{
	(void)state;
	assert_int_equal(mix_kind_of("branches:u", PERF_TYPE_RAW, 1, ""), MIX_BRANCH);
	assert_int_equal(mix_kind_of("cpu_core/BR_INST_RETIRED.NEAR_TAKEN/u", PERF_TYPE_RAW, 1, ""),
	                 MIX_TAKEN);
	assert_int_equal(mix_kind_of("ex_ret_near_ret", PERF_TYPE_RAW, 1, ""), MIX_RETURN);
	assert_int_equal(mix_kind_of("INST_RETIRED:u", PERF_TYPE_RAW, 1, ""), MIX_INSN);
	assert_int_equal(mix_kind_of("whatever", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, ""),
	                 MIX_INSN);
	assert_int_equal(mix_kind_of("r20c4", PERF_TYPE_RAW, 0x20c4, "GenuineIntel,6,85,4"), MIX_TAKEN);
	/* The same code on another vendor's core counts something else. */
	assert_int_equal(mix_kind_of("r20c4", PERF_TYPE_RAW, 0x20c4, "AuthenticAMD,25,1,1"), MIX_NONE);
	/* Speculative counts, misses and software events say nothing exact. */
	assert_int_equal(mix_kind_of("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, ""),
	                 MIX_NONE);
	assert_int_equal(mix_kind_of("ld_spec", PERF_TYPE_RAW, 0x70, "0x41"), MIX_NONE);
	assert_int_equal(mix_kind_of("cycles", PERF_TYPE_SOFTWARE, 0, ""), MIX_NONE);
}

/*
 * eq. 16 at n = 10^6.  A and C: I = 14, seen in 4000 of all 5000 samples of
 * cycles (half a sample more is none for none), the scope having run 10^7
 * instructions at half a cycle each: at the mean cost they were to be seen
 * 10^6 14 5000 / 10^7 = 7000 times.  No equation fixes either of two free
 * flows, so w = 2 / 2: log 10^6 = 13.8155106 besides.
 *
 * 40 samples of instructions there, of 200 in all, count 40 more,
 * where 10^6 14 200 / 10^7 = 280 are to be.
 */
static void the_time_term_prefers_equal_costs(void **state)
{
	struct insn insns[19];
	double seen_insn[19] = { 0 }, seen_cyc[19] = { 0 };
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct equations eqs = { 0 };
	struct posterior *post = NULL;
	struct space *s = NULL;
	struct cost *cost = NULL;

	(void)state;
	seen_cyc[3] = 4e6;
	p.cyc_per_sample = 1000;
	p.total_insn = 1e7;
	p.total_cyc = 5e6;
	p.insn_counted = true;
	s = space_new(&p, NULL);
	post = posterior_new(&p, s, &eqs);
	assert_int_equal(post->class_of[A], post->class_of[C]);
	cost_new(4000.5, cost_variance(14), cost_least(14, 0.5), &cost);
	assert_float_equal(posterior_time(post, post->class_of[A], 1e6),
	                   cost_at(cost, log(7000)) + 13.8155106, 1e-6);
	posterior_free(post);
	cost_free(cost);

	p.insn_counted = false;
	p.insn_per_sample = 50000;
	seen_insn[5] = 30 * 50000.0;
	seen_insn[16] = 10 * 50000.0;
	post = posterior_new(&p, s, &eqs);
	cost_new(4000.5 + 40, cost_variance(14), cost_least(14, 0.5), &cost);
	assert_float_equal(posterior_time(post, post->class_of[A], 1e6),
	                   cost_at(cost, log(7000 + 280)) + 13.8155106, 1e-6);
	posterior_free(post);
	cost_free(cost);

	/* Cycles alone: shares mean something, cycles an instruction do not, so there is no least cost. */
	p.relative = true;
	post = posterior_new(&p, s, &eqs);
	cost_new(4000.5, cost_variance(14), 0, &cost);
	assert_float_equal(posterior_time(post, post->class_of[A], 1e6),
	                   cost_at(cost, log(7000)) + 13.8155106, 1e-6);
	/* A and C share their cost with nobody; B was not seen. */
	assert_int_equal(post->n_costs, 2);
	posterior_free(post);
	cost_free(cost);
	space_free(s);
}

/* Are there terms of functions, and do they say what they must?  B is one, A and C another. */
static void assert_functions_tell(const struct problem *p, bool tell)
{
	struct space *s = space_new(p, NULL);
	struct equations eqs = { 0 };
	struct posterior *post = posterior_new(p, s, &eqs);
	/* A lap with B and one past it. */
	double t[2] = { 1, 1 }, f[4], of_a, of_b;
	struct cost *cost = NULL;

	space_flow(s, t, f);
	of_a = f[0] + f[1];
	of_b = f[0];
	assert_int_equal(post->n_classes, 2);
	assert_int_equal(post->n_timed, tell ? 4 : 2);
	if (tell) {
		assert_float_equal(sparse_dot(&post->n, 2, t), 14 * of_a, 1e-9);
		assert_float_equal(sparse_dot(&post->n, 3, t), 5 * of_b, 1e-9);
		/* 60 samples, and half a one, where 10^6 / 50000 = 20 were to be: no log n besides. */
		cost_new(60.5, 0.1 + 3 / 5., 0, &cost);
		assert_float_equal(posterior_time(post, 3, 1e6), cost_at(cost, log(20)), 1e-9);
		cost_free(cost);
	}
	posterior_free(post);
	space_free(s);
}

/* Samples of instructions tell what each function runs, but for what skids out of it. */
static void functions_keep_samples_of_instructions(void **state)
{
	struct insn insns[19];
	double seen_insn[19] = { 0 }, seen_cyc[19] = { 0 };
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct problem_block blocks[3];

	(void)state;
	memcpy(blocks, hmmer_blocks, sizeof(blocks));
	blocks[B].func = 1;
	p.blocks = blocks;
	p.total_insn = 1e7;
	p.total_cyc = 5e6;
	p.insn_per_sample = 50000;
	seen_insn[5] = 140 * 50000.0;
	seen_insn[12] = 60 * 50000.0;
	assert_functions_tell(&p, true);
	/* Stacks tell better. */
	p.stacked_insn = 1e4;
	assert_functions_tell(&p, false);
	p.stacked_insn = 0;
	/* Instructions that were counted lie where cycles do. */
	p.insn_counted = true;
	assert_functions_tell(&p, false);
	p.insn_counted = false;
	/* One function has all that the scope has. */
	blocks[B].func = 0;
	assert_functions_tell(&p, false);
}

/* The time term and its derivatives, by finite differences. */
static void slopes_of_the_time_term_are_its_derivatives(void **state)
{
	struct insn insns[19];
	double seen_insn[19] = { 0 }, seen_cyc[19] = { 0 }, slope, curve;
	struct problem p = make_hmmer(insns, seen_insn, seen_cyc);
	struct equations eqs = { 0 };
	struct posterior *post = NULL;
	struct space *s = NULL;

	(void)state;
	seen_cyc[3] = 5e6;
	p.total_insn = 1e7;
	p.total_cyc = 5e6;
	s = space_new(&p, NULL);
	post = posterior_new(&p, s, &eqs);
	/* A and C run equally often: two classes. */
	assert_int_equal(post->n_classes, 2);
	for (double n = 1e5; n < 1e7; n *= 3) {
		double h = 1e-5;
		double numeric =
		        (posterior_time(post, 0, n * exp(h)) - posterior_time(post, 0, n * exp(-h))) /
		        (2 * h);

		posterior_time_slope(post, 0, n, &slope, &curve);
		assert_float_equal(slope, numeric, 1e-4 * fmax(1, fabs(numeric)));
		assert_true(curve > 0);
	}
	posterior_free(post);
	space_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_simple_loops_leave_two_free_flows),
		cmocka_unit_test(a_return_goes_back_to_its_own_call),
		cmocka_unit_test(exact_totals_settle_two_flows),
		cmocka_unit_test(trip_counts_settle_what_totals_do_not),
		cmocka_unit_test(stacks_are_not_doubted_for_what_doubt_does_not_mend),
		cmocka_unit_test(totals_that_a_flow_meets_are_not_doubted_for_stacks),
		cmocka_unit_test(the_noise_of_stacks_is_what_they_miss_by),
		cmocka_unit_test(trips_that_stacks_keep_say_nothing_of_their_noise),
		cmocka_unit_test(the_total_alone_says_nothing_of_the_noise_of_stacks),
		cmocka_unit_test(many_idle_flows_do_not_hold_totals_off),
		cmocka_unit_test(noise_that_goes_together_is_parted),
		cmocka_unit_test(what_nothing_settles_has_a_wide_interval),
		cmocka_unit_test(the_same_seed_gives_the_same_bits),
		cmocka_unit_test(events_count_the_instructions_they_name),
		cmocka_unit_test(event_names_of_every_vendor_are_known),
		cmocka_unit_test(the_time_term_prefers_equal_costs),
		cmocka_unit_test(functions_keep_samples_of_instructions),
		cmocka_unit_test(slopes_of_the_time_term_are_its_derivatives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
