/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_SANDBOX_ANEW_H
#define SKIDPROF_REPORT_LIFT_SANDBOX_ANEW_H

/*
 * Code between two runs of a block's n_turns: what it hands on to itself is
 * set anew, registers to values, vectors to zero.  Neither waits for anything,
 * so the next turns begin while the last ones still run.
 */
#include <stddef.h>
#include <string.h>

#include "report/lift/sandbox/wire.h"

enum { BLOCK_ANEW_BYTES = 16 * 6 + 16 * 5 };

/* mov $imm32, %r32 */
static inline size_t anew_register(unsigned reg, uint32_t value, uint8_t *at)
{
	size_t n = 0;

	if (reg & 8)
		at[n++] = 0x41;
	at[n++] = (uint8_t)(0xb8 | (reg & 7));
	memcpy(at + n, &value, sizeof(value));
	return n + sizeof(value);
}

/* vxorps of the register with itself, or xorps where there is no AVX */
static inline size_t anew_vector(unsigned reg, int have_avx, uint8_t *at)
{
	uint8_t both = (uint8_t)(0xc0 | (reg & 7) << 3 | (reg & 7));
	const uint8_t vex[] = { 0xc4, reg & 8 ? 0x41 : 0xe1, (uint8_t)((~reg & 15) << 3), 0x57, both };
	const uint8_t legacy[] = { reg & 8 ? 0x45 : 0x40, 0x0f, 0x57, both };

	memcpy(at, have_avx ? vex : legacy, have_avx ? sizeof(vex) : sizeof(legacy));
	return have_avx ? sizeof(vex) : sizeof(legacy);
}

/* value  what the registers become.  at  room for BLOCK_ANEW_BYTES.  Returns the bytes written. */
static inline size_t block_anew(const struct block_request *b, const uint32_t value[16], int have_avx,
                                uint8_t *at)
{
	size_t n = 0;

	for (unsigned r = 0; r < 16; r++)
		if (b->carried >> r & 1)
			n += anew_register(r, value[r], at + n);
	for (unsigned r = 0; r < 16; r++)
		if (b->carried_vectors >> r & 1)
			n += anew_vector(r, have_avx, at + n);
	return n;
}

#endif
