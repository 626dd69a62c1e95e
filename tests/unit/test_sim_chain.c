/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that are not back, of one stack and of several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profiler/sim/chain.h"
#include "profiler/sim/core.h"

enum { STACK = 0x7f0000, OTHER = 0x10000 };

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct sim_chain));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* A block of one instruction that ends at `behind`; at: where the return address lies, 0 = in a register. */
static void step(struct sim_chain *c, enum sim_exit exit, uint64_t behind, uint64_t at, uint64_t next_ip)
{
	const struct sim_block b = { .end_ip = behind, .n_insn = 1, .exit = (uint8_t)exit };
	const uint64_t mem[2] = { SIM_MEM(at, 0, 3, exit != SIM_X_RET), SIM_MEM_END };

	sim_chain_step(c, &b, next_ip, mem, at ? 2 : 0);
}

static void check(const struct sim_chain *c, uint32_t n, uint64_t innermost, uint64_t outermost)
{
	uint64_t out[8];

	assert_int_equal(sim_chain_read(c, out, 8), n);
	if (n) {
		assert_int_equal(out[0], innermost);
		assert_int_equal(out[n - 1], outermost);
	}
}

static void calls_stay_until_they_return(void **state)
{
	struct sim_chain *c = *state;

	step(c, SIM_X_CALL, 101, STACK, 200);
	step(c, SIM_X_CALL_IND, 201, STACK - 32, 300);
	step(c, SIM_X_JUMP, 301, 0, 400);
	check(c, 2, 201, 101);
	step(c, SIM_X_RET, 401, STACK - 32, 201);
	check(c, 1, 101, 101);
	step(c, SIM_X_RET, 202, STACK, 101);
	check(c, 0, 0, 0);
	/* To where nobody called from: nothing is left to return. */
	step(c, SIM_X_RET, 102, STACK + 8, 50);
	check(c, 0, 0, 0);
}

/* longjmp() to a caller, which calls again from there. */
static void what_lies_below_a_new_call_was_left(void **state)
{
	struct sim_chain *c = *state;

	step(c, SIM_X_CALL, 101, STACK, 200);
	step(c, SIM_X_CALL, 201, STACK - 32, 300);
	step(c, SIM_X_CALL, 301, STACK - 64, 400);
	step(c, SIM_X_JUMP_IND, 401, 0, 350);
	step(c, SIM_X_CALL, 351, STACK - 48, 500);
	check(c, 3, 351, 101);
	step(c, SIM_X_RET, 501, STACK, 101);
	check(c, 0, 0, 0);
}

/* By a link register no place is known. */
static void without_places_the_nearest_call_from_there_returns(void **state)
{
	struct sim_chain *c = *state;

	step(c, SIM_X_CALL, 101, 0, 200);
	step(c, SIM_X_CALL, 201, 0, 300);
	step(c, SIM_X_CALL, 301, 0, 400);
	check(c, 3, 301, 101);
	step(c, SIM_X_RET, 401, 0, 201);
	check(c, 1, 101, 101);
}

static void each_stack_has_calls_of_its_own(void **state)
{
	struct sim_chain *c = *state;

	step(c, SIM_X_CALL, 101, STACK, 200);
	step(c, SIM_X_CALL, 201, STACK - 32, 300);
	/* Another stack is begun, ... */
	step(c, SIM_X_JUMP_IND, 301, 0, 1000);
	step(c, SIM_X_CALL, 1001, OTHER, 1100);
	check(c, 1, 1001, 1001);
	/* ... left by a return from the first, ... */
	step(c, SIM_X_RET, 1101, STACK - 32, 201);
	check(c, 1, 101, 101);
	/* ... and come back to by a jump to where its call returns to. */
	step(c, SIM_X_JUMP_IND, 202, 0, 1001);
	check(c, 0, 0, 0);
}

/* Go copies a stack that is too small, and jumps to where the call that asked for it returns to. */
static void a_stack_that_was_moved_has_its_calls(void **state)
{
	struct sim_chain *c = *state;

	step(c, SIM_X_CALL, 101, STACK, 200);
	step(c, SIM_X_CALL, 201, STACK - 32, 300);
	step(c, SIM_X_CALL, 301, STACK - 64, 1000);
	step(c, SIM_X_CALL, 1001, OTHER, 1100);
	step(c, SIM_X_JUMP_IND, 1101, 0, 301);
	check(c, 2, 201, 101);
	step(c, SIM_X_CALL, 351, 0x500000, 400);
	check(c, 3, 351, 101);
	step(c, SIM_X_RET, 401, 0x500000, 351);
	step(c, SIM_X_RET, 352, 0x500020, 201);
	check(c, 1, 101, 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_stay_until_they_return, setup, teardown),
		cmocka_unit_test_setup_teardown(what_lies_below_a_new_call_was_left, setup, teardown),
		cmocka_unit_test_setup_teardown(without_places_the_nearest_call_from_there_returns, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(each_stack_has_calls_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stack_that_was_moved_has_its_calls, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
