/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fixture_recording.h"
#include "report/assemble/callers.h"

static const struct hand_event cycles[] = { { "cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000,
	                                      0, false, true } };

/* What is at its end a frame pointer led to that was none. */
static void the_chain_is_told_without_the_sample_s_own_place(void **state)
{
	static const uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_USER, 0x10, 0x21, 0x31, 0, 0xffff888000000001
	};
	struct recording *r = recording_by_hand(cycles, 1);
	struct pd_record rec = hand_stack(0, NULL, 0);
	struct callers c = { 0 };
	bool whole;

	(void)state;
	rec.sample.ip = 0x10;
	rec.sample.callchain = chain;
	rec.sample.n_callchain = 6;
	callers_of(&c, r, &rec, &whole);
	assert_true(whole);
	assert_int_equal(c.ips.n, 2);
	assert_int_equal(c.ips.v[0], 0x21);
	assert_int_equal(c.ips.v[1], 0x31);
	callers_fini(&c);
	recording_close(r);
}

/* Calls name themselves, where chains name what is returned to. */
static void calls_that_are_not_back_are_callers(void **state)
{
	static const struct pd_branch calls[] = { { .from_ip = 0x20, .to_ip = 0x10 },
		                                  { .from_ip = 0x30, .to_ip = 0x18 } };
	static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0x9000, (uint64_t)PERF_CONTEXT_USER,
		                          0x10, 0x77 };
	struct recording *r = recording_by_hand(cycles, 1);
	struct pd_record rec = hand_stack(0, NULL, 0);
	struct callers c = { 0 };
	bool whole;

	(void)state;
	r->apart = calls;
	r->n_apart = r->n_calls = 2;
	rec.sample.ip = 0x8000;
	rec.sample.callchain = chain;
	rec.sample.n_callchain = 5;
	callers_of(&c, r, &rec, &whole);
	assert_true(whole);
	assert_int_equal(c.ips.n, 3);
	assert_int_equal(c.ips.v[0], 0x9000);
	assert_int_equal(c.ips.v[1], 0x21);
	assert_int_equal(c.ips.v[2], 0x31);
	callers_fini(&c);
	recording_close(r);
}

/* All that a processor keeps are hardly ever all there are. */
static void a_full_record_is_cut(void **state)
{
	struct pd_branch calls[32];
	struct recording *r = recording_by_hand(cycles, 1);
	struct pd_record rec = hand_stack(0, NULL, 0);
	struct callers c = { 0 };
	bool whole;

	(void)state;
	for (size_t i = 0; i < 32; i++)
		calls[i] = (struct pd_branch){ .from_ip = 0x20 + i, .to_ip = 0x10 };
	r->apart = calls;
	r->n_apart = r->n_calls = 32;
	callers_of(&c, r, &rec, &whole);
	assert_false(whole);
	r->n_calls = 31;
	callers_of(&c, r, &rec, &whole);
	assert_true(whole);
	callers_fini(&c);
	recording_close(r);
}

/* 32-bit code, and samples of the kernel's own threads, have no registers that we unwind by. */
static void without_registers_there_are_no_callers(void **state)
{
	static const uint64_t regs[] = { 1, 2, 3 };
	struct recording *r = recording_by_hand(cycles, 1);
	struct pd_record rec = hand_stack(0, NULL, 0);
	struct callers c = { 0 };
	bool whole;

	(void)state;
	rec.sample.regs_user = regs;
	rec.sample.n_regs_user = 3;
	rec.sample.regs_mask = 7;
	rec.sample.regs_abi = PERF_SAMPLE_REGS_ABI_32;
	callers_of(&c, r, &rec, &whole);
	assert_false(whole);
	assert_int_equal(c.ips.n, 0);
	rec.sample.regs_abi = PERF_SAMPLE_REGS_ABI_64;
	callers_of(&c, r, &rec, &whole);
	assert_false(whole);
	assert_int_equal(c.ips.n, 0);
	callers_fini(&c);
	recording_close(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chain_is_told_without_the_sample_s_own_place),
		cmocka_unit_test(calls_that_are_not_back_are_callers),
		cmocka_unit_test(a_full_record_is_cut),
		cmocka_unit_test(without_registers_there_are_no_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
