/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/binary/insn.h"

enum { VADDR = 0x1000, PADDING = 16 };

/* One instruction by its bytes, assembled by hand from the manuals' tables. */
struct expect {
	const char *text; /* for the failure's message */
	const char *hex;  /* x86-64: bytes in order; aarch64: the word */
	uint8_t size_bytes, flow;
	uint32_t flags;
	uint64_t target;
};

static size_t from_hex(const char *hex, bool word, uint8_t *bytes)
{
	size_t n = 0;

	if (word) {
		uint32_t value = (uint32_t)strtoul(hex, NULL, 16);

		for (; n < 4; n++)
			bytes[n] = (uint8_t)(value >> 8 * n);
		return n;
	}
	for (char *end; *hex; hex = end)
		bytes[n++] = (uint8_t)strtoul(hex, &end, 16);
	return n;
}

static void check(enum insn_isa isa, const struct expect *list, size_t n)
{
	struct insn_decoder *d;

	assert_int_equal(insn_decoder_new(isa, &d), 0);
	for (size_t i = 0; i < n; i++) {
		const struct expect *e = &list[i];
		uint8_t bytes[PADDING * 2] = { 0 };
		struct insn insn;

		from_hex(e->hex, isa == ISA_AARCH64, bytes);
		assert_int_equal(insn_decode(d, bytes, sizeof(bytes), VADDR, &insn), 0);
		if (insn.vaddr != VADDR || insn.size_bytes != e->size_bytes || insn.flow != e->flow ||
		    insn.flags != e->flags || insn.target != e->target)
			fail_msg("%s: size %u flow %u flags %#x target %#jx, not %u %u %#x %#jx", e->text,
			         insn.size_bytes, insn.flow, insn.flags, (uintmax_t)insn.target,
			         e->size_bytes, e->flow, e->flags, (uintmax_t)e->target);
	}
	insn_decoder_free(d);
}

#define CHECK(isa, list) check(isa, list, sizeof(list) / sizeof((list)[0]))

static void x86_branches_have_their_kind_and_target(void **state)
{
	static const struct expect list[] = {
		{ "jmp .+2+16", "eb 10", 2, INSN_JUMP, 0, 0x1012 },
		{ "jmp back", "e9 fb ff ff ff", 5, INSN_JUMP, 0, 0x1000 },
		{ "je back", "74 fe", 2, INSN_COND, 0, 0x1000 },
		{ "jne rel32", "0f 85 00 01 00 00", 6, INSN_COND, 0, 0x1106 },
		{ "loop", "e2 f0", 2, INSN_COND, 0, 0xff2 },
		{ "jrcxz", "e3 02", 2, INSN_COND, 0, 0x1004 },
		{ "bnd jmp", "f2 e9 00 00 00 00", 6, INSN_JUMP, 0, 0x1006 },
		{ "call", "e8 00 00 00 00", 5, INSN_CALL, INSN_STORE, 0x1005 },
		{ "data16 rex.W call", "66 48 e8 00 00 00 00", 7, INSN_CALL, INSN_STORE, 0x1007 },
		{ "call *%rax", "ff d0", 2, INSN_CALL_IND, INSN_STORE, 0 },
		{ "call *(%rax)", "ff 10", 2, INSN_CALL_IND, INSN_LOAD | INSN_STORE, 0 },
		{ "call *0x20(%rip)", "ff 15 20 00 00 00", 6, INSN_CALL_IND,
		  INSN_LOAD | INSN_STORE | INSN_MEM_TARGET, 0x1026 },
		{ "jmp *%rdx", "ff e2", 2, INSN_JUMP_IND, 0, 0 },
		{ "notrack jmp *%rdx", "3e ff e2", 3, INSN_JUMP_IND, 0, 0 },
		{ "bnd jmp *-0x10(%rip)", "f2 ff 25 f0 ff ff ff", 7, INSN_JUMP_IND,
		  INSN_LOAD | INSN_MEM_TARGET, 0xff7 },
		{ "jmp *0x4000", "ff 24 25 00 40 00 00", 7, INSN_JUMP_IND, INSN_LOAD | INSN_MEM_TARGET,
		  0x4000 },
		{ "jmp *0x4000(,%rax,8)", "ff 24 c5 00 40 00 00", 7, INSN_JUMP_IND, INSN_LOAD, 0 },
		{ "call *%fs:0x10", "64 ff 14 25 10 00 00 00", 8, INSN_CALL_IND, INSN_LOAD | INSN_STORE, 0 },
		{ "ret", "c3", 1, INSN_RET, INSN_LOAD, 0 },
		{ "rep ret", "f3 c3", 2, INSN_RET, INSN_LOAD, 0 },
		{ "ret $8", "c2 08 00", 3, INSN_RET, INSN_LOAD, 0 },
		{ "xbegin", "c7 f8 10 00 00 00", 6, INSN_COND, 0, 0x1016 },
		{ "ud2", "0f 0b", 2, INSN_STOP, 0, 0 },
		{ "hlt", "f4", 1, INSN_STOP, 0, 0 },
		{ "int3", "cc", 1, INSN_STOP, 0, 0 },
		{ "syscall", "0f 05", 2, INSN_SYSCALL, 0, 0 },
		{ "int $0x80", "cd 80", 2, INSN_SYSCALL, 0, 0 },
	};

	(void)state;
	CHECK(ISA_X86_64, list);
}

