/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The replayer's decoder of A64: by hand where it matters most, and against capstone on libc, libm and random words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <capstone/capstone.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/replay/a64/decode.h"

enum { N_RANDOM = 300000 };

static struct a64_insn decode(uint32_t word)
{
	struct a64_insn i;

	a64_decode(word, &i);
	return i;
}

static void kinds_are_told_apart(void **state)
{
	static const struct {
		uint32_t word;
		enum a64_kind kind;
	} insns[] = {
		{ 0x8b020020, A64_PLAIN },           /* add x0, x1, x2 */
		{ 0x910003fd, A64_STACK },           /* mov x29, sp */
		{ 0xb10003ff, A64_STACK },           /* cmn sp, #0 */
		{ 0xeb2163ff, A64_STACK },           /* cmp sp, x1 */
		{ 0xb100003f, A64_PLAIN },           /* cmn x1, #0 */
		{ 0x9240fc3f, A64_STACK },           /* and sp, x1, #-1 */
		{ 0xf240fc3f, A64_PLAIN },           /* tst x1, #-1 */
		{ 0x9ac2303f, A64_UNKNOWN },         /* pacga xzr, x1, x2 */
		{ 0x9ac00c20, A64_PLAIN },           /* sdiv x0, x1, x0 */
		{ 0x9a022020, A64_UNKNOWN },         /* addpt x0, x1, x2 */
		{ 0x10000000, A64_ADDRESS },         /* adr x0, . */
		{ 0xd503201f, A64_NOTHING },         /* nop */
		{ 0xd503245f, A64_NOTHING },         /* bti c */
		{ 0xd503233f, A64_NOTHING },         /* paciasp */
		{ 0xd50323bf, A64_STRIP },           /* autiasp */
		{ 0xd503219f, A64_STRIP_X17 },       /* autia1716 */
		{ 0xdac10020, A64_NOTHING },         /* pacia x0, x1 */
		{ 0xdac11820, A64_STRIP },           /* autda x0, x1 */
		{ 0xdac143e0, A64_PLAIN },           /* xpaci x0 */
		{ 0xd5033bbf, A64_PLAIN },           /* dmb ish */
		{ 0xd5033f5f, A64_CLEAR_EXCLUSIVE }, /* clrex */
		{ 0xd503307f, A64_TRANSACTION },     /* tcommit */
		{ 0xd53bd040, A64_GET_THREAD },      /* mrs x0, tpidr_el0 */
		{ 0xd51bd040, A64_SET_THREAD },
		{ 0xd53be040, A64_PLAIN },         /* mrs x0, cntvct_el0 */
		{ 0xd53b9d00, A64_UNKNOWN },       /* mrs x0, pmccntr_el0 */
		{ 0xd53bd0a0, A64_SME },           /* mrs x0, tpidr2_el0 */
		{ 0xd503477f, A64_SME },           /* smstart */
		{ 0xd50b7420, A64_ZERO_BLOCK },    /* dc zva, x0 */
		{ 0xd50b7e20, A64_NOTHING },       /* dc civac, x0 */
		{ 0xd50b7460, A64_TAGS },          /* dc gva, x0 */
		{ 0xd50b7700, A64_GUARDED_STACK }, /* gcspushm x0 */
		{ 0x54000001, A64_IF },            /* b.ne . */
		{ 0x5400000e, A64_B },             /* b.al . */
		{ 0xb4000000, A64_IF },            /* cbz x0, . */
		{ 0x36000000, A64_IF },            /* tbz w0, #0, . */
		{ 0x74000000, A64_UNKNOWN },       /* cbgt, of FEAT_CMPBR */
		{ 0x14000000, A64_B },
		{ 0x94000000, A64_BL },
		{ 0xd61f0000, A64_BR },
		{ 0xd63f0000, A64_BLR },
		{ 0xd65f03c0, A64_RET },
		{ 0xd65f0bff, A64_RET },             /* retaa */
		{ 0xd71f0801, A64_BR },              /* braa x0, x1 */
		{ 0xd63f081f, A64_BLR },             /* blraaz x0 */
		{ 0xd69f03e0, A64_UNKNOWN },         /* eret */
		{ 0xd4000001, A64_SYSCALL },         /* svc #0 */
		{ 0xd4200000, A64_TRAP },            /* brk #0 */
		{ 0x00000000, A64_TRAP },            /* udf #0 */
		{ 0x25004000, A64_SVE },             /* an addition of predicates or the like */
		{ 0xc0800000, A64_SME },             /* fmopa or the like */
		{ 0xd9200800, A64_TAGS },            /* stg x0, [x0] */
		{ 0x69000000, A64_TAGS },            /* stgp */
		{ 0xc85f7c20, A64_LOAD_EXCLUSIVE },  /* ldxr x0, [x1] */
		{ 0xc8027c20, A64_STORE_EXCLUSIVE }, /* stxr w2, x0, [x1] */
		{ 0xc8dffc20, A64_MEMORY },          /* ldar x0, [x1] */
		{ 0xc8e27c20, A64_MEMORY },          /* casa x2, x0, [x1] */
		{ 0x48207c82, A64_MEMORY },          /* casp x0, x1, x2, x3, [x4] */
		{ 0xf8200400, A64_LOAD_SIGNED },     /* ldraa x0, [x0] */
		{ 0xf83fd020, A64_UNKNOWN },         /* ld64b */
		{ 0x19000440, A64_UNKNOWN },         /* cpyfp */
		{ 0xf9800020, A64_NOTHING },         /* prfm pldl1keep, [x1] */
		{ 0xd8000000, A64_NOTHING },         /* prfm pldl1keep, . */
		/* What would leave anything behind. */
		{ 0xf8408421, A64_UNKNOWN }, /* ldr x1, [x1], #8 */
		{ 0xa9400000, A64_UNKNOWN }, /* ldp x0, x0, [x0] */
		{ 0xf84087ff, A64_MEMORY },  /* ldr xzr, [sp], #8 */
	};

	(void)state;
	for (size_t k = 0; k < sizeof(insns) / sizeof(insns[0]); k++) {
		struct a64_insn i = decode(insns[k].word);

		if (i.kind != insns[k].kind)
			fail_msg("%#x: kind %u instead of %u", insns[k].word, i.kind, insns[k].kind);
	}
}

