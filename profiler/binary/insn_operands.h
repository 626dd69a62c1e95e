/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_INSN_OPERANDS_H
#define SKIDPROF_BINARY_INSN_OPERANDS_H

/*
 * What one who runs a piece of x86-64 code elsewhere must know of an
 * instruction's operands: which memory it touches, its registers, and where it
 * names data by its own address.
 */
#include "profiler/binary/insn.h"

enum { INSN_MAX_MEMORY = 2, INSN_NO_REG = 0xff };

struct insn_memory {
	uint8_t base, index; /* 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp ... 15, as encoded; INSN_NO_REG */
	uint8_t scale;
	uint8_t bytes;
	int32_t disp;
};

struct insn_operands {
	struct insn_memory memory[INSN_MAX_MEMORY];
	unsigned n_memory;    /* without rip-relative ones, and those of segments that aren't flat */
	uint8_t vector_bytes; /* the widest vector register it names; 0 = none */
	/* Registers read and written whole or in part, one bit each, as numbered in encodings. */
	uint16_t reads, writes;
	uint32_t vector_reads, vector_writes;
	uint8_t disp_off; /* of a rip-relative displacement of four bytes, in the instruction; 0 = none */
};

/*
 * x86-64 only.  Of an instruction that capstone doesn't know, memory and
 * registers are left out, and vectors are taken to be as wide as its encoding
 * may have them.
 * Returns 0, -SP_EDOMAIN when the bytes are no whole instruction.
 */
int insn_operands(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr,
                  struct insn_operands *out);

#endif
