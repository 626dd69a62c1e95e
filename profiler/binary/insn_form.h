/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_INSN_FORM_H
#define SKIDPROF_BINARY_INSN_FORM_H

/*
 * An instruction as its name and operands, in the order of Intel's and Arm's manuals: what is written first.  x86-64 and
 * aarch64 alike, for those who evaluate code.
 */
#include "profiler/binary/insn.h"

enum { FORM_MAX_ARGS = 4, FORM_NO_REG = 0xff, FORM_ZERO_REG = 32 /* xzr */ };

enum insn_arg_kind {
	ARG_OTHER, /* of no number: segment registers, floating point */
	ARG_VECTOR,
	ARG_REG,
	ARG_IMM,
	ARG_MEMORY,
	ARG_ELSEWHERE, /* memory whose address registers don't tell: of fs and gs, gathers */
};

struct insn_arg {
	uint8_t kind;  /* enum insn_arg_kind */
	uint8_t bytes; /* of the register, or of memory */
	/* A register as x86 encodes it, or 0..30, 31 = sp; of memory the base, FORM_NO_REG = none. */
	uint8_t reg, index;
	/* Of a register, or of the index: so many bytes of it (8 = all) are extended, then shifted left; 0xff = in another way. */
	uint8_t extend, shift;
	bool sign;
	bool local;   /* in the stack's frame at a fixed place */
	uint64_t imm; /* or displacement */
};

struct insn_form {
	const char *name; /* without prefixes; till the decoder's next call */
	unsigned n;
	struct insn_arg arg[FORM_MAX_ARGS];
	/* Registers written beside the first operand, one bit each; of a call those of its results.  The stack pointer stands alone. */
	uint32_t writes, stack;
	/* A base that moves on by a known sum, FORM_NO_REG = none. */
	uint8_t moved;
	uint64_t moved_by;
	bool reads; /* the first operand is not written */
	bool sets_flags;
};

/* `insn` is what insn_decode() made of the same bytes.  What is not known has no operands, and sets flags. */
void insn_form(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn,
               struct insn_form *out);

#endif