static void x86_memory_operands_are_loads_stores_both_or_neither(void **state)
{
	static const struct expect list[] = {
		{ "mov (%rax),%rbx", "48 8b 18", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "mov %rbx,(%rax)", "48 89 18", 3, INSN_PLAIN, INSN_STORE, 0 },
		{ "movl $1,(%rax)", "c7 00 01 00 00 00", 6, INSN_PLAIN, INSN_STORE, 0 },
		{ "movabs %al,imm64", "a2 01 02 03 04 05 06 07 08", 9, INSN_PLAIN, INSN_STORE, 0 },
		{ "movabs $imm64,%rax", "48 b8 01 02 03 04 05 06 07 08", 10, INSN_PLAIN, 0, 0 },
		{ "movzbl (%rax),%ecx", "0f b6 08", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "lea 8(%rax),%rbx", "48 8d 58 08", 4, INSN_PLAIN, 0, 0 },
		{ "add %rbx,(%rax)", "48 01 18", 3, INSN_PLAIN, INSN_LOAD | INSN_STORE, 0 },
		{ "add (%rax),%rbx", "48 03 18", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "incl (%rax)", "ff 00", 2, INSN_PLAIN, INSN_LOAD | INSN_STORE, 0 },
		{ "cmp %rbx,(%rax)", "48 39 18", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "cmpl $1,(%rax)", "83 38 01", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "test %rbx,(%rax)", "48 85 18", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "testb $1,(%rax)", "f6 00 01", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "negl (%rax)", "f7 18", 2, INSN_PLAIN, INSN_LOAD | INSN_STORE, 0 },
		{ "sete (%rax)", "0f 94 00", 3, INSN_PLAIN, INSN_STORE, 0 },
		{ "cmovne (%rax),%ecx", "0f 45 08", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "bt %rbx,(%rax)", "48 0f a3 18", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "bts %rbx,(%rax)", "48 0f ab 18", 4, INSN_PLAIN, INSN_LOAD | INSN_STORE, 0 },
		{ "push %rax", "50", 1, INSN_PLAIN, INSN_STORE, 0 },
		{ "push $1", "6a 01", 2, INSN_PLAIN, INSN_STORE, 0 },
		{ "push (%rax)", "ff 30", 2, INSN_PLAIN, INSN_LOAD | INSN_STORE, 0 },
		{ "pop %rax", "58", 1, INSN_PLAIN, INSN_LOAD, 0 },
		{ "pop (%rax)", "8f 00", 2, INSN_PLAIN, INSN_LOAD | INSN_STORE, 0 },
		{ "leave", "c9", 1, INSN_PLAIN, INSN_LOAD, 0 },
		{ "enter $16,$0", "c8 10 00 00", 4, INSN_PLAIN, INSN_STORE, 0 },
		{ "nopw 0(%rax,%rax)", "66 0f 1f 44 00 00", 6, INSN_PLAIN, INSN_NOP, 0 },
		{ "nop", "90", 1, INSN_PLAIN, INSN_NOP, 0 },
		{ "pause", "f3 90", 2, INSN_PLAIN, INSN_NOP, 0 },
		{ "endbr64", "f3 0f 1e fa", 4, INSN_PLAIN, INSN_NOP, 0 },
		{ "rdsspq rax", "f3 48 0f 1e c8", 5, INSN_PLAIN, 0, 0 },
		{ "incsspq rcx", "f3 48 0f ae e9", 5, INSN_PLAIN, 0, 0 },
		{ "xchg %r8,%rax", "49 90", 2, INSN_PLAIN, 0, 0 },
		{ "prefetcht0 (%rax)", "0f 18 08", 3, INSN_PLAIN, INSN_PREFETCH, 0 },
		{ "prefetchw (%rax)", "0f 0d 08", 3, INSN_PLAIN, INSN_PREFETCH, 0 },
		{ "clflush (%rax)", "0f ae 38", 3, INSN_PLAIN, 0, 0 },
		{ "xchg %rbx,(%rax)", "48 87 18", 3, INSN_PLAIN, INSN_LOAD | INSN_STORE | INSN_LOCK, 0 },
		{ "lock xadd %ecx,(%rax)", "f0 0f c1 08", 4, INSN_PLAIN, INSN_LOAD | INSN_STORE | INSN_LOCK,
		  0 },
		{ "lock cmpxchg %ecx,(%rax)", "f0 0f b1 08", 4, INSN_PLAIN,
		  INSN_LOAD | INSN_STORE | INSN_LOCK, 0 },
		{ "rep movsb", "f3 a4", 2, INSN_PLAIN, INSN_LOAD | INSN_STORE | INSN_REP, 0 },
		{ "stosb", "aa", 1, INSN_PLAIN, INSN_STORE, 0 },
		{ "repne scasb", "f2 ae", 2, INSN_PLAIN, INSN_LOAD | INSN_REP, 0 },
		{ "repe cmpsb", "f3 a6", 2, INSN_PLAIN, INSN_LOAD | INSN_TWO_LOADS | INSN_REP, 0 },
		{ "idivl (%rax)", "f7 38", 2, INSN_PLAIN, INSN_LOAD | INSN_DIV, 0 },
		{ "div %rcx", "48 f7 f1", 3, INSN_PLAIN, INSN_DIV, 0 },
		{ "imul (%rax),%ecx", "0f af 08", 3, INSN_PLAIN, INSN_LOAD, 0 },
	};

	(void)state;
	CHECK(ISA_X86_64, list);
}

