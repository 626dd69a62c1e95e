/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_A64_DECODE_INT_H
#define SKIDPROF_REPLAY_A64_DECODE_INT_H

/* What the two parts of the decoder share. */
#include "profiler/replay/a64/decode.h"

/* Bits low to high, both included, as the manual writes them. */
static inline uint32_t a64_bits(uint32_t word, unsigned high, unsigned low)
{
	return word >> low & ((2u << (high - low)) - 1);
}

static inline int64_t a64_signed_bits(uint32_t word, unsigned high, unsigned low)
{
	uint64_t v = a64_bits(word, high, low), sign = 1ull << (high - low);

	return (int64_t)((v ^ sign) - sign);
}

/* Loads and stores. */
void a64_decode_memory(struct a64_insn *i);

#endif
