/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_X86_EMIT_H
#define SKIDPROF_REPLAY_X86_EMIT_H

/* Blocks of x86-64. */
#include "profiler/replay/emit.h"
#include "profiler/replay/x86/decode.h"

/*
 * Emit the block that begins at ip, where code[n] stands: instructions that begin in that page, at
 * most max_insns.  Returns how many bytes they have.  There is room.
 */
size_t rp_emit_block(struct rp_emitter *e, uint64_t ip, const uint8_t *code, size_t n, unsigned max_insns);

/* What machine_emit_guard() (machine.h) is. */
uint32_t rp_emit_guard(struct rp_emitter *e, uint64_t ip, const struct rp_registers *const *marks, size_t n,
                       uint64_t code);

/* One instruction whose memory operand is at `host` instead.  False where it can't be so. */
bool rp_emit_one(struct rp_emitter *e, uint64_t ip, const uint8_t *code, const struct rp_insn *i,
                 uint32_t host);

/* A masked store (RP_MASKED), rdi at `host` instead. */
void rp_emit_masked(struct rp_emitter *e, uint64_t ip, const uint8_t *code, const struct rp_insn *i,
                    uint32_t host);

#endif
