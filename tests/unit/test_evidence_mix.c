/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eqs. 3 and 6: exact counts between neighbouring samples, and the equations they make; all sums by hand. */
#include "tests/unit/fixture_recording.h"

#include <math.h>

#include "correct/evidence/evidence.h"
#include "correct/evidence/ratio.h"
#include "report/profile.h"
#include "tests/unit/fixture_problem.h"

/* The hmmer loop of 10, 5 and 4 instructions; block 0 ends in a branch, and 3 of its instructions load. */
static const uint32_t n_insn[] = { 10, 5, 4 };

enum { INSN, CYC, COND, LOAD };
static const struct hand_event group[] = {
	{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
	{ "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000, 0, true },
	{ "cond-branches", PERF_TYPE_RAW, 1, 0, 0, true },
	{ "loads", PERF_TYPE_RAW, 2, 0, 0, true },
};

struct bench {
	struct fixture f;
	struct recording *rec;
	struct problem *problems[1];
	void *state;
};

static void begin_with(struct bench *b, const struct hand_event *events, size_t n)
{
	struct evidence_input in = { .problems = b->problems, .n = 1 };

	fixture_hmmer(&b->f, n_insn);
	b->f.p->insns[9].flow = INSN_COND;
	for (int i = 0; i < 3; i++)
		b->f.p->insns[i].flags = INSN_LOAD;
	b->f.p->insn_per_sample = b->f.p->cyc_per_sample = 1000;
	b->problems[0] = b->f.p;
	b->rec = recording_by_hand(events, n);
	in.rec = b->rec;
	in.graph = &b->f.g;
	assert_int_equal(evidence_mix.begin(&in, &b->state), 0);
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	begin_with(b, group, 4);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	evidence_mix.end(b->state);
	recording_close(b->rec);
	fixture_fini(&b->f);
	free(b);
	return 0;
}

/* The same with other events. */
static struct bench *begin_anew(void **state, const struct hand_event *events, size_t n)
{
	struct bench *b = calloc(1, sizeof(*b));

	teardown(state);
	begin_with(b, events, n);
	*state = b;
	return b;
}

/* A sample of a thread, in the scope or (-1) outside, and the group's counts at it. */
static void show(struct bench *b, uint32_t thread, int32_t scope, uint64_t insn, uint64_t cyc, uint64_t cond,
                 uint64_t load)
{
	const struct pd_value v[] = {
		{ .value = insn, .event = INSN },
		{ .value = cyc, .event = CYC },
		{ .value = cond, .event = COND },
		{ .value = load, .event = LOAD },
	};
	struct pd_record r = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = thread };
	struct sample_seen s = {
		.rec = b->rec, .record = &r, .scope = scope, .thread = thread, .counters = thread
	};

	r.sample = (struct pd_sample){ .period = 1000, .values = v, .n_values = 4 };
	evidence_mix.sample(b->state, &s);
}

static struct equations answer(struct bench *b)
{
	struct equations eqs = { 0 };

	assert_int_equal(evidence_mix.equations(b->state, 0, NULL, &eqs), 0);
	return eqs;
}

static const struct equation *named(const struct equations *eqs, const char *name)
{
	for (size_t i = 0; i < eqs->n; i++)
		if (strcmp(eqs->v[i].name, name) == 0)
			return &eqs->v[i];
	return NULL;
}

/*
 * Five samples inside, 1000 instructions, 100 branches and 300 loads apart:
 * 4 x 1000 inside.  The thread's first 1000 may have run outside: half of
 * them, 500, count; and half an interval, 500, after its last sample.
 */
static void what_lies_between_two_samples_inside_is_the_regions(void **state)
{
	struct bench *b = *state;
	const struct equation *total, *cond, *load;
	struct equations eqs;

	for (uint64_t i = 1; i <= 5; i++)
		show(b, 0, 0, 1000 * i, 2000 * i, 100 * i, 300 * i);
	evidence_mix.finish(b->state);
	assert_true(b->f.p->total_insn == 4000 + 500 + 500);
	assert_true(b->f.p->unseen_share == 0);
	eqs = answer(b);
	assert_int_equal(eqs.n, 3); /* cycles are no mix */
	total = named(&eqs, "instructions");
	assert_non_null(total);
	assert_int_equal(total->kind, 0);
	assert_true(total->value == 5000);
	/* Each edge enters a block and counts its instructions: B, C, C, A. */
	assert_true(total->w[0] == 5 && total->w[1] == 4 && total->w[2] == 4 && total->w[3] == 10);
	/* Two ends, each evenly somewhere in 1000; that is for the end, and 1e-5 of 5000 for now. */
	assert_float_equal(b->f.p->total_sd, sqrt(2. / 12) * 1000, 1e-9);
	assert_float_equal(total->sd, 0.05, 1e-9);
	/* Ratio 0.1: a branch on entry of A, less a tenth of the instructions entered. */
	cond = named(&eqs, "cond-branches");
	assert_non_null(cond);
	assert_int_equal(cond->kind, PROFILE_BY_MIX);
	assert_float_equal(cond->w[0], -0.5, 1e-12);
	assert_float_equal(cond->w[1], -0.4, 1e-12);
	assert_float_equal(cond->w[2], -0.4, 1e-12);
	assert_float_equal(cond->w[3], 1 - 1.0, 1e-12);
	assert_true(cond->value == 0);
	assert_float_equal(cond->shown, 500, 1e-9);
	load = named(&eqs, "loads");
	assert_non_null(load);
	assert_float_equal(load->w[3], 3 - 0.3 * 10, 1e-12);
	assert_float_equal(load->w[0], -0.3 * 5, 1e-12);
	equations_fini(&eqs);
}

/*
 * Outside until 4000, inside at 6000, 7000, 8000, 9000, outside at 13000:
 * 3000 inside; half of 2000 on the way in, half of 4000 on the way out.
 */
static void half_of_an_interval_that_crosses_the_edge_counts(void **state)
{
	struct bench *b = *state;
	struct equations eqs;

	show(b, 0, -1, 4000, 4000, 0, 0);
	for (uint64_t i = 6; i <= 9; i++)
		show(b, 0, 0, 1000 * i, 1000 * i, 10 * i, 10 * i);
	show(b, 0, -1, 13000, 13000, 100, 100);
	evidence_mix.finish(b->state);
	assert_true(b->f.p->total_insn == 3000 + 1000 + 2000);
	eqs = answer(b);
	/* Two crossings of 3000 on average, and a quarter of either, for the pace outside is not known. */
	assert_float_equal(b->f.p->total_sd, sqrt(2. / 12 * 3000 * 3000 + 500 * 500 + 1000 * 1000), 1e-9);
	assert_float_equal(named(&eqs, "instructions")->sd, 0.06, 1e-9);
	equations_fini(&eqs);
}

/*
 * An exec starts the counters anew: 9000 -> 500 is no interval.  Before it
 * 2 x 1000 inside and 500 at the beginning, after it 2 x 1000, and at the end
 * half of the mean interval, 500.
 */
static void counts_that_go_back_begin_anew(void **state)
{
	struct bench *b = *state;

	for (uint64_t i = 0; i < 3; i++)
		show(b, 0, 0, 1000 * (i + 1), 1000 * i, 10 * i, 10 * i);
	for (uint64_t i = 0; i < 3; i++)
		show(b, 0, 0, 500 + 1000 * i, 500 + 1000 * i, 5 + 10 * i, 5 + 10 * i);
	evidence_mix.finish(b->state);
	assert_true(b->f.p->total_insn == 4000 + 500 + 500);
}

/* Two threads' counters have nothing to do with each other, in whatever order their samples come. */
static void threads_count_each_for_itself(void **state)
{
	struct bench *b = *state;

	for (uint64_t i = 1; i <= 5; i++) {
		show(b, 0, 0, 1000 * i, 1000 * i, 10 * i, 10 * i);
		show(b, 1, 0, 700000 + 1000 * i, 1000 * i, 10 * i, 10 * i);
		show(b, 2, -1, 50 * i, 1000 * i, 10 * i, 10 * i);
	}
	evidence_mix.finish(b->state);
	/* 4000 each; beginnings 500 and 701000 / 2; ends 500 each. */
	assert_true(b->f.p->total_insn == 8000 + 500 + 350500 + 1000);
}

/* A thread seen once, inside: half of its only interval, and no end to go by. */
static void one_sample_of_a_thread_makes_no_equation_but_the_total(void **state)
{
	struct bench *b = *state;
	struct equations eqs;

	b->f.p->total_insn = 1000;
	show(b, 0, 0, 1000, 1000, 10, 10);
	evidence_mix.finish(b->state);
	/* No interval: samples x period stays. */
	assert_true(b->f.p->total_insn == 1000);
	eqs = answer(b);
	assert_int_equal(eqs.n, 1);
	assert_float_equal(eqs.v[0].sd, 0.01, 1e-9);
	/* One sample of 1000: sqrt(1000 x 1000). */
	assert_float_equal(b->f.p->total_sd, 1000, 1e-9);
	equations_fini(&eqs);
}

/*
 * In, in, out, in, in, out ...: 10 intervals inside, 9 excursions of one
 * sample.  Outside: 9 / (9 + 10 + 9); mixing (9 / 19) / that, above 1: all
 * mixed, and the intervals hold 9/28 of foreign code.
 */
static void code_that_alternates_with_the_region_is_in_its_intervals(void **state)
{
	struct bench *b = *state;
	uint64_t t = 0;

	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 2; k++, t += 1000)
			show(b, 0, 0, t + 1000, t + 1000, t / 10, t / 10);
		if (i < 9)
			t += 1000, show(b, 0, -1, t, t, t / 10, t / 10);
	}
	evidence_mix.finish(b->state);
	assert_float_equal(b->f.p->unseen_share, 9. / 28, 1e-12);
	/* It may be what the region calls: nine samples of 1000. */
	assert_float_equal(b->f.p->outside_insn, 9000, 1e-9);
}

