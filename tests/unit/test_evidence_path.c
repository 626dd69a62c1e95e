/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eqs. 9, 12, 13, 11, 14, 10 and 3: branch stacks over a graph made by hand; flows worked out by hand. */
#include "tests/unit/fixture_recording.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "correct/evidence/evidence.h"
#include "correct/evidence/path_impl.h"
#include "correct/infer/space.h"
#include "correct/model/model.h"
#include "tests/unit/fixture_problem.h"

/*
 * The hmmer loop, 10, 5 and 4 instructions of 4 bytes from 0x1000: A at
 * 0x1000 falls into B at 0x1028 or jumps to C at 0x103c; C ends at 0x104c and
 * jumps back to A.  A lap by B takes one branch, 19 instructions; a lap past it
 * two, 14.
 */
static const uint32_t n_insn[] = { 10, 5, 4 };
enum { A_TO_B, A_TO_C, B_TO_C, C_TO_A };

static const struct pd_branch back = { .from_ip = 0x1048, .to_ip = 0x1000 }, past = { 0x1024, 0x103c },
                              astray = { 0x5000, 0x6000 };

static const struct hand_event events[] = {
	{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
	{ "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000, 0, true },
	{ "bursts", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 1, 2, false, true },
};
enum { INSN, CYC, BURST };

struct bench {
	struct fixture f;
	struct recording *rec;
	struct problem *problems[1];
	struct evidence *ev;
	struct space *space;
};

/* From the loop in b->f on. */
static int setup_bench(struct bench *b)
{
	struct evidence_input in = { .problems = b->problems, .n = 1 };

	gsl_set_error_handler_off();
	b->f.p->insn_per_sample = b->f.p->cyc_per_sample = 1000;
	b->f.p->total_insn = 33000;
	b->problems[0] = b->f.p;
	b->rec = recording_by_hand(events, 3);
	in.rec = b->rec;
	in.graph = &b->f.g;
	assert_int_equal(evidence_begin(&in, &b->ev), 0);
	b->space = space_new(b->f.p, NULL);
	return 0;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	fixture_hmmer(&b->f, n_insn);
	return setup_bench(b);
}

/* RUNGS such loops' A, B and C, each C falling into the next A: 19 instructions each, and a way back from the last. */
enum { RUNGS = 260, RUNG_BYTES = 19 * 4 };

static int setup_ladder(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	fixture_make_ladder(&b->f, n_insn, RUNGS);
	return setup_bench(b);
}

/* A calls what is not the region's, from 0x5000 on, which comes back to B. */
enum { PAST_CALL, B_TO_A };
static const struct pd_branch call = { 0x1024, 0x5000 }, within = { 0x5010, 0x5020 },
                              returned = { 0x502c, 0x1028 }, to_a = { 0x1038, 0x1000 };

static int setup_call(void **state)
{
	static const struct flow_edge edges[] = {
		{ .from = 0, .to = 1, .kind = FLOW_SKIP, .call = 0 },
		{ .from = 1, .to = 0, .kind = FLOW_TAKEN },
	};
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	fixture_make(&b->f, n_insn, 2, edges, 2);
	return setup_bench(b);
}

/* Edges of the mean lap, for |E|: each stack as it counts by itself, without weights. */
static void average(struct bench *b, double *edge_flow)
{
	const struct path *s = evidence_state(b->ev, &evidence_path);
	const struct scope_stacks *r = &s->scopes[0];
	struct path_tally t = { .edge = edge_flow };

	memset(edge_flow, 0, b->f.p->n_edges * sizeof(*edge_flow));
	for (size_t k = 0; k < r->stacks.n; k++)
		path_add_stack(s, r, &r->stacks.v[k], NULL, 1, &t);
	for (size_t e = 0; e < b->f.p->n_edges; e++)
		edge_flow[e] *= b->f.p->total_insn / t.insn;
}

/* A jumps to B, which is next to it, and B back. */
static int setup_jumps(void **state)
{
	static const struct flow_edge edges[] = {
		{ .from = 0, .to = 1, .kind = FLOW_TAKEN },
		{ .from = 1, .to = 0, .kind = FLOW_TAKEN },
	};
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	fixture_make(&b->f, n_insn, 2, edges, 2);
	return setup_bench(b);
}

static int teardown(void **state)
{
	struct bench *b = *state;

	evidence_end(b->ev);
	space_free(b->space);
	recording_close(b->rec);
	fixture_fini(&b->f);
	free(b);
	return 0;
}

/* A sample of an event with a stack, newest first. */
static void show(struct bench *b, int event, const struct pd_branch *stack, size_t n)
{
	struct pd_branch with[HAND_MAX + 1];
	struct pd_record r = event == b->rec->burst_event ? hand_stack(event, stack, n)
	                                                  : hand_record(event, stack, n, with);
	struct sample_seen s = { .rec = b->rec, .record = &r };

	evidence_sample(b->ev, &s);
}

/* Free flows for which row i comes to value[i]; it holds the flows 0 .. i: forward substitution. */
static void substitute(const struct bench *b, const struct equation *rows, const double *value, double *t)
{
	for (size_t i = 0; i < b->space->n_free; i++) {
		const struct equation *eq = &rows[i];

		t[i] = value[i];
		for (size_t k = 0; k < i; k++)
			t[i] -= eq->w[b->space->free_edge[k]] * t[k];
		assert_true(eq->w[b->space->free_edge[i]] > 0);
		t[i] /= eq->w[b->space->free_edge[i]];
	}
}

/* The flow that the path equations alone say, and (unless NULL) its standard deviations. */
static void solve_with_sd(struct bench *b, double *f, double *sd)
{
	struct equations eqs = { 0 };
	size_t d = b->space->n_free, n_edges = b->f.p->n_edges, first = 0;
	double *t = calloc(2 * d + n_edges, sizeof(*t)), *value = t + d, *moved = value + d;

	assert_non_null(t);
	evidence_finish(b->ev);
	assert_int_equal(evidence_equations(b->ev, 0, b->space, &eqs), 0);
	while (first < eqs.n && strcmp(eqs.v[first].name, "branch records") != 0)
		first++;
	assert_int_equal(eqs.n - first, d);
	for (size_t i = 0; i < d; i++)
		value[i] = eqs.v[first + i].value;
	substitute(b, &eqs.v[first], value, t);
	space_flow(b->space, t, f);
	/* Rows are in units of their noise, each of it by itself. */
	for (size_t e = 0; sd && e < n_edges; e++)
		sd[e] = 0;
	for (size_t i = 0; sd && i < d; i++) {
		value[i]++;
		substitute(b, &eqs.v[first], value, t);
		space_flow(b->space, t, moved);
		for (size_t e = 0; e < n_edges; e++)
			sd[e] = hypot(sd[e], moved[e] - f[e]);
		value[i]--;
	}
	equations_fini(&eqs);
	free(t);
}

static void solve(struct bench *b, double *f)
{
	solve_with_sd(b, f, NULL);
}

/*
 * Each stack: past, back, back.  Newest first: a lap by B up to "back", then
 * A up to "past".  Pieces: (back -> past) edge A-C, 4 instructions; (back ->
 * back) edges A-B, B-C, C-A, 5 + 4 + 10.  23 instructions a stack, so 33000
 * are 33000 / 23 stacks, each edge's flow the same.
 */
static void a_stack_tells_the_edges_between_its_branches(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { past, back, back };
	double mean[4];

	for (int i = 0; i < 40; i++)
		show(b, 0, stack, 3);
	average(b, mean);
	for (int e = 0; e < 4; e++)
		assert_float_equal(mean[e], 33000 / 23., 1e-6);
}

/*
 * Laps in turn: by B (19 instructions, "back"), past it (14, "past", "back").
 * Stacks of four branches end at each of the three branches equally often:
 *   back past back back: C-A 10; A-C 4; A-B B-C C-A 19
 *   past back back past: A-C 4; A-B B-C C-A 19; C-A 10
 *   back back past back: 19; 10; 4
 * Every stack holds 33 instructions and each edge once, C-A twice: 1000 laps of both kinds in 33000.
 */
static void the_average_along_the_stacks_is_the_flow(void **state)
{
	struct bench *b = *state;
	const struct pd_branch after_past[] = { back, past, back, back },
	                       in_past[] = { past, back, back, past }, after_b[] = { back, back, past, back };
	double mean[4];
	double f[4];

	for (int i = 0; i < 50; i++) {
		show(b, 0, after_past, 4);
		show(b, 0, in_past, 4);
		show(b, 0, after_b, 4);
	}
	average(b, mean);
	assert_float_equal(mean[A_TO_B], 1000, 1e-6);
	assert_float_equal(mean[A_TO_C], 1000, 1e-6);
	assert_float_equal(mean[B_TO_C], 1000, 1e-6);
	assert_float_equal(mean[C_TO_A], 2000, 1e-6);
	/* The newest edge: C-A of 2 stacks in 3, A-C of 1 in 3; older pieces the same: weights are 1. */
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1000, 1e-6);
	assert_float_equal(f[A_TO_C], 1000, 1e-6);
	assert_float_equal(f[C_TO_A], 2000, 1e-6);
}

/* Stacks b and a of the text below, and five of p, `times` times; newest: b's newest branch, with cycles or without. */
static void show_slow(struct bench *b, int event, struct pd_branch newest, int times)
{
	const struct pd_branch sb[] = { newest, past, back }, sp[] = { past, back, back },
	                       sa[] = { back, back, past };

	for (int i = 0; i < times; i++) {
		show(b, event, sb, 3);
		show(b, event, sa, 3);
		for (int k = 0; k < 5; k++)
			show(b, event, sp, 3);
	}
}

/*
 * The same laps, but C is slow after a jump past B: the interrupt falls there
 * five times as often, so stacks whose newest branch is "past" come 5 times as
 * often as the others.
 *
 * Stacks are of three branches here, two pieces, so what is newest matters:
 *   b  back past back   C-A 10; A-C 4           newest C-A
 *   p  past back back   A-C 4; A-B B-C C-A 19   newest A-C
 *   a  back back past   A-B B-C C-A 19; C-A 10  newest C-A
 * As seen, with p 5 times: A-B 6, A-C 6, C-A 8 in 14 + 5 x 23 + 29 = 158.
 *
 * Each stands for as many instructions.  A branch before a newest A-C has 23 / 2 of them, before C-A 43 / 4 in the mean: A-C is the newest
 * 10/23 times and C-A 8/43 times.  Before A-C came C-A, before C-A either.  Going back (eq. 12) makes x, y of these: y/2, x + y/2; after three
 * rounds x/4 + 3y/8, 3x/4 + 5y/8.  Where C were not slow half as many would be A-C as C-A, and 33000 instructions 1000 laps of either kind:
 * what is left of that is 3%, of 24% by the sums alone.
 */
static const double newest_past = 2.5 / 23 + 3 / 43., newest_back = 7.5 / 23 + 5 / 43.;

static double laps_by_b(void)
{
	return 33000 * (newest_past + newest_back / 2) / (23 * newest_past + 43 * newest_back / 2);
}

static double all_laps(void)
{
	return 33000 * (newest_past + 3 * newest_back / 2) / (23 * newest_past + 43 * newest_back / 2);
}

static void stacks_are_weighed_by_their_newest_edge(void **state)
{
	struct bench *b = *state;
	double mean[4];
	double f[4];

	show_slow(b, CYC, back, 10);
	average(b, mean);
	assert_float_equal(mean[A_TO_B], 33000 * 6 / 158., 1e-6);
	assert_float_equal(mean[C_TO_A], 33000 * 8 / 158., 1e-6);
	solve(b, f);
	assert_float_equal(f[A_TO_B], laps_by_b(), 1e-2);
	assert_float_equal(f[C_TO_A], all_laps(), 1e-2);
}

/*
 * Laps in turn, but "past" is never the newest: it retires with what follows.  Either C-A is as often the newest, so all weigh the same:
 *   back past back back past    C-A 10; A-C 4; A-B B-C C-A 19; C-A 10
 *   back back past back back    A-B B-C C-A 19; C-A 10; A-C 4; A-B B-C C-A 19
 * As seen 3 laps are by B and 2 past it.  Of the newest piece, in the middle of the first eighth, half counts: A-B 2.5, A-C 2, C-A 5 in 80.5.
 */
static void the_newest_pieces_of_a_record_count_for_less(void **state)
{
	struct bench *b = *state;
	const struct pd_branch one[] = { back, past, back, back, past },
	                       other[] = { back, back, past, back, back };
	double f[4];

	for (int i = 0; i < 50; i++) {
		show(b, CYC, one, 5);
		show(b, CYC, other, 5);
	}
	solve(b, f);
	assert_float_equal(f[A_TO_B], 33000 * 2.5 / 80.5, 1e-2);
	assert_float_equal(f[C_TO_A], 33000 * 5 / 80.5, 1e-2);
}

/*
 * Two stages that have one newest edge: laps by B, 38 instructions a stack, then laps past it, 14.  Either stands for half of
 * 33000, so there are 16500 / 19 laps of the one and 16500 / 14 of the other.
 */
static void stages_of_few_instructions_a_branch_keep_their_share(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_b[] = { back, back, back }, lap_past[] = { back, past, back };
	double f[4];

	for (int i = 0; i < 500; i++)
		show(b, CYC, i < 250 ? by_b : lap_past, 3);
	solve(b, f);
	assert_float_equal(f[A_TO_B], 16500 / 19., 1e-2);
	assert_float_equal(f[A_TO_C], 16500 / 14., 1e-2);
}

/* The same of samples of instructions, beside which few of cycles are left out, and of cycles beside few of instructions. */
static void few_of_one_event_are_left_out(void **state)
{
	struct bench *b = *state;
	const struct pd_branch sa[] = { back, back, past }, sp[] = { past, back, back };
	double f[4];

	show_slow(b, INSN, back, 14);
	for (int i = 0; i < 99; i++)
		show(b, CYC, sp, 3);
	solve(b, f);
	assert_float_equal(f[A_TO_B], laps_by_b(), 1e-2);
	teardown(state);
	setup(state);
	b = *state;
	show_slow(b, CYC, back, 20);
	for (int i = 0; i < 20; i++)
		show(b, INSN, sa, 3);
	solve(b, f);
	assert_float_equal(f[A_TO_B], laps_by_b(), 1e-2);
}

/*
 * eq. 12: weight w of p such that newest A-C : C-A is as in the older pieces, where p gives C-A, b gives A-C and a gives C-A:
 * 5 w : 2 = 1 : (5 w + 1), whose fixed point is 5 w = 1, b's and a's being 1.
 */
static void weighing_by_the_newest_edge_takes_the_bias_of_time_away(void **state)
{
	struct bench *b = *state;
	const struct path *s = evidence_state(b->ev, &evidence_path);
	const struct scope_stacks *r = &s->scopes[0];
	float weight[14];

	show_slow(b, CYC, back, 1);
	assert_int_equal(r->stacks.n, 7);
	path_weigh_back(s, r, 4, PATH_FAR, weight);
	/* b, a, p ...: two pieces each. */
	assert_float_equal(weight[0], weight[2], 1e-3 * (double)weight[0]);
	assert_float_equal(weight[4], 0.2 * (double)weight[0], 1e-2 * (double)weight[4]);
	assert_float_equal(weight[13], weight[4], 0);
}

/*
 * The same laps, in turn: past, back (the lap past B), back (the lap by B).
 * C is slow after "back", so a burst of three branches begins with "past" five
 * times as often as with the others.  Oldest first:
 *   p  past back back   C-A 10; A-B B-C C-A 19   oldest A-C
 *   q  back back past   A-B B-C C-A 19; A-C 4    oldest C-A
 *   r  back past back   A-C 4; C-A 10            oldest C-A
 * As they come: A-B 6, A-C 2, C-A 12 in 5 x 29 + 23 + 14 = 182.
 * Each stands for as many instructions.  After an oldest A-C there are 29 in a burst, after C-A 18.5 in the mean:
 *   A-B 5/29 + 1/18.5,  C-A 10/29 + 2/18.5  for the instructions of seven; A-C is what is left of C-A.
 */
static void a_burst_stands_for_its_instructions(void **state)
{
	struct bench *b = *state;
	/* In the file the newest branch comes first. */
	const struct pd_branch p[] = { back, back, past }, q[] = { past, back, back },
	                       r[] = { back, past, back };
	double mean[4];
	double f[4];

	assert_int_equal(b->rec->burst_event, BURST);
	assert_false(b->rec->relative);
	for (int i = 0; i < 200; i++) {
		show(b, BURST, q, 3);
		show(b, BURST, r, 3);
		for (int k = 0; k < 5; k++)
			show(b, BURST, p, 3);
	}
	average(b, mean);
	assert_float_equal(mean[A_TO_B], 33000 * 6 / 182., 1e-6);
	assert_float_equal(mean[A_TO_C], 33000 * 2 / 182., 1e-6);
	assert_float_equal(mean[C_TO_A], 33000 * 12 / 182., 1e-6);
	solve(b, f);
	assert_float_equal(f[A_TO_B], 33000 * (5 / 29. + 1 / 18.5) / 7, 1e-3);
	assert_float_equal(f[A_TO_C], 33000 * (5 / 29. + 1 / 18.5) / 7, 1e-3);
	assert_float_equal(f[C_TO_A], 33000 * (10 / 29. + 2 / 18.5) / 7, 1e-3);
}

/*
 * Of ten branches the older five only lead away from the moment: in time order
 * past, back, past, back, back | back, back, back, back, back.  Four laps by B are left.
 */
static void the_older_half_of_a_burst_is_left_out(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { back, back, back, back, back, back, back, past, back, past };
	double mean[4];

	for (int i = 0; i < 40; i++)
		show(b, BURST, stack, 10);
	average(b, mean);
	assert_float_equal(mean[A_TO_B], 33000 / 19., 1e-6);
	assert_float_equal(mean[A_TO_C], 0, 0);
	assert_float_equal(mean[C_TO_A], 33000 / 19., 1e-6);
}

/*
 * Of a long one, twenty.  In time order: back, twenty times | back, past, back, and 27 more.  After the first
 * of these A-C (4), C-A (10) and 27 laps by B.
 */
static void of_a_long_burst_twenty_branches_are_left_out(void **state)
{
	struct bench *b = *state;
	struct pd_branch stack[50];
	double mean[4];

	for (size_t i = 0; i < 50; i++)
		stack[49 - i] = i == 21 ? past : back;
	for (int i = 0; i < 40; i++)
		show(b, BURST, stack, 50);
	average(b, mean);
	assert_float_equal(mean[A_TO_C], 33000 / (14 + 27 * 19.), 1e-6);
	assert_float_equal(mean[A_TO_B], 33000 * 27 / (14 + 27 * 19.), 1e-6);
}

/*
 * Ten laps by B, of one branch each, then as many past it, of two: an iteration of 30 branches, 1000 laps each way.  All moments
 * lie in the laps by B.  Of 155 branches 20 are the lead-in; the other 135 are four and a half iterations.  With sharp ends there
 * would be 5.2% too many laps by B; 1.5% too few are left.
 */
static void a_burst_fades_in_and_out(void **state)
{
	struct bench *b = *state;
	struct pd_branch stack[155];
	double f[4];

	for (size_t at = 0; at < 10; at++) {
		for (size_t i = 0; i < 155; i++) {
			size_t in_turn = (at + i) % 30;

			stack[154 - i] = in_turn >= 10 && in_turn % 2 == 0 ? past : back;
		}
		for (int i = 0; i < 20; i++)
			show(b, BURST, stack, 155);
	}
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1000, 20);
	assert_float_equal(f[A_TO_C], 1000, 25);
}

