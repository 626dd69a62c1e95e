/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bursts tell of the trips of loops and of calls where no instructions were counted: a graph made by hand, numbers by hand. */
#include "tests/unit/fixture_recording.h"

#include <math.h>

#include "correct/flow/region.h"
#include "report/assemble/flow_impl.h"
#include "tests/unit/fixture_problem.h"

/*
 * main() is a loop, 0x1000 to 0x101c, of three blocks: the way in, an inner loop of one block, and the way out, which jumps
 * back.  leaf(), 0x101c to 0x102c, is called by the way out, and by cold(), 0x102c to 0x1034, which is of another region.
 */
enum { WAY_IN, INNER, WAY_OUT, LEAF, COLD, N_BLOCKS };
enum { MAIN_LOOP, INNER_LOOP, N_LOOPS };
enum { MAIN_FUNC, LEAF_FUNC, COLD_FUNC, N_FUNCS };
static const uint32_t n_insn[N_BLOCKS] = { 2, 3, 2, 4, 2 };
static const struct pd_branch again = { .from_ip = 0x1010, .to_ip = 0x1008 },
                              round_again = { 0x1018, 0x1000 }, call = { 0x1018, 0x101c },
                              cold_call = { 0x1030, 0x101c }, home = { 0x1028, 0x1000 },
                              to_cold = { 0x1028, 0x102c }, astray = { 0x5000, 0x6000 };

static const struct hand_event events[] = {
	{ "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000, 0 },
	{ "bursts", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 1, 1, false, true },
};
enum { BURST = 1, MOST_BURSTS = 400 };

/* Branches of a burst: the first 20 pieces between them are left out, and 125 count. */
enum { N_BRANCHES = 146 };

struct bench {
	struct fixture f;
	struct recording *rec;
	struct flow_regions regions;
	int32_t of_block[N_BLOCKS];
	uint32_t number[N_BLOCKS];
	struct work w;
	struct assembly a;
	struct profile *p;
	struct flow_part x;
	struct pd_record bursts[MOST_BURSTS];
	size_t n_bursts;
};

static void make_profile(struct bench *b)
{
	static const uint32_t loop_of[] = { MAIN_LOOP, INNER_LOOP, MAIN_LOOP, UINT32_MAX, UINT32_MAX };
	struct profile *p = b->p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->meta.relative = true;
	p->n_blocks = N_BLOCKS;
	p->blocks = calloc(N_BLOCKS, sizeof(*p->blocks));
	p->n_insns = b->f.g.n_insns;
	p->insns = calloc(p->n_insns, sizeof(*p->insns));
	for (size_t i = 0; i < p->n_insns; i++)
		p->insns[i].vaddr = b->f.g.insns[i].vaddr;
	for (uint32_t k = 0; k < N_BLOCKS; k++) {
		b->number[k] = k;
		p->blocks[k] = (struct profile_block){ .vaddr = b->f.g.blocks[k].vaddr,
			                               .end_vaddr = b->f.g.blocks[k].end_vaddr,
			                               .func = b->f.g.blocks[k].func,
			                               .trips = loop_of[k] };
	}
	p->n_trips = N_LOOPS;
	p->trips = calloc(N_LOOPS, sizeof(*p->trips));
	p->trips[MAIN_LOOP] = (struct profile_trips){ .header = WAY_IN, .parent = UINT32_MAX, .depth = 1 };
	p->trips[INNER_LOOP] = (struct profile_trips){ .header = INNER, .parent = MAIN_LOOP, .depth = 2 };
	p->n_funcs = N_FUNCS;
	p->funcs = calloc(N_FUNCS, sizeof(*p->funcs));
}

static int setup(void **state)
{
	static const struct flow_edge edges[] = {
		{ WAY_IN, INNER, FLOW_FALL },    { INNER, INNER, FLOW_TAKEN }, { INNER, WAY_OUT, FLOW_FALL },
		{ WAY_OUT, WAY_IN, FLOW_TAKEN }, { WAY_OUT, LEAF, FLOW_CALL }, { LEAF, WAY_IN, FLOW_RET },
		{ LEAF, COLD, FLOW_RET },        { COLD, LEAF, FLOW_CALL },
	};
	static const uint32_t entries[] = { WAY_IN, LEAF, COLD };
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	fixture_make(&b->f, n_insn, N_BLOCKS, edges, sizeof(edges) / sizeof(*edges));
	fixture_functions(&b->f, entries, N_FUNCS);
	/* There are no instructions in which trip counts could be read. */
	for (size_t f = 0; f < N_FUNCS; f++)
		b->f.g.funcs[f].n_blocks = 0;
	b->of_block[COLD] = 1;
	b->regions = (struct flow_regions){ .of_block = b->of_block };
	make_profile(b);
	b->w.regions = &b->regions;
	b->a = (struct assembly){ .w = &b->w, .p = b->p };
	b->x = (struct flow_part){ .a = &b->a, .g = &b->f.g, .number = b->number };
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < b->n_bursts; i++)
		free((void *)b->bursts[i].sample.branches);
	recording_close(b->rec);
	fixture_fini(&b->f);
	profile_free(b->p);
	free(b);
	return 0;
}

