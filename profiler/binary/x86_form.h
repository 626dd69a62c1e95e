/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_X86_FORM_H
#define SKIDPROF_BINARY_X86_FORM_H

/*
 * The outer form of an x86-64 instruction: its prefixes, opcode, operand byte
 * and, above all, its length.  The encoding's shape is regular, so this holds
 * for instructions newer than any disassembler: a wrong length would spoil
 * all that is decoded after it.  Branches are told from here as well.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_map {
	X86_MAP_ONE,  /* one opcode byte */
	X86_MAP_0F,   /* 0f xx, and VEX or EVEX map 1 */
	X86_MAP_0F38, /* map 2 */
	X86_MAP_0F3A, /* map 3 */
	X86_MAP_5,    /* EVEX maps 5 and 6: half precision */
	X86_MAP_6,
	X86_MAP_XOP8,
	X86_MAP_XOP9,
	X86_MAP_XOPA,
};

enum x86_vector {
	X86_LEGACY,
	X86_VEX, /* XOP too */
	X86_EVEX,
};

struct x86_form {
	uint8_t size_bytes;
	uint8_t map;    /* enum x86_map */
	uint8_t opcode; /* the last opcode byte */
	uint8_t vector; /* enum x86_vector */
	uint8_t pp;     /* of VEX and EVEX, the prefix folded in: 0 none, 1 66, 2 f3, 3 f2 */
	bool opsize, addrsize, lock, rep, repne, rex_w, rex_b;
	bool fs_gs; /* a segment that isn't flat */
	bool has_modrm, has_memory;
	bool rip_relative;
	bool absolute; /* memory with neither base nor index */
	uint8_t modrm;
	int32_t disp;
	int32_t imm; /* the first immediate of up to four bytes, sign-extended: branch distances */
};

enum { X86_MAX_BYTES = 15 };

/*
 * Returns 1 with the form filled, 0 where no instruction has such a form, -1
 * where the bytes end inside it.
 */
int x86_form_parse(const uint8_t *code, size_t n_bytes, struct x86_form *form);

static inline unsigned x86_form_reg(const struct x86_form *form)
{
	return form->modrm >> 3 & 7;
}

#endif