/* Two samples' counts, of which the second is so many further on. */
static void show_pace(struct bench *b, uint64_t insn, uint64_t cyc)
{
	struct pd_value values[] = { { .event = INSN }, { .event = CYC } };
	struct pd_record r = hand_stack(CYC, NULL, 0);
	struct sample_seen s = { .rec = b->rec, .record = &r, .counters = (uint32_t)cyc };

	r.sample.values = values;
	r.sample.n_values = 2;
	evidence_sample(b->ev, &s);
	values[0].value = insn;
	values[1].value = cyc;
	evidence_sample(b->ev, &s);
}

/*
 * Moments come evenly in time: where four instructions run a cycle a burst stands for four times as many as
 * where one does.  "past back past" (C-A 10, A-C 4) there, "back back back" (two laps by B, 38) here.
 */
static void a_burst_stands_for_the_instructions_of_its_time(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_c[] = { past, back, past }, by_b[] = { back, back, back };
	double mean[4];

	show_pace(b, 4000, 1000);
	for (int i = 0; i < 50; i++)
		show(b, BURST, by_c, 3);
	show_pace(b, 1001, 1001);
	for (int i = 0; i < 50; i++)
		show(b, BURST, by_b, 3);
	evidence_finish(b->ev);
	/* Not what these few samples counted. */
	b->f.p->total_insn = 33000;
	average(b, mean);
	assert_float_equal(mean[A_TO_C], 33000 * 4 / (4 * 14 + 38.), 1e-3);
	assert_float_equal(mean[A_TO_B], 33000 * 2 / (4 * 14 + 38.), 1e-3);
}

