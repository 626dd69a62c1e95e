/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that cliffs work on. */
#include "profiler/calibrate/cliff.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/base/err.h"

enum { LINE = 64, HUGE = 2 << 20, WORDS_IN_LINE = LINE / sizeof(uint64_t) };

#define LONG_CHASES UINT64_MAX

/* xorshift64*, so that the layout is the same on every machine and in every run. */
static uint64_t next_random(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * UINT64_C(2685821657736338717);
}

/* What the system could give without taking it from others; UINT64_MAX where it does not say. */
static uint64_t free_bytes(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kb = UINT64_MAX / 1024;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %ju kB", (uintmax_t *)&kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb * 1024;
}

int cliff_arena_open(struct cliff_arena *a, uint32_t l3_kb)
{
	uint64_t chase_bytes = CLIFF_CHASE_BYTES;
	size_t n;

	while (chase_bytes < 2 * 1024 * (uint64_t)l3_kb)
		chase_bytes *= 2;
	n = chase_bytes + HUGE + HUGE;
	memset(a, 0, sizeof(*a));
	/* All of it is written: asked for too much, the kernel would not refuse but end somebody. */
	if (free_bytes() < n)
		return sp_fail(SP_ENOMEM,
		               "cliffs of a cache of %u MB need %zu MB of memory, and %ju MB are free",
		               l3_kb >> 10, n >> 20, (uintmax_t)(free_bytes() >> 20));
	a->map = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->map == MAP_FAILED) {
		a->map = NULL;
		return sp_fail(SP_ENOMEM, "no %zu MB of memory for the cliffs to walk over", n >> 20);
	}
	a->n_bytes = n;
	a->chase = (uint8_t *)(((uintptr_t)a->map + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	a->chase_bytes = chase_bytes;
	a->buffer = a->chase + chase_bytes;
	a->seed = 3;
	a->state = (struct cliff_state *)(a->buffer + CLIFF_BUFFER_BYTES);
	/* With small pages a chase over a few hundred KB measures the TLB, and colours of pages blur a cache's size. */
	a->has_huge_pages = madvise(a->chase, chase_bytes + HUGE, MADV_HUGEPAGE) == 0;
	/* Pages never written all show the one page of zeros, which no real program reads. */
	memset(a->buffer, 0, CLIFF_BUFFER_BYTES);
	memset(a->chase, 0, chase_bytes);
	return 0;
}

void cliff_arena_close(struct cliff_arena *a)
{
	if (a->map)
		munmap(a->map, a->n_bytes);
	memset(a, 0, sizeof(*a));
}

static uint64_t *line_at(const struct cliff_arena *a, uint64_t line)
{
	return (uint64_t *)a->chase + line * WORDS_IN_LINE;
}

/* One cycle through all lines in random order (Sattolo). */
static void lay_cycle(struct cliff_arena *a, uint64_t lines)
{
	uint64_t seed = 2;

	for (uint64_t i = 0; i < lines; i++)
		*line_at(a, i) = (uint64_t)(uintptr_t)line_at(a, i);
	for (uint64_t i = lines - 1; i > 0; i--) {
		uint64_t j = next_random(&seed) % i, other = *line_at(a, j);

		*line_at(a, j) = *line_at(a, i);
		*line_at(a, i) = other;
	}
}

static uint64_t half_lines(const struct cliff_arena *a)
{
	return a->chase_bytes / LINE / 2;
}

/*
 * Which of n lines, a power of two, the x-th number stands for: the low bits of the sequence below are its worst,
 * they choose the region.
 */
static uint64_t scatter(uint64_t x, uint64_t n)
{
	unsigned bits = (unsigned)__builtin_ctzll(n);

	x &= n - 1;
	return (x >> bits / 2 | x << (bits - bits / 2)) & (n - 1);
}

/*
 * Two cycles, each through one half of the memory, so long that no cache
 * holds them.  x -> ax + c modulo a power of two visits every number once, and
 * is written in order: a shuffle of that many lines would take seconds.
 */
static void lay_long_cycles(struct cliff_arena *a)
{
	uint64_t n = half_lines(a);

	for (unsigned k = 0; k < 2; k++)
		for (uint64_t x = 0; x < n; x++) {
			uint64_t next = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);

			*line_at(a, k * n + scatter(x, n)) =
			        (uint64_t)(uintptr_t)line_at(a, k * n + scatter(next, n));
		}
}

/* Make `lines` what is laid out in the memory. */
static void lay(struct cliff_arena *a, uint64_t lines)
{
	struct cliff_state *s = a->state;
	uint64_t half = half_lines(a), n = lines == LONG_CHASES ? half : lines;

	assert(half && n);
	if (a->chase_lines != lines && lines == LONG_CHASES)
		lay_long_cycles(a);
	else if (a->chase_lines != lines)
		lay_cycle(a, lines);
	a->chase_lines = lines;
	if (!s->chase[0]) {
		/* Another place each time: where a walk began before is still in a cache. */
		uint64_t at = next_random(&a->seed);

		s->chase[0] = (uint64_t)(uintptr_t)line_at(a, at % n);
		s->chase[1] = (uint64_t)(uintptr_t)line_at(a, half + (at >> 32) % half);
	}
}

void cliff_arena_prepare(struct cliff_arena *a, const struct cliff *c, uint32_t pressure)
{
	struct cliff_state *s = a->state;
	uint64_t lines = c->is_far                 ? LONG_CHASES
	                 : c->shape == CLIFF_CHASE ? (uint64_t)pressure * 1024 / LINE
	                                           : 0;

	s->buffer = (uint64_t)(uintptr_t)a->buffer;
	s->one = 1;
	s->zero = 0;
	/* Stores may have gone over the pointer that points to itself. */
	*(uint64_t *)a->buffer = s->buffer;
	/* Another footprint, or no chase: begin anew. */
	if (!lines || lines != a->chase_lines)
		s->chase[0] = s->chase[1] = 0;
	if (lines)
		lay(a, lines);
}
