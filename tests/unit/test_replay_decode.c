/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The replayer's decoder: by hand where it matters most, and against capstone on all code of libc and libm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/replay/x86/decode.h"
#include "profiler/replay/x86/decode_flags.h"

#if defined(__x86_64__)
#include <capstone/capstone.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

static struct rp_insn decode(const char *code, size_t n)
{
	uint8_t bytes[RP_MAX_INSN_BYTES] = { 0 };
	struct rp_insn i;

	memcpy(bytes, code, n);
	assert_true(rp_decode(bytes, sizeof(bytes), &i));
	return i;
}

static void kinds_are_told_apart(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		enum rp_kind kind;
	} insns[] = {
		{ "\x48\x01\xd8", 3, RP_PLAIN },
		{ "\x48\x8d\x05\x10\x00\x00\x00", 7, RP_LEA },
		{ "\x74\x10", 2, RP_JCC },
		{ "\x0f\x84\x10\x00\x00\x00", 6, RP_JCC },
		{ "\xe2\x10", 2, RP_LOOP },
		{ "\xeb\xfe", 2, RP_JMP },
		{ "\xe8\x10\x00\x00\x00", 5, RP_CALL },
		{ "\xff\xe0", 2, RP_JMP_AT },
		{ "\x3e\xff\xe0", 3, RP_JMP_AT },
		{ "\xff\x15\x10\x00\x00\x00", 6, RP_CALL_AT },
		{ "\xf3\xc3", 2, RP_RET },
		{ "\xc2\x08\x00", 3, RP_RET },
		{ "\x41\x57", 2, RP_PUSH },
		{ "\x68\x10\x00\x00\x00", 5, RP_PUSH },
		{ "\xff\x30", 2, RP_PUSH_MEM },
		{ "\x8f\x00", 2, RP_POP_MEM },
		{ "\x9c", 1, RP_PUSHF },
		{ "\xf3\x48\xa5", 3, RP_STRING },
		{ "\xf3\x0f\x1e\xfa", 4, RP_NOTHING },          /* endbr64 */
		{ "\xf3\x48\x0f\x1e\xc8", 5, RP_SHADOW_STACK }, /* rdsspq */
		{ "\x0f\x18\x00", 3, RP_NOTHING },              /* prefetchnta */
		{ "\x0f\x05", 2, RP_SYSCALL },
		{ "\xcd\x80", 2, RP_SYSCALL },
		{ "\xcc", 1, RP_TRAP },
		{ "\x0f\x0b", 2, RP_TRAP },
		{ "\xc7\xf8\x10\x00\x00\x00", 6, RP_TRANSACTION },
		{ "\x8e\xd8", 2, RP_FAR },
		{ "\x0f\xae\x20", 3, RP_AREA }, /* xsave */
		{ "\xf3\x48\x0f\xae\xd0", 5, RP_SEGMENT_BASE },
		{ "\x48\x0f\xa3\x08", 4, RP_BIT },
		{ "\x48\x0f\xa3\xc8", 4, RP_PLAIN },
		{ "\xc4\xe2\x75\x92\x04\x50", 6, RP_GATHER },
		/* What names memory without a ModRM byte must never run as it stands. */
		{ "\xa1\x00\x10\x00\x00\x00\x00\x00\x00", 9, RP_MOV_AT },
		{ "\x67\xa3\x00\x10\x00\x00", 6, RP_MOV_AT },
		{ "\xc8\x20\x00\x01", 4, RP_ENTER },
		{ "\x66\x0f\xf7\xc1", 4, RP_MASKED }, /* maskmovdqu */
		{ "\x0f\xf7\xc1", 3, RP_MASKED },
		{ "\xc5\xf9\xf7\xc1", 4, RP_MASKED },
		{ "\x66\x0f\xf7\x01", 4, RP_UNKNOWN },
		{ "\xc4\xe2\x78\x49\x00", 5, RP_TILES },        /* ldtilecfg */
		{ "\xc4\xe2\x7b\x4b\x04\x08", 6, RP_TILES },    /* tileloadd */
		{ "\xc4\xe2\x73\x5e\xc2", 5, RP_TILES },        /* tdpbssd */
		{ "\x62\xf5\x74\x48\x58\xc2", 6, RP_HALF },     /* vaddph */
		{ "\x62\xf6\x75\x48\xb8\x00", 6, RP_HALF },     /* vfmadd231ph */
		{ "\x62\xf3\x7c\x48\x08\xc1\x00", 7, RP_HALF }, /* vrndscaleph */
		{ "\x0f\x01\xc8", 3, RP_UNKNOWN },              /* monitor */
		{ "\x0f\x01\xfc", 3, RP_UNKNOWN },              /* clzero */
		{ "\x66\x0f\x38\xf8\x00", 5, RP_UNKNOWN },      /* movdir64b */
		{ "\x8f\xe8\x78\xc0\xc0\x01", 6, RP_UNKNOWN },  /* XOP */
		{ "\x48\x48\x01\xd8", 4, RP_UNKNOWN },          /* REX twice */
		{ "\xf0\x50", 2, RP_UNKNOWN },
		{ "\x66\x66\x48\xe8\x00\x00\x00\x00", 8, RP_CALL }, /* of __tls_get_addr() */
		{ "\x66\x48\xff\x15\x00\x00\x00\x00", 8, RP_CALL_AT },
		{ "\x66\x48\x0f\x84\x00\x00\x00\x00", 8, RP_JCC },
		{ "\x66\xe8\x00\x00\x00\x00", 6, RP_UNKNOWN },
		{ "\xd5\x10\x01\xd8", 4, RP_UNKNOWN }, /* REX2 */
		{ "\x06", 1, RP_UNKNOWN },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(insns) / sizeof(insns[0]); k++) {
		struct rp_insn i = decode(insns[k].code, insns[k].n);

		if (i.kind != insns[k].kind)
			fail_msg("instruction %zu: kind %u instead of %u", k, i.kind, insns[k].kind);
		if (i.kind != RP_UNKNOWN)
			assert_int_equal(i.len, insns[k].n);
	}
}

