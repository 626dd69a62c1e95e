/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who called whom, step by step; and where functions lie by an ELF file's symbols. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/sim/calls.h"
#include "profiler/sim/symbols.h"

/* Functions 1, 2, 3: at 100, 200 and 300. */
static struct calls_place at(uint64_t ip)
{
	return (struct calls_place){ .func = (uint32_t)(ip / 100),
		                     .called = (uint32_t)(ip / 100),
		                     .enters = ip % 100 == 0 };
}

/* `insns` more have run, and the last of them ended a block at `behind`. */
static void step(struct calls *c, unsigned insns, enum sim_exit exit, uint64_t behind, uint64_t to)
{
	struct calls_place place = at(to);

	c->n_insn += insns;
	calls_step(c, exit, behind, to, &place);
}

static const struct calls_arc *arc(const struct calls *c, uint32_t caller, uint32_t callee)
{
	for (size_t i = 0; i < c->arcs.n; i++)
		if (c->arcs.v[i].caller == caller && c->arcs.v[i].callee == callee)
			return &c->arcs.v[i];
	return NULL;
}

static void check(const struct calls *c, uint32_t caller, uint32_t callee, uint64_t n, uint64_t n_insn)
{
	const struct calls_arc *a = arc(c, caller, callee);

	assert_non_null(a);
	assert_int_equal(a->n, n);
	assert_int_equal(a->n_insn, n_insn);
}

static void test_calls(void **state)
{
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	step(&c, 5, SIM_X_CALL, 110, 200);
	step(&c, 7, SIM_X_CALL_IND, 210, 300);
	step(&c, 11, SIM_X_RET, 320, 210);
	step(&c, 2, SIM_X_RET, 220, 110);
	step(&c, 1, SIM_X_CALL, 120, 300);
	step(&c, 11, SIM_X_RET, 320, 120);
	c.n_insn += 3;
	calls_end(&c);
	check(&c, CALLS_NOBODY, 1, 1, 40);
	check(&c, 1, 2, 1, 20);
	check(&c, 2, 3, 1, 11);
	check(&c, 1, 3, 1, 11);
	assert_int_equal(c.n_returns, 3);
	assert_int_equal(c.n_lost, 0);
	calls_fini(&c);
}

/* Coming to a function that goes on with another stack is told, being in its midst is not. */
static void test_switches(void **state)
{
	struct calls c = { 0 };
	struct calls_place place = { .func = 2, .called = 2, .enters = true, .switches = true };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	calls_step(&c, SIM_X_CALL, 110, 200, &place);
	assert_int_equal(c.n_switches, 1);
	place.enters = false;
	calls_step(&c, SIM_X_JUMP, 220, 210, &place);
	assert_int_equal(c.n_switches, 1);
	calls_restart(&c);
	assert_int_equal(c.n_switches, 0);
	calls_end(&c);
	calls_fini(&c);
}

/* What runs below an outer call of a function counts once. */
static void test_recursion(void **state)
{
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	step(&c, 1, SIM_X_CALL, 110, 200);
	step(&c, 10, SIM_X_CALL, 210, 200);
	step(&c, 10, SIM_X_CALL, 210, 300);
	step(&c, 5, SIM_X_CALL, 310, 200);
	step(&c, 10, SIM_X_RET, 220, 310);
	step(&c, 1, SIM_X_RET, 320, 210);
	step(&c, 1, SIM_X_RET, 220, 210);
	step(&c, 1, SIM_X_RET, 220, 110);
	calls_end(&c);
	check(&c, 1, 2, 1, 38);
	check(&c, 2, 2, 1, 0);
	check(&c, 3, 2, 1, 0);
	check(&c, 2, 3, 1, 16);
	calls_fini(&c);
}

/* A jump to a function is a call that ends with the one that it was made from; back and forth it is no deeper. */
static void test_jumps(void **state)
{
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	for (int i = 0; i < 3; i++) {
		step(&c, 1, SIM_X_CALL, 110, 200);
		step(&c, 2, SIM_X_JUMP, 210, 300);
		step(&c, 4, SIM_X_JUMP_IND, 310, 200);
		step(&c, 2, SIM_X_JUMP, 210, 300);
		/* A loop within one, and one through its own beginning. */
		step(&c, 4, SIM_X_COND, 310, 350);
		step(&c, 4, SIM_X_JUMP, 310, 300);
		step(&c, 4, SIM_X_RET, 320, 110);
		assert_int_equal(c.frames.n, 1);
	}
	calls_end(&c);
	check(&c, 1, 2, 3, 60);
	check(&c, 2, 3, 6, 48);
	calls_fini(&c);
}

