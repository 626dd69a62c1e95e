/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What single instructions do to registers; encodings are those of an assembler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/binary/insn_step.h"

enum { VADDR = 0x1000, NONE = STEP_NO_REG };

struct expect {
	const char *text;
	uint8_t code[12];
	struct insn_step step;
};

static void check(enum insn_isa isa, const struct expect *list, size_t n)
{
	struct insn_decoder *d;

	assert_int_equal(insn_decoder_new(isa, &d), 0);
	for (size_t i = 0; i < n; i++) {
		const struct insn_step *e = &list[i].step;
		struct insn insn;
		struct insn_step s;

		assert_int_equal(insn_decode(d, list[i].code, sizeof(list[i].code), VADDR, &insn), 0);
		insn_step(d, list[i].code, sizeof(list[i].code), &insn, &s);
		if (s.writes != e->writes || s.op != e->op || s.flags != e->flags ||
		    s.condition != e->condition)
			fail_msg("%s: writes %#x op %u flags %u condition %u", list[i].text, s.writes, s.op,
			         s.flags, s.condition);
		if (s.op != STEP_OTHER && (s.dst != e->dst || s.src != e->src || s.imm != e->imm ||
		                           s.bytes != e->bytes || s.shift != e->shift))
			fail_msg("%s: dst %u src %u imm %#jx bytes %u shift %u", list[i].text, s.dst, s.src,
			         (uintmax_t)s.imm, s.bytes, s.shift);
		if (s.flags >= STEP_FLAGS_COMPARED &&
		    (s.left != e->left || s.right != e->right || s.right_imm != e->right_imm ||
		     s.compare_bytes != e->compare_bytes))
			fail_msg("%s: left %u right %u right_imm %#jx bytes %u", list[i].text, s.left,
			         s.right, (uintmax_t)s.right_imm, s.compare_bytes);
	}
	insn_decoder_free(d);
}

#define SET(reg, value, size) .op = STEP_SET, .dst = (reg), .src = NONE, .imm = (value), .bytes = (size)
#define ADD(reg, from, value, size) \
	.op = STEP_ADD, .dst = (reg), .src = (from), .imm = (value), .bytes = (size)
#define AGAINST(kind, l, r, value, size) \
	.flags = (kind), .left = (l), .right = (r), .right_imm = (value), .compare_bytes = (size)