/* EVEX counts a displacement of one byte in what the operand has. */
static void displacements_of_evex_are_scaled(void **state)
{
	static const struct {
		const char *code;
		int32_t disp;
		unsigned bytes;
		bool write;
	} insns[] = {
		{ "\x62\xf1\x7c\x48\x10\x40\x01", 64, 64, false }, /* vmovups 64(%rax), %zmm0 */
		{ "\x62\xf1\x7c\x28\x11\x40\x01", 32, 32, true },  /* vmovups %ymm0, 32(%rax) */
		{ "\x62\xf1\x7c\x58\x58\x40\x01", 4, 4, false },   /* vaddps 4(%rax){1to16}, %zmm0, %zmm0 */
		{ "\x62\xf1\xff\x08\x58\x40\x01", 8, 8, false },   /* vaddsd 8(%rax), %xmm0, %xmm0 */
		{ "\x62\xf1\x7c\x48\x5a\x40\x01", 32, 32, false }, /* vcvtps2pd 32(%rax), %zmm0 */
		{ "\x62\xf2\x7d\x48\x31\x40\x01", 16, 16, false }, /* vpmovzxbd 16(%rax), %zmm0 */
		{ "\x62\xf2\x7e\x48\x31\x40\x01", 16, 16, true },  /* vpmovdb %zmm0, 16(%rax) */
		{ "\x62\xf2\xfd\x48\x8a\x40\x01", 8, 64, true },   /* vcompresspd %zmm0, 8(%rax) */
		{ "\x62\xf1\x75\x48\xe1\x40\x01", 16, 16, false }, /* vpsraw 16(%rax), %zmm1, %zmm0 */
	};

	(void)state;
	for (size_t k = 0; k < sizeof(insns) / sizeof(insns[0]); k++) {
		struct rp_insn i = decode(insns[k].code, 7);

		if (i.disp != insns[k].disp || i.mem_bytes != insns[k].bytes || i.write != insns[k].write)
			fail_msg("instruction %zu: %d, %u bytes", k, i.disp, i.mem_bytes);
	}
}

