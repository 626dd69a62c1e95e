/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_INSN_STEP_H
#define SKIDPROF_BINARY_INSN_STEP_H

/*
 * What an instruction does to general registers, as far as loops are counted
 * with it: copies, sums with a constant, and comparisons.  Of all else only
 * which registers it changes is told.  x86-64 and aarch64.
 */
#include "profiler/binary/insn.h"

enum { STEP_NO_REG = 0xff };

enum step_op {
	STEP_OTHER, /* the registers written may hold anything after it */
	STEP_SET,   /* dst = imm */
	STEP_ADD,   /* dst = src + imm; a copy is a sum with 0 */
	STEP_PUT,   /* dst = dst with the 16 bits from `shift` on replaced by imm (movk) */
};

enum step_flags {
	STEP_FLAGS_KEPT,
	STEP_FLAGS_OTHER,
	STEP_FLAGS_COMPARED, /* left against right, as both were before the instruction */
	STEP_FLAGS_SUMMED,   /* the same, but the carry is that of a sum: no unsigned order */
};

/* When a conditional branch is taken, after comparing l with r. */
enum step_condition {
	STEP_NEVER_KNOWN,
	STEP_EQUAL,
	STEP_UNEQUAL,
	STEP_LESS, /* signed */
	STEP_GREATER_EQUAL,
	STEP_LESS_EQUAL,
	STEP_GREATER,
	STEP_BELOW, /* unsigned */
	STEP_ABOVE_EQUAL,
	STEP_BELOW_EQUAL,
	STEP_ABOVE,
	STEP_NEGATIVE, /* l - r */
	STEP_POSITIVE, /* or zero */
};

struct insn_step {
	/* Registers whose value may change, one bit each: x86 as encoded, aarch64 0..30, 31 = sp. */
	uint32_t writes;
	uint8_t op;       /* enum step_op */
	uint8_t dst, src; /* src STEP_NO_REG: none */
	uint8_t bytes;    /* the sum is made in: 4 clears the upper half, 8 */
	uint8_t shift;
	uint64_t imm;

	uint8_t flags;         /* enum step_flags */
	uint8_t left, right;   /* right STEP_NO_REG: right_imm */
	uint8_t compare_bytes; /* 1, 2, 4, 8 */
	uint64_t right_imm;

	/* Of a conditional branch; one that compares by itself (cbz) has flags as well. */
	uint8_t condition; /* enum step_condition */
};

/*
 * `insn` is what insn_decode() made of the same bytes.  A call changes what
 * the platform's convention does not have it keep.
 */
void insn_step(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn,
               struct insn_step *out);

/* Is the branch taken, of l and r compared in so many bytes?  -1 where the condition can't be told. */
int insn_step_taken(uint8_t condition, uint64_t l, uint64_t r, unsigned bytes);

#endif
