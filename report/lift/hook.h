/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_HOOK_H
#define SKIDPROF_REPORT_LIFT_HOOK_H

/*
 * A function timed from within its own process, at entry and exit: its first
 * instructions move into a stub that reads the time stamp counter and puts
 * another stub in the place of the return address, which reads it again.  No
 * stop and no system call is in between.  x86-64 only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HOOK_DEPTH = 1000,     /* calls of the function inside each other; only the outermost is timed */
	HOOK_MOVED_BYTES = 24, /* at most, of the first instructions */
	HOOK_JUMP_BYTES = 5,   /* that take their place */
	HOOK_CODE_BYTES = 512,
};

/* In the memory of the process; all zero at first. */
struct hook_area {
	uint64_t ticks, calls; /* the result: of outermost calls that have ended */
	uint64_t depth, begin, rax, rcx, rdx;
	uint64_t returns[HOOK_DEPTH];
	uint8_t code[HOOK_CODE_BYTES];
};

/* One of the instructions that move. */
struct hook_insn {
	uint8_t at, n_bytes; /* in the function */
	uint8_t disp_at;     /* where in it a displacement from %rip is; 0 = none */
	bool cond; /* a conditional jump: its opcode's low four bits, and how far beyond the entry it goes */
	uint8_t cc;
	int64_t target;
};

struct hook {
	uint64_t entry; /* address of the function */
	uint8_t moved[HOOK_JUMP_BYTES + HOOK_MOVED_BYTES];
	struct hook_insn insns[HOOK_JUMP_BYTES];
	size_t n_moved, n_insns; /* bytes, >= HOOK_JUMP_BYTES, and instructions */
	uint64_t area;           /* address of its struct hook_area, within 2 GB of the entry */
};

/*
 * Which instructions must move.  code[0..n) is at vaddr, as linked.
 * NULL, or why the function can't be timed: they can't be moved, or are too short.
 */
const char *hook_plan(const uint8_t *code, size_t n, uint64_t vaddr, struct hook *h);

/* The stubs, for area->code, and the jump to them for the function's entry. */
void hook_build(const struct hook *h, uint8_t code[HOOK_CODE_BYTES], uint8_t jump[HOOK_JUMP_BYTES]);

/* Can a jump at the entry reach an area at this address? */
bool hook_reaches(uint64_t entry, uint64_t area);

#endif