/*
 * One long stay outside: 1 excursion of 50 samples, 98 intervals inside.
 * Outside 50 / 149, mixing (1 / 99) / (50 / 149) = 0.0301: next to nothing.
 */
static void a_long_stay_elsewhere_leaves_the_intervals_clean(void **state)
{
	struct bench *b = *state;
	uint64_t t = 0;

	for (int i = 0; i < 150; i++, t += 1000)
		show(b, 0, i >= 50 && i < 100 ? -1 : 0, t, t, t, t);
	evidence_mix.finish(b->state);
	assert_float_equal(b->f.p->unseen_share, 50. / 149 * pow(149. / 99 / 50, 3), 1e-9);
	assert_true(b->f.p->unseen_share < 1e-4);
	assert_float_equal(b->f.p->outside_insn, 0, 0);
}

/* Counters that stand still, as in a thread that never ran in user mode, must not divide by zero. */
static void counters_that_stand_still_make_no_mix(void **state)
{
	struct bench *b = *state;
	struct equations eqs;

	b->f.p->total_insn = 7000;
	for (int i = 0; i < 6; i++)
		show(b, 0, 0, 0, 0, 0, 0);
	evidence_mix.finish(b->state);
	assert_true(b->f.p->total_insn == 7000);
	eqs = answer(b);
	assert_int_equal(eqs.n, 1);
	assert_true(isfinite(eqs.v[0].value) && isfinite(eqs.v[0].sd));
	equations_fini(&eqs);
}

