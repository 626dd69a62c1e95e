/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_A64_EMIT_H
#define SKIDPROF_REPLAY_A64_EMIT_H

/* Blocks of aarch64. */
#include "profiler/replay/a64/decode.h"
#include "profiler/replay/emit.h"

/*
 * Emit the block that begins at ip, where code[n] stands: instructions that lie in that page, at most
 * max_insns.  Returns how many bytes they have.  There is room.
 */
size_t a64_emit_block(struct rp_emitter *e, uint64_t ip, const uint8_t *code, size_t n, unsigned max_insns);

/* One access, an A64_MEMORY, whose operand is at `host` instead. */
void a64_emit_one(struct rp_emitter *e, uint64_t ip, const struct a64_insn *i, uint64_t host);

#endif