static void show_stage(struct bench *b, uint32_t stage, const struct pd_branch *stack, size_t n)
{
	struct pd_record r = hand_stack(BURST, stack, n);
	struct sample_seen s = { .rec = b->rec, .record = &r, .stage = stage };

	for (int i = 0; i < 50; i++)
		evidence_sample(b->ev, &s);
}

/* Executions of B by draws of 1000 of each block: the ends of the 90% interval and the median between them. */
static void spread_of_b(struct bench *b, double of_b[3])
{
	enum { DRAWS = 4000 };
	double drawn[DRAWS];
	struct solution out;

	solution_init(&out, b->f.p, DRAWS);
	for (size_t i = 0; i < DRAWS * b->f.p->n_blocks; i++)
		out.draws[i] = 1000;
	path_spread_paces(b->ev, 0, 1, &out);
	for (size_t i = 0; i < DRAWS; i++) {
		drawn[i] = (double)out.draws[i * b->f.p->n_blocks + 1];
		assert_float_equal(solution_draw_insn(&out, b->f.p, i), 19000, 1);
	}
	for (size_t i = 0; i < b->f.p->n_blocks; i++)
		assert_float_equal(solution_mean(&out, b->f.p->n_blocks, i), 1000, 0.1);
	gsl_sort(drawn, 1, DRAWS);
	for (size_t k = 0; k < 3; k++)
		of_b[k] = gsl_stats_quantile_from_sorted_data(drawn, 1, DRAWS, 0.05 + 0.45 * (double)k);
	solution_fini(&out);
}

static void stays(struct bench *b)
{
	double of_b[3];

	spread_of_b(b, of_b);
	assert_float_equal(of_b[0], 1000, 1e-2);
	assert_float_equal(of_b[2], 1000, 1e-2);
}

/* B's executions where the pace of the one stage over the other's is r, and A's and C's are scaled by so much over B's. */
static double told_of_b(double r, double scale)
{
	return 19e6 / (scale * 7000 * (1 + r) + 5000);
}

/* That scale which keeps B's mean: of quantiles of r, by halves. */
static double scale_for(double sd)
{
	double low = 0.1, high = 10;

	for (int turn = 0; turn < 50; turn++) {
		double mean = 0, mid = (low + high) / 2;

		for (int i = 0; i < 1000; i++)
			mean += told_of_b(exp(sd * gsl_cdf_ugaussian_Pinv((i + 0.5) / 1000)), mid) / 1000;
		*(mean > 1000 ? &low : &high) = mid;
	}
	return low;
}

/*
 * Eq. 19.  Fifty bursts of two laps by B, and later fifty of two by C: these have half of A's and C's executions, and none
 * of B's.  With r their pace over the others' B has 1000 of 7000 (1+r) + 5000 instructions, of which there are 19000, and the
 * means are kept: the first is scaled over the other.  Of 10, 5 and 4 instructions A, B and C have shares of 10, 5 and 4 in 19, and of
 * 10 and 4 in 14; the roots differ.  Each block's part in the log of a pace has .7^2 of variance, and of its cost, 1.03, 1.12 or
 * 1.1875, what its share comes to where it runs.  Without samples all cost the same.
 */
static double sd_of_paces(void)
{
	static const double by_b[] = { 10 / 19., 5 / 19., 4 / 19. }, by_c[] = { 10 / 14., 0, 4 / 14. },
	                    cost[] = { 1.03, 1.12, 1.1875 };
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		/* Both halves of fifty each. */
		const double x = by_b[i], y = by_c[i], share = (x * x + y * y) / (x + y),
		             by = sqrt(x) - sqrt(y);

		sum += by * by * (0.7 * 0.7 + share * cost[i]);
	}
	return sqrt(sum);
}

/* Quantiles of r fall as B's executions rise. */
static void assert_paces_differ(struct bench *b, double sd)
{
	const double scale = scale_for(sd);
	double of_b[3];

	spread_of_b(b, of_b);
	for (int k = 0; k < 3; k++) {
		const double r = exp(sd * gsl_cdf_ugaussian_Pinv(0.95 - 0.45 * k));

		assert_float_equal(of_b[k], told_of_b(r, scale), 30);
	}
}

static void moments_in_other_code_have_other_paces(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_c[] = { past, back, past, back, past }, by_b[] = { back, back, back };

	b->f.p->relative = true;
	show_stage(b, 2, by_b, 3);
	/* All moments in the same code are alike. */
	stays(b);
	show_stage(b, 3, by_c, 5);
	assert_paces_differ(b, sd_of_paces());
	b->f.p->pace = 1;
	stays(b);
	b->f.p->relative = false;
	stays(b);
}

/* Records of laps by B and of laps by C, of the same newest and oldest edge: so many of the one in a row, then of the other. */
static void show_records(struct bench *b, int in_a_row)
{
	const struct pd_branch by_b[] = { back, back, back, back },
	                       by_c[] = { back, past, back, past, back, past };

	for (int i = 0; i < 120; i++) {
		struct pd_record r = i / in_a_row % 2 ? hand_stack(CYC, by_c, 6) : hand_stack(CYC, by_b, 4);
		struct sample_seen s = { .rec = b->rec, .record = &r };

		evidence_sample(b->ev, &s);
	}
}

/* A record is short: sixty of each, apart in time, are of two loops. */
static void records_apart_have_other_paces(void **state)
{
	struct bench *b = *state;

	b->f.p->relative = true;
	show_records(b, 60);
	assert_paces_differ(b, sd_of_paces());
}

/* Where one goes on from the other they are of one loop, and of one pace. */
static void records_that_go_on_from_each_other_have_one(void **state)
{
	struct bench *b = *state;
	double of_b[3];

	b->f.p->relative = true;
	/* Behind three in a row are three of the other kind, or two or one, and one or two of their own: half in the mean. */
	show_records(b, 3);
	spread_of_b(b, of_b);
	assert_true(of_b[2] - of_b[0] < 250);
}

/*
 * Twelve paths of each stage; those past B are four times as fast.  Stacks by B are of its paths alone.  Stacks past it are of either: a
 * path by B may hold laps past it, 14/19 of as many: so .712 of the time is of paths by B, with .712 of 1.864 instructions, 5 of 19 B's.
 */
static void add_timed(struct bench *b, bool by_b)
{
	struct timed_paths *t = &b->rec->paths;
	struct pd_sample moment = { .ip = 0x1000, .addr = by_b ? 19000 : 3500 },
	                 whole = { .ip = 0x1000, .addr = 0x1048, .stream_id = 1000, .period = 19000 },
	                 a = { .ip = 0x1000, .addr = 0x1024, .stream_id = 1000, .period = 10000 },
	                 c = { .ip = 0x103c, .addr = 0x1048, .stream_id = 1000, .period = 4000 };

	for (int i = 0; i < 12; i++) {
		timed_paths_add(t, &moment, 0, 0x1000);
		if (by_b) {
			timed_paths_add(t, &whole, 0, 0x1000);
		} else {
			timed_paths_add(t, &a, 0, 0x1000);
			timed_paths_add(t, &c, 0, 0x103c);
		}
	}
}

static void or_timed_paths_tell_them(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_c[] = { past, back, past, back, past }, by_b[] = { back, back, back };
	struct solution out;

	b->f.p->relative = true;
	b->f.p->stay_share = 1;
	show_stage(b, 2, by_b, 3);
	show_stage(b, 3, by_c, 5);
	add_timed(b, true);
	add_timed(b, false);
	solution_init(&out, b->f.p, 2000);
	for (size_t i = 0; i < 2000 * b->f.p->n_blocks; i++)
		out.draws[i] = 1000;
	path_spread_paces(b->ev, 0, 1, &out);
	assert_float_equal(out.told_share, 1, 1e-9);
	/* 33000 * .712 / 1.864 / 19 laps. */
	assert_float_equal(solution_mean(&out, b->f.p->n_blocks, 1), 663, 70);
	solution_fini(&out);
}

/*
 * Three samples in B, which ran 5 of 33 instructions, where A ran 20 and C 8: B costs 4 / (1 + 15/33) of the mean, A 1 / (1 + 60/33) and
 * C 1 / (1 + 24/33).  If that holds at all moments laps by B are 2.46 times as slow as those past it.
 */
