/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/clock.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "report/lift/hook.h"

#ifdef __x86_64__

#include <x86intrin.h>

/* A core that was idle, as one that waits for a program is, has its clock up within some milliseconds of work. */
enum { CHAIN = 20000, CALLS = 2000, AWAKE_NS = 6000000 };

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static uint64_t ticks(void)
{
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
}

/*
 * n times ten additions, each of which waits for the one before.  Of registers: some cores (Golden Cove) add constants
 * while they rename, in no time at all.
 */
static uint64_t chain_ticks(uint64_t n)
{
	uint64_t x = 1, y = n, begin = ticks();

	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
		                 "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
		                 : "+r"(x)
		                 : "r"(y));
	return ticks() - begin;
}

double clock_cyc_per_tick(void)
{
	double one = INFINITY, two = INFINITY;
	int64_t end_ns = now_ns() + AWAKE_NS;

	/* Two lengths, so that start and end cancel; the least of each, because interrupts only add. */
	while (now_ns() < end_ns) {
		one = fmin(one, (double)chain_ticks(CHAIN / 10));
		two = fmin(two, (double)chain_ticks(CHAIN / 10 * 2));
	}
	return two > one ? CHAIN / (two - one) : NAN;
}

/* A function that is nothing but room for the jump, and its area. */
struct trial {
	uint8_t code[64];
	struct hook_area area;
};

static double least_call(struct trial *t)
{
	double least = INFINITY;
	const void *code = t->code;
	void (*fn)(void);

	memcpy(&fn, &code, sizeof(fn));
	for (int i = 0; i < CALLS; i++) {
		uint64_t before = t->area.ticks;

		fn();
		least = fmin(least, (double)(t->area.ticks - before));
	}
	return least;
}

double clock_hook_ticks(void)
{
	static const uint8_t nothing[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 };
	struct trial *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE | PROT_EXEC,
	                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hook h;
	double least = NAN;

	if (t == MAP_FAILED)
		return NAN;
	memcpy(t->code, nothing, sizeof(nothing));
	h = (struct hook){ .entry = (uintptr_t)t->code, .area = (uintptr_t)&t->area };
	if (!hook_plan(t->code, sizeof(t->code), h.entry, &h)) {
		hook_build(&h, t->area.code, t->code);
		least = least_call(t);
	}
	munmap(t, sizeof(*t));
	return least;
}

#else

double clock_cyc_per_tick(void)
{
	return NAN;
}

double clock_hook_ticks(void)
{
	return NAN;
}

#endif