static void accesses_are_made_plain(void **state)
{
	static const struct {
		uint32_t word, without_rn;
		enum a64_mode mode;
		int imm;
		unsigned bytes;
		bool write;
	} insns[] = {
		/* ldr x0, [x1, #8]: ldur x0, [..] */
		{ 0xf9400420, 0xf8400000, A64_OFFSET, 8, 8, false },
		{ 0x3d800420, 0x3c800000, A64_OFFSET, 16, 16, true },        /* str q0, [x1, #16] */
		{ 0xf8410c20, 0xf8400000, A64_PRE, 16, 8, false },           /* ldr x0, [x1, #16]! */
		{ 0x381ff420, 0x38000000, A64_POST, -1, 1, true },           /* strb w0, [x1], #-1 */
		{ 0xb8626820, 0xb8400000, A64_REGISTER, 0, 4, false },       /* ldr w0, [x1, x2] */
		{ 0x78627820, 0x78400000, A64_REGISTER, 0, 2, false },       /* ldrh w0, [x1, x2, lsl #1] */
		{ 0x58000040, 0xf8400000, A64_LITERAL, 8, 8, false },        /* ldr x0, .+8 */
		{ 0x98ffffe0, 0xb8800000, A64_LITERAL, -4, 4, false },       /* ldrsw x0, .-4 */
		{ 0x9c000040, 0x3cc00000, A64_LITERAL, 8, 16, false },       /* ldr q0, .+8 */
		{ 0xa9bf7bfd, 0xa900781d, A64_PRE, -16, 16, true },          /* stp x29, x30, [sp, #-16]! */
		{ 0xa8c17bfd, 0xa940781d, A64_POST, 16, 16, false },         /* ldp x29, x30, [sp], #16 */
		{ 0x6d400420, 0x6d400400, A64_OFFSET, 0, 16, false },        /* ldp d0, d1, [x1] */
		{ 0x69400440, 0x69400400, A64_OFFSET, 0, 8, false },         /* ldpsw x0, x1, [x2] */
		{ 0x28400440, 0x28400400, A64_OFFSET, 0, 8, false },         /* ldnp w0, w1, [x2] */
		{ 0x0cdf7020, 0x0c407000, A64_POST, 8, 8, false },           /* ld1 {v0.8b}, [x1], #8 */
		{ 0x4c820020, 0x4c000000, A64_POST_REGISTER, 64, 64, true }, /* st4 {v0-v3.16b}, [x1], x2 */
		{ 0x4d40c820, 0x4d40c800, A64_OFFSET, 0, 4, false },         /* ld1r {v0.4s}, [x1] */
		{ 0x4da08020, 0x4d208000, A64_POST_REGISTER, 8, 8, true }, /* st2 {v0.s, v1.s}[2], [x1], x0 */
		{ 0xd9410020, 0xd9400000, A64_OFFSET, 16, 8, false },      /* ldapur x0, [x1, #16] */
		{ 0xf8bfc020, 0xf8bfc000, A64_OFFSET, 0, 8, false },       /* ldapr x0, [x1] */
		{ 0xf8e28020, 0xf8e28000, A64_OFFSET, 0, 8, true },        /* swpal x2, x0, [x1] */
		{ 0x48207c82, 0x48207c02, A64_OFFSET, 0, 16, true },       /* casp */
	};

	(void)state;
	for (size_t k = 0; k < sizeof(insns) / sizeof(insns[0]); k++) {
		struct a64_insn i = decode(insns[k].word);
		int64_t imm = i.mode == A64_REGISTER ? 0 : i.imm;

		if (i.kind != A64_MEMORY || i.mode != insns[k].mode || imm != insns[k].imm ||
		    i.bytes != insns[k].bytes || i.write != insns[k].write ||
		    i.word_without_rn != (insns[k].without_rn & ~(31u << 5)))
			fail_msg("%#x: kind %u mode %u imm %jd bytes %u write %d without %#x", insns[k].word,
			         i.kind, i.mode, (intmax_t)i.imm, i.bytes, i.write, i.word_without_rn);
	}
}

