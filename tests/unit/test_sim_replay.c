/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sim_fixture.h"

#include "profiler/sim/trace.h"

/* add rax,rax; add rax,rax; dec rcx; jnz to the beginning; then nop */
static const uint8_t loop_code[] = { 0x48, 0x01, 0xc0, 0x48, 0x01, 0xc0, 0x48, 0xff, 0xc9, 0x75, 0xf5, 0x90 };

enum { LOOP_IP = 0x400000 };

static struct sim_replay *loop_on(const struct sim_config *config, uint32_t *block)
{
	struct sim_replay *r;

	assert_int_equal(sim_replay_new(SIM_ISA_X86_64, &r), 0);
	assert_int_equal(sim_replay_add(r, LOOP_IP, loop_code, sizeof(loop_code), block), 11);
	assert_int_equal(sim_replay_start(r, config), 0);
	return r;
}

static void a_block_ends_with_its_branch(void **state)
{
	const uint8_t junk[] = { 0x90, 0x06 }; /* nop; push es, which 64-bit code has not */
	struct sim_config config;
	struct sim_replay *r;
	uint32_t block, after;

	(void)state;
	read_core("zen5", &config);
	r = loop_on(&config, &block);
	assert_int_equal(sim_replay_block(r, block)->n_insn, 4);
	assert_int_equal(sim_replay_block(r, block)->exit, SIM_X_COND);
	assert_int_equal(sim_replay_block(r, block)->end_ip, LOOP_IP + 11);
	assert_int_equal(sim_replay_block(r, block)->target, LOOP_IP);
	assert_int_equal(sim_replay_add(r, LOOP_IP + 11, loop_code + 11, 1, &after), 1);
	assert_int_equal(sim_replay_block(r, after)->exit, SIM_X_NONE);
	assert_int_equal(sim_replay_add(r, 0, junk, 2, &after), 1);
	assert_int_equal(sim_replay_add(r, 0, junk + 1, 1, &after), -SP_EFORMAT);
	sim_replay_free(r);
}

static void a_loop_takes_the_time_of_its_chain_on_one_core_after_the_other(void **state)
{
	struct sim_config config;
	struct sim_replay *r;
	uint32_t block;

	(void)state;
	read_core("zen5", &config);
	r = loop_on(&config, &block);
	/* Two additions, one after the other: 2 cycles; on a core whose additions take 5: 10. */
	assert_float_equal(sim_loop_run(r, &block, NULL, 1), 2, 1e-9);
	config.cls[SIM_C_ALU].latency_cyc = 5;
	assert_int_equal(sim_replay_start(r, &config), 0);
	assert_float_equal(sim_loop_run(r, &block, NULL, 1), 10, 1e-9);
	sim_replay_free(r);
}

/* 100 turns of a load from the next of `lines` lines; each waits for the one before. */
static void chase(struct sim_trace *t, uint32_t block, unsigned lines)
{
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(vec_push(&t->turns, i), 0);
		assert_int_equal(vec_push(&t->steps, (struct sim_step){ block, (uint32_t)t->mem.n }), 0);
		assert_int_equal(vec_push(&t->mem, SIM_MEM(0x100000 + i % lines * 64, 0, 3, 0)), 0);
		assert_int_equal(vec_push(&t->mem, SIM_MEM_END), 0);
	}
	t->end_ip = LOOP_IP;
}

static void a_trace_finds_its_own_lines_and_no_others(void **state)
{
	const uint8_t load[] = { 0x48, 0x8b, 0x00 }; /* mov rax, [rax] */
	struct sim_trace t = { .regular = false };
	struct sim_config config;
	struct sim_replay *r;
	uint32_t block;

	(void)state;
	read_core("zen5", &config);
	config.prefetch_lines = 0;
	assert_int_equal(sim_replay_new(SIM_ISA_X86_64, &r), 0);
	assert_int_equal(sim_replay_add(r, LOOP_IP, load, sizeof(load), &block), 3);
	assert_int_equal(sim_replay_start(r, &config), 0);
	chase(&t, block, 1000);
	/* Lines never seen before come from memory, 560 cycles each; a second time from the first level, 4. */
	assert_float_equal(sim_trace_run(r, &t, 1, 0), 560, 5);
	assert_float_equal(sim_trace_run(r, &t, 1, 0), 4, 0.01);
	assert_float_equal(sim_trace_run(r, &t, 1, UINT64_C(1) << 36), 560, 5);
	assert_int_equal(vec_push(&t.warm, (struct sim_warm){ 0x100000, 0x100000 + 100 * 64 }), 0);
	assert_float_equal(sim_trace_run(r, &t, 1, UINT64_C(2) << 36), 4, 0.01);
	sim_trace_fini(&t);
	sim_replay_free(r);
}

static void turns_that_repeat_each_other_end_a_regular_trace_early(void **state)
{
	const uint8_t load[] = { 0x48, 0x8b, 0x00 };
	struct sim_trace t = { .regular = true };
	struct sim_config config;
	struct sim_replay *r;
	uint32_t block;
	uint64_t n;

	(void)state;
	read_core("zen5", &config);
	assert_int_equal(sim_replay_new(SIM_ISA_X86_64, &r), 0);
	assert_int_equal(sim_replay_add(r, LOOP_IP, load, sizeof(load), &block), 3);
	assert_int_equal(sim_replay_start(r, &config), 0);
	for (unsigned i = 0; i < 20; i++)
		chase(&t, block, 1);
	for (uint32_t i = 0; i < 2000; i++)
		t.turns.v[i] = i;
	assert_float_equal(sim_trace_run(r, &t, 8, 0), 4, 1e-9);
	/* 8 turns to settle, 512 instructions at least, not all 2000. */
	n = sim_replay_core(r)->pmu.value[SIM_INSTRUCTIONS];
	assert_in_range(n, 512, 600);
	sim_trace_fini(&t);
	sim_replay_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_ends_with_its_branch),
		cmocka_unit_test(a_loop_takes_the_time_of_its_chain_on_one_core_after_the_other),
		cmocka_unit_test(a_trace_finds_its_own_lines_and_no_others),
		cmocka_unit_test(turns_that_repeat_each_other_end_a_regular_trace_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