static void or_those_that_costs_of_blocks_tell(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_c[] = { past, back, past, back, past }, by_b[] = { back, back, back };
	const double of_a = 1 / (1 + 60 / 33.), of_b = 4 / (1 + 15 / 33.), of_c = 1 / (1 + 24 / 33.),
	             slower = (10 * of_a + 5 * of_b + 4 * of_c) / 19 / ((10 * of_a + 4 * of_c) / 14);

	b->f.p->relative = true;
	b->f.p->cyc_per_sample = 1000;
	b->f.p->seen_cyc[b->f.p->blocks[1].insn0] = 3000;
	show_stage(b, 2, by_b, 3);
	show_stage(b, 3, by_c, 5);
	assert_float_equal(slower, 2.46, 0.01);
	assert_paces_differ(b, hypot(sd_of_paces(), log(slower)));
}

/* Moments of two stages, and what is in doubt of B. */
static double doubt_of_b(struct bench *b, double *open_share)
{
	struct solution out;
	double of_b;

	solution_init(&out, b->f.p, 100);
	for (size_t i = 0; i < 100 * b->f.p->n_blocks; i++)
		out.draws[i] = 1000;
	path_spread_paces(b->ev, 0, 1, &out);
	*open_share = out.open_share;
	of_b = out.doubt ? (double)out.doubt[1] : NAN;
	solution_fini(&out);
	return of_b;
}

/*
 * Nine samples in A, which ran 20 of 33 instructions: A costs 10 / (1 + 180/33) = 1.549 of the mean, B 1 / (1 + 45/33) = 0.423 and C
 * 1 / (1 + 72/33) = 0.314.  Laps by B have 15.49, 2.12 and 1.26 of their time in A, B and C, whose s^2 are 0.653, 1.116 and 1.4, and
 * so a log pace of variance 0.461, below .7^2; those past it 15.49 and 1.26, and 0.566.  These may run exp(3 * 0.753) = 9.56 times
 * as fast, where B's 1000 are 1000 * 33 / (19 + 14 * 9.56) = 216, or as slow, where they are 1613.
 */
static void what_few_blocks_have_most_time_of_is_in_doubt(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_c[] = { past, back, past, back, past }, by_b[] = { back, back, back };
	double open_share;

	b->f.p->relative = true;
	b->f.p->cyc_per_sample = 1000;
	b->f.p->seen_cyc[b->f.p->blocks[0].insn0] = 9000;
	show_stage(b, 2, by_b, 3);
	show_stage(b, 3, by_c, 5);
	assert_float_equal(doubt_of_b(b, &open_share), 0, 1e-9);
	b->f.p->stay_share = 1;
	assert_float_equal(doubt_of_b(b, &open_share), 1000 - 215.8, 1);
	assert_float_equal(open_share, 0.5, 1e-9);
}

/* A tenth of the time is in B, through which no burst went: of 10,000 instructions, 5 an execution, or of exp(1.645 * .7) = 3.163 times so many. */
static void what_samples_show_and_no_burst_ran_is_in_doubt(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_c[] = { past, back, past, back, past };
	double open_share;

	b->f.p->relative = true;
	b->f.p->cyc_per_sample = 1000;
	b->f.p->total_cyc = 50000;
	b->f.p->total_insn = 100000;
	show_stage(b, 2, by_c, 5);
	assert_float_equal(doubt_of_b(b, &open_share), 0, 1e-9);
	b->f.p->seen_cyc[b->f.p->blocks[1].insn0] = 5000;
	assert_float_equal(doubt_of_b(b, &open_share), 3.163 * 10000 / 5 - 1000, 1);
}

static double run_once(struct bench *b)
{
	struct solution out;
	double share;

	solution_init(&out, b->f.p, 1);
	path_spread_paces(b->ev, 0, 1, &out);
	share = out.once_share;
	solution_fini(&out);
	return share;
}

/*
 * A, B and C are functions.  One burst goes by B, which has 5 of the 19 instructions of its laps, and fifty go past it.  With
 * a second one nothing is left that one burst alone ran, and of one burst all is.
 */
static void what_one_burst_alone_ran_tells_what_none_did(void **state)
{
	static const uint32_t entry[] = { 0, 1, 2 };
	struct bench *b = *state;
	const struct pd_branch by_c[] = { past, back, past, back, past }, by_b[] = { back, back, back };

	fixture_functions(&b->f, entry, 3);
	b->f.p->relative = true;
	show(b, BURST, by_b, 3);
	assert_float_equal(run_once(b), 1, 1e-6);
	show_stage(b, 0, by_c, 5);
	assert_float_equal(run_once(b), 5. / 19 / 51, 1e-6);
	show(b, BURST, by_b, 3);
	assert_float_equal(run_once(b), 0, 1e-9);
}

static uint32_t note(struct bench *b, struct paces *p, int event, uint64_t insn, uint64_t cyc)
{
	struct pd_value values[] = { { .event = INSN, .value = insn }, { .event = CYC, .value = cyc } };
	struct pd_record r = hand_stack(event, &back, 1);
	struct sample_seen s = { .rec = b->rec, .record = &r };
	uint32_t at;

	r.sample.values = values;
	r.sample.n_values = event == BURST ? 0 : 2;
	at = paces_sample(p, b->rec, &s);
	return at;
}

/*
 * eq. 10: 4000 instructions in 1000 cycles, 1000 in 1000, 3000 in 1000.
 *   a burst of 300 instructions in the second  1000 / 1000
 *   one of 1200, of which half of that interval is less  (1000 + 3000) / 2000
 *   a sample of cycles at its end  (1000 + 3000) / 2000
 *   a burst in the third, and one after the last sample  3000 / 1000
 */
static void a_stack_has_the_pace_of_what_it_ran_over(void **state)
{
	struct bench *b = *state;
	const struct piece all[] = { { .n_insn = 300 }, { .n_insn = 900 } };
	uint32_t pieces[] = { 0, 0, 1 };
	struct paces p = { 0 };
	struct stack st[] = { { .burst = false },
		              { .burst = true, .n_pieces = 1 },
		              { .burst = true, .piece0 = 1, .n_pieces = 2 },
		              { .burst = false, .piece0 = 1, .n_pieces = 2 },
		              { .burst = true, .piece0 = 1, .n_pieces = 2 },
		              { .burst = true, .n_pieces = 1 } };
	const double pace[] = { 1, 1, 2, 2, 3, 3 };
	struct scope_stacks r = { .stacks = { st, 6, 6 }, .pieces = { pieces, 3, 3 } };

	for (int i = 0; i < 6; i++)
		st[i].insn = 1000;
	note(b, &p, CYC, 500, 500);
	note(b, &p, INSN, 4500, 1500);
	st[1].span = st[2].span = note(b, &p, BURST, 0, 0);
	st[3].span = note(b, &p, CYC, 5500, 2500);
	st[4].span = note(b, &p, BURST, 0, 0);
	note(b, &p, INSN, 8500, 3500);
	st[5].span = note(b, &p, BURST, 0, 0);
	/* What is told in instructions already is not told again. */
	for (int turn = 0; turn < 2; turn++) {
		paces_apply(&p, all, &r);
		for (int i = 0; i < 6; i++)
			assert_float_equal(st[i].insn, 1000 * pace[i], 1e-3);
	}
	paces_fini(&p);
}

/* A-B by 50 such records, then with a burst by B, then with 20 more and 20 past it. */
static void join_records(const struct pd_branch *record, size_t n, double a_to_b[3])
{
	const struct pd_branch by_b[] = { back, back, back, back, back },
	                       by_c[] = { back, past, back, past, back, past };
	struct bench *b;
	double f[4];
	void *state;

	setup(&state);
	b = state;
	for (int i = 0; i < 50; i++)
		show(b, INSN, record, n);
	for (int i = 0; i < 3; i++) {
		solve(b, f);
		a_to_b[i] = f[A_TO_B];
		for (int k = 0; k < (i ? 20 : 1); k++) {
			show(b, BURST, by_b, 5);
			if (i)
				show(b, BURST, by_c, 5);
		}
	}
	teardown(&state);
}

/*
 * Branch records say that every other lap is by B, or as their newest pieces count for less (sines' squares: 1/4 of 10 instructions in
 * 66, 3/4 of them in 33) 2 of 58.5 instructions, 1 of 30.5; bursts that two in three are, some of four laps by B (76)
 * and as many of two past it (28), 33000 * 4 / 104: what comes out lies between them, but one burst alone is not
 * heard.  Records whose newer half says otherwise may be off by as much (eq. 13), and are heard less: 21 bursts by B and 20 past it,
 * 84 laps by B in 2156 instructions, say nearly all.
 */
static void bursts_and_branch_records_are_joined(void **state)
{
	const struct pd_branch even[] = { back, past, back, back, past, back, back },
	                       leaning[] = { back, past, back, back };
	double f[3], g[3];

	(void)state;
	join_records(even, 7, f);
	assert_float_equal(f[0], 33000 * 2 / 58.5, 1);
	assert_float_equal(f[1], f[0], 1e-6);
	assert_true(f[2] > f[0] && f[2] < 1250);
	join_records(leaning, 4, g);
	assert_float_equal(g[0], 33000 / 30.5, 1);
	assert_float_equal(g[1], g[0], 1e-6);
	assert_true(g[2] > f[2] + 20 && g[2] < 33000 * 84 / 2156.);
}

/*
 * Records of both ways, ten of each kind, and ten bursts past B.  A-B and B-C, which no burst took, lead to the 5 instructions of
 * B and the 4 of C: those of all laps by B, which is much of 33000.  That no burst took them in ten has the noise of ten records.
 * One burst by B among them: there is nothing that none took.
 */
static void ways_that_no_burst_took_are_as_uncertain_as_records(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_b[] = { back, back, back, back, back },
	                       by_c[] = { back, past, back, past, back, past };
	double records[4], records_sd[4], f[4], sd[4];

	/* Next to one another half of them differ, as by chance. */
	for (int i = 0; i < 10; i++) {
		show(b, INSN, i % 2 ? by_b : by_c, 5);
		show(b, INSN, i % 2 ? by_c : by_b, 5);
	}
	solve_with_sd(b, records, records_sd);
	assert_true(b->f.p->untaken_insn == 0);
	for (int i = 0; i < 10; i++)
		show(b, BURST, by_c, 5);
	solve_with_sd(b, f, sd);
	/* Of records as they come, beside bursts: four laps by B in 104 instructions. */
	assert_float_equal(b->f.p->untaken_insn, (5 + 4) * 33000 * 4 / 104., 1e-6);
	assert_true(sd[A_TO_B] > 0.9 * records_sd[A_TO_B]);
	b->f.p->untaken_insn = 0;
	show(b, BURST, by_b, 5);
	solve(b, f);
	assert_true(b->f.p->untaken_insn == 0);
}

