/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_INSN_H
#define SKIDPROF_BINARY_INSN_H

/*
 * One decoded machine instruction, with what the later stages need.  All that
 * knows capstone is in insn.c; x86-64 and aarch64.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_flow {
	INSN_PLAIN,    /* goes on to the next */
	INSN_JUMP,     /* always elsewhere; target known */
	INSN_COND,     /* next or target */
	INSN_JUMP_IND, /* always elsewhere; target in a register or memory */
	INSN_CALL,     /* target known */
	INSN_CALL_IND,
	INSN_RET,
	INSN_STOP,    /* ud2, hlt, brk: nothing follows */
	INSN_SYSCALL, /* goes on to the next, after the kernel */
};

/*
 * Bits of insn.flags: what retired-instruction events ask about (eq. 6).
 *
 * Floating point is what computes with such numbers: add, subtract, multiply,
 * divide, fused multiply-add, square root, minimum, maximum, reciprocals, dot
 * products, rounding, and compares and converts, which bear INSN_FP_CONVERT
 * as well: Intel's FP_ARITH_INST_RETIRED events count neither those nor x87.
 * Moves, shuffles, sign changes and logic are not.
 */
enum insn_flag {
	INSN_LOAD = 1 << 0,        /* reads memory (ret, pop, leave and indirect jumps through memory too) */
	INSN_STORE = 1 << 1,       /* writes memory (push, call on x86 too) */
	INSN_FP_SCALAR = 1 << 2,   /* scalar floating point, x87's too */
	INSN_FP_VECTOR = 1 << 3,   /* packed floating point */
	INSN_SIMD_INT = 1 << 4,    /* any other work on vector registers: integers, moves, shuffles, logic */
	INSN_DIV = 1 << 5,         /* integer division */
	INSN_NOP = 1 << 6,         /* nop, pause, endbr64, bti, hint */
	INSN_REP = 1 << 7,         /* x86 rep string instruction: one retired instruction, many steps */
	INSN_LOCK = 1 << 8,        /* atomic read-modify-write */
	INSN_UNKNOWN = 1 << 9,     /* not decoded: stepped over, its loads and stores not known */
	INSN_MEM_TARGET = 1 << 10, /* indirect through memory at the known address `target` (PLT slot, GOT) */
	INSN_TWO_LOADS = 1 << 11,  /* more than one load operation (cmps, gathers; ldp counts one) */
	INSN_TWO_STORES = 1 << 12, /* more than one store operation (scatters, enter) */
	INSN_PREFETCH = 1 << 13,   /* software prefetch: no architectural load */
	INSN_X87 = 1 << 14,        /* of the FP_SCALAR ones: x87, which Intel's FP_ARITH events leave out */
	INSN_FMA = 1 << 15, /* of the FP ones: counted twice by Intel's FP_ARITH events (fma, dot product) */
	INSN_FP_CONVERT = 1 << 16, /* of the FP ones: compares and converts */
};

/*
 * Bits of insn.fp: how an instruction with INSN_FP_SCALAR or INSN_FP_VECTOR
 * computes, for events that count it by operation, precision or width.  0 is
 * not known (x87, half precision, what capstone doesn't know).
 */
enum insn_fp {
	INSN_FP_KNOWN = 1 << 0,
	INSN_FP_ADD = 1 << 1, /* adds or subtracts, across a vector too */
	INSN_FP_MUL = 1 << 2,
	INSN_FP_DIV = 1 << 3,    /* divides, square roots */
	INSN_FP_ROUND = 1 << 4,  /* rounds, takes exponents and the like */
	INSN_FP_SINGLE = 1 << 5, /* else double */
	INSN_FP_256 = 1 << 6,
	INSN_FP_512 = 1 << 7, /* else 128 bits, or one number */
};

struct insn {
	uint64_t vaddr;  /* as linked */
	uint64_t target; /* JUMP, COND, CALL: as linked; with INSN_MEM_TARGET the slot's address; else 0 */
	uint32_t flags;  /* enum insn_flag */
	uint8_t size_bytes;
	uint8_t flow; /* enum insn_flow */
	uint8_t fp;   /* enum insn_fp */
};

enum insn_isa { ISA_NONE, ISA_X86_64, ISA_AARCH64 };

struct insn_decoder;

/* A decoder is for one thread.  -SP_ENOTSUP for another instruction set. */
int insn_decoder_new(enum insn_isa isa, struct insn_decoder **out);
void insn_decoder_free(struct insn_decoder *d);

/*
 * Decode the instruction at code[0..n_bytes) with address vaddr.  What
 * capstone doesn't know gets INSN_UNKNOWN, its flow where it is a branch, and
 * its true size: the length follows from the encoding's form.  Bytes that are
 * no instruction's form get INSN_UNKNOWN and 1 byte (4 on aarch64).
 * Returns 0, or -SP_EDOMAIN when the bytes end inside the instruction.
 */
int insn_decode(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr,
                struct insn *out);

/* "add %rax, %rbx": AT&T syntax on x86-64.  Truncated to size. */
int insn_text(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr, char *text,
              size_t size);

#endif
