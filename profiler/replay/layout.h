/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_LAYOUT_H
#define SKIDPROF_REPLAY_LAYOUT_H

/*
 * Where things are in skidreplay: below 2 GB, at fixed addresses that nothing
 * else is given.
 *
 * While emitted code runs, the registers are the program's, and the context
 * has the rest (context.h of each processor).  Nothing is ever pushed, and
 * handlers of signals have a stack of their own.
 */
#include <stdint.h>

#include "profiler/replay/wire.h"

#define RP_AT_CONTEXT 0x10000000u
#define RP_AT_WINDOW  0x18000000u /* RP_WINDOW_PAGES, and as many at either end that can't be had */
#define RP_AT_SHARED  0x20000000u /* struct rp_shared */
#define RP_AT_CODE    0x40000000u /* twice RP_CODE_BYTES of code emitted: runs, and is not writable here */
#define RP_AT_FAST \
	(RP_AT_CODE + RP_CODE_BYTES) /* its second half, of blocks that lead to each other (blocks.h) */
#define RP_AT_COUNTS  0x50000000u    /* how often each way out of those was taken */
#define RP_AT_TARGETS 0x58000000u    /* where code begins that their indirect branches lead to (machine.h) */

enum {
	RP_CODE_BYTES = 16 << 20,
	RP_TLB_SHIFT = 10,
	RP_TLB_SIZE = 1 << RP_TLB_SHIFT,
	/* ... and for those blocks: a long path goes through more than 4 MB. */
	RP_TLB_FAST_SIZE = 1 << 12,
	RP_WINDOW_PAGES = 5, /* the longest operand, an area of all registers, wherever it begins */
};

/* A tag that no page has: it lies so far from what a program and the kernel have that no page of ours makes it one of those. */
#define RP_NO_TAG (1ull << 55)

/* 32 bytes: the code emitted scales by that. */
struct rp_tlb {
	/* The page, where it may be read and written at once; from an address of the program's to ours; ours. */
	uint64_t read_tag, delta, write_tag;
	uint64_t host;
};

#define RP_COUNTS ((uint64_t *)(uintptr_t)RP_AT_COUNTS)
#define RP_WINDOW ((uint8_t *)(uintptr_t)RP_AT_WINDOW)
#define RP_SHARED ((struct rp_shared *)(uintptr_t)RP_AT_SHARED)

#endif
