/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_A64_DECODE_H
#define SKIDPROF_REPLAY_A64_DECODE_H

/*
 * An instruction of A64 as one who rewrites it must know it: does it name the
 * stack pointer, the program counter or memory, how much of that it touches,
 * and what it does to the way of the program.
 *
 * Nothing may run as it is that is not known to name none of these: new
 * instructions are A64_UNKNOWN till someone has looked at them.  It is held
 * against capstone by test_replay_decode_a64.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { A64_SP_REG = 31, A64_LINK = 30, A64_INSN_BYTES = 4 };

enum a64_kind {
	A64_PLAIN,      /* runs as it is */
	A64_STACK,      /* names the stack pointer as a register: `sp_d`, `sp_n` */
	A64_NOTHING,    /* a hint: nothing is left of it */
	A64_ADDRESS,    /* adr, adrp; imm: from the instruction, or from its page */
	A64_MEMORY,     /* loads and stores of one operand: `mode` and what follows */
	A64_GET_THREAD, /* mrs, msr of tpidr_el0 */
	A64_SET_THREAD,
	A64_STRIP,     /* a signed pointer is taken for genuine: its signature goes; imm: one of data */
	A64_STRIP_X17, /* the same of x17 */
	A64_IF,        /* b.cond, cbz, cbnz, tbz, tbnz; imm: displacement */
	A64_B,
	A64_BL,
	/* From here on: done by C. */
	A64_BR, /* through register rn, its signature aside */
	A64_BLR,
	A64_RET,
	A64_LOAD_EXCLUSIVE,
	A64_STORE_EXCLUSIVE,
	A64_CLEAR_EXCLUSIVE,
	A64_LOAD_SIGNED, /* ldraa, ldrab: the base is a signed pointer */
	A64_ZERO_BLOCK,  /* dc zva */
	/* From here on: the path ends. */
	A64_SYSCALL,
	A64_TRAP, /* brk, hlt, udf: a signal would come */
	A64_SVE,
	A64_SME,
	A64_TAGS, /* of memory */
	A64_GUARDED_STACK,
	A64_TRANSACTION,
	A64_UNKNOWN, /* none, or one that is not known here */
};

enum a64_mode {
	A64_OFFSET, /* rn + imm */
	A64_PRE,    /* the same, and rn becomes that */
	A64_POST,   /* rn, which then grows by imm */
	A64_POST_REGISTER,
	A64_REGISTER, /* rn + rm, extended and shifted */
	A64_LITERAL,  /* imm from the instruction */
};

struct a64_insn {
	uint32_t word;
	uint8_t kind;           /* enum a64_kind */
	uint8_t rd, rn, rm, ra; /* bits 0-4, 5-9, 16-20, 10-14, whatever they mean in it */
	bool sp_d, sp_n;        /* rd, rn is 31 and means the stack pointer */
	int64_t imm;

	/* Of memory; rn is the base, where there is one. */
	uint8_t mode;             /* enum a64_mode */
	uint8_t extend, shift;    /* as the encoding of an addition has them */
	bool write;               /* it may be written */
	uint16_t bytes;           /* exactly these are touched */
	uint32_t word_without_rn; /* the same access of what bits 5-9 point to; no offset, base unchanged */
};

/* What is no instruction, or none that is known here, is A64_UNKNOWN. */
void a64_decode(uint32_t word, struct a64_insn *out);

#endif
