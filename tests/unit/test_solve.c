/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws are held against the totals that were counted, a scope of 1,000,000 instructions; and scopes add up to regions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "correct/solve/budget.h"
#include "correct/solve/solve.h"
#include "profiler/base/err.h"

/* The 0.9999 quantile of chi-square with 1 degree of freedom is 15.137 = 3.891^2, with 2 18.421, with 3 21.108. */
static int judge(double measured, double fitted, double sd)
{
	struct profile_equation eqs[] = { { "instructions", 1e6, 1e6, 100 },
		                          { "loads", measured, fitted, sd } };
	struct equations_shown shown = { eqs, 2 };

	return solve_judge_totals(&shown, 1e6, 0);
}

static void draws_that_meet_the_totals_are_taken(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 300100, 50), 0);
	assert_int_equal(solve_judge_totals(&(struct equations_shown){ 0 }, 1e6, 0), 0);
}

/* 2% of the instructions are 20,000: more than that, either way, and 21 times the noise. */
static void draws_that_leave_a_total_are_refused(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 321000, 1000), -SP_EDOMAIN);
	assert_int_equal(judge(300000, 279000, 1000), -SP_EDOMAIN);
	assert_non_null(strstr(sp_error_text(), "misses the loads counted by 2.1%"));
}

/* 190 of its standard deviations, but 1.9% of the instructions: the status tells. */
static void a_small_miss_of_a_very_exact_total_is_let_pass(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 319000, 100), 0);
}

/* 21,000 are more than 2%, and 4.2 or 4.4 standard deviations: of two totals, the square root of 18.421 is 4.292. */
static void a_miss_within_the_noise_is_let_pass(void **state)
{
	(void)state;
	assert_int_equal(judge(300000, 321000, 5000), 0);
	assert_int_equal(judge(300000, 321000, 4770), -SP_EDOMAIN);
}

/* Other code that it calls ran as many instructions, whose events are not known. */
static void what_other_code_may_have_caused_is_let_pass(void **state)
{
	struct profile_equation eq = { "loads", 300000, 321000, 1000 };
	struct equations_shown shown = { &eq, 1 };

	(void)state;
	assert_int_equal(solve_judge_totals(&shown, 1e6, 0), -SP_EDOMAIN);
	assert_int_equal(solve_judge_totals(&shown, 1e6, 17500), 0);
}

/*
 * Four blocks of ten instructions, two that run equally often and two others, 100 times each by the flow; samples of one
 * instruction each.  stays: how often each block follows itself.
 */
static bool is_shadowed(const double seen[4], double stays)
{
	struct problem_block blocks[4];
	struct problem_edge edges[4];
	double at[40] = { 0 }, flow[4];
	float draws[] = { 90, 90, 110, 110, 110, 110, 90, 90 };
	struct problem p = { .blocks = blocks,
		             .n_blocks = 4,
		             .edges = edges,
		             .n_edges = 4,
		             .seen_insn = at,
		             .n_insns = 40,
		             .total_insn = 4000,
		             .insn_per_sample = 1 };
	struct solution sol = { .draws = draws, .n_draws = 2, .edge_flow = flow };

	for (uint32_t b = 0; b < 4; b++) {
		blocks[b] = (struct problem_block){ .insn0 = 10 * b, .n_insn = 10 };
		edges[b] = (struct problem_edge){ .from = b, .to = b };
		flow[b] = stays;
		at[10 * b] = seen[b];
	}
	return solve_is_shadowed(&p, &sol);
}

/* By hand: half of what each is due is moved, .4 x .6 x (1414 + 1556) are 720; they are 200 / 2 from the flow. */
static void a_shadow_is_seen_by_blocks_that_run_equally_often(void **state)
{
	(void)state;
	assert_true(is_shadowed((const double[]){ 500, 1500, 700, 1500 }, 0));
	/* Alike, whatever they are from the flow. */
	assert_false(is_shadowed((const double[]){ 1000, 1000, 1500, 1500 }, 0));
	/* Chance: a deviation is 32. */
	assert_false(is_shadowed((const double[]){ 1020, 980, 1120, 1080 }, 0));
	/* Of a hundred laps in ninety-five the block itself is next. */
	assert_false(is_shadowed((const double[]){ 1000, 1000, 1900, 2100 }, 95));
}

