/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_MACHINE_H
#define SKIDPROF_REPLAY_MACHINE_H

/* What differs between processors: one file machine.c each, and what it stands on. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "profiler/replay/emit.h"

#if defined(__aarch64__)
#include "profiler/replay/a64/context.h"
#define RP_CONTEXT ((struct a64_context *)(uintptr_t)RP_AT_CONTEXT)
enum { MACHINE_INSN_BYTES = 4, MACHINE_CHAINS = 0, MACHINE_TARGETS_BYTES = 0 };
#else
#include "profiler/replay/x86/context.h"
#define RP_CONTEXT ((struct rp_context *)(uintptr_t)RP_AT_CONTEXT)
enum { MACHINE_INSN_BYTES = 15, MACHINE_CHAINS = 1, MACHINE_TARGETS_BYTES = sizeof(struct rp_targets) };
#endif

/*
 * Have the way out e of a block of e->chains lead on to code at `to` from now on.  Where the emitter can't make such
 * (MACHINE_CHAINS is 0), nothing.
 */
void machine_chain(const struct rp_emitter *emitter, const struct rp_exit *e, uint64_t to);

/* Entries of the table of pages that emitted code looks in. */
static inline uint32_t machine_tlb_size(bool fast)
{
	return fast && MACHINE_CHAINS ? RP_TLB_FAST_SIZE : RP_TLB_SIZE;
}

/* Of such blocks, too: where RP_EXIT_AT led; and have those that lead there from now on go on at `code`, till all are forgotten. */
uint64_t machine_went_to(void);
void machine_note_target(uint64_t to, uint64_t code);
void machine_forget_targets(void);

/*
 * Code for whoever comes to the block at ip, which begins at `code`: where the general registers are those of one of
 * marks[n] it leaves (RP_EXIT_NEXT, to ip), else it goes on there.  They may be and not be seen: look again.
 */
uint64_t machine_emit_guard(struct rp_emitter *e, uint64_t ip, const struct rp_registers *const *marks,
                            size_t n, uint64_t code);

enum { RP_GOES_ON = -1 };

/* Does an instruction of the block that begins with code[n] end in the next page? */
bool machine_ends_beyond(const uint8_t *code, size_t n, unsigned max_insns);

/* As rp_emit_block() (x86/emit.h). */
size_t machine_emit_block(struct rp_emitter *e, uint64_t ip, const uint8_t *code, size_t n,
                          unsigned max_insns);

/* Code was emitted from offset `from` on: what the processor kept of what stood there is forgotten. */
void machine_code_is_new(const struct rp_emitter *e, size_t from);

/* A replay's registers and vectors into the context and the processor, ours aside; and back. */
void machine_begin(const struct rp_request *q);
void machine_end(const struct rp_request *q, struct rp_reply *r);

/* Are the general registers, at the beginning of a block at ip, those? */
bool machine_is_at(uint64_t ip, const struct rp_registers *regs);

/* Run the emitted code from context.target till it leaves; who misses asks rp_miss(). */
void machine_enter(void);

/* The access e can't be made as it stands: the registers it borrowed are put back. */
void machine_give_up(const struct rp_exit *e);

/* The page of an address: some of an address's bits may tell no place. */
uint64_t machine_place(uint64_t at);

/* Can code be run from there at all?  RP_GOES_ON, else enum rp_end. */
int machine_may_run(uint64_t ip);

/*
 * Do the instruction at ip in C.  RP_GOES_ON: *next is where it leads, and *taken tells whether that
 * is by a branch taken; else enum rp_end.
 */
int machine_do(uint64_t ip, uint64_t *next, bool *taken);

/* Where a signal found us, and to have us go on at another place. */
uint64_t machine_signal_ip(const ucontext_t *uc);
void machine_go_on_at(ucontext_t *uc, uint64_t ip);

#endif
