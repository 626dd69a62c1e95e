/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks run natively: how they are made ready, and what must not get out of the sandbox. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/binary/insn_operands.h"
#include "report/lift/native_block.h"

#ifdef __x86_64__

/* The sandbox is a program of its own; its arithmetic is tested here. */
#include "report/lift/sandbox/conclude.c"

enum { VADDR = 0x401000 };

static struct insn_decoder *decoder;
static struct native_server *server;
static struct block_request request;

static size_t from_hex(const char *hex, uint8_t *bytes)
{
	size_t n = 0;

	for (char *end; *hex; hex = end)
		bytes[n++] = (uint8_t)strtoul(hex, &end, 16);
	return n;
}

static int prepare(const char *hex, uint32_t turns)
{
	static uint8_t bytes[BLOCK_MAX_BYTES + 16];
	struct tool_block b = { bytes, from_hex(hex, bytes), VADDR, ISA_X86_64, turns };

	return native_prepare(decoder, &b, &request);
}

static void a_branch_at_the_end_is_never_taken_and_other_ways_out_are_left_off(void **state)
{
	static const uint8_t cmp_jo[] = { 0x48, 0x39, 0xf0, 0x70, 0x00 };

	(void)state;
	assert_int_equal(prepare("48 39 f0 75 fb", 0), 0); /* cmp %rsi, %rax; jne back */
	assert_int_equal(request.n_insn, 2);
	assert_int_equal(request.n_bytes, sizeof(cmp_jo));
	assert_memory_equal(request.code, cmp_jo, sizeof(cmp_jo));
	assert_int_equal(prepare("48 39 f0 c3", 0), 0); /* ret */
	assert_int_equal(request.n_insn, 1);
	assert_int_equal(prepare("48 39 f0 ff e0", 0), 0); /* jmp *%rax */
	assert_int_equal(request.n_bytes, 3);
	assert_int_equal(prepare("eb fe", 0), 0); /* jmp to itself: nothing is left */
	assert_int_equal(request.n_insn, 0);
}

