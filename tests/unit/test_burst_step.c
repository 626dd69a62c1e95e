/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one step was, and which instructions must not be stepped over: code assembled by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/pmu/step.h"

static void a_step_to_the_next_instruction_is_no_taken_branch(void **state)
{
	const struct step_insn plain = { STEP_PLAIN, 3 }, branch = { STEP_BRANCH, 2 };

	(void)state;
	assert_int_equal(step_judge(plain, 0x1000, 0x1003), STEP_SEEN_ON);
	assert_int_equal(step_judge(branch, 0x1000, 0x1002), STEP_SEEN_ON);
	assert_int_equal(step_judge(branch, 0x1000, 0x1010), STEP_SEEN_TAKEN);
	assert_int_equal(step_judge(branch, 0x1000, 0x0ff0), STEP_SEEN_TAKEN);
}

/* "rep movsb" traps after every byte, where it stands; "jmp ." comes back to itself. */
static void staying_is_a_string_instruction_or_a_branch_to_itself(void **state)
{
	const struct step_insn rep = { STEP_PLAIN, 2 }, jump = { STEP_JUMP, 2 };

	(void)state;
	assert_int_equal(step_judge(rep, 0x1000, 0x1000), STEP_SEEN_ON);
	assert_int_equal(step_judge(jump, 0x1000, 0x1000), STEP_SEEN_TAKEN);
	assert_int_equal(step_judge(jump, 0x1000, 0x1002), STEP_SEEN_TAKEN);
}

/* A handler, say: nothing in the code leads there. */
static void a_jump_that_no_branch_made_is_lost(void **state)
{
	const struct step_insn plain = { STEP_PLAIN, 3 };

	(void)state;
	assert_int_equal(step_judge(plain, 0x1000, 0x5000), STEP_SEEN_LOST);
}