/* A block of ten instructions and one of three, whose samples are seen[], and edges from the one to the other and back. */
static bool keeps_step(const double seen[13], bool in_a_row)
{
	struct problem_block blocks[] = { { .insn0 = 0, .n_insn = 10 }, { .insn0 = 10, .n_insn = 3 } };
	struct problem_edge edges[] = { { .from = 0, .to = 1 },
		                        { .from = 1, .to = 0 },
		                        { .from = 1, .to = 1 } };
	double insn[13];
	struct problem p = { .blocks = blocks,
		             .n_blocks = 2,
		             .edges = edges,
		             .n_edges = in_a_row ? 2 : 3,
		             .seen_insn = insn,
		             .n_insns = 13,
		             .insn_per_sample = 1000 };

	for (size_t i = 0; i < 13; i++)
		insn[i] = 1000 * seen[i];
	return solve_keeps_step(&p);
}

/* Three tenths may be at one of ten: 14 in 14 have a chance of 4.8e-8, which is 6e-7 of thirteen, 13 in 13 one of 1.6e-7: 2.1e-6. */
static void instructions_of_a_block_with_all_its_samples_tell_of_a_step(void **state)
{
	(void)state;
	assert_true(keeps_step((const double[]){ 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 5, 5, 5 }, false));
	assert_false(keeps_step((const double[]){ 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 5, 5, 5 }, false));
	/* In every third place of a lap; pairs that are seen as one. */
	assert_true(keeps_step((const double[]){ 0, 400, 0, 0, 400, 0, 0, 150, 0, 0, 0, 0, 0 }, false));
	assert_false(
	        keeps_step((const double[]){ 2e4, 0, 1e4, 2e4, 0, 1e4, 1e4, 1e4, 0, 2e4, 3e4, 0, 0 }, false));
	/* The three of a short block tell nothing by themselves, but the ten that always run with them do. */
	assert_false(keeps_step((const double[]){ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 0 }, false));
	assert_true(keeps_step((const double[]){ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 0 }, true));
	assert_false(keeps_step((const double[]){ 1, 1, 2, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2 }, true));
}

static void doubt(double fitted, double sd, struct solution *sol)
{
	struct profile_equation eq = { "stores", 115800, fitted, sd };
	struct equations_shown shown = { &eq, 1 };

	solve_doubt_totals(&shown, 1e6, sol);
}

static uint8_t doubted(double fitted, double sd, struct solution *sol)
{
	*sol = (struct solution){ .verdict = VERDICT_OK };
	doubt(fitted, sd, sol);
	return sol->verdict;
}

/* Stores off by 7.07%, 15.4 standard deviations: 0.8% of the instructions, which once were called fixed. */
static void totals_that_are_missed_by_more_than_chance_cost_the_status(void **state)
{
	struct solution sol;

	(void)state;
	assert_int_equal(doubted(115800 * (1 - 0.0707), 115800 * 0.0707 / 15.4, &sol), VERDICT_WEAK);
	assert_non_null(strstr(sol.why, "by more than chance, the stores by 0.8% of the instructions"));
	assert_true(sol.contradicted);
	/* A region that is weak already is contradicted all the same, which says more. */
	sol = (struct solution){ .verdict = VERDICT_WEAK, .why = "known before" };
	doubt(115800 * (1 - 0.0707), 115800 * 0.0707 / 15.4, &sol);
	assert_true(sol.verdict == VERDICT_WEAK && sol.contradicted);
	assert_non_null(strstr(sol.why, "the stores by"));
	/* It calls other code, of as many instructions, whose events are not known. */
	sol = (struct solution){ .verdict = VERDICT_OK, .called_insn = 8000 };
	doubt(115800 + 8100, 1000, &sol);
	assert_true(sol.verdict == VERDICT_OK && !sol.contradicted);
	/* By chance, 3.8 standard deviations; by one in ten thousand, 4; or by little. */
	assert_int_equal(doubted(115800 - 7600, 2000, &sol), VERDICT_OK);
	assert_false(sol.contradicted);
	assert_int_equal(doubted(115800 - 8000, 2000, &sol), VERDICT_WEAK);
	assert_int_equal(doubted(115800 + 2400, 10, &sol), VERDICT_OK);
}