static void x86_floating_point_is_scalar_or_vector_and_moves_are_neither(void **state)
{
	enum { SCALAR = INSN_FP_SCALAR, VECTOR = INSN_FP_VECTOR, MOVE = INSN_SIMD_INT };
	static const struct expect list[] = {
		{ "addsd %xmm1,%xmm0", "f2 0f 58 c1", 4, INSN_PLAIN, SCALAR, 0 },
		{ "mulss (%rax),%xmm0", "f3 0f 59 00", 4, INSN_PLAIN, SCALAR | INSN_LOAD, 0 },
		{ "divpd %xmm1,%xmm0", "66 0f 5e c1", 4, INSN_PLAIN, VECTOR, 0 },
		{ "sqrtps %xmm1,%xmm0", "0f 51 c1", 3, INSN_PLAIN, VECTOR, 0 },
		{ "vaddpd %ymm1,%ymm2,%ymm3", "c5 ed 58 d9", 4, INSN_PLAIN, VECTOR, 0 },
		{ "vfmadd231sd %xmm1,%xmm2,%xmm3", "c4 e2 e9 b9 d9", 5, INSN_PLAIN, SCALAR | INSN_FMA, 0 },
		{ "vfmadd213ps (%rax),%ymm2,%ymm3", "c4 e2 6d a8 18", 5, INSN_PLAIN,
		  VECTOR | INSN_FMA | INSN_LOAD, 0 },
		{ "ucomisd %xmm1,%xmm0", "66 0f 2e c1", 4, INSN_PLAIN, SCALAR | INSN_FP_CONVERT, 0 },
		{ "cmpltsd %xmm1,%xmm0", "f2 0f c2 c1 01", 5, INSN_PLAIN, SCALAR | INSN_FP_CONVERT, 0 },
		{ "cvtsi2sd %eax,%xmm0", "f2 0f 2a c0", 4, INSN_PLAIN, SCALAR | INSN_FP_CONVERT, 0 },
		{ "cvttsd2si (%rax),%eax", "f2 0f 2c 00", 4, INSN_PLAIN, SCALAR | INSN_FP_CONVERT | INSN_LOAD,
		  0 },
		{ "cvtdq2pd %xmm1,%xmm0", "f3 0f e6 c1", 4, INSN_PLAIN, VECTOR | INSN_FP_CONVERT, 0 },
		{ "movsd (%rax),%xmm0", "f2 0f 10 00", 4, INSN_PLAIN, MOVE | INSN_LOAD, 0 },
		{ "movsd %xmm0,(%rax)", "f2 0f 11 00", 4, INSN_PLAIN, MOVE | INSN_STORE, 0 },
		{ "movaps %xmm0,(%rax)", "0f 29 00", 3, INSN_PLAIN, MOVE | INSN_STORE, 0 },
		{ "xorps %xmm0,%xmm0", "0f 57 c0", 3, INSN_PLAIN, MOVE, 0 },
		{ "paddd (%rax),%xmm0", "66 0f fe 00", 4, INSN_PLAIN, MOVE | INSN_LOAD, 0 },
		{ "movntdq %xmm0,(%rax)", "66 0f e7 00", 4, INSN_PLAIN, MOVE | INSN_STORE, 0 },
		{ "vmaskmovps %ymm0,%ymm1,(%rax)", "c4 e2 75 2e 00", 5, INSN_PLAIN, MOVE | INSN_STORE, 0 },
		{ "vmaskmovps (%rax),%ymm1,%ymm0", "c4 e2 75 2c 00", 5, INSN_PLAIN, MOVE | INSN_LOAD, 0 },
		{ "vgatherdpd %xmm1,(%rax,%xmm2),%xmm3", "c4 e2 f1 92 1c 10", 6, INSN_PLAIN,
		  MOVE | INSN_LOAD | INSN_TWO_LOADS, 0 },
		{ "fldt (%rax)", "db 28", 2, INSN_PLAIN, INSN_LOAD, 0 },
		{ "fstpt (%rax)", "db 38", 2, INSN_PLAIN, INSN_STORE, 0 },
		{ "faddl (%rax)", "dc 00", 2, INSN_PLAIN, SCALAR | INSN_X87 | INSN_LOAD, 0 },
		{ "fucompi", "df e9", 2, INSN_PLAIN, SCALAR | INSN_X87 | INSN_FP_CONVERT, 0 },
		{ "fcompi", "df f1", 2, INSN_PLAIN, SCALAR | INSN_X87 | INSN_FP_CONVERT, 0 },
		{ "fmulp", "de c9", 2, INSN_PLAIN, SCALAR | INSN_X87, 0 },
		{ "fchs", "d9 e0", 2, INSN_PLAIN, 0, 0 },
		{ "fnstcw (%rax)", "d9 38", 2, INSN_PLAIN, INSN_STORE, 0 },
		{ "ldmxcsr (%rax)", "0f ae 10", 3, INSN_PLAIN, INSN_LOAD, 0 },
		{ "stmxcsr (%rax)", "0f ae 18", 3, INSN_PLAIN, INSN_STORE, 0 },
		{ "vldmxcsr (%rax)", "c5 f8 ae 10", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "vstmxcsr (%rax)", "c5 f8 ae 18", 4, INSN_PLAIN, INSN_STORE, 0 },
	};

	(void)state;
	CHECK(ISA_X86_64, list);
}