static void words_of_aarch64_are_told_apart(void **state)
{
	static const struct {
		uint32_t word;
		enum step_kind kind;
	} words[] = {
		{ 0x14000004, STEP_JUMP },   /* b . + 16 */
		{ 0x94000004, STEP_JUMP },   /* bl . + 16 */
		{ 0x54000081, STEP_BRANCH }, /* b.ne . + 16 */
		{ 0xb4000080, STEP_BRANCH }, /* cbz x0, . + 16 */
		{ 0x35000081, STEP_BRANCH }, /* cbnz w1, . + 16 */
		{ 0x36180082, STEP_BRANCH }, /* tbz w2, #3, . + 16 */
		{ 0xb7f80083, STEP_BRANCH }, /* tbnz x3, #63, . + 16 */
		{ 0xd61f0200, STEP_JUMP },   /* br x16 */
		{ 0xd63f0200, STEP_JUMP },   /* blr x16 */
		{ 0xd65f03c0, STEP_JUMP },   /* ret */
		{ 0xd65f0bff, STEP_JUMP },   /* retaa */
		{ 0xd4000001, STEP_NEVER },  /* svc #0 */
		{ 0xd4200000, STEP_NEVER },  /* brk #0 */
		{ 0x00000000, STEP_NEVER },  /* udf #0 */
		{ 0xc85f7c01, STEP_NEVER },  /* ldxr x1, [x0] */
		{ 0x885ffc01, STEP_NEVER },  /* ldaxr w1, [x0] */
		{ 0xc8027c01, STEP_NEVER },  /* stxr w2, x1, [x0] */
		{ 0xc87f0801, STEP_NEVER },  /* ldxp x1, x2, [x0] */
		{ 0xc8dffc01, STEP_PLAIN },  /* ldar x1, [x0] */
		{ 0xc8e2fc01, STEP_PLAIN },  /* casal x2, x1, [x0] */
		{ 0xf8e20001, STEP_PLAIN },  /* ldaddal x2, x1, [x0] */
		{ 0x8b020020, STEP_PLAIN },  /* add x0, x1, x2 */
		{ 0xf9400001, STEP_PLAIN },  /* ldr x1, [x0] */
		{ 0xd503201f, STEP_PLAIN },  /* nop */
		{ 0xd53bd041, STEP_PLAIN },  /* mrs x1, tpidr_el0 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct step_insn insn = step_decode_a64(words[i].word);

		if (insn.kind != words[i].kind)
			fail_msg("%08x: kind %u instead of %u", words[i].word, insn.kind, words[i].kind);
		assert_int_equal(insn.size_bytes, 4);
	}
}

#if defined(__x86_64__)
static void instructions_of_x86_are_told_apart(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		enum step_kind kind;
	} insns[] = {
		{ "\x90", 1, STEP_PLAIN },                             /* nop */
		{ "\x48\x8b\x04\x25\x00\x10\x00\x00", 8, STEP_PLAIN }, /* mov 0x1000, %rax */
		{ "\x62\xf1\x7c\x48\x58\xc1", 6, STEP_PLAIN },         /* vaddps %zmm1, %zmm0, %zmm0 */
		{ "\xf3\xa4", 2, STEP_PLAIN },                         /* rep movsb */
		{ "\xf0\x48\x0f\xb1\x0f", 5, STEP_PLAIN },             /* lock cmpxchg %rcx, (%rdi) */
		{ "\xf3\x0f\x1e\xfa", 4, STEP_PLAIN },                 /* endbr64 */
		{ "\x0f\x31", 2, STEP_PLAIN },                         /* rdtsc */
		{ "\x74\x10", 2, STEP_BRANCH },                        /* je */
		{ "\x0f\x84\x10\x00\x00\x00", 6, STEP_BRANCH },        /* je, far off */
		{ "\xe3\x10", 2, STEP_BRANCH },                        /* jrcxz */
		{ "\xe2\x10", 2, STEP_BRANCH },                        /* loop */
		{ "\xeb\xfe", 2, STEP_JUMP },                          /* jmp . */
		{ "\xff\xe0", 2, STEP_JUMP },                          /* jmp *%rax */
		{ "\x3e\xff\xe0", 3, STEP_JUMP },                      /* notrack jmp *%rax */
		{ "\xe8\x10\x00\x00\x00", 5, STEP_JUMP },              /* call */
		{ "\xff\x15\x10\x00\x00\x00", 6, STEP_JUMP },          /* call *16(%rip) */
		{ "\xc3", 1, STEP_JUMP },                              /* ret */
		{ "\xf3\xc3", 2, STEP_JUMP },                          /* repz ret */
		{ "\xc2\x08\x00", 3, STEP_JUMP },                      /* ret 8 */
		{ "\x0f\x05", 2, STEP_NEVER },                         /* syscall */
		{ "\x0f\x34", 2, STEP_NEVER },                         /* sysenter */
		{ "\xcd\x80", 2, STEP_NEVER },                         /* int 0x80 */
		{ "\xcc", 1, STEP_NEVER },                             /* int3 */
		{ "\xf1", 1, STEP_NEVER },                             /* int1 */
		{ "\x9c", 1, STEP_NEVER },                             /* pushf */
		{ "\x66\x9c", 2, STEP_NEVER },                         /* pushfw */
		{ "\x9d", 1, STEP_NEVER },                             /* popf */
		{ "\x48\xcf", 2, STEP_NEVER },                         /* iretq */
		{ "\xc7\xf8\x10\x00\x00\x00", 6, STEP_NEVER },         /* xbegin */
		{ "\x0f\x0b", 2, STEP_NEVER },                         /* ud2 */
		{ "\x06", 1, STEP_NEVER },                             /* none in 64-bit mode */
		{ "\x62\xf3\x7d\x48\x3e\xc1\x05", 7, STEP_PLAIN },     /* vpcmpnltub %zmm1, %zmm0, %k0 */
		{ "\xc5\xf9\xf7\xc1", 4, STEP_PLAIN },                 /* vmaskmovdqu */
	};
	struct step_decoder *d;

	(void)state;
	assert_int_equal(step_decoder_new(&d), 0);
	/* Twice: the second time from the cache. */
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
			uint8_t code[STEP_MAX_INSN_BYTES] = { 0 };
			struct step_insn insn;

			memcpy(code, insns[i].code, insns[i].n);
			insn = step_decode(d, code, sizeof(code), 0x1000 + 32 * i);
			if (insn.kind != insns[i].kind)
				fail_msg("instruction %zu: kind %u instead of %u", i, insn.kind,
				         insns[i].kind);
			if (insn.kind != STEP_NEVER)
				assert_int_equal(insn.size_bytes, insns[i].n);
		}
	step_decoder_free(d);
}

/* Generated code is written anew at the same place: je, then nop. */
static void code_that_has_changed_is_decoded_again(void **state)
{
	struct step_decoder *d;

	(void)state;
	assert_int_equal(step_decoder_new(&d), 0);
	assert_int_equal(step_decode(d, (const uint8_t *)"\x74\x10", 2, 0x1000).kind, STEP_BRANCH);
	assert_int_equal(step_decode(d, (const uint8_t *)"\x90\x10", 2, 0x1000).kind, STEP_PLAIN);
	/* Half of it can be read. */
	assert_int_equal(step_decode(d, (const uint8_t *)"\x74", 1, 0x1000).kind, STEP_NEVER);
	step_decoder_free(d);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_to_the_next_instruction_is_no_taken_branch),
		cmocka_unit_test(staying_is_a_string_instruction_or_a_branch_to_itself),
		cmocka_unit_test(a_jump_that_no_branch_made_is_lost),
		cmocka_unit_test(words_of_aarch64_are_told_apart),
#if defined(__x86_64__)
		cmocka_unit_test(instructions_of_x86_are_told_apart),
		cmocka_unit_test(code_that_has_changed_is_decoded_again),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