/* ---- against capstone ---- */

static uint8_t number_of(csh h, unsigned reg)
{
	const char *name = cs_reg_name(h, reg);

	if (!name)
		return 0xff;
	if (strcmp(name, "sp") == 0 || strcmp(name, "wsp") == 0 || strstr(name, "zr"))
		return 31;
	return name[0] == 'x' || name[0] == 'w' ? (uint8_t)strtoul(name + 1, NULL, 10) : 0xff;
}

static const cs_arm64_op *memory_of(const cs_insn *theirs)
{
	const cs_arm64 *a = &theirs->detail->arm64;

	for (uint8_t k = 0; k < a->op_count; k++)
		if (a->operands[k].type == ARM64_OP_MEM)
			return &a->operands[k];
	return NULL;
}

static bool names_stack(const cs_insn *theirs)
{
	const cs_arm64 *a = &theirs->detail->arm64;

	for (uint8_t k = 0; k < a->op_count; k++)
		if (a->operands[k].type == ARM64_OP_REG &&
		    (a->operands[k].reg == ARM64_REG_SP || a->operands[k].reg == ARM64_REG_WSP))
			return true;
	return false;
}

/* The last immediate operand: where a branch or an address leads. */
static int64_t target_of(const cs_insn *theirs)
{
	const cs_arm64 *a = &theirs->detail->arm64;
	int64_t imm = 0;

	for (uint8_t k = 0; k < a->op_count; k++)
		if (a->operands[k].type == ARM64_OP_IMM)
			imm = a->operands[k].imm;
	return imm;
}

static bool begins(const cs_insn *i, const char *with)
{
	return strncmp(i->mnemonic, with, strlen(with)) == 0;
}