/* A lap of the ladder, newest branch first, from one way back to the next: past B on the rungs that `past` says. */
static size_t lap(const bool *is_past, struct pd_branch *out)
{
	static const struct pd_branch home = { 0x1000 + (RUNGS - 1) * RUNG_BYTES + 0x48, 0x1000 };
	size_t n = 0;

	out[n++] = home;
	for (size_t i = RUNGS; i-- > 0;)
		if (is_past[i])
			out[n++] = (struct pd_branch){ past.from_ip + i * RUNG_BYTES,
				                       past.to_ip + i * RUNG_BYTES };
	out[n++] = home;
	return n;
}

/*
 * 261 free flows, of which the last rung's are watched (of a burst, the first are its lead-in): each stack is a lap whose
 * rungs are past B or not by chance, but the last one in half of the laps on record, and in none of the bursts: so it is less
 * than half in what comes out.
 */
static void bursts_beside_records_are_heard_of_many_flows(void **state)
{
	enum { N = 400, LAST = 4 * (RUNGS - 1) };
	struct bench *b = *state;
	struct pd_branch stack[RUNGS + 2];
	bool is_past[RUNGS];
	double *alone = calloc((size_t)4 * RUNGS, sizeof(*alone)), *f = calloc((size_t)4 * RUNGS, sizeof(*f));
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (int i = 0; i < 2 * N; i++) {
		bool burst = i >= N;

		for (size_t k = 0; k < RUNGS; k++)
			is_past[k] = gsl_rng_uniform(rng) < 0.5;
		is_past[RUNGS - 1] = !burst && i % 2;
		if (i == N)
			solve(b, alone);
		show(b, burst ? BURST : INSN, stack, lap(is_past, stack));
	}
	solve(b, f);
	assert_int_equal(b->space->n_free, RUNGS + 1);
	assert_float_equal(alone[LAST + A_TO_C] / (alone[LAST + A_TO_B] + alone[LAST + A_TO_C]), 0.5, 0.01);
	assert_true(f[LAST + A_TO_C] / (f[LAST + A_TO_B] + f[LAST + A_TO_C]) < 0.4);
	gsl_rng_free(rng);
	free(alone);
	free(f);
}

/* Stacks of which every n-th is a burst; how many bursts are left of how many when they are thinned. */
static void thin(struct scope_stacks *r, size_t n_stacks, size_t n, size_t *n_left, size_t *n_bursts)
{
	for (size_t i = 0; i < n_stacks; i++)
		assert_int_equal(vec_push(&r->stacks, ((struct stack){ .burst = i % n == 0 })), 0);
	r->stride = 1;
	path_thin(r);
	*n_left = r->stacks.n;
	*n_bursts = 0;
	for (size_t i = 0; i < r->stacks.n; i++)
		*n_bursts += r->stacks.v[i].burst;
	vec_fini(&r->stacks);
}

/* Of 1001 stacks 91 are bursts, 46 of them at even places: 501 + 45 stay.  Of 1000 bursts 500. */
static void bursts_are_few_and_not_passed_over(void **state)
{
	struct scope_stacks some = { 0 }, all = { 0 };
	size_t n_left, n_bursts, n_taken = 0;

	(void)state;
	thin(&some, 1001, 11, &n_left, &n_bursts);
	assert_int_equal(n_left, 501 + 45);
	assert_int_equal(n_bursts, 91);
	assert_int_equal(some.stride, 2);
	for (int i = 0; i < 10; i++) {
		assert_false(path_passes_over(&some, true));
		n_taken += !path_passes_over(&some, false);
	}
	assert_int_equal(n_taken, 5);
	thin(&all, 1000, 1, &n_left, &n_bursts);
	assert_int_equal(n_left, 500);
	n_taken = 0;
	for (int i = 0; i < 10; i++)
		n_taken += !path_passes_over(&all, true);
	assert_int_equal(n_taken, 5);
}

/* A burst is used up to its first branch that is not in the graph: in time order past, back, back | astray. */
static void what_lies_after_a_break_of_a_burst_is_not_used(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { past, astray, back, back, past };
	double mean[4];

	for (int i = 0; i < 40; i++)
		show(b, BURST, stack, 5);
	average(b, mean);
	/* past back: C-A; back back: A-B, B-C, C-A: 29 instructions. */
	assert_float_equal(mean[A_TO_B], 33000 / 29., 1e-6);
	assert_float_equal(mean[A_TO_C], 0, 0);
	assert_float_equal(mean[C_TO_A], 2 * 33000 / 29., 1e-6);
}

/*
 * eq. 13 on the stacks above, b and a of weight 0.2274, p of 0.0367 (in units of a stack).  A-B, and so B-C, runs
 * 10 x 0.2274 + 50 x 0.0367 = 4.1093 times in 140, C-A 8.6579 times.
 *   of a stack:  0.2274 of B 0 - 14 x 4.1093/140, C-A 1 - 14 x 8.6579/140 of b; 1 - 29 .., 2 - 29 .. of a; 0.0367 of 1 - 23 .. of p
 *   scatter:  half the squares of 10 (b - p), 10 (a - b), 10 (p - a): 0.13895, 0.03147, products -0.00693
 *   a stack:  mean weight (20 x 0.2274 + 50 x 0.0367) / 70, squared 0.00832, added to each
 *   eq. 13:   has 0.09014 for B, of which d / n = 2 / 70 is taken, of the scatter 68 / 70: 0.13755
 *   left:     0.00832 + (0.01 x 4.1093)^2 = 0.01001 of B and A-C, 0.01581 of C-A; eq. 13 has 0.00721 for B
 * Together 0.1448 = 0.3805^2 of 4.1093 executions: 89.7 where 33000 instructions are those of 140.
 */
static void what_weighing_leaves_widens_the_interval(void **state)
{
	struct bench *b = *state;
	struct equations eqs = { 0 };
	size_t first = 0;

	show_slow(b, CYC, back, 10);
	evidence_finish(b->ev);
	assert_int_equal(evidence_equations(b->ev, 0, b->space, &eqs), 0);
	while (strcmp(eqs.v[first].name, "branch records") != 0)
		first++;
	assert_int_equal(b->space->free_edge[0], B_TO_C);
	/* Row 0 speaks of the first free flow alone. */
	assert_float_equal(eqs.v[first].sd / eqs.v[first].w[B_TO_C], 89.7, 0.1);
	equations_fini(&eqs);
}

/*
 * eq. 13: the same flows, told by other ones of them.  20 stacks of a lap past B, 14 instructions, and after each two of them one of
 * two laps by it, 38 instructions, that weighs half: B 10, A-C 20, C-A 30 in 470.
 *   of a stack:  0 - 140/470, 1 - 280/470; (2 - 380/470) / 2, (0 - 760/470) / 2
 *   scatter:  20 times half the square of what the two differ by: 7.9855 -10.8375; . 14.7080, of C-A 1.0186
 *   a stack:  mean weight 25 / 30, squared 0.6944, added to each: 8.6800, 15.4025, 1.7130
 *   eq. 13:   inverse((1/8.6800 + 1/1.7130, 1/1.7130; ., 1/15.4025 + 1/1.7130)) = 5.7592 -5.1828; . 6.2056, of which
 *             d / n = 2 / 30 is taken, of the scatter 28 / 30: 7.8371 -10.4605; . 14.1412
 *   left:     of 0.01 of each flow, beside a stack: 0.7044, 0.7344, 0.7844
 *   eq. 13:   inverse((1/0.7044 + 1/0.7844, 1/0.7844; ., 1/0.7344 + 1/0.7844)) = 0.4812 -0.2327; . 0.4918
 * Together 8.3183 -10.6932; . 14.6330, of C-A 1.5649, of B and C-A -2.3749.
 * Where half the window has 2 less of A-C and of C-A, these have 4 more left: inverse((1/0.7044 + 1/4.7344, -1/4.7344; ., 1/4.7844 +
 * 1/4.7344)) = 0.6559 0.3297; . 2.5453 of B and C-A, in place of 0.4812 0.2485; . 0.5076.  With 2^2 of C-A: 8.4930 -2.2937; . 7.6026.
 */
static void noise_does_not_depend_on_which_flows_are_free(void **state)
{
	struct bench *b = *state;
	const struct pd_branch lap_past[] = { back, past, back }, two_laps[] = { back, back, back };
	uint32_t others[] = { A_TO_B, A_TO_C };
	double z[] = { 1, 0, 0, 1, 1, 0, 1, 1 }, cov[4], mean_edge[4] = { 0 };
	const struct space other = { .n_edges = 4, .n_free = 2, .free_edge = others, .z = z };
	struct path_tally mean = { .edge = mean_edge };
	struct path_means means = { &mean, 25 / 30., NULL };
	const struct path *s = evidence_state(b->ev, &evidence_path);
	const struct scope_stacks *r = &s->scopes[0];
	double half_edge[4];
	const struct path_tally half = { .edge = half_edge, .insn = 470 };
	float weight[60];

	for (size_t i = 0; i < 30; i++) {
		show(b, CYC, i % 3 < 2 ? lap_past : two_laps, 3);
		weight[2 * i] = weight[2 * i + 1] = i % 3 < 2 ? 1 : 0.5F;
	}
	assert_int_equal(r->stacks.n, 30);
	assert_int_equal(r->pieces.n, 60);
	for (size_t i = 0; i < 30; i++)
		path_add_stack(s, r, &r->stacks.v[i], weight, 1, &mean);
	assert_float_equal(mean.insn, 470, 1e-9);
	assert_int_equal(b->space->free_edge[0], B_TO_C);
	assert_int_equal(b->space->free_edge[1], C_TO_A);
	assert_int_equal(path_noise(s, r, weight, b->space, &means, cov), 0);
	assert_float_equal(cov[0], 8.3183, 1e-3);
	assert_float_equal(cov[1], -2.3749, 1e-3);
	assert_float_equal(cov[3], 1.5649, 1e-3);
	assert_int_equal(path_noise(s, r, weight, &other, &means, cov), 0);
	assert_float_equal(cov[0], 8.3183, 1e-3);
	assert_float_equal(cov[1], -10.6932, 1e-3);
	assert_float_equal(cov[2], -10.6932, 1e-3);
	assert_float_equal(cov[3], 14.6330, 1e-3);
	memcpy(half_edge, mean_edge, sizeof(half_edge));
	half_edge[A_TO_C] -= 2;
	half_edge[C_TO_A] -= 2;
	means.half = &half;
	assert_int_equal(path_noise(s, r, weight, b->space, &means, cov), 0);
	assert_float_equal(cov[0], 8.4930, 1e-3);
	assert_float_equal(cov[1], -2.2937, 1e-3);
	assert_float_equal(cov[3], 7.6026, 1e-3);
}

