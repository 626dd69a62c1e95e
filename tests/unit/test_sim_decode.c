/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sim_fixture.h"

#include "profiler/sim/blocks.h"

static struct sim_insn decode(enum sim_isa isa, const char *hex, struct sim_block **block)
{
	const char *const insns[] = { hex };
	struct sim_block *b;
	struct sim_insn in;
	struct rig r;

	rig_prepare(&r, isa == SIM_ISA_AARCH64 ? "cortex-a76" : "zen5");
	rig_start(&r);
	b = block_at(&r, 0x400000, insns, 1);
	in = b->insn[0];
	if (block)
		*block = b;
	else
		free(b);
	rig_stop(&r);
	return in;
}

static unsigned exit_of(enum sim_isa isa, const char *hex, uint64_t target)
{
	struct sim_block *b;
	unsigned exit;

	decode(isa, hex, &b);
	exit = b->exit;
	assert_int_equal(b->target, target);
	free(b);
	return exit;
}

static void memory_is_what_the_instruction_touches(void **state)
{
	static const struct {
		const char *hex;
		unsigned flags;
	} x86[] = {
		{ "488b07", SIM_F_LOAD },                   /* mov rax, [rdi] */
		{ "488907", SIM_F_STORE },                  /* mov [rdi], rax */
		{ "480307", SIM_F_LOAD },                   /* add rax, [rdi] */
		{ "480107", SIM_F_LOAD | SIM_F_STORE },     /* add [rdi], rax */
		{ "483b07", SIM_F_LOAD },                   /* cmp rax, [rdi] */
		{ "488d07", 0 },                            /* lea rax, [rdi] */
		{ "50", SIM_F_STORE },                      /* push rax */
		{ "58", SIM_F_LOAD },                       /* pop rax */
		{ "c3", SIM_F_LOAD },                       /* ret */
		{ "c9", SIM_F_LOAD },                       /* leave */
		{ "ff10", SIM_F_LOAD | SIM_F_STORE },       /* call [rax] */
		{ "ff20", SIM_F_LOAD },                     /* jmp [rax] */
		{ "0f1807", 0 },                            /* prefetchnta [rdi] */
		{ "0f1f4000", 0 },                          /* nop [rax] */
		{ "f0480fb10f", SIM_F_LOAD | SIM_F_STORE }, /* lock cmpxchg [rdi], rcx */
		{ "d93f", SIM_F_STORE },                    /* fnstcw [rdi] */
		{ "f30f6f07", SIM_F_LOAD },                 /* movdqu xmm0, [rdi] */
		{ "0f1107", SIM_F_STORE },                  /* movups [rdi], xmm0 */
		{ "0f9407", SIM_F_STORE },                  /* sete [rdi] */
		{ "f2410f5807", SIM_F_LOAD },               /* addsd xmm0, [r15] */
		{ "c4e37d190701", SIM_F_STORE },            /* vextractf128 [rdi], ymm0, 1 */
		{ "c5f91707", SIM_F_STORE },                /* vmovhpd [rdi], xmm0 */
		{ "660f3a160701", SIM_F_STORE },            /* pextrd [rdi], xmm0, 1 */
		{ "c5f92e07", SIM_F_LOAD },                 /* vucomisd xmm0, [rdi] */
		{ "0fae1f", SIM_F_STORE },                  /* stmxcsr [rdi] */
		{ "0fae17", SIM_F_LOAD },                   /* ldmxcsr [rdi] */
		{ "c5f8ae1f", SIM_F_STORE },                /* vstmxcsr [rdi] */
		{ "66c10708", SIM_F_LOAD | SIM_F_STORE },   /* rol word [rdi], 8 */
		{ "0f38f107", SIM_F_STORE },                /* movbe [rdi], eax */
		{ "0f38f007", SIM_F_LOAD },                 /* movbe eax, [rdi] */
		{ "f20f2c07", SIM_F_LOAD },                 /* cvttsd2si eax, [rdi] */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++)
		if ((decode(SIM_ISA_X86_64, x86[i].hex, NULL).flags & SIM_F_MEM) != x86[i].flags)
			fail_msg("%s: not what it touches", x86[i].hex);
	assert_int_equal(decode(SIM_ISA_AARCH64, "000040f9", NULL).flags & SIM_F_MEM, SIM_F_LOAD);  /* ldr */
	assert_int_equal(decode(SIM_ISA_AARCH64, "000000f9", NULL).flags & SIM_F_MEM, SIM_F_STORE); /* str */
	assert_int_equal(decode(SIM_ISA_AARCH64, "fd7bbfa9", NULL).flags & SIM_F_MEM,
	                 SIM_F_STORE); /* stp, pre-index */
	assert_int_equal(decode(SIM_ISA_AARCH64, "fd7bc1a8", NULL).flags & SIM_F_MEM,
	                 SIM_F_LOAD); /* ldp, post-index */
}

