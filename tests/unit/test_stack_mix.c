/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the code along a stack counts (for eq. 47), over a graph made by hand. */
#include "tests/unit/fixture_recording.h"

#include "correct/evidence/events.h"
#include "correct/evidence/stack_mix.h"
#include "tests/unit/fixture_problem.h"

/*
 * 10, 5 and 4 instructions of 4 bytes from 0x1000: A ends in a conditional branch to C, or falls into B, and B into C;
 * C jumps back to A.  The first instruction of each loads, and all of B's store.
 */
static const uint32_t n_insn[] = { 10, 5, 4 };
static const struct pd_branch back = { .from_ip = 0x1048, .to_ip = 0x1000 }, past = { 0x1024, 0x103c },
                              astray = { 0x5000, 0x6000 };
static const struct hand_event events[] = {
	{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
};
enum { BRANCHES, TAKEN, NOT_TAKEN, LOADS, STORES, N_KINDS };
static const int kinds[] = { MIX_BRANCH, MIX_TAKEN, MIX_NOT_TAKEN, MIX_LOAD, MIX_STORE };

struct bench {
	struct fixture f;
	struct recording *rec;
	struct problem *problems[1];
	struct stack_mix *mix;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct evidence_input in = { .problems = b->problems, .n = 1 };

	*state = b;
	fixture_hmmer(&b->f, n_insn);
	b->f.g.insns[0].flags = b->f.g.insns[15].flags = INSN_LOAD;
	for (int i = 10; i < 15; i++)
		b->f.g.insns[i].flags = i == 10 ? INSN_LOAD | INSN_STORE : INSN_STORE;
	b->f.g.insns[9].flow = INSN_COND;
	b->f.g.insns[18].flow = INSN_JUMP;
	b->problems[0] = b->f.p;
	b->rec = recording_by_hand(events, 1);
	in.rec = b->rec;
	in.graph = &b->f.g;
	return stack_mix_new(&in, kinds, N_KINDS, &b->mix);
}

static int teardown(void **state)
{
	struct bench *b = *state;

	stack_mix_free(b->mix);
	recording_close(b->rec);
	fixture_fini(&b->f);
	free(b);
	return 0;
}

static bool look(struct bench *b, int32_t scope, const struct pd_branch *stack, size_t n, float *out)
{
	struct pd_branch with[HAND_MAX + 1];
	struct pd_record r = hand_record(0, stack, n, with);
	struct sample_seen s = { .rec = b->rec, .record = &r, .scope = scope };

	return stack_mix_of(b->mix, &s, out);
}

/* Twice: the second time the runs are known. */
static void counts_are_those_of_the_runs_between_branches(void **state)
{
	const struct pd_branch stack[] = { back, past, back, back };
	struct bench *b = *state;
	float out[N_KINDS];

	/* Back from C, which A jumped to; A past B; all three: 4, 10 and 19 instructions. */
	for (int times = 0; times < 2; times++) {
		assert_true(look(b, 0, stack, 4, out));
		assert_float_equal(out[BRANCHES], 4 / 33., 1e-6);
		assert_float_equal(out[TAKEN], 3 / 33., 1e-6);
		assert_float_equal(out[NOT_TAKEN], 1 / 33., 1e-6);
		assert_float_equal(out[LOADS], 5 / 33., 1e-6);
		assert_float_equal(out[STORES], 5 / 33., 1e-6);
	}
}

static void runs_that_are_not_the_scope_s_are_left_out(void **state)
{
	const struct pd_branch stack[] = { back, past, astray, back }, none[] = { astray, astray },
	                       one[] = { back };
	struct bench *b = *state;
	float out[N_KINDS];

	assert_true(look(b, 0, stack, 4, out));
	/* Only C is whole: what led to 0x6000, and on from there, is no run. */
	assert_float_equal(out[BRANCHES], 1 / 4., 1e-6);
	assert_float_equal(out[LOADS], 1 / 4., 1e-6);
	assert_false(look(b, 0, none, 2, out));
	assert_false(look(b, 0, one, 1, out));
	assert_false(look(b, -1, stack, 4, out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_are_those_of_the_runs_between_branches, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(runs_that_are_not_the_scope_s_are_left_out, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