/* Past the branch that is not in the graph nothing is used: past, back | astray, back. */
/*
 * 60 stacks of a lap past B, then 60 of laps by it: two stages, of which no chance decides how many stacks each has.  Where they take
 * turns by chance the scatter is that of 120 draws: some 60 times the two squares of half the difference that the stages make once.
 */
static void stages_longer_than_samples_are_apart_are_no_scatter(void **state)
{
	struct bench *b = *state;
	const struct pd_branch lap_past[] = { back, past, back }, two_laps[] = { back, back, back };
	double mean_edge[4] = { 0 }, cov[2][4];
	struct path_tally mean = { .edge = mean_edge };
	const struct path_means means = { &mean, 0.01, NULL };
	const struct path *s = evidence_state(b->ev, &evidence_path);
	struct scope_stacks of = { 0 }, *r = &s->scopes[0];
	float weight[480];

	for (size_t i = 0; i < 240; i++) {
		bool first = i < 120 ? i < 60 : i % 4 < 2;

		show(b, CYC, first ? lap_past : two_laps, 3);
		weight[2 * i] = weight[2 * i + 1] = 1;
	}
	assert_int_equal(r->stacks.n, 240);
	for (size_t i = 0; i < 120; i++)
		path_add_stack(s, r, &r->stacks.v[i], weight, 1, &mean);
	assert_int_equal(model_set("biased=0"), 0); /* what is left is scatter */
	for (size_t half = 0; half < 2; half++) {
		of = *r;
		of.stacks.v = r->stacks.v + 120 * half;
		of.stacks.n = 120;
		assert_int_equal(path_noise(s, &of, weight, b->space, &means, cov[half]), 0);
	}
	model_reset();
	/* 2 changes against 60. */
	assert_true(cov[0][0] < 0.05 * cov[1][0]);
}

static void what_lies_before_a_break_is_not_used(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { past, back, astray, back, back };
	double mean[4];

	for (int i = 0; i < 40; i++)
		show(b, 0, stack, 5);
	average(b, mean);
	/* One piece of 4 instructions, A-C: 8250 times. */
	assert_float_equal(mean[A_TO_C], 8250, 1e-6);
	assert_float_equal(mean[A_TO_B], 0, 0);
	assert_float_equal(mean[C_TO_A], 0, 0);
}

/*
 * A, the call, 5 and 4 instructions elsewhere, and B: a lap of 15 instructions of its own.  Of the 33000 9 in 24 may
 * have run elsewhere, beside the noise of 33 samples.  Both ways, back from a moment and on from it.
 */
static void a_stack_leads_past_a_call_of_other_code(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { to_a, returned, within, call, to_a };

	for (int event = INSN; event <= BURST; event += BURST - INSN) {
		double mean[4];

		for (int i = 0; i < 40; i++)
			show(b, event, stack, 5);
		average(b, mean);
		assert_float_equal(mean[PAST_CALL], 2200, 1e-6);
		assert_float_equal(mean[B_TO_A], 2200, 1e-6);
		evidence_finish(b->ev);
		assert_float_equal(b->f.p->broken_share, 0, 0);
		assert_float_equal(b->f.p->total_sd, hypot(33000 * 9. / 24, sqrt(33000 * 1000.)), 1e-6);
	}
}

/* eq. 3: with 100 stacks or more the share of other code is taken off: 9 in 24, which may be off by half of that. */
static void what_calls_ran_is_not_the_scope_s(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { to_a, returned, within, call, to_a };

	for (int i = 0; i < 100; i++)
		show(b, INSN, stack, 5);
	evidence_finish(b->ev);
	assert_float_equal(b->f.p->called_share, 9. / 24, 1e-12);
	assert_float_equal(b->f.p->total_insn, 33000 * 15. / 24, 1e-6);
	assert_float_equal(b->f.p->total_sd, hypot(0.5 * 33000 * 9. / 24, sqrt(33000 * 1000.)), 1e-6);
}

/*
 * Of 16 stacks two were come to from where nothing leads to A.  One that ends where a call may have led is none of these, and
 * neither is one that is elsewhere at its newest end: there a branch may be missing.
 */
static void stacks_that_lead_out_of_the_flow_are_counted(void **state)
{
	struct bench *b = *state;
	const struct pd_branch whole[] = { to_a, returned, within, call, to_a },
	                       out[] = { within, call, to_a, returned, within },
	                       lost[] = { to_a, returned, within, call, { 0x9000, 0x1000 }, to_a },
	                       ends[] = { to_a, returned, within, astray, to_a };

	for (int i = 0; i < 12; i++)
		show(b, INSN, whole, 5);
	show(b, INSN, ends, 5);
	show(b, INSN, out, 5);
	show(b, INSN, lost, 6);
	show(b, INSN, lost, 6);
	evidence_finish(b->ev);
	assert_float_equal(b->f.p->broken_share, 2 / 16., 1e-12);
}

/* Branches with the cycles since the one before. */
static const struct pd_branch past_4 = { 0x1024, 0x103c, .cycles = 4 },
                              back_4 = { 0x1048, 0x1000, .cycles = 4 },
                              back_32 = { 0x1048, 0x1000, .cycles = 32 };

/*
 * eq. 11.  Laps in turn: past, back (the lap past B), back (the lap by B).  C takes 28 cycles more after a
 * jump past B: from "past" to "back" are 32 cycles, from any other branch to the next 4, 40 in all.  So of ten
 * moments eight lie behind a "past", one behind each "back".  Newest first, with cycles:
 *   p  past 4, back 4, back 32, past 4, back    44 in all, 8 of 10
 *   q  back 32, past 4, back 4, back 32, past   72
 *   r  back 4, back 32, past 4, back 4, back    44
 * W is 44.  A moment is up to 32 cycles behind a "past", evenly, up to 4 behind a "back".  Pieces end 0, 4, 8
 * and 40 cycles before the newest branch of p, and the last lies in W for 4 moments in 32: p counts "past"
 * 1 + 1/8 times, the lap past B and that by B once.  In q and r all lies in W:
 *   "past"  8 (1 + 1/8) + 1 + 1 = 11    lap past B  8 + 2 + 1 = 11    lap by B  8 + 1 + 2 = 11
 * 11 of each in ten moments: one in 40 cycles.  C-A ends both laps: 1000, 1000 and 2000 in 33000 instructions.
 * Nine stacks of instructions are too few to say anything beside them.
 */
static void cycles_tell_which_branches_lie_in_the_window(void **state)
{
	struct bench *b = *state;
	const struct pd_branch p[] = { past_4, back_4, back_32, past_4, back },
	                       q[] = { back_32, past_4, back_4, back_32, past },
	                       r[] = { back_4, back_32, past_4, back_4, back };
	double f[4];

	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++)
			show(b, CYC, p, 5);
		show(b, CYC, q, 5);
		show(b, CYC, r, 5);
	}
	for (int i = 0; i < 9; i++)
		show(b, INSN, p, 5);
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1000, 1e-3);
	assert_float_equal(f[A_TO_C], 1000, 1e-3);
	assert_float_equal(f[C_TO_A], 2000, 1e-3);
}

/* The same, where the branch behind "past" retired with the instruction that the interrupt waited for, and leads to the sampled one. */
static void a_branch_that_retired_with_the_moment_is_behind_it(void **state)
{
	struct bench *b = *state;
	const struct pd_branch p[] = { back_32, past_4, back_4, back_32, past_4, back },
	                       q[] = { back_32, past_4, back_4, back_32, past },
	                       r[] = { back_4, back_32, past_4, back_4, back };
	double f[4];

	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++) {
			struct pd_record record = hand_stack(CYC, p, 6);
			struct sample_seen seen = { .rec = b->rec, .record = &record };

			record.sample.ip = back_32.to_ip;
			evidence_sample(b->ev, &seen);
		}
		show(b, CYC, q, 5);
		show(b, CYC, r, 5);
	}
	for (int i = 0; i < 9; i++)
		show(b, INSN, p + 1, 5);
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1000, 1e-3);
	assert_float_equal(f[A_TO_C], 1000, 1e-3);
	assert_float_equal(f[C_TO_A], 2000, 1e-3);
}

/* A record as it is, to its newest branch, which is of the scope. */
static void show_newest(struct bench *b, const struct pd_branch *stack, size_t n)
{
	struct pd_record r = hand_stack(CYC, stack, n);
	struct sample_seen s = { .rec = b->rec, .record = &r };

	evidence_sample(b->ev, &s);
}