/* Encodings from the AVX-512 chapters; capstone 4 gives none of them. */
static void x86_vector_instructions_that_capstone_lacks_are_stepped_over_whole(void **state)
{
	static const struct expect list[] = {
		{ "vpmadd52luq %zmm1,%zmm2,%zmm3", "62 f2 ed 48 b4 d9", 6, INSN_PLAIN, INSN_SIMD_INT, 0 },
		{ "vpmadd52luq 0x40(%rax),%zmm2,%zmm3", "62 f2 ed 48 b4 58 01", 7, INSN_PLAIN,
		  INSN_SIMD_INT | INSN_LOAD, 0 },
		{ "vpcompressb %zmm1,(%rax){%k1}", "62 f2 7d 49 63 08", 6, INSN_PLAIN,
		  INSN_SIMD_INT | INSN_STORE, 0 },
		{ "vaddph %zmm1,%zmm2,%zmm3", "62 f5 6c 48 58 d9", 6, INSN_PLAIN, INSN_FP_VECTOR, 0 },
		{ "vmulsh %xmm1,%xmm2,%xmm3", "62 f5 6e 08 59 d9", 6, INSN_PLAIN, INSN_FP_SCALAR, 0 },
		{ "wrpkru", "0f 01 ef", 3, INSN_PLAIN, INSN_UNKNOWN, 0 },
	};

	(void)state;
	CHECK(ISA_X86_64, list);
}

