/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_X86_EMIT_INT_H
#define SKIDPROF_REPLAY_X86_EMIT_INT_H

/* Bytes of code, and ways out of blocks, for emit.c. */
#include <stddef.h>
#include <stdint.h>

#include "profiler/replay/emit.h"
#include "profiler/replay/x86/context.h"

enum { RAX = 0, RCX = 1, RBX = 3, RSP = 4, RBP = 5, RSI = 6, RDI = 7 };

static inline void put(struct rp_emitter *e, unsigned byte)
{
	e->code[e->n_code++] = (uint8_t)byte;
}

/* The compiler makes a store or two of it: byte by byte each waits for the one before, and a block has a thousand. */
#define PUT(e, ...)                                                                \
	do {                                                                       \
		struct rp_emitter *to_ = (e);                                      \
		const uint8_t bytes_[] = { __VA_ARGS__ };                          \
                                                                                   \
		__builtin_memcpy(to_->code + to_->n_code, bytes_, sizeof(bytes_)); \
		to_->n_code += sizeof(bytes_);                                     \
	} while (0)

/* The processor's own order of bytes.  Those beyond are overwritten by what comes next. */
static inline void put_le(struct rp_emitter *e, uint64_t v, unsigned bytes)
{
	__builtin_memcpy(e->code + e->n_code, &v, sizeof(v));
	e->n_code += bytes;
}

/* An instruction of 64 bits between a register and memory at an address below 2 GB. */
static inline void put_at(struct rp_emitter *e, uint8_t opcode, unsigned reg, uint32_t at)
{
	PUT(e, (uint8_t)(0x48 | (reg & 8 ? 4 : 0)), opcode, (uint8_t)((reg & 7) << 3 | 4), 0x25);
	put_le(e, at, 4);
}

static inline void put_save(struct rp_emitter *e, unsigned reg, uint32_t at)
{
	put_at(e, 0x89, reg, at);
}

static inline void put_load(struct rp_emitter *e, unsigned reg, uint32_t at)
{
	put_at(e, 0x8b, reg, at);
}

/* mov of a constant: the short form clears the upper half. */
static inline void put_constant(struct rp_emitter *e, unsigned reg, uint64_t v)
{
	bool wide = v >> 32 != 0;

	if (wide || reg & 8)
		put(e, 0x40u | (wide ? 8 : 0) | (reg & 8 ? 1 : 0));
	put(e, 0xb8 | (reg & 7));
	put_le(e, v, wide ? 8 : 4);
}

static inline uint32_t add_exit(struct rp_emitter *e, const struct rp_exit *x)
{
	e->exits[e->n_exits] = *x;
	return (uint32_t)e->n_exits++;
}

/* To C, by that way. */
void put_leave(struct rp_emitter *e, uint32_t exit);

/* A way out of a block; of one that chains it is counted, and may lead on. */
void put_way_out(struct rp_emitter *e, uint32_t exit);

/* The same of RP_EXIT_AT: rsi says where to, its own value is in the context. */
void put_way_at(struct rp_emitter *e, uint32_t exit);

#endif