/* Events that are not in the instructions' group are never read with them: they are no reason to know nothing. */
static void only_the_instructions_own_group_is_used(void **state)
{
	static const struct hand_event two_groups[] = {
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
		{ "cond-branches", PERF_TYPE_RAW, 1, 0, 0, true },
		{ "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000, 2, true },
		{ "loads", PERF_TYPE_RAW, 2, 0, 2, true },
		{ "stores", PERF_TYPE_RAW, 3, 0, 4, false },
	};
	struct bench *b = *state;
	struct equations eqs;

	b = begin_anew(state, two_groups, 5);
	for (uint64_t i = 1; i <= 5; i++) {
		const struct pd_value first[] = { { .value = 1000 * i, .event = 0 },
			                          { .value = 100 * i, .event = 1 } };
		const struct pd_value second[] = { { .value = 1500 * i, .event = 2 },
			                           { .value = 300 * i, .event = 3 } };
		struct pd_record r = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = 1 };
		struct sample_seen s = { .rec = b->rec, .record = &r };

		r.sample = (struct pd_sample){ .period = 1000, .values = first, .n_values = 2 };
		evidence_mix.sample(b->state, &s);
		r.sample.values = second;
		evidence_mix.sample(b->state, &s);
	}
	evidence_mix.finish(b->state);
	assert_true(b->f.p->total_insn == 4000 + 500 + 500);
	eqs = answer(b);
	assert_int_equal(eqs.n, 2);
	assert_non_null(named(&eqs, "cond-branches"));
	assert_null(named(&eqs, "loads"));
	equations_fini(&eqs);
}