/* Two blocks, the flow through the first alone. */
static int verdict_off(double in_second, double total)
{
	struct problem_block blocks[] = { { .n_insn = 1 }, { .insn0 = 1, .n_insn = 1 } };
	double seen_cyc[] = { total - in_second, in_second }, seen_insn[2] = { 0 };
	struct problem p = { .blocks = blocks, .n_blocks = 2, .seen_cyc = seen_cyc, .seen_insn = seen_insn };
	float draws[] = { 1, 0 };
	struct solution sol = { .draws = draws, .n_draws = 1 };

	solve_doubt_off_the_flow(&p, &sol);
	return sol.verdict;
}

/* Samples are where something ran. */
static void samples_off_the_flow_cost_the_status(void **state)
{
	(void)state;
	assert_int_equal(verdict_off(0, 1000), VERDICT_OK);
	assert_int_equal(verdict_off(19, 1000), VERDICT_OK);
	assert_int_equal(verdict_off(21, 1000), VERDICT_UNRELIABLE);
	assert_int_equal(verdict_off(0, 0), VERDICT_OK);
}

/* Other code in a scope's intervals is in its totals: no count is fixed then, but what was solved is kept. */
static void code_between_samples_costs_the_status(void **state)
{
	struct recording rec = { 0 };
	struct work w = { .rec = &rec };
	struct problem p = { .unseen_share = 0.02 };
	struct solution sol = { .verdict = VERDICT_OK };

	(void)state;
	solve_doubt_leak(&w, &p, &sol);
	assert_true(sol.verdict == VERDICT_OK && !sol.contradicted);
	p.unseen_share = 0.03;
	solve_doubt_leak(&w, &p, &sol);
	assert_true(sol.verdict == VERDICT_WEAK && sol.contradicted);
	assert_non_null(strstr(sol.why, "about 3% of the time"));
	sol = (struct solution){ .verdict = VERDICT_UNRELIABLE, .why = "known before" };
	solve_doubt_leak(&w, &p, &sol);
	assert_true(sol.verdict == VERDICT_UNRELIABLE && strcmp(sol.why, "known before") == 0);
}

/* A tenth of the stacks may lead out of the flow; of more, no function is fixed, whatever the region is. */
static void stacks_that_lead_out_cost_the_status(void **state)
{
	struct problem p = { .broken_share = 0.1 };
	struct solution sol = { .verdict = VERDICT_OK };

	(void)state;
	solve_doubt_stacks(&p, &sol);
	assert_true(sol.verdict == VERDICT_OK && !sol.contradicted);
	p.broken_share = 0.12;
	solve_doubt_stacks(&p, &sol);
	assert_true(sol.verdict == VERDICT_WEAK && sol.contradicted);
	assert_non_null(strstr(sol.why, "12% of its branch records or bursts"));
	/* Where most are broken, and no totals were counted, averages are made instead. */
	p.broken_share = 0.52;
	for (int relative = 0; relative < 2; relative++) {
		sol = (struct solution){ .verdict = VERDICT_OK };
		p.relative = relative;
		solve_doubt_stacks(&p, &sol);
		assert_true(sol.verdict == (relative ? VERDICT_UNRELIABLE : VERDICT_WEAK));
	}
	sol = (struct solution){ .verdict = VERDICT_UNRELIABLE, .why = "known before" };
	solve_doubt_stacks(&p, &sol);
	assert_true(sol.verdict == VERDICT_UNRELIABLE && strcmp(sol.why, "known before") == 0);
}