static bool is_branch(const cs_insn *i)
{
	static const unsigned ids[] = { ARM64_INS_B,    ARM64_INS_BL,  ARM64_INS_BR,   ARM64_INS_BLR,
		                        ARM64_INS_RET,  ARM64_INS_CBZ, ARM64_INS_CBNZ, ARM64_INS_TBZ,
		                        ARM64_INS_TBNZ, ARM64_INS_SVC, ARM64_INS_BRK,  ARM64_INS_HLT,
		                        ARM64_INS_ADR,  ARM64_INS_ADRP };

	for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++)
		if (i->id == ids[k])
			return true;
	return false;
}

/* The access on what x7 points to, as they read it: the same registers, and nothing but the base. */
static const char *plain_form_differs(csh h, const cs_insn *theirs, const struct a64_insn *ours)
{
	const cs_arm64 *a = &theirs->detail->arm64, *b;
	uint32_t word = ours->word_without_rn | 7 << 5;
	const char *what = NULL;
	const cs_arm64_op *m;
	cs_insn *plain;

	if (cs_disasm(h, (const uint8_t *)&word, 4, 0, 1, &plain) != 1)
		return "the plain form is none";
	b = &plain->detail->arm64;
	m = memory_of(plain);
	if (!m || number_of(h, m->mem.base) != 7 || m->mem.index != ARM64_REG_INVALID || m->mem.disp ||
	    b->writeback)
		what = "the plain form's address";
	for (uint8_t k = 0; !what && k < a->op_count && a->operands[k].type == ARM64_OP_REG; k++)
		if (b->operands[k].type != ARM64_OP_REG || a->operands[k].reg != b->operands[k].reg ||
		    a->operands[k].vas != b->operands[k].vas)
			what = "the plain form's registers";
	/* ldur and ldtr for ldr: the rest of the name is width and sign. */
	if (!what && strcmp(theirs->mnemonic, plain->mnemonic) != 0 &&
	    (strncmp(theirs->mnemonic, plain->mnemonic, 2) != 0 ||
	     theirs->mnemonic[strlen(theirs->mnemonic) - 1] != plain->mnemonic[strlen(plain->mnemonic) - 1]))
		what = "the plain form's name";
	cs_free(plain, 1);
	return what;
}

static const char *access_differs(csh h, const cs_insn *theirs, const struct a64_insn *ours)
{
	const cs_arm64_op *m = memory_of(theirs);
	bool writeback = ours->mode == A64_PRE || ours->mode == A64_POST || ours->mode == A64_POST_REGISTER;

	if (ours->mode == A64_LITERAL) {
		if (target_of(theirs) != (int64_t)theirs->address + ours->imm)
			return "literal";
		return NULL;
	}
	if (!m || number_of(h, m->mem.base) != ours->rn)
		return "base";
	if (theirs->detail->arm64.writeback != writeback && !begins(theirs, "ld1") && !begins(theirs, "st1"))
		return "write-back";
	if (ours->mode == A64_REGISTER && number_of(h, m->mem.index) != ours->rm)
		return "index";
	if (ours->mode == A64_REGISTER && m->shift.value != ours->shift)
		return "shift";
	if ((ours->mode == A64_OFFSET || ours->mode == A64_PRE) && m->mem.disp != ours->imm)
		return "displacement";
	return ours->kind == A64_MEMORY ? plain_form_differs(h, theirs, ours) : NULL;
}

/* NULL, or what the two say differently. */
static const char *difference(csh h, const cs_insn *theirs, const struct a64_insn *ours)
{
	int64_t pc = (int64_t)theirs->address;

	switch (ours->kind) {
	case A64_PLAIN:
		return memory_of(theirs)     ? "memory"
		       : names_stack(theirs) ? "stack pointer"
		       : is_branch(theirs)   ? "a branch"
		                             : NULL;
	case A64_STACK:
		return names_stack(theirs) && !memory_of(theirs) ? NULL : "stack pointer";
	case A64_ADDRESS:
		pc = begins(theirs, "adrp") ? pc & ~4095 : pc;
		return target_of(theirs) == pc + ours->imm ? NULL : "address";
	case A64_IF:
	case A64_B:
	case A64_BL:
		return is_branch(theirs) && target_of(theirs) == pc + ours->imm ? NULL : "target";
	case A64_MEMORY:
	case A64_LOAD_EXCLUSIVE:
	case A64_STORE_EXCLUSIVE:
		return access_differs(h, theirs, ours);
	case A64_NOTHING:
		return begins(theirs, "ld") || begins(theirs, "st") ? "an access" : NULL;
	default:
		return NULL;
	}
}

