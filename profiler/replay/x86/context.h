/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_X86_CONTEXT_H
#define SKIDPROF_REPLAY_X86_CONTEXT_H

/*
 * While code of x86-64 runs, all registers but rip are the program's, the
 * stack pointer too: the code names the context by 32 bits, without a
 * register.
 */
#include <stddef.h>

#include "profiler/replay/layout.h"

enum { RP_X86_GPRS = 16, RP_AREA_BYTES = (RP_WINDOW_PAGES - 1) * RP_PAGE };

struct rp_context {
	struct rp_tlb tlb[RP_TLB_FAST_SIZE];
	uint64_t gpr[RP_X86_GPRS];
	uint64_t flags;
	uint64_t fs_base, gs_base;
	uint64_t target;   /* where to begin, in the code emitted */
	uint64_t host_rsp; /* ours, while the code runs */
	uint64_t leave;    /* where the code goes that ends */
	uint64_t slow;     /* ... that misses the table */
	uint32_t exit;     /* index of what it ended with */
	/* Registers that are borrowed, and the flags as lahf and seto have them. */
	uint64_t rax, x, y, lahf;
	/* An access that missed. */
	uint64_t slow_at, slow_return;
	uint32_t slow_exit;
	/* Of code that leads on without C: instructions so far, ways out till it comes to C again, and a register that it borrows. */
	uint64_t insns, fuel, rcx;
	/* Where an indirect branch leads, and the code there. */
	uint64_t to, jump;
};

/* By the low 16 bits of the address: its negative, where there is no other one, and the code there. */
struct rp_targets {
	uint64_t minus_to[1 << 16];
	uint32_t code[1 << 16];
};

#define RP_TARGETS ((struct rp_targets *)(uintptr_t)RP_AT_TARGETS)

#define RP_FIELD(name) (RP_AT_CONTEXT + (uint32_t)offsetof(struct rp_context, name))

#endif