/* A sample in which only some of the events were counted. */
static void show_turn(struct bench *b, uint32_t counters, int32_t scope, const struct pd_value *v, size_t n)
{
	struct pd_record r = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = 1 };
	struct sample_seen s = { .rec = b->rec, .record = &r, .scope = scope, .counters = counters };

	r.sample = (struct pd_sample){ .period = 1000, .values = v, .n_values = n };
	evidence_mix.sample(b->state, &s);
}

/*
 * Turns of two samples 1000 apart, each group 6 of them.  The first begins the thread: 500 of its 1000 count.
 * Between its turns it ran for 1000 (600 before it rested, 400 after), inside as all samples next to it are:
 * 5 intervals, and 500 at the end.  The second group began after the first one's second sample: 6 intervals.
 */
static void groups_that_take_turns_count_on_where_they_stopped(void **state)
{
	static const struct hand_event turns[] = {
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
		{ "cond-branches", PERF_TYPE_RAW, 1, 0, 0, true },
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 2, true },
		{ "loads", PERF_TYPE_RAW, 2, 0, 2, true },
	};
	struct bench *b = *state;
	struct equations eqs;

	b = begin_anew(state, turns, 4);
	assert_int_equal(b->rec->events[2].same, 0);
	assert_int_equal(b->rec->events[3].group, 1);
	for (uint64_t i = 1; i <= 6; i++) {
		const struct pd_value first[] = { { .value = 1000 * i, .event = 0 },
			                          { .value = 100 * i, .event = 1 } };

		show_turn(b, 0, 0, first, 2);
		if (i % 2)
			continue;
		for (uint64_t k = i - 1; k <= i; k++) {
			const struct pd_value v[] = { { .value = 1000 * k, .event = 0 },
				                      { .value = 300 * k, .event = 3 } };

			show_turn(b, 1, 0, v, 2);
		}
	}
	evidence_mix.finish(b->state);
	assert_true(b->f.p->total_insn == 5000 + 500 + 500 + 6000 + 500);
	eqs = answer(b);
	assert_int_equal(eqs.n, 3);
	assert_float_equal(named(&eqs, "cond-branches")->shown, 0.1 * 12500, 1e-9);
	assert_float_equal(named(&eqs, "loads")->shown, 0.3 * 12500, 1e-9);
	equations_fini(&eqs);
}

/*
 * A group that rests while the program leaves the region: of its 1000 between the turns a quarter lies at each of the
 * four samples next to its two pieces; two of them are inside.
 */
static void a_rest_outside_the_region_is_a_crossing(void **state)
{
	static const struct hand_event turns[] = {
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 1, true },
	};
	struct bench *b = *state;

	b = begin_anew(state, turns, 2);
	for (uint64_t i = 1; i <= 4; i++) {
		const struct pd_value v = { .value = 1000 * i };

		if (i == 3)
			for (uint64_t k = 1; k <= 2; k++)
				show_turn(b, 1, -1, &(struct pd_value){ .value = 1000 * k }, 1);
		show_turn(b, 0, 0, &v, 1);
	}
	evidence_mix.finish(b->state);
	/*
	 * First group: 500 at the beginning, 1000, 500 of the interval with the rest, 1000, 500 at the end.
	 * Second: it began inside after a sample there and is outside at its first: half of 1000.
	 */
	assert_true(b->f.p->total_insn == 500 + 1000 + 500 + 1000 + 500 + 500);
}

/* An event that no instruction of the region is, and that was not counted in it, says nothing. */
/*
 * Four stays of two intervals each, 1000 instructions with 100 branches in them and 300 in turn; the other group's turns are
 * outside.  Each stay is a run: sqrt(4 x 200^2 x 4 / 3) branches of scatter over 8000 instructions, for what was not counted.
 */
