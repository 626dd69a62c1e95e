/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_X86_DECODE_TABLES_H
#define SKIDPROF_REPLAY_X86_DECODE_TABLES_H

/* What the opcode maps of x86-64 say, for decode.c: prefixes and opcode of the instruction are known. */
#include "profiler/replay/x86/decode.h"

bool rp_has_modrm(const struct rp_insn *i);
bool rp_is_gather(const struct rp_insn *i); /* or scatter: its index is a vector register */
/* After ModRM: of some opcodes it says whether an immediate follows. */
uint8_t rp_immediate_bytes(const struct rp_insn *i);
enum rp_kind rp_classify(const struct rp_insn *i, uint8_t modrm);
/* Sets mem_bytes and write, and scales a short displacement of EVEX. */
void rp_size_memory(struct rp_insn *i);

#endif