static void what_becomes_of_flags_is_told(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		enum rp_flags flags;
	} insns[] = {
		{ "\x48\x01\xd8", 3, RP_FLAGS_SET },           /* add */
		{ "\x48\x83\xd0\x01", 4, RP_FLAGS_OTHER },     /* adc */
		{ "\x48\x39\x03", 3, RP_FLAGS_SET },           /* cmp */
		{ "\xf6\x03\x01", 3, RP_FLAGS_SET },           /* test */
		{ "\xf7\xd0", 2, RP_FLAGS_LEFT },              /* not */
		{ "\xff\xc0", 2, RP_FLAGS_OTHER },             /* inc: the carry is left */
		{ "\xd3\xe0", 2, RP_FLAGS_OTHER },             /* shl by cl, which may be 0 */
		{ "\x48\x8b\x03", 3, RP_FLAGS_LEFT },          /* mov */
		{ "\x0f\x44\xc3", 3, RP_FLAGS_OTHER },         /* cmove */
		{ "\x0f\x94\xc0", 3, RP_FLAGS_OTHER },         /* sete */
		{ "\x9f", 1, RP_FLAGS_OTHER },                 /* lahf */
		{ "\x50", 1, RP_FLAGS_LEFT },                  /* push */
		{ "\x66\x0f\x2e\xc1", 4, RP_FLAGS_SET },       /* ucomisd */
		{ "\xf2\x0f\x58\xc1", 4, RP_FLAGS_LEFT },      /* addsd */
		{ "\xdb\xf1", 2, RP_FLAGS_OTHER },             /* fcomi */
		{ "\xda\xc1", 2, RP_FLAGS_OTHER },             /* fcmovb */
		{ "\xc4\xe2\x70\xf2\xc2", 5, RP_FLAGS_OTHER }, /* andn */
		{ "\xc5\xf8\x98\xc1", 4, RP_FLAGS_OTHER },     /* kortest */
		{ "\x74\x10", 2, RP_FLAGS_OTHER },             /* je */
		{ "\xc3", 1, RP_FLAGS_OTHER },                 /* where it returns to they may be looked at */
	};

	(void)state;
	for (size_t k = 0; k < sizeof(insns) / sizeof(insns[0]); k++) {
		struct rp_insn i = decode(insns[k].code, insns[k].n);

		if (rp_flags_of(&i) != insns[k].flags)
			fail_msg("instruction %zu: %d", k, rp_flags_of(&i));
	}
}

static void what_is_cut_off_is_not_decoded(void **state)
{
	struct rp_insn i;

	(void)state;
	assert_false(rp_decode((const uint8_t *)"\x48\x8b", 2, &i));
	assert_false(rp_decode((const uint8_t *)"\x48\x8b\x80\x01\x02\x03", 6, &i));
	assert_false(rp_decode((const uint8_t *)"\x62\xf1\x7c", 3, &i));
	assert_false(rp_decode((const uint8_t *)"", 0, &i));
	assert_true(rp_decode((const uint8_t *)"\x90", 1, &i));
}

#if defined(__x86_64__)

