/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_OPS_H
#define SKIDPROF_REPLAY_OPS_H

/* Instructions that are done in C, on the registers in the context. */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/replay/decode.h"

enum { RP_GOES_ON = -1 };

/*
 * Do the instruction i, which stands at ip as code.  RP_GOES_ON, and *next is where it leads; else
 * enum rp_end.  `fixed` are flags that the emitted code has no part in.
 */
int rp_op(const struct rp_insn *i, const uint8_t *code, uint64_t ip, uint64_t fixed, uint64_t *next);

/* Run the emitted code from context.target till it leaves.  False: a fault ended it. */
bool rp_enter(void);

/* Where the memory is that the instruction names. */
uint64_t rp_operand_address(const struct rp_insn *i, uint64_t ip);

/* The program's flags: those that arithmetic leaves, and the direction of strings. */
#define RP_FLAGS_RUN 0xcd5u

/* An access missed the table: 0 when context.slow_at is our address now, else it is given up. */
int rp_miss(void);

int rp_op_string(const struct rp_insn *i, uint64_t ip);
int rp_op_gather(const struct rp_insn *i, uint64_t ip);

#endif