static void x86_instructions_are_read_as_copies_sums_and_comparisons(void **state)
{
	static const struct expect list[] = {
		{ "mov $0x28, %esi", { 0xbe, 0x28, 0, 0, 0 }, { .writes = 1 << 6, SET(6, 0x28, 4) } },
		{ "mov $-1, %rax",
		  { 0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff },
		  { .writes = 1, SET(0, UINT64_MAX, 8) } },
		{ "mov %rdi, %rax", { 0x48, 0x89, 0xf8 }, { .writes = 1, ADD(0, 7, 0, 8) } },
		{ "mov (%rdi), %rax", { 0x48, 0x8b, 0x07 }, { .writes = 1 } },
		{ "xor %eax, %eax",
		  { 0x31, 0xc0 },
		  { .writes = 1, SET(0, 0, 4), .flags = STEP_FLAGS_OTHER } },
		{ "lea 0x200(%rdi), %rcx",
		  { 0x48, 0x8d, 0x8f, 0, 2, 0, 0 },
		  { .writes = 2, ADD(1, 7, 0x200, 8) } },
		{ "lea 0x10(%rip), %rcx",
		  { 0x48, 0x8d, 0x0d, 0x10, 0, 0, 0 },
		  { .writes = 2, SET(1, 0x1017, 8) } },
		{ "lea (%rdi,%rsi), %rcx", { 0x48, 0x8d, 0x0c, 0x37 }, { .writes = 2 } },
		{ "add $8, %rax",
		  { 0x48, 0x83, 0xc0, 8 },
		  { .writes = 1, ADD(0, 0, 8, 8), AGAINST(STEP_FLAGS_SUMMED, 0, NONE, (uint64_t)-8, 8) } },
		{ "sub $1, %ecx",
		  { 0x83, 0xe9, 1 },
		  { .writes = 2, ADD(1, 1, UINT64_MAX, 4), AGAINST(STEP_FLAGS_COMPARED, 1, NONE, 1, 4) } },
		{ "add %rcx, %rax", { 0x48, 0x01, 0xc8 }, { .writes = 1, .flags = STEP_FLAGS_OTHER } },
		{ "cmp $0x10, %rax",
		  { 0x48, 0x83, 0xf8, 0x10 },
		  { AGAINST(STEP_FLAGS_COMPARED, 0, NONE, 0x10, 8) } },
		{ "cmp %rcx, %rsi", { 0x48, 0x39, 0xce }, { AGAINST(STEP_FLAGS_COMPARED, 6, 1, 0, 8) } },
		{ "cmp $5, (%rdi)", { 0x83, 0x3f, 5 }, { .flags = STEP_FLAGS_OTHER } },
		{ "test %edx, %edx", { 0x85, 0xd2 }, { AGAINST(STEP_FLAGS_COMPARED, 2, NONE, 0, 4) } },
		{ "test %edx, %ecx", { 0x85, 0xd1 }, { .flags = STEP_FLAGS_OTHER } },
		{ "mov $1, %al", { 0xb0, 1 }, { .writes = 1 } },
		{ "imul %rbp", { 0x48, 0xf7, 0xed }, { .writes = 1 | 1 << 2, .flags = STEP_FLAGS_OTHER } },
		{ "xchg %rbx, %rcx", { 0x48, 0x87, 0xd9 }, { .writes = 1 << 1 | 1 << 3 } },
		/* Between a comparison and its jump. */
		{ "addsd %xmm1, %xmm0", { 0xf2, 0x0f, 0x58, 0xc1 }, { 0 } },
		{ "ucomisd %xmm1, %xmm0", { 0x66, 0x0f, 0x2e, 0xc1 }, { .flags = STEP_FLAGS_OTHER } },
		{ "cmove %ecx, %eax", { 0x0f, 0x44, 0xc1 }, { .writes = 1 } },
		/* The second byte of rax, and half of rcx. */
		{ "cmp $5, %ah", { 0x80, 0xfc, 5 }, { .flags = STEP_FLAGS_OTHER } },
		{ "lea -1(%ecx), %rdx", { 0x67, 0x48, 0x8d, 0x51, 0xff }, { .writes = 1 << 2 } },
		{ "push %rbx", { 0x53 }, { .writes = 1 << 4 } },
		{ "pop %rbx", { 0x5b }, { .writes = 1 << 3 | 1 << 4 } },
		{ "call", { 0xe8, 0, 0, 0, 0 }, { .writes = 0x0fc7, .flags = STEP_FLAGS_OTHER } },
		{ "jne", { 0x75, 0xf0 }, { .condition = STEP_UNEQUAL } },
		{ "jbe", { 0x76, 0xf0 }, { .condition = STEP_BELOW_EQUAL } },
		{ "jg", { 0x7f, 0xf0 }, { .condition = STEP_GREATER } },
		{ "jp", { 0x7a, 0xf0 }, { .condition = STEP_NEVER_KNOWN } },
	};

	(void)state;
	check(ISA_X86_64, list, sizeof(list) / sizeof(*list));
}

#define WORD(w)                                                                            \
	{                                                                                  \
		(w) & 255, (w) >> 8 & 255, (w) >> 16 & 255, (uint8_t)((uint32_t)(w) >> 24) \
	}