static void each_stay_is_a_run(void **state)
{
	static const struct hand_event turns[] = {
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
		{ "cond-branches", PERF_TYPE_RAW, 1, 0, 0, true },
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 2, true },
	};
	struct bench *b = *state;
	uint64_t insn = 0, cond = 0;
	double se = 400 * sqrt(4. / 3) / 8000, not_counted;
	struct equations eqs;

	b = begin_anew(state, turns, 3);
	for (uint64_t i = 0; i < 4; i++) {
		for (uint64_t k = 0; k < 3; k++) {
			const struct pd_value v[] = { { .value = insn += 1000, .event = 0 },
				                      { .value = cond += i % 2 ? 300 : 100, .event = 1 } };

			show_turn(b, 0, 0, v, 2);
		}
		for (uint64_t k = 1; k <= 2; k++)
			show_turn(b, 1, -1, &(struct pd_value){ .value = 1000 * (2 * i + k) }, 1);
	}
	evidence_mix.finish(b->state);
	not_counted = 1 - 8000 / b->f.p->total_insn;
	assert_true(not_counted > 0.1 && not_counted < 0.5);
	eqs = answer(b);
	assert_float_equal(named(&eqs, "cond-branches")->shown, 0.2 * b->f.p->total_insn, 1e-6);
	/* eq. 6's noise: of the mean of four over what was counted, for what was not, and of the code outside. */
	assert_float_equal(named(&eqs, "cond-branches")->sd / b->f.p->total_insn,
	                   hypot(se * sqrt(not_counted + not_counted * not_counted),
	                         0.5 * 0.2 * b->f.p->unseen_share),
	                   0.01 * se);
	equations_fini(&eqs);
}
/*
 * Twelve intervals of 1000 instructions in one, two or three runs, a tenth of them branches: a quarter of 48000.  All runs lie on
 * the ratio.  Of one (1 - 1/3) 600^2, of two (1/2 - 1/3) 600^2 is left, half of the 1200 in squares, for 3/4 x 7/4 of what was not counted.
 */
static void a_single_run_tells_no_scatter(void **state)
{
	const double count = 100, squares[] = { 2 / 3. * 600 * 600, 1 / 6. * 600 * 600, 0 };
	const int event = 3;

	(void)state;
	for (size_t n = 1; n <= 3; n++) {
		struct ratios *r = ratios_new();
		struct ratio out = { 0 };
		uint32_t run = 0;

		for (size_t i = 0; i < 12; i++) {
			if (i % (12 / n) == 0)
				run = UINT32_MAX;
			ratios_add(r, &(struct ratio_interval){ 1000, &event, &count, 1 }, &run);
		}
		ratios_of(r, event, 48000, &out);
		assert_float_equal(out.ratio, 0.1, 1e-12);
		assert_float_equal(out.se, sqrt(squares[n - 1] * 0.75 * 1.75) / 12000, 1e-9);
		ratios_free(r);
	}
}

static void an_event_absent_from_the_region_is_left_out(void **state)
{
	static const struct hand_event events[] = {
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
		{ "fp-vector", PERF_TYPE_RAW, 1, 0, 0, true },
		{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0, 0, true },
	};
	struct bench *b = *state;
	struct equations eqs;

	b = begin_anew(state, events, 3);
	for (uint64_t i = 1; i <= 5; i++) {
		const struct pd_value v[] = { { .value = 1000 * i, .event = 0 },
			                      { .value = 0, .event = 1 },
			                      { .value = 77 * i, .event = 2 } };
		struct pd_record r = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = 1 };
		struct sample_seen s = { .rec = b->rec, .record = &r };

		r.sample = (struct pd_sample){ .period = 1000, .values = v, .n_values = 3 };
		evidence_mix.sample(b->state, &s);
	}
	evidence_mix.finish(b->state);
	eqs = answer(b);
	/* Cache misses are no count of instructions. */
	assert_int_equal(eqs.n, 1);
	equations_fini(&eqs);
}

/* Only cycles were sampled, or no group was read: the total is samples x period, with their noise. */
static void without_group_counts_the_total_is_what_was_sampled(void **state)
{
	static const struct hand_event events[] = {
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, false },
		{ "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000, 1, false },
	};
	struct bench *b = *state;
	struct pd_record r = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = 1 };
	struct sample_seen s = { .record = &r };
	struct equations eqs;

	b = begin_anew(state, events, 2);
	s.rec = b->rec;
	b->f.p->total_insn = 400000;
	for (int i = 0; i < 5; i++)
		evidence_mix.sample(b->state, &s);
	evidence_mix.finish(b->state);
	eqs = answer(b);
	assert_int_equal(eqs.n, 1);
	assert_true(eqs.v[0].value == 400000);
	assert_float_equal(eqs.v[0].sd, 4, 1e-9);
	/* 400 samples of 1000: sqrt(400) x 1000. */
	assert_float_equal(b->f.p->total_sd, 20000, 1e-9);
	equations_fini(&eqs);
}

