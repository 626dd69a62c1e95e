/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_BLOCKS_H
#define SKIDPROF_REPLAY_BLOCKS_H

/*
 * Blocks that were emitted, kept from one replay to the next.  A replay reads
 * each page of code once and holds it against the bytes its blocks were made
 * of: what was changed, mapped anew or is another program's is emitted again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_exit;
struct rp_emitter;
struct rp_registers;

/* code: twice RP_CODE_BYTES, where it can be written. */
void rp_blocks_init(uint8_t *code);

enum rp_blocks {
	RP_BLOCKS_KEPT,
	RP_BLOCKS_SINGLE, /* one instruction to a block, and none is kept */
	RP_BLOCKS_FAST,   /* blocks that lead to each other (rp_emitter.chains), of this replay only */
};

/* Between replays, while no thread waits: memory for the blocks of the next one. */
void rp_blocks_make_room(void);

/* A new replay. */
void rp_blocks_begin(enum rp_blocks kind);

/* Where the code of the block at ip begins; 0: its code can't be read, or there is no room, rp_blocks_why() says. */
uint64_t rp_block_at(uint64_t ip);

/* Of RP_BLOCKS_FAST: no block goes past one of stops[n].  Borrowed, for this replay. */
void rp_blocks_stop_at(const uint64_t *stops, size_t n);

/* enum rp_end */
uint32_t rp_blocks_why(uint64_t *at);

/* Of this replay's blocks. */
const struct rp_exit *rp_exit_at(uint32_t index);
uint32_t rp_n_exits(void);

/* Of RP_BLOCKS_FAST: machine_emit_guard(); 0 where there is no room. */
uint64_t rp_blocks_guard(uint64_t ip, const struct rp_registers *const *marks, size_t n, uint64_t code);

/* The way out e leads to that block from now on, and no more to C. */
void rp_blocks_chain(const struct rp_exit *e, uint64_t code);

/* To emit what is run once. */
struct rp_emitter *rp_blocks_emitter(void);

uint32_t rp_blocks_translated(void);

#endif