/* A burst that goes through these n branches, oldest first, again and again. */
static void show(struct bench *b, const struct pd_branch *lap, size_t n)
{
	struct pd_branch *stack = calloc(N_BRANCHES, sizeof(*stack));
	struct pd_record *r = &b->bursts[b->n_bursts++];

	assert_non_null(stack);
	assert_true(b->n_bursts <= MOST_BURSTS);
	for (size_t i = 0; i < N_BRANCHES; i++)
		stack[N_BRANCHES - 1 - i] = lap[i % n];
	*r = hand_stack(BURST, stack, N_BRANCHES);
	r->time_ns = 1000 * b->n_bursts;
}

/* A burst in which every visit of the inner loop turns so often. */
static void show_visits(struct bench *b, size_t trips)
{
	struct pd_branch lap[16];

	for (size_t i = 0; i + 1 < trips; i++)
		lap[i] = again;
	lap[trips - 1] = round_again;
	show(b, lap, trips);
}

static void find(struct bench *b)
{
	b->w.rec = b->rec = recording_with(events, 2, b->bursts, b->n_bursts);
	assert_int_equal(b->rec->burst_event, BURST);
	/* The module that the graph's code is in. */
	assert_int_equal(recording_place(b->rec, 1, 0x1000).module, 0);
	assert_true(flow_find_crossings(&b->x) >= 0);
}

/* 125 turns and 25 entries a burst, whose moments are all alike: nothing else is thought of. */
static void moments_that_are_alike_tell_trips_exactly(void **state)
{
	struct bench *b = *state;
	const struct profile_spread *inner = &b->p->trips[INNER_LOOP].seen;

	for (int i = 0; i < 20; i++)
		show_visits(b, 5);
	find(b);
	assert_float_equal(inner->mean, 5, 1e-12);
	assert_float_equal(inner->lo, 5, 1e-12);
	assert_float_equal(inner->hi, 5, 1e-12);
	assert_false(b->p->trips[INNER_LOOP].hardly_seen);
}

/*
 * Half of the moments are of visits of two turns, half of ten: 125 turns each, and 62 or 12 entries.  Chance is small of 400.
 * But moments of more turns may be of another pace, by (10/2)^u with u of deviation 0.7: at its 5th and 95th percentile
 * that is a weight of w = 1/6.4 and 6.4, and 125 (1 + w) / (62 + 12 w) is 2.26 and 6.7.
 */
static void moments_of_more_trips_may_be_faster_or_slower(void **state)
{
	struct bench *b = *state;
	const struct profile_spread *inner = &b->p->trips[INNER_LOOP].seen;

	for (int i = 0; i < MOST_BURSTS; i++)
		show_visits(b, i % 2 ? 10 : 2);
	find(b);
	assert_float_equal(inner->mean, 250 / 74., 1e-9);
	assert_float_equal(inner->lo, 2.26, 0.15);
	assert_float_equal(inner->hi, 6.7, 0.7);
}