static size_t compare_words(csh h, const uint8_t *code, size_t n, uint64_t vaddr)
{
	cs_insn *theirs = cs_malloc(h);
	size_t n_compared = 0;

	for (; n >= 4; code += 4, n -= 4, vaddr += 4) {
		const uint8_t *at = code;
		size_t left = 4;
		uint64_t ip = vaddr;
		struct a64_insn ours;
		const char *what;
		uint32_t word;

		memcpy(&word, code, sizeof(word));
		a64_decode(word, &ours);
		if (!cs_disasm_iter(h, &at, &left, &ip, theirs))
			continue;
		what = difference(h, theirs, &ours);
		if (what)
			fail_msg("%#jx: %#x %s %s: %s", (uintmax_t)theirs->address, word, theirs->mnemonic,
			         theirs->op_str, what);
		n_compared += ours.kind != A64_UNKNOWN;
	}
	cs_free(theirs, 1);
	return n_compared;
}

static size_t compare_file(csh h, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const uint8_t *m;
	const Elf64_Ehdr *e;
	size_t n = 0;

	if (fd < 0)
		return 0;
	assert_int_equal(fstat(fd, &st), 0);
	m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(m != MAP_FAILED);
	e = (const Elf64_Ehdr *)(const void *)m;
	for (unsigned k = 0; k < e->e_shnum && e->e_machine == EM_AARCH64; k++) {
		const Elf64_Shdr *s = (const Elf64_Shdr *)(const void *)(m + e->e_shoff) + k;

		if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_EXECINSTR)
			n += compare_words(h, m + s->sh_offset, s->sh_size, s->sh_addr);
	}
	munmap((void *)(uintptr_t)m, (size_t)st.st_size);
	return n;
}

static csh open_capstone(void)
{
	csh h;

	assert_int_equal(cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &h), CS_ERR_OK);
	cs_option(h, CS_OPT_DETAIL, CS_OPT_ON);
	return h;
}

static void all_of_libc_and_libm_is_as_capstone_has_it(void **state)
{
	csh h = open_capstone();
	size_t n;

	(void)state;
	n = compare_file(h, "/usr/aarch64-linux-gnu/lib/libc.so.6") +
	    compare_file(h, "/usr/aarch64-linux-gnu/lib/libm.so.6") +
	    compare_file(h, "/lib/aarch64-linux-gnu/libc.so.6") +
	    compare_file(h, "/lib/aarch64-linux-gnu/libm.so.6");
	cs_close(&h);
	if (!n)
		skip();
}

/* Half of them loads and stores, which compilers use few forms of. */
static void any_words_are_as_capstone_has_them(void **state)
{
	csh h = open_capstone();
	uint64_t x = 88172645463325252u;
	uint32_t *words = malloc(N_RANDOM * sizeof(*words));

	(void)state;
	assert_non_null(words);
	for (size_t k = 0; k < N_RANDOM; k++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		words[k] = (uint32_t)(x >> 16);
		if (k % 2)
			words[k] = (words[k] & ~(1u << 25)) | 1u << 27;
	}
	assert_true(compare_words(h, (const uint8_t *)words, N_RANDOM * sizeof(*words), 0x400000) >
	            N_RANDOM / 8);
	free(words);
	cs_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_apart),
		cmocka_unit_test(accesses_are_made_plain),
		cmocka_unit_test(all_of_libc_and_libm_is_as_capstone_has_it),
		cmocka_unit_test(any_words_are_as_capstone_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
