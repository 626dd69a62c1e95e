/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_ASM_X86_H
#define SKIDPROF_CALIBRATE_ASM_X86_H

/*
 * An assembler for the handful of x86-64 forms that cliffs are made of, in
 * Intel syntax: "imul rax,rcx", "mov [r13+64],r11", "vfmadd231sd xmm0,xmm1,xmm2".
 * Instructions are separated by ';'.  "@:" is the one label of a text; "jz @"
 * goes there.  In a text that is repeated, {…} stands for what differs from
 * copy to copy; see asm_text.
 */
#include <stddef.h>
#include <stdint.h>

struct asm_buf {
	uint8_t *code;
	size_t n, cap; /* bytes; more than cap is an error of the caller's room */
	uint32_t n_insn;
};

enum { ASM_INT_STREAMS = 9, ASM_VEC_STREAMS = 12 };

/*
 * Assemble a text, put in as copy number `stream`:
 *
 *	{r} {e}  rax, rcx, rdx, rbx, rbp, rsi, r8, r9, r10 in turn, as 64 and 32 bits
 *	{x} {y}  xmm0 to xmm11 in turn, as 128 and 256 bits
 *	{d}      8 times the copy's number, modulo 1024: a displacement
 *	{l}      64 times the copy's number, modulo 4096: another line each
 *	{n}      the copy's number
 *	{w}      r14, r15 in turn: the two registers that walk
 *
 * Returns 0; -SP_EFORMAT with the instruction that isn't known; -SP_ENOMEM
 * when the code does not fit.
 */
int asm_text(struct asm_buf *b, const char *text, uint32_t stream);

/* nops up to a multiple of `bytes` from the start of the buffer. */
int asm_align(struct asm_buf *b, size_t bytes);

/* A call or a conditional jump (mnemonic "call", "jnz", "jmp") to an offset in the buffer, 32 bits wide. */
int asm_branch(struct asm_buf *b, const char *mnemonic, size_t to_off);

#endif
