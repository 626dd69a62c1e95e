/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_LAYOUT_H
#define SKIDPROF_REPLAY_LAYOUT_H

/*
 * Where things are in skidreplay: below 2 GB, at fixed addresses that nothing
 * else is given, so that the code emitted can name them by 32 bits without a
 * register.
 *
 * While that code runs, all registers but rip are the program's.  So is the
 * stack pointer: nothing is ever pushed, and handlers of signals have a stack
 * of their own.
 */
#include <stdint.h>

#include "profiler/replay/wire.h"

#define RP_AT_CONTEXT 0x10000000u /* struct rp_context */
#define RP_AT_SHARED  0x20000000u /* struct rp_shared */
#define RP_AT_CODE    0x40000000u /* RP_CODE_BYTES of code emitted: runs, and is not writable here */

enum {
	RP_CODE_BYTES = 16 << 20,
	RP_TLB_SHIFT = 10,
	RP_TLB_SIZE = 1 << RP_TLB_SHIFT,
	RP_BOUNCE_BYTES = 128 + 64, /* the longest operand across pages, as misaligned as it may be */
};

/* A tag that no page has: the kernel's last byte. */
#define RP_NO_TAG (~(uint64_t)0)

/* 32 bytes: the code emitted scales by that. */
struct rp_tlb {
	uint64_t read_tag, write_tag; /* the page, where it may be read and written at once */
	uint64_t delta;               /* from an address of the program's to ours */
	uint64_t unused;
};

struct rp_context {
	struct rp_tlb tlb[RP_TLB_SIZE];
	uint64_t gpr[RP_N_GPRS];
	uint64_t flags;
	uint64_t fs_base, gs_base;
	uint64_t target;   /* where to begin, in the code emitted */
	uint64_t host_rsp; /* ours, while the code runs */
	uint64_t leave;    /* where the code goes that ends */
	uint64_t slow;     /* ... that misses the table */
	uint32_t exit;     /* index of what it ended with */
	/* Registers that an access borrows, and the flags as lahf and seto have them. */
	uint64_t rax, x, y, lahf;
	/* An access that missed. */
	uint64_t slow_at, slow_return;
	uint32_t slow_exit;
	uint8_t bounce[RP_BOUNCE_BYTES] __attribute__((aligned(64)));
	uint8_t area[RP_XSAVE_BYTES] __attribute__((aligned(64)));
};

#define RP_CONTEXT     ((struct rp_context *)(uintptr_t)RP_AT_CONTEXT)
#define RP_SHARED      ((struct rp_shared *)(uintptr_t)RP_AT_SHARED)
#define RP_FIELD(name) (RP_AT_CONTEXT + (uint32_t)offsetof(struct rp_context, name))

#endif