/* The loader jumps to the program: that is below nothing, as it is on the stack. */
static void test_jump_out_of_the_first(void **state)
{
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	step(&c, 5, SIM_X_JUMP_IND, 110, 200);
	step(&c, 2, SIM_X_CALL, 210, 300);
	step(&c, 4, SIM_X_RET, 310, 210);
	c.n_insn += 1;
	calls_end(&c);
	check(&c, CALLS_NOBODY, 1, 1, 5);
	check(&c, CALLS_NOBODY, 2, 1, 7);
	check(&c, 2, 3, 1, 4);
	calls_fini(&c);
}

/* longjmp() and exceptions go on in the midst of a function that is on the stack; what was above has ended. */
static void test_jump_back(void **state)
{
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	step(&c, 1, SIM_X_CALL, 110, 200);
	step(&c, 2, SIM_X_CALL, 210, 300);
	step(&c, 4, SIM_X_JUMP_IND, 310, 150);
	assert_int_equal(c.frames.n, 1);
	step(&c, 1, SIM_X_CALL, 160, 200);
	step(&c, 2, SIM_X_CALL, 210, 300);
	/* The unwinder returns to where nobody has called from. */
	step(&c, 4, SIM_X_RET, 310, 170);
	assert_int_equal(c.frames.n, 1);
	assert_int_equal(c.n_lost, 1);
	assert_int_equal(c.n_switches, 0);
	calls_end(&c);
	check(&c, CALLS_NOBODY, 1, 1, 14);
	check(&c, 1, 2, 2, 12);
	check(&c, 2, 3, 2, 8);
	calls_fini(&c);
}

/* A signal's handler is called by the kernel, from wherever the program is, and returns to code of the kernel's. */
static void test_signal(void **state)
{
	struct calls c = { 0 };
	struct calls_place handler = at(300), nowhere = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	step(&c, 1, SIM_X_CALL, 110, 200);
	c.n_insn += 2;
	calls_signal(&c, &handler);
	/* What it calls, and itself. */
	step(&c, 4, SIM_X_CALL, 310, 400);
	step(&c, 8, SIM_X_RET, 410, 310);
	c.n_insn += 16;
	calls_step(&c, SIM_X_RET, 320, 900, &nowhere);
	assert_int_equal(c.frames.n, 2);
	step(&c, 32, SIM_X_NONE, 905, 250);
	step(&c, 64, SIM_X_RET, 260, 110);
	assert_int_equal(c.n_lost, 0);
	calls_end(&c);
	check(&c, CALLS_NOBODY, 1, 1, 127);
	check(&c, 1, 2, 1, 126);
	check(&c, 2, 3, 1, 28);
	check(&c, 3, 4, 1, 8);
	calls_fini(&c);
}

/* Code without a symbol is of whoever called it, and is a function where it is called itself. */
static void test_no_symbol(void **state)
{
	const struct calls_place stub = { .func = CALLS_NOBODY, .called = 9 };
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	c.n_insn += 1;
	calls_step(&c, SIM_X_CALL, 110, 5000, &stub);
	step(&c, 1, SIM_X_JUMP_IND, 5010, 300);
	c.n_insn += 4;
	calls_step(&c, SIM_X_JUMP, 310, 6000, &stub);
	assert_int_equal(c.frames.n, 3);
	step(&c, 2, SIM_X_RET, 6010, 110);
	calls_end(&c);
	check(&c, 1, 9, 1, 7);
	check(&c, 9, 3, 1, 6);
	calls_fini(&c);
}