/* A loop 0 -> 1 -> 0; 1 ends it, and 0 may go to 2 instead, which goes to 1 as well and is not in the scope where no burst went there. */
static bool doubts_few_bursts(double n_bursts, bool may_go_to_2, bool is_2_in_it)
{
	struct flow_edge e[] = { { 0, 1, FLOW_FALL },
		                 { 0, 2, FLOW_TAKEN },
		                 { 1, 0, FLOW_TAKEN },
		                 { 1, 3, FLOW_FALL },
		                 { 2, 1, FLOW_FALL } };
	struct flow_block gb[] = { { .out0 = 0, .n_out = may_go_to_2 ? 2 : 1 },
		                   { .out0 = 2, .n_out = 2 },
		                   { .out0 = 4, .n_out = 1 } };
	struct flow_graph g = { .blocks = gb, .n_blocks = 3, .edges = e, .n_edges = 5 };
	struct problem_block b[] = { { .graph_block = 0 }, { .graph_block = 1 }, { .graph_block = 2 } };
	struct problem_edge pe[] = { { 0, 1, 0, -1, FLOW_FALL, 0 },
		                     { 1, 0, 2, -1, FLOW_TAKEN, 0 },
		                     { 0, 2, 1, -1, FLOW_TAKEN, 0 },
		                     { 2, 1, 4, -1, FLOW_FALL, 0 } };
	struct problem p = { .graph = &g,
		             .blocks = b,
		             .n_blocks = is_2_in_it ? 3 : 2,
		             .edges = pe,
		             .n_edges = is_2_in_it ? 4 : 2,
		             .n_bursts = n_bursts };
	struct solution sol = { .verdict = VERDICT_OK };
	bool doubted = solve_doubt_few_bursts(&p, &sol);

	assert_true(doubted == (sol.verdict == VERDICT_UNRELIABLE));
	if (doubted)
		assert_non_null(strstr(sol.why, "may go 2 ways that these did not take"));
	return doubted;
}

static void what_a_few_bursts_did_not_take_is_no_structure_of_the_code(void **state)
{
	(void)state;
	assert_true(doubts_few_bursts(0, true, false));
	assert_true(doubts_few_bursts(9, true, false));
	assert_false(doubts_few_bursts(10, true, false));
	assert_false(doubts_few_bursts(0, false, false)); /* The end of the loop. */
	assert_false(
	        doubts_few_bursts(0, true, true)); /* Two counts are open: judged by what settles them. */
}

static void functions_that_one_burst_alone_ran_stand_for_those_that_none_did(void **state)
{
	struct solution sol = { .verdict = VERDICT_OK, .once_share = 0.1 };

	(void)state;
	solve_doubt_once(&sol);
	assert_true(sol.verdict == VERDICT_OK);
	sol.once_share = 0.13;
	solve_doubt_once(&sol);
	assert_true(sol.verdict == VERDICT_UNRELIABLE);
	assert_non_null(strstr(sol.why, "13% of what its bursts ran"));
}

/* Three totals, none of them by more than chance alone: 2.7 standard deviations each are 21.87. */
static void misses_count_together(void **state)
{
	struct profile_equation eqs[] = { { "branches", 200000, 210800, 4000 },
		                          { "loads", 300000, 289200, 4000 },
		                          { "stores", 115800, 105000, 4000 } };
	struct equations_shown shown = { eqs, 3 };
	struct solution sol = { .verdict = VERDICT_OK };

	(void)state;
	solve_doubt_totals(&shown, 1e6, &sol);
	assert_true(sol.verdict == VERDICT_WEAK && sol.contradicted);
	assert_non_null(strstr(sol.why, "misses the 3 totals counted by more than chance"));
	sol = (struct solution){ .verdict = VERDICT_OK };
	eqs[2].fitted = eqs[2].measured;
	solve_doubt_totals(&shown, 1e6, &sol);
	assert_true(sol.verdict == VERDICT_OK && !sol.contradicted);
}

