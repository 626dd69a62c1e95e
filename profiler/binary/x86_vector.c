/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VEX and EVEX instructions by their opcodes alone, for those newer than capstone. */
#include "profiler/binary/insn_impl.h"
#include "profiler/binary/x86_form.h"

/* The mandatory prefix, which these encodings fold into a field: 0 none, 1 66, 2 f3, 3 f2. */
static bool is_store_0f(uint8_t op, uint8_t pp)
{
	switch (op) {
	case 0x11: /* movups and its kin */
	case 0x13: /* movlps */
	case 0x17: /* movhps */
	case 0x29: /* movaps */
	case 0x2b: /* movntps */
	case 0x7f: /* movdqa */
	case 0x91: /* kmov */
	case 0xd6: /* movq */
	case 0xe7: /* movntdq */
		return true;
	default:
		return op == 0x7e && pp != 2; /* movd; the f3 form loads */
	}
}

static bool is_store_0f38(const struct x86_form *f)
{
	uint8_t op = f->opcode;

	if (f->vector == X86_VEX)
		return op == 0x2e || op == 0x2f || op == 0x8e; /* vmaskmov, vpmaskmov */
	/* vpmov down-converts; compresses; scatters */
	if (f->pp == 2 && op >= 0x10 && op < 0x40)
		return (op & 0x0f) < 6;
	return op == 0x63 || op == 0x8a || op == 0x8b || (op >= 0xa0 && op <= 0xa3);
}

/* vextract, vpextr, vcvtps2ph */
static bool is_store_0f3a(uint8_t op)
{
	return (op >= 0x14 && op <= 0x17) || op == 0x19 || op == 0x1b || op == 0x1d || op == 0x39 ||
	       op == 0x3b;
}

static bool is_store(const struct x86_form *f)
{
	switch (f->map) {
	case X86_MAP_0F:
		return is_store_0f(f->opcode, f->pp);
	case X86_MAP_0F38:
		return is_store_0f38(f);
	case X86_MAP_0F3A:
		return is_store_0f3a(f->opcode);
	case X86_MAP_5:
		return f->opcode == 0x11 || (f->opcode == 0x7e && f->pp != 2); /* vmovsh, vmovw */
	default:
		return false;
	}
}

static bool is_many(const struct x86_form *f)
{
	return f->map == X86_MAP_0F38 &&
	       ((f->opcode >= 0x90 && f->opcode <= 0x93) || (f->opcode >= 0xa0 && f->opcode <= 0xa3));
}

/* EVEX vgatherpf, vscatterpf */
static bool is_prefetch(const struct x86_form *f)
{
	return f->vector == X86_EVEX && f->map == X86_MAP_0F38 && (f->opcode == 0xc6 || f->opcode == 0xc7);
}

/* 51 sqrt, 58 add, 59 mul, 5c sub, 5d min, 5e div, 5f max: f3 and f2 are scalar. */
static uint32_t arithmetic_0f(const struct x86_form *f)
{
	uint8_t op = f->opcode;
	uint32_t fp = f->pp >= 2 ? INSN_FP_SCALAR : INSN_FP_VECTOR;

	if (op == 0x51 || op == 0x58 || op == 0x59 || (op >= 0x5c && op <= 0x5f))
		return fp;
	if (op == 0xc2)
		return fp | INSN_FP_CONVERT;
	if (op == 0x2e || op == 0x2f || op == 0x2a || op == 0x2c ||
	    op == 0x2d) /* comis, and from or to integers */
		return INSN_FP_SCALAR | INSN_FP_CONVERT;
	if (op == 0x5a || op == 0x5b || (op >= 0x78 && op <= 0x7b) || op == 0xe6)
		return ((op == 0x5a || op == 0x78 || op == 0x79 || op == 0x7b) && f->pp >= 2
		                ? fp
		                : INSN_FP_VECTOR) |
		       INSN_FP_CONVERT;
	return 0;
}

/* Fused multiply-adds: 96 to 9f, a6 to af, b6 to bf; odd ones from 99 on are scalar. */
static uint32_t arithmetic_0f38(const struct x86_form *f)
{
	unsigned low = f->opcode & 15, high = f->opcode >> 4;

	if (high >= 9 && high <= 0xb && low >= 6 && f->pp == 1)
		return (low >= 9 && low & 1 ? INSN_FP_SCALAR : INSN_FP_VECTOR) | INSN_FMA;
	/* getexp, rcp14, rsqrt14, scalef: even ones packed, odd ones scalar */
	if (f->vector == X86_EVEX && f->pp == 1 &&
	    (f->opcode == 0x42 || (f->opcode >= 0x4c && f->opcode <= 0x4f) || f->opcode == 0x43 ||
	     f->opcode == 0x2c || f->opcode == 0x2d))
		return f->opcode & 1 ? INSN_FP_SCALAR : INSN_FP_VECTOR;
	if (f->opcode == 0x52 && f->pp == 2) /* vdpbf16ps */
		return INSN_FP_VECTOR | INSN_FMA;
	return 0;
}

static uint32_t arithmetic(const struct x86_form *f)
{
	switch (f->map) {
	case X86_MAP_0F:
		return arithmetic_0f(f);
	case X86_MAP_5:
		/* Half precision follows the plan of map 1; the rest of it converts. */
		if (f->opcode == 0x10 || f->opcode == 0x11 || f->opcode == 0x6e || f->opcode == 0x7e)
			return 0;
		return arithmetic_0f(f) ? arithmetic_0f(f)
		                        : (f->pp >= 2 ? INSN_FP_SCALAR : INSN_FP_VECTOR) | INSN_FP_CONVERT;
	case X86_MAP_6:
	case X86_MAP_0F38:
		return arithmetic_0f38(f);
	default:
		return 0;
	}
}

/* kmov, kortest and the like work on mask registers. */
static bool is_mask(const struct x86_form *f)
{
	return f->vector == X86_VEX && f->map == X86_MAP_0F &&
	       ((f->opcode >= 0x41 && f->opcode <= 0x4b) || (f->opcode >= 0x90 && f->opcode <= 0x99));
}

uint32_t x86_vector_flags(const struct x86_form *f)
{
	uint32_t flags = arithmetic(f);

	if (f->map >= X86_MAP_XOP8)
		return INSN_UNKNOWN; /* AMD's extensions that it gave up */
	if (is_prefetch(f))
		return INSN_PREFETCH;
	if (!flags && !is_mask(f))
		flags = INSN_SIMD_INT;
	if (!f->has_memory)
		return flags;
	if (is_store(f))
		return flags | INSN_STORE | (is_many(f) ? INSN_TWO_STORES : 0);
	return flags | INSN_LOAD | (is_many(f) ? INSN_TWO_LOADS : 0);
}
