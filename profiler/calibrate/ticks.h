/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_TICKS_H
#define SKIDPROF_CALIBRATE_TICKS_H

/* The time stamp counter, and which instructions this processor has. */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/calibrate/cliff.h"

#ifdef __x86_64__
#include <x86intrin.h>

static inline bool ticks_exist(void)
{
	return true;
}

/* What comes after does not begin before the counter is read, and the other way round. */
static inline uint64_t ticks_begin(void)
{
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
}

static inline uint64_t ticks_end(void)
{
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
}

static inline const char *ticks_lack(unsigned needs)
{
	__builtin_cpu_init();
	if (needs & CLIFF_NEEDS_FMA && !__builtin_cpu_supports("fma"))
		return "this processor has no FMA instructions";
	if (needs & CLIFF_NEEDS_AVX && !__builtin_cpu_supports("avx"))
		return "this processor has no AVX instructions";
	if (needs & CLIFF_NEEDS_AES && !__builtin_cpu_supports("aes"))
		return "this processor has no AES instructions";
	if (needs & CLIFF_NEEDS_POPCNT && !__builtin_cpu_supports("popcnt"))
		return "this processor has no popcnt instruction";
	return NULL;
}

#else

static inline bool ticks_exist(void)
{
	return false;
}

static inline uint64_t ticks_begin(void)
{
	return 0;
}

static inline uint64_t ticks_end(void)
{
	return 0;
}

static inline const char *ticks_lack(unsigned needs)
{
	(void)needs;
	return "there are no cliffs for this processor's instruction set yet";
}

#endif

#endif