/*
 * As long as they took, by the thread's CPU time: a scope of C++ templates of 213 free flows and 1,209 blocks 0.21 s, two of
 * sqlite3 of 353 and 599 and 2,470 and 3,363 0.85 s and 3.4 s.  More than that leaves regions unsolved that there is room for.
 */
static void work_is_told_from_the_size_of_a_scope(void **state)
{
	static const double took[][3] = { { 213, 1209, 0.21 }, { 353, 2470, 0.85 }, { 599, 3363, 3.35 } };

	(void)state;
	assert_true(budget_work_s(0, 1) == 0);
	for (size_t i = 0; i < sizeof(took) / sizeof(*took); i++) {
		double s = budget_work_s(took[i][0], took[i][1]) / took[i][2];

		assert_true(s > 1 / 1.5 && s < 1.5);
	}
}

static void the_total_itself_is_judged_as_any_other(void **state)
{
	struct profile_equation eq = { "instructions", 1e6, 1.03e6, 100 };
	struct equations_shown shown = { &eq, 1 };

	(void)state;
	assert_int_equal(solve_judge_totals(&shown, 1e6, 0), -SP_EDOMAIN);
}

/* A ring of n two-way branches, each a block of its own: n + 1 free flows; n_usable where only the other ways of so many, less one, may carry any. */
static int judge_ring_of(size_t n, size_t n_usable, bool stacks, bool samples_too_few)
{
	struct flow_region region = { 0 };
	/* As many samples as blocks, or one of a thousand. */
	struct problem p = { .region = &region,
		             .n_blocks = n,
		             .n_edges = 2 * n,
		             .total_insn = (double)n,
		             .insn_per_sample = samples_too_few ? 1000 : 1 };
	bool *usable = n_usable ? calloc(2 * n, sizeof(*usable)) : NULL;
	int ret;

	p.edges = calloc(2 * n, sizeof(*p.edges));
	assert_non_null(p.edges);
	for (size_t b = 0; b < n; b++)
		for (size_t way = 0; way < 2; way++)
			p.edges[2 * b + way] = (struct problem_edge){ .from = (uint32_t)b,
				                                      .to = (uint32_t)((b + 1 + way) % n),
				                                      .call = -1 };
	for (size_t b = 0; usable && b < n; b++)
		usable[2 * b] = true;
	for (size_t b = 0; usable && b + 1 < n_usable; b++)
		usable[2 * b + 1] = true;
	ret = solve_judge_size(&p, usable, stacks);
	free(p.edges);
	free(usable);
	return ret;
}

static int judge_ring(size_t n, size_t n_usable, bool stacks)
{
	return judge_ring_of(n, n_usable, stacks, false);
}

/* Before anything is planned for them: what can't be solved takes no part of the budget. */
static void regions_of_too_few_samples_are_told_at_once(void **state)
{
	(void)state;
	assert_int_equal(judge_ring_of(700, 0, true, false), 0);
	assert_int_equal(judge_ring_of(700, 0, true, true), -SP_EDOMAIN);
	assert_non_null(strstr(sp_error_text(), "too few samples (1) for a region of 700 blocks"));
}

static void regions_too_large_are_told_at_once(void **state)
{
	(void)state;
	assert_int_equal(judge_ring(1299, 0, false), 0);
	assert_int_equal(judge_ring(1300, 0, false), -SP_EDOMAIN);
	assert_non_null(
	        strstr(sp_error_text(), "1300 blocks with 1301 unknown branch counts; branch records (-b)"));
	assert_int_equal(judge_ring(799, 0, true), 0);
	assert_int_equal(judge_ring(800, 0, true), -SP_EDOMAIN);
	assert_null(strstr(sp_error_text(), "(-b)"));
	assert_int_equal(judge_ring(1000000, 0, true), -SP_EDOMAIN);
}

/*
 * Of 5,000 branches most go one way, and their other ways carry no flow: what is solved is as large as what does, up to 10,000
 * edges of that.  A matrix of all edges by the free flows has 20,000,000 cells at most.
 */
