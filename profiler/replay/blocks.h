/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_BLOCKS_H
#define SKIDPROF_REPLAY_BLOCKS_H

/*
 * Blocks that were emitted, kept from one replay to the next.  A replay reads
 * each page of code once and holds it against the bytes its blocks were made
 * of: what was changed, mapped anew or is another program's is emitted again.
 */
#include <stdbool.h>
#include <stdint.h>

struct rp_exit;
struct rp_emitter;

/* code: RP_CODE_BYTES, where it can be written. */
void rp_blocks_init(uint8_t *code);

/* A new replay.  single: one instruction to a block, and none is kept. */
void rp_blocks_begin(bool single);

/* Where the code of the block at ip begins; 0: its code can't be read, rp_pages_why() says. */
uint64_t rp_block_at(uint64_t ip);

const struct rp_exit *rp_exit_at(uint32_t index);

/* To emit what is run once. */
struct rp_emitter *rp_blocks_emitter(void);

uint32_t rp_blocks_translated(void);

#endif