/*
 * eq. 11.  The same laps, but the 28 cycles more come after a lap past B: 32 from its "back" to the next, and 4 from any other branch,
 * 40 in all.  W is 44.  Of ten moments eight lie up to 32 behind the "back" of a lap past B, one behind each other branch:
 *   p  back 4, past 4, back 32, back 4, past    q  back 32, back 4, past 4, back 32, back    r  past 4, back 32, back 4, past 4, back
 * In p the lap past B before the last ends in W for 4 moments in 32, and the last one's piece is not followed:
 *   "past"  8 + 1 + 1, 1 missing    lap by B  8 + 1 + 1, 1 missing    "back" after "past"  8/8 + 1 + 1, 8 missing
 * Taken for any "back", moments would lie too close behind it, and what is missing would go to the laps by B.
 */
static void a_gap_depends_on_the_branch_before(void **state)
{
	struct bench *b = *state;
	const struct pd_branch p[] = { back_4, past_4, back_32, back_4, past },
	                       q[] = { back_32, back_4, past_4, back_32, back },
	                       r[] = { past_4, back_32, back_4, past_4, back };
	double f[4];

	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++)
			show_newest(b, p, 5);
		show_newest(b, q, 5);
		show_newest(b, r, 5);
	}
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1000, 1e-3);
	assert_float_equal(f[A_TO_C], 1000, 1e-3);
	assert_float_equal(f[C_TO_A], 2000, 1e-3);
}

/*
 * eq. 11.  A jumps to B, and B back to A: 2 cycles from the one to the other, 8 on to A's jump.  Of 20 moments 16 lie behind a "to A", up
 * to 8 cycles, and four behind a "to B", up to 2.  In a quarter of either's stacks the branch before the newest is missing:
 *   p  to A 2, to B 8, to A 2, to B 8, to A     12 of 20      p'  to A 10, to A 2, to B 8, to A 2, to B    4
 *   q  to B 8, to A 2, to B 8, to A 2, to B      3            q'  to B 10, to B 8, to A 2, to B 8, to A    1
 * W is 20, and the pieces that end in it, of each branch:
 *   "to B"  24 + 3 + 4 + 1, newest 4, missing before the newest 4     "to A"  12 + 6 + 4 + 1, newest 16, missing before the newest 1
 * 40 of each, 15 instructions, in 400 cycles.  Of two "to A" in turn, as of two "to B", the code shows that one is missing.
 */
static void a_branch_missing_before_the_newest_is_restored(void **state)
{
	static const struct pd_branch a_2 = { 0x1038, 0x1000, .cycles = 2 },
	                              a_10 = { 0x1038, 0x1000, .cycles = 10 },
	                              b_8 = { 0x1024, 0x1028, .cycles = 8 },
	                              b_10 = { 0x1024, 0x1028, .cycles = 10 };
	const struct pd_branch p[] = { a_2, b_8, a_2, b_8, a_2 }, q[] = { b_8, a_2, b_8, a_2, b_8 },
	                       p_less[] = { a_10, a_2, b_8, a_2, b_8 },
	                       q_less[] = { b_10, b_8, a_2, b_8, a_2 };
	struct bench *b = *state;

	b->f.p->relative = true;
	b->f.p->total_insn = b->f.p->total_cyc = 400000;
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 12; k++)
			show_newest(b, p, 5);
		for (int k = 0; k < 4; k++)
			show_newest(b, p_less, 5);
		for (int k = 0; k < 3; k++)
			show_newest(b, q, 5);
		show_newest(b, q_less, 5);
	}
	evidence_finish(b->ev);
	assert_float_equal(b->f.p->pace, 1.5, 1e-6);
}

/*
 * eq. 10.  Of the laps before those, which are 33 instructions the two in 40 cycles: ten moments count 11 of each lap, of W = 44
 * cycles, which is 363 instructions in 440.  Its noise is the stacks' scatter, and 1%.
 */
static void cycles_tell_how_many_instructions_time_holds(void **state)
{
	struct bench *b = *state;
	const struct pd_branch p[] = { past_4, back_4, back_32, past_4, back },
	                       q[] = { back_32, past_4, back_4, back_32, past },
	                       r[] = { back_4, back_32, past_4, back_4, back };

	b->f.p->relative = true;
	b->f.p->total_insn = b->f.p->total_cyc = 80000;
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++)
			show(b, CYC, p, 5);
		show(b, CYC, q, 5);
		show(b, CYC, r, 5);
	}
	evidence_finish(b->ev);
	assert_float_equal(b->f.p->pace, 33. / 40, 1e-6);
	assert_float_equal(b->f.p->total_insn, 66000, 0.1);
	assert_true(b->f.p->total_sd > 660 && b->f.p->total_sd < 2 * 660);
}

/*
 * eq. 11.  The same laps, but C takes 60 cycles after a jump past B, and stacks are of three branches:
 *   p  past 4, back 4, back    8 in all, 60 of 68
 *   q  back 60, past 4, back   64
 *   r  back 4, back 60, past   64
 * W is 8, and no piece that ends with "past" is in the window of a moment behind one.  These are 60 in 68, and count it 8 in 60 times;
 * q has the way there.  The lap by B is in p for 4 moments in 60, C past B in r, and newest branches double that:
 *   "past"  8    lap by B  2 x 4    C after "past"  2 x 4
 * Each is one in W, and 33 instructions are in 68 cycles (eq. 10).
 */
static void branches_slower_than_the_window_are_kept(void **state)
{
	struct bench *b = *state;
	const struct pd_branch back_60 = { 0x1048, 0x1000, .cycles = 60 };
	const struct pd_branch p[] = { past_4, back_4, back }, q[] = { back_60, past_4, back },
	                       r[] = { back_4, back_60, past };

	b->f.p->relative = true;
	b->f.p->total_insn = b->f.p->total_cyc = 68000;
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 15; k++)
			show_newest(b, p, 3);
		show_newest(b, q, 3);
		show_newest(b, r, 3);
	}
	evidence_finish(b->ev);
	assert_float_equal(b->f.p->pace, 33. / 68, 1e-6);
}

/* Records that tell no cycles tell no pace. */
static void without_cycles_there_is_no_pace(void **state)
{
	struct bench *b = *state;

	b->f.p->relative = true;
	b->f.p->total_cyc = 80000;
	show_slow(b, CYC, back, 200);
	evidence_finish(b->ev);
	assert_float_equal(b->f.p->pace, 0, 0);
}

/* How far a free flow of the path equations is uncertain, by its row alone. */
static double sd_of_first(struct bench *b)
{
	struct equations eqs = { 0 };
	size_t first = 0;
	double sd;

	evidence_finish(b->ev);
	assert_int_equal(evidence_equations(b->ev, 0, b->space, &eqs), 0);
	while (strcmp(eqs.v[first].name, "branch records") != 0)
		first++;
	sd = eqs.v[first].sd / eqs.v[first].w[b->space->free_edge[0]];
	equations_fini(&eqs);
	return sd;
}

/* Stacks of instructions lean to what comes before slow places: those with cycles, weighed by eq. 11, stay as they are. */
static void stacks_of_instructions_beside_those_with_cycles_change_nothing(void **state)
{
	struct bench *b = *state;
	const struct pd_branch p[] = { past_4, back_4, back_32, past_4, back },
	                       q[] = { back_32, past_4, back_4, back_32, past },
	                       r[] = { back_4, back_32, past_4, back_4, back };
	double f[4], sd;

	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++)
			show(b, CYC, p, 5);
		show(b, CYC, q, 5);
		show(b, CYC, r, 5);
	}
	sd = sd_of_first(b);
	show_slow(b, INSN, back, 200);
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1000, 20);
	assert_float_equal(f[A_TO_C], 1000, 25);
	assert_float_equal(f[C_TO_A], 2000, 20);
	assert_float_equal(sd_of_first(b), sd, 1e-9);
}

/* What the stacks of one event, or of both, say of the flows, and of the first free one's noise. */
static double estimate_of(bool cycles, bool insns, double *f)
{
	const struct pd_branch sa[] = { back, back, past };
	struct bench *b;
	double sd;
	void *state;

	setup(&state);
	b = state;
	if (cycles)
		show_slow(b, CYC, back, 20);
	for (int i = 0; insns && i < 60; i++)
		show(b, INSN, sa, i % 10 ? 2 : 3);
	solve(b, f);
	sd = sd_of_first(b);
	teardown(&state);
	return sd;
}

/* eq. 14: without cycles on record two estimates are made; their mean, and as much noise as takes either in. */
static void estimates_of_both_events_are_blended(void **state)
{
	double f[4], of_cycles[4], of_insns[4], sd, sd_cycles, sd_insns, apart;

	(void)state;
	sd_cycles = estimate_of(true, false, of_cycles);
	sd_insns = estimate_of(false, true, of_insns);
	sd = estimate_of(true, true, f);
	for (int e = 0; e < 4; e++)
		assert_float_equal(f[e], (of_cycles[e] + of_insns[e]) / 2, 1e-6 * f[e]);
	apart = of_cycles[B_TO_C] - of_insns[B_TO_C];
	assert_true(fabs(apart) > 2 * sd_cycles);
	assert_float_equal(sd * sd, (sd_cycles * sd_cycles + sd_insns * sd_insns) / 2 + apart * apart / 4,
	                   1e-6 * sd * sd);
}

/*
 * eq. 14.  The others are all "back, back": laps by B, A-B 33000 / 19 = 1737 times, and sure of it to 1%.  Along
 * either of two directions the result moves by at most z / z^2 or, if |z| < 1, by |z|, of its own noise: sqrt(2) in all.
 */
static void stacks_that_contradict_those_with_cycles_hardly_move_them(void **state)
{
	struct bench *b = *state;
	const struct pd_branch p[] = { past_4, back_4, back_32, past_4, back },
	                       q[] = { back_32, past_4, back_4, back_32, past },
	                       r[] = { back_4, back_32, past_4, back_4, back }, wrong[] = { back, back };
	double f[4], sd;

	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++)
			show(b, CYC, p, 5);
		show(b, CYC, q, 5);
		show(b, CYC, r, 5);
	}
	sd = sd_of_first(b);
	for (int i = 0; i < 4000; i++)
		show(b, INSN, wrong, 2);
	solve(b, f);
	assert_int_equal(b->space->free_edge[0], B_TO_C);
	assert_float_equal(f[B_TO_C], 1000, sqrt(2) * sd);
	assert_true(sqrt(2) * sd < 100);
}