/*
 * Twenty samples of branches, 50 each, are 1000 of them in 400,000 instructions: to 50 / sqrt(6) at the two ends of the one visit, and
 * to the 5% that instructions are known to, which is 50.  A ratio's ends are 4 sqrt(2), and no noise is below two thousandths.
 * Nine samples tell none.
 */
static void without_group_counts_an_event_is_counted_by_its_samples(void **state)
{
	static const struct hand_event events[] = {
		{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, false },
		{ "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000, 1, false },
		{ "cond-branches", PERF_TYPE_RAW, 1, 50, 2, false },
		{ "loads", PERF_TYPE_RAW, 2, 50, 3, false },
	};
	struct bench *b = *state;
	struct pd_record r = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = 1, .event = COND };
	struct sample_seen s = { .record = &r };
	const struct equation *cond;
	struct equations eqs;

	b = begin_anew(state, events, 4);
	s.rec = b->rec;
	b->f.p->total_insn = 400000;
	r.sample.period = 50;
	for (int i = 0; i < 20; i++)
		evidence_mix.sample(b->state, &s);
	r.event = LOAD;
	for (int i = 0; i < 9; i++)
		evidence_mix.sample(b->state, &s);
	evidence_mix.finish(b->state);
	assert_float_equal(b->f.p->total_sd, 20000, 1e-9);
	eqs = answer(b);
	assert_int_equal(eqs.n, 2);
	cond = named(&eqs, "cond-branches");
	assert_non_null(cond);
	assert_float_equal(cond->shown, 1000, 1e-9);
	assert_float_equal(cond->sd, sqrt(50 * 50 / 6. + 50 * 50 + 16 * 2 + 4), 1e-6);
	/* The first block ends in the branch. */
	for (size_t e = 0; e < b->f.p->n_edges; e++) {
		const uint32_t to = b->f.p->edges[e].to;

		assert_float_equal(cond->w[e], (to == 0) - 0.0025 * n_insn[to], 1e-9);
	}
	equations_fini(&eqs);
}

/*
 * Intervals of 1000 and 3000: a thread ends in a long one three times as often as in a short one, and half of it ran by then.
 * 4000 inside, 500 at the beginning, (1000^2 + 3000^2) / 4000 / 2 = 1250 at the end.
 */
static void a_thread_ends_in_long_intervals_more_often(void **state)
{
	struct bench *b = *state;
	const uint64_t at[] = { 1000, 2000, 5000 };

	for (size_t i = 0; i < 3; i++)
		show(b, 0, 0, at[i], at[i], at[i] / 10, at[i] / 10);
	evidence_mix.finish(b->state);
	assert_float_equal(b->f.p->total_insn, 4000 + 500 + 1250, 1e-9);
}

#define TEST(x) cmocka_unit_test_setup_teardown(x, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_lies_between_two_samples_inside_is_the_regions),
		TEST(half_of_an_interval_that_crosses_the_edge_counts),
		TEST(counts_that_go_back_begin_anew),
		TEST(threads_count_each_for_itself),
		TEST(a_thread_ends_in_long_intervals_more_often),
		TEST(one_sample_of_a_thread_makes_no_equation_but_the_total),
		TEST(code_that_alternates_with_the_region_is_in_its_intervals),
		TEST(a_long_stay_elsewhere_leaves_the_intervals_clean),
		TEST(counters_that_stand_still_make_no_mix),
		TEST(only_the_instructions_own_group_is_used),
		TEST(groups_that_take_turns_count_on_where_they_stopped),
		TEST(each_stay_is_a_run),
		TEST(a_rest_outside_the_region_is_a_crossing),
		TEST(an_event_absent_from_the_region_is_left_out),
		TEST(a_single_run_tells_no_scatter),
		TEST(without_group_counts_the_total_is_what_was_sampled),
		TEST(without_group_counts_an_event_is_counted_by_its_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