/* Conversions from memory to an integer register, compares of x87 and what it does by microcode are floating-point, too. */
static void floating_point_is_counted_whatever_it_is_done_with(void **state)
{
	static const struct {
		const char *hex;
		bool fp;
	} list[] = {
		{ "f20f2c07", true }, /* cvttsd2si eax, [rdi] */
		{ "dfe9", true },     /* fucomip st(1) */
		{ "da17", true },     /* ficom dword [rdi] */
		{ "d9fc", true },     /* frndint */
		{ "d9f3", true },     /* fpatan */
		{ "d9e0", false },    /* fchs */
		{ "d907", false },    /* fld dword [rdi] */
		{ "dd1f", false },    /* fstp qword [rdi] */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if ((decode(SIM_ISA_X86_64, list[i].hex, NULL).events >> SIM_FP_SCALAR & 1) != list[i].fp)
			fail_msg("%s: not what it is", list[i].hex);
}

static void the_end_of_a_block_says_where_it_can_go(void **state)
{
	(void)state;
	assert_int_equal(exit_of(SIM_ISA_X86_64, "7502", 0x400004), SIM_X_COND);
	assert_int_equal(exit_of(SIM_ISA_X86_64, "eb10", 0x400012), SIM_X_JUMP);
	assert_int_equal(exit_of(SIM_ISA_X86_64, "e800000000", 0x400005), SIM_X_CALL);
	assert_int_equal(exit_of(SIM_ISA_X86_64, "ffd0", 0), SIM_X_CALL_IND);
	assert_int_equal(exit_of(SIM_ISA_X86_64, "ffe0", 0), SIM_X_JUMP_IND);
	assert_int_equal(exit_of(SIM_ISA_X86_64, "c3", 0), SIM_X_RET);
	assert_int_equal(exit_of(SIM_ISA_X86_64, "0f05", 0), SIM_X_NONE);
	assert_int_equal(exit_of(SIM_ISA_AARCH64, "40000054", 0x400008), SIM_X_COND); /* b.eq */
	assert_int_equal(exit_of(SIM_ISA_AARCH64, "400000b4", 0x400008), SIM_X_COND); /* cbz */
	assert_int_equal(exit_of(SIM_ISA_AARCH64, "02000014", 0x400008), SIM_X_JUMP);
	assert_int_equal(exit_of(SIM_ISA_AARCH64, "02000094", 0x400008), SIM_X_CALL);
	assert_int_equal(exit_of(SIM_ISA_AARCH64, "00003fd6", 0), SIM_X_CALL_IND);
	assert_int_equal(exit_of(SIM_ISA_AARCH64, "00001fd6", 0), SIM_X_JUMP_IND);
	assert_int_equal(exit_of(SIM_ISA_AARCH64, "c0035fd6", 0), SIM_X_RET);
}

static void a_branch_waits_for_the_flags_and_a_compare_writes_them(void **state)
{
	struct sim_insn in = decode(SIM_ISA_X86_64, "4839c8", NULL); /* cmp rax, rcx */

	(void)state;
	assert_true(memchr(in.dst, SIM_R_FLAGS, sizeof(in.dst)) != NULL);
	in = decode(SIM_ISA_X86_64, "7502", NULL);
	assert_true(memchr(in.src, SIM_R_FLAGS, sizeof(in.src)) != NULL);
	in = decode(SIM_ISA_AARCH64, "1f0001eb", NULL); /* cmp x0, x1 */
	assert_true(memchr(in.dst, SIM_R_FLAGS, sizeof(in.dst)) != NULL);
	in = decode(SIM_ISA_AARCH64, "40000054", NULL); /* b.eq */
	assert_true(memchr(in.src, SIM_R_FLAGS, sizeof(in.src)) != NULL);
	in = decode(SIM_ISA_AARCH64, "2000809a", NULL); /* csel x0, x1, x0, eq */
	assert_true(memchr(in.src, SIM_R_FLAGS, sizeof(in.src)) != NULL);
}

static void garbage_is_microcode_and_never_fails(void **state)
{
	(void)state;
	assert_int_equal(decode(SIM_ISA_X86_64, "06", NULL).cls, SIM_C_SLOW);
	assert_int_equal(decode(SIM_ISA_AARCH64, "00000000", NULL).cls, SIM_C_SLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_what_the_instruction_touches),
		cmocka_unit_test(floating_point_is_counted_whatever_it_is_done_with),
		cmocka_unit_test(the_end_of_a_block_says_where_it_can_go),
		cmocka_unit_test(a_branch_waits_for_the_flags_and_a_compare_writes_them),
		cmocka_unit_test(garbage_is_microcode_and_never_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