/* The same of four bursts: chance, and one moment more, of 2^2 or 10^2 over the mean, make it wider on both sides. */
static void few_moments_tell_less(void **state)
{
	struct bench *b = *state;
	const struct profile_spread *inner = &b->p->trips[INNER_LOOP].seen;

	for (int i = 0; i < 4; i++)
		show_visits(b, i % 2 ? 10 : 2);
	find(b);
	assert_float_equal(inner->mean, 250 / 74., 1e-9);
	assert_true(inner->lo < 2.05);
	assert_true(inner->lo > 1.2);
	assert_true(inner->hi > 8);
	assert_true(inner->hi < 30);
}

/* A loop that too few bursts have been seen to enter or to leave tells nothing of its trips; one more is enough. */
static void few_bursts_that_met_a_loop_s_ends_do_not_tell_its_trips(void **state)
{
	for (int more = 0; more < 2; more++) {
		struct bench *b = *state;

		for (int i = 0; i < PROFILE_MIN_BURSTS - 1 + more; i++)
			show_visits(b, 5);
		for (int i = 0; i < 30; i++)
			show(b, &again, 1);
		find(b);
		assert_int_equal(b->p->trips[INNER_LOOP].hardly_seen, !more);
		teardown(state);
		setup(state);
	}
}

/* With instructions counted nothing is read, and no loop is in doubt. */
static void counted_instructions_need_no_bursts(void **state)
{
	struct bench *b = *state;

	b->p->meta.relative = false;
	show(b, &again, 1);
	find(b);
	assert_false(b->p->trips[INNER_LOOP].hardly_seen);
	assert_float_equal(b->p->trips[INNER_LOOP].seen.mean, 0, 0);
}

/* Of three calls of leaf one comes from cold(): the share from outside of its region is a third.  Four instructions a call. */
static void calls_from_another_region_have_their_share(void **state)
{
	struct bench *b = *state;
	const struct pd_branch lap[] = { call, home, call, to_cold, cold_call, home };
	const struct profile_spread *leaf = &b->p->funcs[LEAF_FUNC].calls.seen;

	for (int i = 0; i < 20; i++)
		show(b, lap, 6);
	find(b);
	assert_float_equal(leaf->outside, 1 / 3., 0.01);
	assert_float_equal(leaf->mean, 4, 0.15);
	assert_false(leaf->unseen);
}

/* Samples in cold(), and no burst that saw it call: its calls may be of other lengths, down to one instruction. */
static void a_caller_that_has_samples_and_no_burst_is_unseen(void **state)
{
	struct bench *b = *state;
	const struct pd_branch lap[] = { call, home };
	const struct profile_spread *leaf = &b->p->funcs[LEAF_FUNC].calls.seen;

	for (size_t i = 0; i < b->p->n_insns; i++)
		b->p->insns[i].count.raw_cyc = b->p->insns[i].vaddr == b->f.g.blocks[COLD].vaddr;
	for (int i = 0; i < 20; i++)
		show(b, lap, 2);
	find(b);
	assert_true(leaf->unseen);
	assert_float_equal(leaf->mean, 4, 0.15);
	assert_true(leaf->lo < 3.9);
}

/* A break in a burst may hide an entry: what is come to from nowhere is none. */
static void what_is_come_to_from_nowhere_is_no_entry(void **state)
{
	struct bench *b = *state;
	const struct pd_branch lap[] = {
		again, again, again, again, again, again, again, again, again, astray
	};

	for (int i = 0; i < 20; i++)
		show(b, lap, 10);
	find(b);
	assert_float_equal(b->p->trips[INNER_LOOP].seen.mean, 0, 0);
	assert_true(b->p->trips[INNER_LOOP].hardly_seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(moments_that_are_alike_tell_trips_exactly, setup, teardown),
		cmocka_unit_test_setup_teardown(moments_of_more_trips_may_be_faster_or_slower, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(few_moments_tell_less, setup, teardown),
		cmocka_unit_test_setup_teardown(few_bursts_that_met_a_loop_s_ends_do_not_tell_its_trips,
		                                setup, teardown),
		cmocka_unit_test_setup_teardown(counted_instructions_need_no_bursts, setup, teardown),
		cmocka_unit_test_setup_teardown(calls_from_another_region_have_their_share, setup, teardown),
		cmocka_unit_test_setup_teardown(a_caller_that_has_samples_and_no_burst_is_unseen, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(what_is_come_to_from_nowhere_is_no_entry, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