static void what_must_not_run_is_refused(void **state)
{
	static const char *const never[] = {
		"0f 05",          /* syscall */
		"cd 80",          /* int $0x80 */
		"0f 01 d9",       /* vmmcall */
		"0f 0b",          /* ud2 */
		"74 02 48 01 c0", /* a branch that isn't the last */
		"48 01",          /* half an instruction */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (prepare(never[i], 0) != -SP_ENOTSUP)
			fail_msg("%s is not refused", never[i]);
}

/* addsd 0x10(%rip), %xmm0; mov %rax, (%rdi,%rcx,8): the first names 0x401008 + 0x10. */
static void operands_are_noted(void **state)
{
	(void)state;
	assert_int_equal(prepare("f2 0f 58 05 10 00 00 00 48 89 04 cf", 0), 0);
	assert_int_equal(request.n_patches, 1);
	assert_int_equal(request.patches[0].disp_off, 4);
	assert_int_equal(request.patches[0].end_off, 8);
	assert_int_equal(request.patches[0].slot, 0x1018);
	assert_int_equal(request.vector_bytes, 16);
	assert_int_equal(request.n_accesses, 1);
	assert_int_equal(request.accesses[0].insn_off, 8);
	assert_int_equal(request.accesses[0].base, 7);
	assert_int_equal(request.accesses[0].index, 1);
	assert_int_equal(request.accesses[0].scale, 8);
	assert_int_equal(request.accesses[0].bytes, 8);
}

static void what_a_block_hands_on_to_itself_is_known(void **state)
{
	(void)state;
	/* movsd (%rax), %xmm0; mulsd %xmm2, %xmm0; addsd %xmm0, %xmm1; add $8, %rax; mov %ecx, %edx */
	assert_int_equal(prepare("f2 0f 10 00 f2 0f 59 c2 f2 0f 58 c8 48 83 c0 08 89 ca", 20), 0);
	assert_int_equal(request.carried, 1 << 0);         /* rax; rdx is not read, rcx not written */
	assert_int_equal(request.carried_vectors, 1 << 1); /* xmm1; xmm0 is written first */
	assert_int_equal(request.n_turns, 20);
	/* vfmadd231pd %ymm1, %ymm2, %ymm3 */
	assert_int_equal(prepare("c4 e2 ed b8 d9", 1), 0);
	assert_int_equal(request.carried_vectors, 1 << 3);
	assert_int_equal(request.vector_bytes, 32);
	/* Where it stores it does not load the next time: mov (%rsi), %eax; mov %eax, (%rdi); push %rax */
	assert_int_equal(prepare("8b 06 89 07 50", 1), 0);
	assert_int_equal(request.carried, 1 << 7 | 1 << 4);
	/* So many turns are as good as endless. */
	assert_int_equal(prepare("48 01 c0", 100000), 0);
	assert_int_equal(request.n_turns, 0);
}

/*
 * Chains of 10,000 and 20,000 cycles take 6,000 and 12,000 ticks: 0.6 ticks a cycle.  100 turns of 10 copies take
 * 5,000 ticks, of 20 copies 8,000: 3,000 ticks for 1,000 executions, 3 / 0.6 = 5 cycles each.
 */
static void fill_rounds(struct control *c)
{
	*c = (struct control){ .turns = 100 };
	for (int i = 0; i < N_ROUNDS; i++)
		c->rounds[i] = (struct round){ 5000, 8000, 6000, 12000 };
}

static void times_are_differences_in_cycles_of_a_chain(void **state)
{
	static struct control c;
	struct block_reply r = { 0 };

	(void)state;
	assert_int_equal(CHAIN_TURNS * CHAIN_ADDS, 10000);
	fill_rounds(&c);
	conclude_times(&c, 10, &r);
	assert_int_equal(r.verdict, BLOCK_TIMED);
	assert_float_equal(r.cyc, 5, 1e-9);
	/* A third of the rounds disturbed: the upper quartile is 10 cycles, not 5. */
	for (int i = 0; i < 5; i++)
		c.rounds[i].two = 11000;
	conclude_times(&c, 10, &r);
	assert_int_equal(r.verdict, BLOCK_UNSTEADY);
	assert_float_equal(r.cyc, 5, 1e-9);
	/* Two of them are not seen. */
	fill_rounds(&c);
	c.rounds[0].two = c.rounds[1].two = 900000;
	conclude_times(&c, 10, &r);
	assert_int_equal(r.verdict, BLOCK_TIMED);
}

static void nonsense_from_a_child_is_no_time(void **state)
{
	static struct control c;
	struct block_reply r = { 0 };

	(void)state;
	conclude_times(&c, 10, &r); /* nothing was written */
	assert_int_equal(r.verdict, BLOCK_UNSTEADY);
	fill_rounds(&c);
	for (int i = 0; i < N_ROUNDS; i++)
		c.rounds[i].two = 0; /* less than half the copies: less than no time */
	conclude_times(&c, 10, &r);
	assert_int_equal(r.verdict, BLOCK_UNSTEADY);
}

/* Two copies of two accesses: only 8 bytes at 60 of a line reach into the next, 4 bytes there and 8 at 56 do not. */
static void accesses_across_lines_are_counted(void **state)
{
	static struct control c = { .seen = { 0x103c, 0x2038, 0x107c, 0x207c } };
	struct attempt a = { .block = &request, .n_watched = 2 };
	struct block_reply r = { 0 };

	(void)state;
	assert_int_equal(prepare("8b 00 48 8b 09", 2), 0); /* mov (%rax), %eax; mov (%rcx), %rcx */
	conclude_splits(&c, &a, &r);
	assert_int_equal(r.n_splits, 1);
	assert_int_equal(r.n_watched, 2);
}

/* ---- blocks that mean harm; prepared or not, they are run ---- */

static uint32_t verdict_of(const char *hex)
{
	struct block_reply r;

	request = (struct block_request){ .magic = BLOCK_MAGIC, .n_insn = 1, .vector_bytes = 16 };
	request.n_bytes = (uint16_t)from_hex(hex, request.code);
	assert_int_equal(native_server_ask(server, &request, &r), 0);
	return r.verdict;
}

struct harm {
	const char *what, *hex;
	uint32_t verdict;
};

static void harm_stays_in_the_sandbox(void **state)
{
	static const struct harm list[] = {
		{ "jmp to itself", "eb fe", BLOCK_ENDLESS },
		{ "jmp *%rax", "ff e0", BLOCK_FAULT },
		{ "ret", "c3", BLOCK_FAULT },
		{ "ud2", "0f 0b", BLOCK_TRAP },
		{ "int3", "cc", BLOCK_TRAP },
		{ "int1", "f1", BLOCK_TRAP },
		{ "hlt", "f4", BLOCK_FAULT },
		{ "in (%dx), %al", "ec", BLOCK_FAULT },
		{ "xor %ecx, %ecx; div %ecx", "31 c9 f7 f1", BLOCK_DIVIDE },
		{ "syscall", "0f 05", BLOCK_SYSCALL },
		{ "mov $57, %eax; syscall (fork)", "b8 39 00 00 00 0f 05", BLOCK_SYSCALL },
		{ "mov $59, %eax; syscall (execve)", "b8 3b 00 00 00 0f 05", BLOCK_SYSCALL },
		{ "mov $231, %eax; syscall (exit_group)", "b8 e7 00 00 00 0f 05", BLOCK_SYSCALL },
		{ "xor %eax, %eax; mov (%rax), %rax", "31 c0 48 8b 00", BLOCK_FAULT },
		{ "mov $-8, %rsp; push %rax", "48 c7 c4 f8 ff ff ff 50", BLOCK_FAULT },
		{ "mov %ax, %ss", "8e d0", BLOCK_FAULT },
		{ "rep stos with a huge count", "48 b9 00 00 00 00 00 01 00 00 f3 48 ab", BLOCK_PAGES },
		{ "mov %rax, code", "48 b8 00 00 00 01 00 10 00 00 48 89 00", BLOCK_FAULT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		uint32_t verdict = verdict_of(list[i].hex);

		if (verdict != list[i].verdict)
			fail_msg("%s: verdict %u, not %u", list[i].what, verdict, list[i].verdict);
	}
}

/* A kernel without 32-bit calls has no gate for them: the interrupt is a fault then. */
static void calls_of_32_bits_stay_in_the_sandbox(void **state)
{
	uint32_t verdict = verdict_of("cd 80"); /* int $0x80 */

	(void)state;
	assert_true(verdict == BLOCK_SYSCALL || verdict == BLOCK_FAULT);
}

/* They change what the sandbox itself stands on, or may; whatever comes of it, the next block is served. */
static void strange_blocks_are_survived(void **state)
{
	static const char *const list[] = {
		"48 89 c4",                               /* mov %rax, %rsp */
		"48 31 e4",                               /* xor %rsp, %rsp */
		"fd",                                     /* std */
		"9d",                                     /* popfq */
		"9c 80 0c 24 ff 9d",                      /* pushfq; orb $255, (%rsp); popfq: the trap flag */
		"f3 48 0f ae d0",                         /* wrfsbase %rax */
		"0f 01 d0",                               /* xgetbv */
		"0f 31",                                  /* rdtsc */
		"0f a2",                                  /* cpuid */
		"8e d8",                                  /* mov %ax, %ds */
		"8e e0",                                  /* mov %ax, %fs */
		"0f ae 10",                               /* ldmxcsr (%rax) */
		"d9 28",                                  /* fldcw (%rax) */
		"0f ae 08",                               /* fxrstor (%rax) */
		"dd e0 db e3",                            /* fninit */
		"31 c0 31 c9 31 d2 0f 01 ef",             /* wrpkru */
		"48 cf",                                  /* iretq */
		"c8 00 10 1f",                            /* enter */
		"b8 0f 00 00 00 0f 05",                   /* rt_sigreturn without a frame */
		"48 b8 00 00 00 00 00 10 00 00 48 89 00", /* a store at the control block */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		uint32_t verdict;

		verdict_of(list[i]);
		verdict = verdict_of("48 01 c0");
		/* Beside other programs its times may differ. */
		if (verdict != BLOCK_TIMED && verdict != BLOCK_UNSTEADY)
			fail_msg("after %s a plain block is not timed, but %u", list[i], verdict);
	}
}

static void memory_is_put_where_a_block_reaches(void **state)
{
	struct block_reply r;

	(void)state;
	assert_int_equal(prepare("48 8b 00 48 8b 00", 0),
	                 0); /* mov (%rax), %rax, twice: a pointer to a pointer */
	assert_int_equal(native_server_ask(server, &request, &r), 0);
	assert_true(r.verdict == BLOCK_TIMED || r.verdict == BLOCK_UNSTEADY);
	assert_int_equal(r.n_pages, 2); /* where rax pointed, and where that pointed */
	assert_int_equal(r.n_splits, 0);
	assert_int_equal(r.n_watched, 2 * r.n_copies);
	/* Walking by 4096 bytes a copy: not more pages than are kept in the first-level cache. */
	assert_int_equal(prepare("8b 00 48 8d 80 00 10 00 00", 0), 0);
	assert_int_equal(native_server_ask(server, &request, &r), 0);
	assert_true(r.n_pages <= 2 * r.n_copies);
	/* An access of 8 bytes at 60 of a line. */
	assert_int_equal(prepare("48 8b 48 3c", 0), 0);
	assert_int_equal(native_server_ask(server, &request, &r), 0);
	assert_int_equal(r.n_splits, r.n_watched);
}

static void a_request_out_of_range_is_refused(void **state)
{
	struct block_reply r;

	(void)state;
	assert_int_equal(prepare("48 01 c0", 0), 0);
	request.n_patches = 1;
	request.patches[0].disp_off = BLOCK_MAX_BYTES;
	assert_int_equal(native_server_ask(server, &request, &r), 0);
	assert_int_equal(r.verdict, BLOCK_BROKEN);
	request.n_patches = 0;
	request.magic = 1;
	assert_int_equal(native_server_ask(server, &request, &r), 0);
	assert_int_equal(r.verdict, BLOCK_BROKEN);
}

static int open_all(void **state)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);
	char *slash;

	(void)state;
	if (n < 0 || insn_decoder_new(ISA_X86_64, &decoder) < 0)
		return -1;
	path[n] = '\0';
	slash = strrchr(path, '/'); /* build/tests/test_native -> build/skidblock */
	strcpy(slash, "/../skidblock");
	return native_server_start(path, &server);
}

static int close_all(void **state)
{
	(void)state;
	native_server_stop(server);
	insn_decoder_free(decoder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_at_the_end_is_never_taken_and_other_ways_out_are_left_off),
		cmocka_unit_test(what_must_not_run_is_refused),
		cmocka_unit_test(operands_are_noted),
		cmocka_unit_test(what_a_block_hands_on_to_itself_is_known),
		cmocka_unit_test(times_are_differences_in_cycles_of_a_chain),
		cmocka_unit_test(nonsense_from_a_child_is_no_time),
		cmocka_unit_test(accesses_across_lines_are_counted),
		cmocka_unit_test(harm_stays_in_the_sandbox),
		cmocka_unit_test(calls_of_32_bits_stay_in_the_sandbox),
		cmocka_unit_test(strange_blocks_are_survived),
		cmocka_unit_test(memory_is_put_where_a_block_reaches),
		cmocka_unit_test(a_request_out_of_range_is_refused),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
#else
int main(void)
{
	puts("1..0 # SKIP blocks are run on x86-64 only");
	return 0;
}
#endif