/*
 * Stacks that are shorter than W, as one in a hundred may be, or many that end where the kernel's branches are on record, stand for
 * all of it.  To the 1000 above come 5 of past 4, back: 4 cycles and up to 32 more behind "past", for which W leaves room, 16 on
 * average.  44 / 20 times "past" each, with 4 instructions; 1100 times 33 instructions in the others.
 */
static void a_stack_shorter_than_the_window_stands_for_all_of_it(void **state)
{
	struct bench *b = *state;
	const struct pd_branch p[] = { past_4, back_4, back_32, past_4, back },
	                       q[] = { back_32, past_4, back_4, back_32, past },
	                       r[] = { back_4, back_32, past_4, back_4, back };
	double f[4], n_past = 5 * 44. / 20, scale = 33000 / (1100 * 33 + n_past * 4);

	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++)
			show(b, CYC, p, 5);
		show(b, CYC, q, 5);
		show(b, CYC, r, 5);
	}
	for (int i = 0; i < 5; i++)
		show(b, CYC, p, 2);
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1100 * scale, 1e-2);
	assert_float_equal(f[C_TO_A] - f[A_TO_B], 1100 * scale, 1);
}

/* Cycles on record of less than half the branches are none. */
static void few_cycles_are_none(void **state)
{
	struct bench *b = *state;
	double f[4];

	show_slow(b, CYC, back_32, 20);
	solve(b, f);
	assert_float_equal(f[A_TO_B], laps_by_b(), 1e-2);
	assert_float_equal(f[C_TO_A], all_laps(), 1e-2);
}

/*
 * Laps past B and by B by chance: past, back or back alone.  Where the two newest are back, the second of them is missing:
 * what is left is a path, of a lap less by B.  It is not followed, so all is as without.  20,000 stacks of five pieces
 * see 33,000 laps by B: the sd of their share is 0.3%.  Moments are even in branches, not in instructions, which leaves
 * 2%; followed, the piece would lose B 7.7% of its laps.
 */
static void the_newest_piece_of_a_record_is_not_followed(void **state)
{
	struct bench *b = *state;
	struct pd_branch ran[64] = { 0 };
	uint32_t x = 1;
	double f[4];

	for (int i = 0; i < 20000; i++) {
		struct pd_branch stack[7];
		struct pd_record r;
		struct sample_seen s = { .rec = b->rec, .record = &r };
		size_t n = 0, at = 40 + (size_t)i % 3, from;

		for (size_t k = 0; k < 64; k++) {
			bool lap_ended = !k || ran[k - 1].from_ip == back.from_ip;

			x = x * 1664525 + 1013904223;
			ran[k] = lap_ended && x >> 31 ? past : back;
		}
		from = at;
		stack[n++] = ran[from--];
		if (stack[0].from_ip == back.from_ip && ran[from].from_ip == back.from_ip)
			from--;
		while (n < 7)
			stack[n++] = ran[from--];
		r = hand_stack(INSN, stack, n);
		evidence_sample(b->ev, &s);
	}
	solve(b, f);
	assert_float_equal(f[A_TO_B], 1000, 35);
	assert_float_equal(f[A_TO_C], 1000, 35);
	assert_float_equal(f[C_TO_A], 2000, 35);
}

/* Stacks of less than two branches have no piece; and ten records are the fewest that say something. */
static void too_few_stacks_say_nothing(void **state)
{
	struct bench *b = *state;
	const struct pd_branch stack[] = { past, back }, broken[] = { astray, back };
	struct equations eqs = { 0 };

	for (int i = 0; i < 50; i++) {
		show(b, 0, stack, 1);
		show(b, 0, NULL, 0);
		show(b, 0, broken, 2);
	}
	for (int i = 0; i < 9; i++)
		show(b, 0, stack, 2);
	evidence_finish(b->ev);
	assert_int_equal(evidence_equations(b->ev, 0, b->space, &eqs), 0);
	/* Only the total of eq. 3. */
	assert_int_equal(eqs.n, 1);
	equations_fini(&eqs);
}

/* Laps by B and past it, which bursts show in turns; the noise of the laps by B. */
static double noise_of_bursts(struct bench *b, int n)
{
	const struct pd_branch laps[] = { past, back, past, back, past, back },
	                       by[] = { back, back, back, back, back, back };
	double f[4], sd[4];

	for (int i = 0; i < n; i++)
		show(b, BURST, i % 2 ? laps : by, 6);
	solve_with_sd(b, f, sd);
	assert_true(f[A_TO_B] > 0 && f[A_TO_C] > 0);
	return sd[A_TO_C] / f[A_TO_C];
}

/* Their noise goes down as the root of their number, and that of Student's t with them: from (5 / 3) to (39 / 37). */
static void a_few_bursts_say_what_they_show(void **state)
{
	const double few = noise_of_bursts(*state, 6);
	double many;

	teardown(state);
	setup(state);
	many = noise_of_bursts(*state, 40);
	assert_float_equal(few / many, sqrt(40. / 6 * (5. / 3) / (39. / 37)), 0.35);
}

static void three_bursts_say_nothing(void **state)
{
	const struct pd_branch by[] = { back, back, back, back, back, back };
	struct bench *b = *state;
	struct equations eqs = { 0 };

	for (int i = 0; i < 3; i++)
		show(b, BURST, by, 6);
	evidence_finish(b->ev);
	assert_int_equal(evidence_equations(b->ev, 0, b->space, &eqs), 0);
	assert_int_equal(eqs.n, 1);
	equations_fini(&eqs);
}

/* Without group counts nobody knows a cycle sample's instructions: it weighs its period, like any other. */
static void samples_of_both_events_are_used(void **state)
{
	struct bench *b = *state;
	const struct pd_branch by_b[] = { back, back }, around[] = { back, past, back };
	double mean[4];

	for (int i = 0; i < 30; i++) {
		show(b, 0, by_b, 2);
		show(b, 1, around, 3);
	}
	average(b, mean);
	/* 19 + 14 instructions, a lap of each kind. */
	assert_float_equal(mean[A_TO_B], 1000, 1e-6);
	assert_float_equal(mean[A_TO_C], 1000, 1e-6);
	assert_float_equal(mean[C_TO_A], 2000, 1e-6);
}

#define TEST(x) cmocka_unit_test_setup_teardown(x, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stack_tells_the_edges_between_its_branches),
		TEST(the_newest_piece_of_a_record_is_not_followed),
		TEST(the_average_along_the_stacks_is_the_flow),
		TEST(stacks_are_weighed_by_their_newest_edge),
		TEST(the_newest_pieces_of_a_record_count_for_less),
		TEST(stages_of_few_instructions_a_branch_keep_their_share),
		TEST(few_of_one_event_are_left_out),
		TEST(weighing_by_the_newest_edge_takes_the_bias_of_time_away),
		cmocka_unit_test(estimates_of_both_events_are_blended),
		TEST(a_burst_stands_for_its_instructions),
		TEST(the_older_half_of_a_burst_is_left_out),
		TEST(of_a_long_burst_twenty_branches_are_left_out),
		TEST(a_burst_fades_in_and_out),
		TEST(a_burst_stands_for_the_instructions_of_its_time),
		TEST(moments_in_other_code_have_other_paces),
		TEST(records_apart_have_other_paces),
		TEST(records_that_go_on_from_each_other_have_one),
		TEST(or_timed_paths_tell_them),
		TEST(or_those_that_costs_of_blocks_tell),
		TEST(what_few_blocks_have_most_time_of_is_in_doubt),
		TEST(what_samples_show_and_no_burst_ran_is_in_doubt),
		TEST(what_one_burst_alone_ran_tells_what_none_did),
		TEST(a_stack_has_the_pace_of_what_it_ran_over),
		TEST(bursts_and_branch_records_are_joined),
		TEST(ways_that_no_burst_took_are_as_uncertain_as_records),
		cmocka_unit_test_setup_teardown(bursts_beside_records_are_heard_of_many_flows, setup_ladder,
		                                teardown),
		TEST(bursts_are_few_and_not_passed_over),
		TEST(what_lies_after_a_break_of_a_burst_is_not_used),
		TEST(what_weighing_leaves_widens_the_interval),
		TEST(noise_does_not_depend_on_which_flows_are_free),
		TEST(stages_longer_than_samples_are_apart_are_no_scatter),
		TEST(what_lies_before_a_break_is_not_used),
		cmocka_unit_test_setup_teardown(a_stack_leads_past_a_call_of_other_code, setup_call,
		                                teardown),
		cmocka_unit_test_setup_teardown(what_calls_ran_is_not_the_scope_s, setup_call, teardown),
		cmocka_unit_test_setup_teardown(a_branch_missing_before_the_newest_is_restored, setup_jumps,
		                                teardown),
		cmocka_unit_test_setup_teardown(stacks_that_lead_out_of_the_flow_are_counted, setup_call,
		                                teardown),
		TEST(cycles_tell_which_branches_lie_in_the_window),
		TEST(a_branch_that_retired_with_the_moment_is_behind_it),
		TEST(a_gap_depends_on_the_branch_before),
		TEST(cycles_tell_how_many_instructions_time_holds),
		TEST(branches_slower_than_the_window_are_kept),
		TEST(without_cycles_there_is_no_pace),
		TEST(stacks_of_instructions_beside_those_with_cycles_change_nothing),
		TEST(stacks_that_contradict_those_with_cycles_hardly_move_them),
		TEST(a_stack_shorter_than_the_window_stands_for_all_of_it),
		TEST(few_cycles_are_none),
		TEST(too_few_stacks_say_nothing),
		TEST(a_few_bursts_say_what_they_show),
		TEST(three_bursts_say_nothing),
		TEST(samples_of_both_events_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
