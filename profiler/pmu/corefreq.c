/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/corefreq.h"

#include <stdint.h>
#include <time.h>

/* An interrupt in the middle makes a run longer, nothing makes one shorter: the shortest of a few is right. */
enum { LINKS = 32, TURNS = 1000, RUNS = 4 };

/*
 * Exclusive or of two registers: one cycle everywhere, and, unlike an addition of a small number
 * or a move, carried out by no core while it is renamed.
 */
#if defined(__x86_64__)
#define LINK "xor %1, %0\n\t"
#elif defined(__aarch64__)
#define LINK "eor %0, %0, %1\n\t"
#endif

#ifdef LINK
#define LINKS_8 LINK LINK LINK LINK LINK LINK LINK LINK

static void chain(void)
{
	uint64_t x = 1, y = 3;

	for (int i = 0; i < TURNS; i++)
		__asm__ volatile(LINKS_8 LINKS_8 LINKS_8 LINKS_8 : "+r"(x) : "r"(y));
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double corefreq_measure_hz(void)
{
	double best_s = 1;

	for (int i = 0; i < RUNS; i++) {
		double begun_s = now_s(), took_s;

		chain();
		took_s = now_s() - begun_s;
		if (took_s < best_s)
			best_s = took_s;
	}
	return LINKS * TURNS / best_s;
}
#else
double corefreq_measure_hz(void)
{
	return 0;
}
#endif
