/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_X86_DECODE_H
#define SKIDPROF_REPLAY_X86_DECODE_H

/*
 * An instruction of x86-64 as one who rewrites it must know it: how long it
 * is, where its parts are, what memory it names and how much of that it may
 * touch, and what it does to the way of the program.
 *
 * It is a decoder of its own because the rewriter runs in a process that may
 * do nothing (main.c), where vector registers are the program's: capstone
 * allocates, copies by vector registers, takes a microsecond an instruction,
 * and tells neither where the bytes of an operand are nor how EVEX scales
 * them.  It is held against capstone by test_replay_decode.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_MAX_INSN_BYTES = 15, RP_NO_REG = 0xff };

enum rp_kind {
	RP_PLAIN,   /* runs as it is, its memory operand aside */
	RP_NOTHING, /* a hint: nothing is left of it */
	RP_LEA,
	RP_JCC,  /* imm: displacement; opcode's low four bits: the condition */
	RP_LOOP, /* loop, loope, loopne, jrcxz */
	RP_JMP,
	RP_CALL,
	RP_JMP_AT, /* through a register or memory */
	RP_CALL_AT,
	RP_RET,  /* imm: bytes of arguments */
	RP_PUSH, /* of a register, `rm`, or of imm */
	RP_POP,
	/* From here on: done by C (ops.c). */
	RP_PUSH_MEM,
	RP_POP_MEM,
	RP_LEAVE,
	RP_PUSHF,
	RP_POPF,
	RP_XLAT,
	RP_STRING,
	RP_SEGMENT_BASE, /* rdfsbase and its like; reg: which */
	RP_BIT,          /* bt, bts, btr, btc of memory by a register */
	RP_GATHER,
	RP_AREA, /* fxsave, xsave and what loads those */
	RP_ENTER,
	RP_MOV_AT, /* mov between the accumulator and imm, an address */
	RP_MASKED, /* maskmovq, maskmovdqu: to where rdi says */
	/* From here on: the path ends. */
	RP_SYSCALL,
	RP_TRAP, /* int3, ud2, hlt, in, out: a signal would come */
	RP_FAR,  /* far branches, segment registers */
	RP_TRANSACTION,
	RP_SHADOW_STACK,
	RP_KEYS,    /* protection keys */
	RP_TILES,   /* AMX */
	RP_HALF,    /* AVX512-FP16 */
	RP_UNKNOWN, /* none, or one that is not known here */
};

enum rp_encoding { RP_LEGACY, RP_VEX, RP_EVEX };

struct rp_insn {
	uint8_t len;
	uint8_t kind;     /* enum rp_kind */
	uint8_t encoding; /* enum rp_encoding */
	uint8_t map;      /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a, 5, 6 */
	uint8_t opcode;
	uint8_t n_prefixes; /* legacy prefixes before REX, VEX, EVEX or the opcode */
	uint8_t rex;        /* 0 = none */
	uint8_t op_off;     /* of the opcode, behind its escape bytes */
	bool opsize, addrsize, lock;
	uint8_t rep;             /* 0, 0xf2, 0xf3; of VEX and EVEX what their pp means */
	uint8_t segment;         /* 0, 0x64 fs, 0x65 gs */
	bool wide;               /* REX.W and its like */
	uint8_t vector_log2;     /* 0, 1, 2: 16, 32, 64 bytes */
	bool broadcast, zeroing; /* of EVEX */
	uint8_t vvvv;            /* [0, 31] */
	uint8_t mask;            /* EVEX: k0 to k7 */

	bool has_modrm;
	uint8_t modrm_off;
	uint8_t mod, reg, rm; /* with their extensions, 4 bits; reg of EVEX 5 */

	/* The memory it names: base + index << scale + disp. */
	bool mem, rip_relative;
	bool write;                 /* it may be written */
	uint16_t mem_bytes;         /* no more than these are touched */
	uint8_t base, index, scale; /* RP_NO_REG: none; the index of a gather has 5 bits */
	int32_t disp;

	uint8_t imm_off, imm_bytes;
	int64_t imm; /* sign-extended */
};

/* Size of the operand of a general register: 2, 4 or 8 bytes. */
static inline unsigned rp_operand_bytes(const struct rp_insn *i)
{
	return i->wide ? 8 : i->opsize ? 2 : 4;
}

/* The same of what is pushed and popped. */
static inline unsigned rp_stack_bytes(const struct rp_insn *i)
{
	return i->opsize && !i->wide ? 2 : 8;
}

/*
 * Decode code[n].  False when it does not end within n bytes.  What is no instruction, or none that
 * is known here, is RP_UNKNOWN.
 */
bool rp_decode(const uint8_t *code, size_t n, struct rp_insn *out);

#endif