/* A stub calls what it jumps to, which needs no symbol; nor does what the dynamic linker looks it up with at first. */
static void test_stub(void **state)
{
	const struct calls_place stub = { .func = 5, .called = 5, .enters = true, .stub = true };
	const struct calls_place entry = { .func = CALLS_NOBODY, .called = 6, .looks_up = true };
	const struct calls_place linker = { .func = CALLS_NOBODY, .called = 7 };
	const struct calls_place bare = { .func = CALLS_NOBODY, .called = 8 };
	const struct calls_place within = { .func = CALLS_NOBODY, .called = 9 };
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	for (unsigned i = 0; i < 3; i++) {
		c.n_insn += 2;
		calls_step(&c, SIM_X_CALL, 110, 500, &stub);
		c.n_insn += 1;
		if (i == 0) {
			calls_step(&c, SIM_X_JUMP_IND, 510, 600, &entry);
			calls_step(&c, SIM_X_JUMP_IND, 610, 700, &linker);
			calls_step(&c, SIM_X_COND, 705, 705, &linker);
			step(&c, 3, SIM_X_CALL, 710, 300);
			c.n_insn += 4;
			calls_step(&c, SIM_X_JUMP_IND, 305, 900, &within);
			assert_int_equal(c.frames.n, 3);
			calls_step(&c, SIM_X_RET, 310, 710, &linker);
		}
		calls_step(&c, SIM_X_JUMP_IND, 510, 800, &bare);
		c.n_insn += 20;
		calls_step(&c, SIM_X_JUMP_IND, 820, 900, &within);
		assert_int_equal(c.frames.n, 3);
		step(&c, 1, SIM_X_RET, 840, 110);
		assert_int_equal(c.frames.n, 1);
		calls_step(&c, SIM_X_JUMP_IND, 120, 900, &within);
		assert_int_equal(c.frames.n, 1);
	}
	calls_end(&c);
	check(&c, 1, 5, 3, 3 * 22 + 7);
	check(&c, 5, 3, 1, 4);
	check(&c, 5, 8, 3, 3 * 21);
	assert_int_equal(c.arcs.n, 4);
	calls_fini(&c);
}

/* The child of a fork is below the same functions, with no instruction yet. */
static void test_restart(void **state)
{
	struct calls c = { 0 };

	(void)state;
	step(&c, 0, SIM_X_NONE, 0, 100);
	step(&c, 1, SIM_X_CALL, 110, 200);
	step(&c, 7, SIM_X_CALL, 210, 300);
	step(&c, 7, SIM_X_RET, 310, 210);
	calls_restart(&c);
	assert_int_equal(c.arcs.n, 0);
	step(&c, 2, SIM_X_RET, 220, 110);
	c.n_insn += 3;
	calls_end(&c);
	check(&c, 1, 2, 1, 2);
	check(&c, CALLS_NOBODY, 1, 1, 5);
	assert_null(arc(&c, 2, 3));
	calls_fini(&c);
}

/* This very test has symbols. */
static void test_symbols(void **state)
{
	struct symbols s = { .v = { 0 } };

	(void)state;
	symbols_read(&s, "/proc/self/exe");
	assert_true(s.v.n > 10);
	for (size_t i = 0; i < s.v.n; i++) {
		assert_true(s.v.v[i].off < s.v.v[i].end_off);
		assert_ptr_equal(symbols_find(&s, s.v.v[i].off), &s.v.v[i]);
		assert_true(i == 0 || s.v.v[i - 1].off < s.v.v[i].off);
	}
	assert_null(symbols_find(&s, s.v.v[0].off - 1));
	assert_null(symbols_find(&s, UINT64_MAX));
	vec_fini(&s.v);
	symbols_read(&s, "/nowhere");
	assert_int_equal(s.v.n, 0);
	symbols_read(&s, "/dev/null");
	assert_int_equal(s.v.n, 0);
	symbols_read(&s, "/etc/passwd");
	assert_int_equal(s.v.n, 0);
}

/* This very test calls strlen() of another file through a stub, and begins where its header says. */
static void test_stubs_and_entry(void **state)
{
	struct symbols s = { .v = { 0 } };
	FILE *f = fopen("/proc/self/exe", "re");
	uint8_t code[16];
	Elf64_Ehdr head;
	size_t n_stubs = 0;

	(void)state;
	symbols_read(&s, "/proc/self/exe");
	assert_non_null(f);
	assert_int_equal(fread(&head, sizeof(head), 1, f), 1);
	/* Of a position-independent program, whose code lies where it does in memory. */
	if (head.e_type == ET_DYN)
		assert_int_equal(symbols_find(&s, head.e_entry)->off, head.e_entry);
	for (size_t i = 0; i < s.v.n && head.e_machine == EM_X86_64; i++) {
		fseek(f, (long)s.v.v[i].off, SEEK_SET);
		n_stubs += fread(code, sizeof(code), 1, f) == 1 && code[0] == 0xff && code[1] == 0x25;
	}
	assert_true(head.e_machine != EM_X86_64 || n_stubs > 3);
	fclose(f);
	vec_fini(&s.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_jump_back),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_jump_out_of_the_first),
		cmocka_unit_test(test_no_symbol),
		cmocka_unit_test(test_stub),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_stubs_and_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
