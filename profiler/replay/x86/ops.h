/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_X86_OPS_H
#define SKIDPROF_REPLAY_X86_OPS_H

/* Instructions that are done in C, on the registers in the context. */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/replay/x86/decode.h"

/*
 * Do the instruction i, which stands at ip as code.  RP_GOES_ON, and *next is where it leads; else
 * enum rp_end.  `fixed` are flags that the emitted code has no part in.
 */
int rp_op(const struct rp_insn *i, const uint8_t *code, uint64_t ip, uint64_t fixed, uint64_t *next);

/* Where the memory is that the instruction names. */
uint64_t rp_operand_address(const struct rp_insn *i, uint64_t ip);

/* The program's flags: those that arithmetic leaves, and the direction of strings. */
#define RP_FLAGS_RUN 0xcd5u

/* The program's vectors, as XSAVE has them: from the registers, and back, all of them. */
enum { RP_STATE_BYTES = 4096 };
void rp_save_vectors(uint8_t area[RP_STATE_BYTES]);
void rp_load_vectors(uint8_t area[RP_STATE_BYTES]);

int rp_op_string(const struct rp_insn *i, uint64_t ip);
int rp_op_gather(const struct rp_insn *i, uint64_t ip);

#endif
