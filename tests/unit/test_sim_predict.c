/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated core as a predictor of straight code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/predict.h"
#include "report/lift/sandbox/anew.h"

#define CORE "profiler/sim/cores/zen5.core"

static struct predictor *p;

static double loop(const char *hex)
{
	uint8_t code[256];
	size_t n = 0;
	double cyc = -1;

	for (char *end; *hex; hex = end)
		code[n++] = (uint8_t)strtoul(hex, &end, 16);
	assert_int_equal(predictor_loop(p, code, n, &cyc), 0);
	return cyc;
}

static void chains_take_their_latencies(void **state)
{
	(void)state;
	assert_float_equal(loop("48 01 c0 48 01 c0 48 01 c0"), 3, 0.01); /* add %rax, %rax, three times */
	assert_float_equal(loop("48 0f af c0 48 0f af c0"), 6, 0.01);    /* imul %rax, %rax, twice: 3 each */
	assert_float_equal(loop("f2 0f 58 c1 f2 0f 58 c1"), 4, 0.01); /* addsd %xmm1, %xmm0, twice: 2 each */
	assert_float_equal(loop("48 0f af c0 70 00 48 0f af c0"), 6,
	                   0.01); /* a branch not taken between them */
}

/* Four load ports: eight loads of places of their own take two cycles; a store before a load is none of its business. */
static void memory_is_near_and_each_access_has_its_own(void **state)
{
	(void)state;
	assert_float_equal(loop("48 8b 08 48 8b 08 48 8b 08 48 8b 08 48 8b 08 48 8b 08 48 8b 08 48 8b 08"), 2,
	                   0.1);
	/* mov (%rdi), %rax; add $1, %rax; mov %rax, (%rdi), twice: no chain through memory, two stores a cycle */
	assert_true(loop("48 8b 07 48 83 c0 01 48 89 07 48 8b 07 48 83 c0 01 48 89 07") < 2);
}

static void what_is_no_code_is_refused(void **state)
{
	const uint8_t half[] = { 0x06 };
	double cyc;
	struct predictor *other;

	(void)state;
	assert_int_equal(predictor_loop(p, half, sizeof(half), &cyc), -SP_EFORMAT);
	assert_int_equal(predictor_open("profiler/sim/cores/nothing.core", &other), -SP_EIO);
	assert_int_equal(predictor_open("Makefile.core", &other), -SP_EIO);
}

/* mov $0x1000, %eax; mov $0x2000, %r9d; vxorps xmm1; vxorps xmm10, as an assembler has them. */
static void registers_anew_are_machine_code(void **state)
{
	static const uint8_t want[] = { 0xb8, 0x00, 0x10, 0x00, 0x00, 0x41, 0xb9, 0x00, 0x20, 0x00, 0x00,
		                        0xc4, 0xe1, 0x70, 0x57, 0xc9, 0xc4, 0x41, 0x28, 0x57, 0xd2 };
	static const uint8_t legacy[] = { 0x40, 0x0f, 0x57, 0xc9, 0x45, 0x0f, 0x57, 0xd2 };
	static struct block_request r = { .carried = 1 << 0 | 1 << 9, .carried_vectors = 1 << 1 | 1 << 10 };
	const uint32_t value[16] = { [0] = 0x1000, [9] = 0x2000 };
	uint8_t code[BLOCK_ANEW_BYTES];

	(void)state;
	assert_int_equal(block_anew(&r, value, 1, code), sizeof(want));
	assert_memory_equal(code, want, sizeof(want));
	r.carried = 0;
	assert_int_equal(block_anew(&r, value, 0, code), sizeof(legacy));
	assert_memory_equal(code, legacy, sizeof(legacy));
}

static int open_core(void **state)
{
	(void)state;
	return predictor_open(CORE, &p);
}

static int close_core(void **state)
{
	(void)state;
	predictor_close(p);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_take_their_latencies),
		cmocka_unit_test(memory_is_near_and_each_access_has_its_own),
		cmocka_unit_test(what_is_no_code_is_refused),
		cmocka_unit_test(registers_anew_are_machine_code),
	};

	return cmocka_run_group_tests(tests, open_core, close_core);
}