static void bytes_of_no_instruction_take_one_byte(void **state)
{
	/* push %es and an EVEX prefix of map 0, which 64-bit mode hasn't; fifteen prefixes and no end. */
	static const struct expect list[] = {
		{ "06", "06", 1, INSN_PLAIN, INSN_UNKNOWN, 0 },
		{ "evex map 0", "62 f0 00 00 00 00", 1, INSN_PLAIN, INSN_UNKNOWN, 0 },
		{ "prefixes", "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", 1, INSN_PLAIN, INSN_UNKNOWN,
		  0 },
	};

	(void)state;
	CHECK(ISA_X86_64, list);
}

static void an_instruction_cut_short_is_an_error_at_every_length(void **state)
{
	static const char *const whole[] = {
		"48 b8 01 02 03 04 05 06 07 08", "c4 e2 e9 b9 d9",    "62 f2 ed 48 b4 58 01",
		"66 0f 1f 84 00 00 00 00 00",    "0f 85 00 01 00 00", "8f 00"
	};
	struct insn_decoder *d;
	struct insn insn;

	(void)state;
	assert_int_equal(insn_decoder_new(ISA_X86_64, &d), 0);
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		uint8_t bytes[PADDING];
		size_t n = from_hex(whole[i], false, bytes);

		for (size_t cut = 1; cut < n; cut++)
			assert_int_equal(insn_decode(d, bytes, cut, VADDR, &insn), -SP_EDOMAIN);
		assert_int_equal(insn_decode(d, bytes, n, VADDR, &insn), 0);
		assert_int_equal(insn.size_bytes, n);
	}
	insn_decoder_free(d);
}

