/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_UNWIND_H
#define SKIDPROF_BINARY_UNWIND_H

/*
 * Who called, from a sample's registers and a copy of its stack: frames are
 * unwound by libdwfl with the call frame information of the binaries, and by
 * frame pointers where code has none.  Nothing of a process is needed but
 * what is mapped where.
 */
#include "profiler/binary/module.h"

struct unwind;

/* The module that a process has at ip, and ip in it; NULL = none that is a file. */
typedef struct module *unwind_find(void *arg, uint32_t pid, uint64_t ip, uint64_t *vaddr);

struct unwind_sample {
	enum insn_isa isa;
	uint32_t pid;
	uint64_t mask;        /* which registers, as perf_regs.h of the architecture numbers them */
	const uint64_t *regs; /* [n_regs] by rising bits of mask */
	size_t n_regs;
	const uint8_t *stack; /* [stack_bytes] from the stack pointer on */
	size_t stack_bytes;
};

/* Where the thread was; false where the sample does not have that register. */
bool unwind_pc(const struct unwind_sample *s, uint64_t *pc);

/* arg is find's. */
void unwind_new(unwind_find *find, void *arg, struct unwind **out);
void unwind_free(struct unwind *u);

/*
 * ips[0]: where the thread was; behind it where it was to return to, one
 * address a frame, outermost last; where a signal interrupted a frame, the
 * address behind the first byte of the instruction that it was to go on with,
 * so that the byte before each of ips[1 ...] is in its frame.
 *
 * ips[cap] out, *n out.  Returns whether the stack was followed to its
 * beginning: false if the copy is too short, or if no frame could be found.
 */
bool unwind_stack(struct unwind *u, const struct unwind_sample *s, uint64_t *ips, size_t cap, size_t *n);

#endif