static void what_carries_no_flow_makes_no_region_too_large(void **state)
{
	(void)state;
	assert_int_equal(judge_ring(5000, 800, true), 0);
	assert_int_equal(judge_ring(5000, 801, true), -SP_EDOMAIN);
	assert_non_null(strstr(sp_error_text(), "5000 blocks with 801 unknown branch counts"));
	assert_int_equal(judge_ring(5000, 1300, false), 0);
	assert_int_equal(judge_ring(5000, 0, true), -SP_EDOMAIN);
	assert_int_equal(judge_ring(9700, 301, true), 0);
	assert_int_equal(judge_ring(9700, 302, true), -SP_EDOMAIN);
	assert_int_equal(judge_ring(9200, 800, true), 0);
	assert_int_equal(judge_ring(7600, 1300, false), 0);
	assert_int_equal(judge_ring(8700, 1300, false), -SP_EDOMAIN);
	assert_int_equal(judge_ring(20000, 2, true), -SP_EDOMAIN);
}

/* One block of an instruction, number `block` of the graph, that `seen` instructions were sampled in. */
struct part {
	struct problem_block block;
	double seen;
	struct problem p;
};

static void make_part(struct part *part, uint32_t block, double seen)
{
	*part = (struct part){ .block = { 0, 1, block }, .seen = seen };
	part->p = (struct problem){ .blocks = &part->block,
		                    .n_blocks = 1,
		                    .n_insns = 1,
		                    .seen_insn = &part->seen,
		                    .total_insn = seen };
}

/*
 * A region of 1000 instructions in two blocks: `solved` of them in a scope that was, the rest in one that was not, or with
 * n_scopes = 1 in none.
 */
static void combine(double solved, size_t n_scopes, struct solution *out)
{
	struct problem_block blocks[] = { { 0, 1, 0 }, { 1, 1, 1 } };
	double seen[] = { solved, 1000 - solved };
	struct problem whole = {
		.blocks = blocks, .n_blocks = 2, .n_insns = 2, .seen_insn = seen, .total_insn = 1000
	};
	struct part good, bad;
	struct problem *problem = &whole, *problems[] = { &good.p, &bad.p };
	struct solution solutions[2] = { { 0 }, { .verdict = VERDICT_UNRELIABLE } };
	struct scope scopes[2] = { 0 };
	struct flow_regions regions = { .n = 1 };
	struct work w = { .regions = &regions,
		          .scopes = { .v = scopes, .n = n_scopes },
		          .scope_problems = problems,
		          .scope_solutions = solutions,
		          .problems = &problem,
		          .solutions = out };

	make_part(&good, 0, solved);
	make_part(&bad, 1, 1000 - solved);
	solution_init(&solutions[0], &good.p, 10);
	for (size_t i = 0; i < 10; i++)
		solutions[0].draws[i] = (float)solved;
	strcpy(solutions[1].why, "no reason");
	combine_scopes(&w);
	solution_fini(&solutions[0]);
	assert_int_equal(out->n_draws, 10);
	assert_float_equal(out->draws[0], solved, 1e-3);
	assert_float_equal(out->draws[1], 1000 - solved, 1e-3);
	assert_float_equal(out->doubt[0], 0, 1e-3);
	assert_float_equal(out->doubt[1], 1000 - solved, 1e-3);
}

/* Up to half of a region without a solution is a doubt of what lies in it; the rest keeps what is known. */
static void a_part_without_a_solution_does_not_undo_the_others(void **state)
{
	struct solution sol = { 0 };

	(void)state;
	combine(970, 2, &sol);
	assert_int_equal(sol.verdict, VERDICT_OK);
	solution_fini(&sol);
	combine(600, 2, &sol);
	assert_int_equal(sol.verdict, VERDICT_WEAK);
	assert_string_equal(sol.why, "no reason");
	solution_fini(&sol);
	combine(400, 2, &sol);
	assert_int_equal(sol.verdict, VERDICT_UNRELIABLE);
	solution_fini(&sol);
}