static void aarch64_branches_have_their_kind_and_target(void **state)
{
	static const struct expect list[] = {
		{ "b .+8", "14000002", 4, INSN_JUMP, 0, 0x1008 },
		{ "b .-4", "17ffffff", 4, INSN_JUMP, 0, 0xffc },
		{ "bl .", "94000000", 4, INSN_CALL, 0, 0x1000 },
		{ "b.ne .-8", "54ffffc1", 4, INSN_COND, 0, 0xff8 },
		{ "b.al .+8", "5400004e", 4, INSN_JUMP, 0, 0x1008 },
		{ "cbz x0, .+16", "b4000080", 4, INSN_COND, 0, 0x1010 },
		{ "cbnz w0, .-16", "35ffff80", 4, INSN_COND, 0, 0xff0 },
		{ "tbz w1, #0, .+36", "36000121", 4, INSN_COND, 0, 0x1024 },
		{ "tbnz w0, #13, .-16", "376fff80", 4, INSN_COND, 0, 0xff0 },
		{ "br x17", "d61f0220", 4, INSN_JUMP_IND, 0, 0 },
		{ "blr x1", "d63f0020", 4, INSN_CALL_IND, 0, 0 },
		{ "ret", "d65f03c0", 4, INSN_RET, 0, 0 },
		{ "retaa", "d65f0bff", 4, INSN_RET, 0, 0 },
		{ "braa x0, x1", "d71f0801", 4, INSN_JUMP_IND, 0, 0 },
		{ "blraaz x0", "d63f081f", 4, INSN_CALL_IND, 0, 0 },
		{ "svc #0", "d4000001", 4, INSN_SYSCALL, 0, 0 },
		{ "brk #1", "d4200020", 4, INSN_STOP, 0, 0 },
		{ "udf #0", "00000000", 4, INSN_STOP, 0, 0 },
		{ "nop", "d503201f", 4, INSN_PLAIN, INSN_NOP, 0 },
		{ "bti c", "d503245f", 4, INSN_PLAIN, INSN_NOP, 0 },
		{ "adrp x16, .", "90000010", 4, INSN_PLAIN, 0, 0 },
	};

	(void)state;
	CHECK(ISA_AARCH64, list);
}

