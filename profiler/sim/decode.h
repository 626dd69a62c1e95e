/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_DECODE_H
#define SKIDPROF_SIM_DECODE_H

/*
 * Machine code to the core's records, by capstone.  Done once for each block
 * that the emulator translates.
 */
#include <stddef.h>

#include "profiler/sim/block.h"
#include "profiler/sim/config.h"

enum sim_isa { SIM_ISA_X86_64, SIM_ISA_AARCH64 };

struct sim_decoder;

/* -SP_ENOMEM.  config NULL: only what counting needs (exit, rep) is worked out. */
int sim_decoder_new(enum sim_isa isa, const struct sim_config *config, struct sim_decoder **out);
void sim_decoder_free(struct sim_decoder *d);

/*
 * Decode the instruction at ip into b->insn[index], and into b what it means
 * for the block if it is the last: exit, target, is_rep.  Never fails: what
 * capstone can't decode becomes microcode that may touch memory.
 */
void sim_decode(struct sim_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t ip, struct sim_block *b,
                uint32_t index);

/* Bytes of the instruction that code begins with; 0 when capstone finds none in n_bytes. */
size_t sim_decode_length(struct sim_decoder *d, const uint8_t *code, size_t n_bytes);

/* Once all n_insn instructions of a block are decoded: sum up. */
void sim_decode_finish(const struct sim_decoder *d, struct sim_block *b);

#endif