static void code_in_no_scope_is_a_part_without_a_solution(void **state)
{
	struct solution sol = { 0 };

	(void)state;
	combine(600, 1, &sol);
	assert_int_equal(sol.verdict, VERDICT_WEAK);
	assert_non_null(strstr(sol.why, "could not be told from others that run the same code"));
	solution_fini(&sol);
	combine(400, 1, &sol);
	assert_int_equal(sol.verdict, VERDICT_UNRELIABLE);
	solution_fini(&sol);
}

/* A block of both scopes: the one without a solution has seen none of it, which is not to say that it never ran there. */
static void a_part_without_a_solution_may_have_run_what_it_has_not_seen(void **state)
{
	struct problem_block blocks[] = { { 0, 1, 0 }, { 1, 3, 1 } }, both[] = { { 0, 1, 0 }, { 1, 3, 1 } };
	double seen[] = { 600, 400, 0, 0 }, in_bad[] = { 0, 400, 0, 0 };
	struct problem whole = {
		.blocks = blocks, .n_blocks = 2, .n_insns = 4, .seen_insn = seen, .total_insn = 1000
	};
	struct problem bad = {
		.blocks = both, .n_blocks = 2, .n_insns = 4, .seen_insn = in_bad, .total_insn = 400
	};
	struct part good;
	struct problem *problem = &whole, *problems[] = { &good.p, &bad };
	struct solution solutions[2] = { { 0 }, { .verdict = VERDICT_UNRELIABLE } }, out = { 0 };
	struct scope scopes[2] = { 0 };
	struct flow_regions regions = { .n = 1 };
	struct work w = { .regions = &regions,
		          .scopes = { .v = scopes, .n = 2 },
		          .scope_problems = problems,
		          .scope_solutions = solutions,
		          .problems = &problem,
		          .solutions = &out };

	(void)state;
	make_part(&good, 0, 600);
	solution_init(&solutions[0], &good.p, 10);
	for (size_t i = 0; i < 10; i++)
		solutions[0].draws[i] = 600;
	combine_scopes(&w);
	assert_float_equal(out.draws[0], 600, 1e-3);
	/* 400 instructions of four: each ran a hundred times in the mean.  Of the other block it has seen more. */
	assert_float_equal(out.doubt[0], 100, 1e-3);
	assert_float_equal(out.doubt[1], 400 / 3., 1e-3);
	solution_fini(&solutions[0]);
	solution_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_without_a_solution_may_have_run_what_it_has_not_seen),
		cmocka_unit_test(a_shadow_is_seen_by_blocks_that_run_equally_often),
		cmocka_unit_test(instructions_of_a_block_with_all_its_samples_tell_of_a_step),
		cmocka_unit_test(draws_that_meet_the_totals_are_taken),
		cmocka_unit_test(draws_that_leave_a_total_are_refused),
		cmocka_unit_test(a_small_miss_of_a_very_exact_total_is_let_pass),
		cmocka_unit_test(a_miss_within_the_noise_is_let_pass),
		cmocka_unit_test(what_other_code_may_have_caused_is_let_pass),
		cmocka_unit_test(totals_that_are_missed_by_more_than_chance_cost_the_status),
		cmocka_unit_test(samples_off_the_flow_cost_the_status),
		cmocka_unit_test(code_between_samples_costs_the_status),
		cmocka_unit_test(stacks_that_lead_out_cost_the_status),
		cmocka_unit_test(what_a_few_bursts_did_not_take_is_no_structure_of_the_code),
		cmocka_unit_test(functions_that_one_burst_alone_ran_stand_for_those_that_none_did),
		cmocka_unit_test(misses_count_together),
		cmocka_unit_test(work_is_told_from_the_size_of_a_scope),
		cmocka_unit_test(the_total_itself_is_judged_as_any_other),
		cmocka_unit_test(regions_of_too_few_samples_are_told_at_once),
		cmocka_unit_test(regions_too_large_are_told_at_once),
		cmocka_unit_test(what_carries_no_flow_makes_no_region_too_large),
		cmocka_unit_test(a_part_without_a_solution_does_not_undo_the_others),
		cmocka_unit_test(code_in_no_scope_is_a_part_without_a_solution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