static void aarch64_memory_and_arithmetic_are_told(void **state)
{
	static const struct expect list[] = {
		{ "ldr x0, [x1]", "f9400020", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "str x0, [x1]", "f9000020", 4, INSN_PLAIN, INSN_STORE, 0 },
		{ "ldrsw x0, [x1]", "b9800020", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "ldr x0, [x1], #8", "f8408420", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "ldr x0, [x1, x2]", "f8626820", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "ldr x0, literal", "58000040", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "ldp x29, x30, [sp], #16", "a8c17bfd", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "stp x29, x30, [sp, #-16]!", "a9bf7bfd", 4, INSN_PLAIN, INSN_STORE, 0 },
		{ "str q0, [x0]", "3d800000", 4, INSN_PLAIN, INSN_STORE | INSN_SIMD_INT, 0 },
		{ "ldr d0, [x0]", "fd400000", 4, INSN_PLAIN, INSN_LOAD | INSN_SIMD_INT, 0 },
		{ "ld1 {v0.16b}, [x0]", "4c407000", 4, INSN_PLAIN, INSN_LOAD | INSN_SIMD_INT, 0 },
		{ "st1 {v0.16b}, [x0]", "4c007000", 4, INSN_PLAIN, INSN_STORE | INSN_SIMD_INT, 0 },
		{ "ldar x0, [x1]", "c8dffc20", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "stlr x0, [x1]", "c89ffc20", 4, INSN_PLAIN, INSN_STORE, 0 },
		{ "ldxr x0, [x1]", "c85f7c20", 4, INSN_PLAIN, INSN_LOAD, 0 },
		{ "stxr w2, x0, [x1]", "c8027c20", 4, INSN_PLAIN, INSN_STORE, 0 },
		{ "cas x0, x1, [x2]", "c8a07c41", 4, INSN_PLAIN, INSN_LOAD | INSN_STORE | INSN_LOCK, 0 },
		{ "ldadd x0, x1, [x2]", "f8200041", 4, INSN_PLAIN, INSN_LOAD | INSN_STORE | INSN_LOCK, 0 },
		{ "swp x0, x1, [x2]", "f8208041", 4, INSN_PLAIN, INSN_LOAD | INSN_STORE | INSN_LOCK, 0 },
		{ "prfm pldl1keep, [x0]", "f9800000", 4, INSN_PLAIN, INSN_PREFETCH, 0 },
		{ "sdiv x0, x1, x2", "9ac20c20", 4, INSN_PLAIN, INSN_DIV, 0 },
		{ "fadd d0, d1, d2", "1e622820", 4, INSN_PLAIN, INSN_FP_SCALAR, 0 },
		{ "fmadd d0, d1, d2, d3", "1f420c20", 4, INSN_PLAIN, INSN_FP_SCALAR | INSN_FMA, 0 },
		{ "fadd v0.4s, v1.4s, v2.4s", "4e22d420", 4, INSN_PLAIN, INSN_FP_VECTOR, 0 },
		{ "fcmp d0, d1", "1e612000", 4, INSN_PLAIN, INSN_FP_SCALAR | INSN_FP_CONVERT, 0 },
		{ "scvtf d0, x1", "9e620020", 4, INSN_PLAIN, INSN_FP_SCALAR | INSN_FP_CONVERT, 0 },
		{ "fmov d0, d1", "1e604020", 4, INSN_PLAIN, INSN_SIMD_INT, 0 },
		{ "add v0.4s, v1.4s, v2.4s", "4ea28420", 4, INSN_PLAIN, INSN_SIMD_INT, 0 },
		{ "add x0, x1, x2", "8b020020", 4, INSN_PLAIN, 0, 0 },
	};

	(void)state;
	CHECK(ISA_AARCH64, list);
}

static void text_is_in_the_syntax_of_the_platform(void **state)
{
	static const uint8_t add[] = { 0x48, 0x01, 0xc3 }, bad[] = { 0x06 };
	struct insn_decoder *d;
	char text[64], small[4];

	(void)state;
	assert_int_equal(insn_decoder_new(ISA_X86_64, &d), 0);
	assert_int_equal(insn_text(d, add, sizeof(add), VADDR, text, sizeof(text)), 0);
	assert_string_equal(text, "addq %rax, %rbx");
	assert_int_equal(insn_text(d, add, sizeof(add), VADDR, small, sizeof(small)), 0);
	assert_string_equal(small, "add");
	assert_int_equal(insn_text(d, bad, sizeof(bad), VADDR, text, sizeof(text)), 0);
	assert_string_equal(text, "(bad)");
	insn_decoder_free(d);
}

static void other_instruction_sets_are_refused(void **state)
{
	struct insn_decoder *d;

	(void)state;
	assert_int_equal(insn_decoder_new(ISA_NONE, &d), -SP_ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_branches_have_their_kind_and_target),
		cmocka_unit_test(x86_memory_operands_are_loads_stores_both_or_neither),
		cmocka_unit_test(x86_floating_point_is_scalar_or_vector_and_moves_are_neither),
		cmocka_unit_test(x86_vector_instructions_that_capstone_lacks_are_stepped_over_whole),
		cmocka_unit_test(bytes_of_no_instruction_take_one_byte),
		cmocka_unit_test(an_instruction_cut_short_is_an_error_at_every_length),
		cmocka_unit_test(aarch64_branches_have_their_kind_and_target),
		cmocka_unit_test(aarch64_memory_and_arithmetic_are_told),
		cmocka_unit_test(text_is_in_the_syntax_of_the_platform),
		cmocka_unit_test(other_instruction_sets_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