static void aarch64_instructions_are_read_as_copies_sums_and_comparisons(void **state)
{
	static const struct expect list[] = {
		{ "mov w1, #40", WORD(0x52800501), { .writes = 2, SET(1, 40, 4) } },
		{ "mov x1, #-1", WORD(0x92800001), { .writes = 2, SET(1, UINT64_MAX, 8) } },
		{ "movk w1, #1, lsl #16",
		  WORD(0x72a00021),
		  { .writes = 2, .op = STEP_PUT, .dst = 1, .src = 1, .imm = 1, .shift = 16, .bytes = 4 } },
		{ "mov x3, x1", WORD(0xaa0103e3), { .writes = 8, ADD(3, 1, 0, 8) } },
		{ "mov w3, wzr", WORD(0x2a1f03e3), { .writes = 8, SET(3, 0, 4) } },
		{ "add x3, x3, #8", WORD(0x91002063), { .writes = 8, ADD(3, 3, 8, 8) } },
		{ "sub w2, w2, #1", WORD(0x51000442), { .writes = 4, ADD(2, 2, UINT64_MAX, 4) } },
		{ "add x4, sp, #1, lsl #12", WORD(0x914007e4), { .writes = 16, ADD(4, 31, 4096, 8) } },
		{ "subs w2, w2, #1",
		  WORD(0x71000442),
		  { .writes = 4, ADD(2, 2, UINT64_MAX, 4), AGAINST(STEP_FLAGS_COMPARED, 2, NONE, 1, 4) } },
		{ "cmp x3, #16", WORD(0xf100407f), { AGAINST(STEP_FLAGS_COMPARED, 3, NONE, 16, 8) } },
		{ "cmp x3, x5", WORD(0xeb05007f), { AGAINST(STEP_FLAGS_COMPARED, 3, 5, 0, 8) } },
		{ "cmp x3, x5, lsl #2", WORD(0xeb05087f), { .flags = STEP_FLAGS_OTHER } },
		{ "cmn w0, #1", WORD(0x3100041f), { AGAINST(STEP_FLAGS_SUMMED, 0, NONE, (uint64_t)-1, 4) } },
		{ "fabs d0, d1", WORD(0x1e60c020), { 0 } },
		{ "fcmp d0, d1", WORD(0x1e612000), { .flags = STEP_FLAGS_OTHER } },
		{ "tst x0, x1", WORD(0xea01001f), { .flags = STEP_FLAGS_OTHER } },
		{ "ldr w2, [x0], #4", WORD(0xb8404402), { .writes = 5, ADD(0, 0, 4, 8) } },
		{ "stp x2, x3, [x0, #-16]!", WORD(0xa9bf0c02), { .writes = 1, ADD(0, 0, (uint64_t)-16, 8) } },
		{ "ldr x2, [x0, #8]", WORD(0xf9400402), { .writes = 4 } },
		{ "ldp x2, x3, [x0]", WORD(0xa9400c02), { .writes = 12 } },
		{ "adrp x0, .", WORD(0x90000000), { .writes = 1, SET(0, 0x1000, 8) } },
		{ "bl", WORD(0x94000010), { .writes = 0x4007ffff, .flags = STEP_FLAGS_OTHER } },
		{ "b.ne", WORD(0x54ffff81), { .condition = STEP_UNEQUAL } },
		{ "b.hi", WORD(0x54ffff88), { .condition = STEP_ABOVE } },
		{ "b.lt", WORD(0x54ffff8b), { .condition = STEP_LESS } },
		{ "cbnz w2",
		  WORD(0x35ffffa2),
		  { .condition = STEP_UNEQUAL, AGAINST(STEP_FLAGS_COMPARED, 2, NONE, 0, 4) } },
		{ "tbz w2, #3", WORD(0x361fffa2), { .condition = STEP_NEVER_KNOWN } },
	};

	(void)state;
	check(ISA_AARCH64, list, sizeof(list) / sizeof(*list));
}

/* A register that does not fill what it is compared in has no other bits. */
static void conditions_are_those_of_their_width(void **state)
{
	(void)state;
	assert_int_equal(insn_step_taken(STEP_EQUAL, 0x100000005, 5, 4), 1);
	assert_int_equal(insn_step_taken(STEP_EQUAL, 0x100000005, 5, 8), 0);
	assert_int_equal(insn_step_taken(STEP_LESS, 0xffffffff, 0, 4), 1);
	assert_int_equal(insn_step_taken(STEP_LESS, 0xffffffff, 0, 8), 0);
	assert_int_equal(insn_step_taken(STEP_BELOW, 0xffffffff, 0, 4), 0);
	assert_int_equal(insn_step_taken(STEP_ABOVE_EQUAL, 7, 7, 8), 1);
	assert_int_equal(insn_step_taken(STEP_NEGATIVE, 0, 1, 4), 1);
	assert_int_equal(insn_step_taken(STEP_POSITIVE, 1, 1, 1), 1);
	assert_int_equal(insn_step_taken(STEP_NEVER_KNOWN, 1, 1, 8), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_instructions_are_read_as_copies_sums_and_comparisons),
		cmocka_unit_test(aarch64_instructions_are_read_as_copies_sums_and_comparisons),
		cmocka_unit_test(conditions_are_those_of_their_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
