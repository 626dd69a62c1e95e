/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_A64_CONTEXT_H
#define SKIDPROF_REPLAY_A64_CONTEXT_H

/*
 * While code of aarch64 runs, all registers are the program's but the stack
 * pointer, which points to this; what names the program's own is emitted so
 * that it finds it here.  All that the code names lies within the reach of
 * its loads of pairs.
 */
#include <stddef.h>

#include "profiler/replay/layout.h"

enum { A64_GPRS = 31 };

struct a64_context {
	uint64_t gpr[A64_GPRS];
	uint64_t sp;
	uint64_t flags;  /* as mrs of nzcv has them */
	uint64_t thread; /* tpidr_el0 */
	uint64_t target; /* where to begin, in the code emitted */
	uint64_t host_sp;
	uint64_t leave;   /* where the code goes that ends */
	uint64_t slow;    /* ... that misses the table */
	uint64_t kept[3]; /* registers that an access borrows */
	uint64_t slow_at; /* an access that missed */
	uint64_t slow_return;
	uint32_t exit, slow_exit; /* index of what it ended with, of the access */
	struct rp_tlb tlb[RP_TLB_SIZE];
	uint64_t insns, fuel; /* nothing leads on without C here */
};

#define A64_FIELD(name) ((uint32_t)offsetof(struct a64_context, name))

_Static_assert(offsetof(struct a64_context, tlb) + sizeof(struct rp_tlb) <= 504, "within reach of ldp");

#endif