static uint8_t number_of(csh h, unsigned reg)
{
	static const char *const names[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" };
	const char *name = cs_reg_name(h, reg);

	for (uint8_t r = 0; r < 8; r++)
		if (strcmp(name + 1, names[r]) == 0)
			return r;
	return name[1] >= '0' && name[1] <= '9' ? (uint8_t)strtoul(name + 1, NULL, 10) : RP_NO_REG;
}

/* NULL, or what the two say differently. */
static const char *difference(csh h, const cs_insn *theirs, const struct rp_insn *ours)
{
	const cs_x86 *x = &theirs->detail->x86;

	if (theirs->size != ours->len)
		return "length";
	if (!ours->mem || ours->kind == RP_NOTHING || ours->kind == RP_GATHER)
		return NULL;
	for (uint8_t k = 0; k < x->op_count; k++) {
		const x86_op_mem *m = &x->operands[k].mem;

		if (x->operands[k].type != X86_OP_MEM)
			continue;
		if (m->disp != ours->disp)
			return "displacement";
		if (!ours->rip_relative && m->base != X86_REG_INVALID && number_of(h, m->base) != ours->base)
			return "base";
		/* Of some instructions of AVX-512 it takes the index for a vector register. */
		if (m->index != X86_REG_INVALID && m->index != X86_REG_RIZ && m->index != X86_REG_EIZ &&
		    !strstr(cs_reg_name(h, m->index), "mm") &&
		    (number_of(h, m->index) != ours->index || 1 << ours->scale != m->scale))
			return "index";
		return NULL;
	}
	return NULL;
}

/* An undefined flag is one that is set to something. */
static bool flags_differ(const cs_insn *theirs, const struct rp_insn *ours)
{
#define EACH(what)                                                                             \
	{                                                                                      \
		X86_EFLAGS_##what##_CF, X86_EFLAGS_##what##_PF, X86_EFLAGS_##what##_AF,        \
		        X86_EFLAGS_##what##_ZF, X86_EFLAGS_##what##_SF, X86_EFLAGS_##what##_OF \
	}
	static const uint64_t tested[] = EACH(TEST),
	                      changed[][6] = { EACH(MODIFY), EACH(RESET), EACH(UNDEFINED) };
#undef EACH
	uint64_t flags = theirs->detail->x86.eflags;
	bool any = false, all = true;

	/* x87's are in the same place; cmpsd of vectors it takes for that of strings, and of vcomisd it tells nothing. */
	if (theirs->mnemonic[0] == 'f' ||
	    (ours->map == 1 &&
	     (ours->opcode == 0xc2 || (ours->encoding != RP_LEGACY && (ours->opcode | 1) == 0x2f))))
		return false;
	for (unsigned k = 0; k < 6; k++) {
		bool is_set = (flags & (changed[0][k] | changed[1][k] | changed[2][k])) != 0;

		any |= is_set || flags & tested[k];
		all &= is_set && !(flags & tested[k]);
	}
	return rp_flags_of(ours) == RP_FLAGS_SET ? !all : rp_flags_of(ours) == RP_FLAGS_LEFT && any;
}

static size_t compare_section(csh h, const uint8_t *code, size_t n, uint64_t vaddr)
{
	cs_insn *theirs = cs_malloc(h);
	size_t left = n, n_compared = 0;
	const uint8_t *at = code;

	while (left) {
		struct rp_insn ours;
		const char *what;

		if (!rp_decode(at, left, &ours))
			break;
		if (!cs_disasm_iter(h, &at, &left, &vaddr, theirs)) {
			/* Data, or what it doesn't know: on behind it. */
			at += ours.len;
			left -= ours.len;
			vaddr += ours.len;
			continue;
		}
		what = difference(h, theirs, &ours);
		/* Nothing is said of what is not known here, but it must be left as such. */
		if (what && ours.kind != RP_UNKNOWN)
			fail_msg("%#jx: %s %s: %s", (uintmax_t)theirs->address, theirs->mnemonic,
			         theirs->op_str, what);
		if (flags_differ(theirs, &ours))
			fail_msg("%#jx: %s %s: flags", (uintmax_t)theirs->address, theirs->mnemonic,
			         theirs->op_str);
		n_compared++;
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
	for (unsigned k = 0; k < e->e_shnum; k++) {
		const Elf64_Shdr *s = (const Elf64_Shdr *)(const void *)(m + e->e_shoff) + k;

		if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_EXECINSTR)
			n += compare_section(h, m + s->sh_offset, s->sh_size, s->sh_addr);
	}
	munmap((void *)(uintptr_t)m, (size_t)st.st_size);
	return n;
}

static void all_of_libc_and_libm_is_as_capstone_has_it(void **state)
{
	csh h;
	size_t n;

	(void)state;
	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &h), CS_ERR_OK);
	cs_option(h, CS_OPT_DETAIL, CS_OPT_ON);
	n = compare_file(h, "/lib/x86_64-linux-gnu/libc.so.6") +
	    compare_file(h, "/lib/x86_64-linux-gnu/libm.so.6");
	cs_close(&h);
	if (!n)
		skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_apart),
		cmocka_unit_test(displacements_of_evex_are_scaled),
		cmocka_unit_test(what_becomes_of_flags_is_told),
		cmocka_unit_test(what_is_cut_off_is_not_decoded),
#if defined(__x86_64__)
		cmocka_unit_test(all_of_libc_and_libm_is_as_capstone_has_it),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
