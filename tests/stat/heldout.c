/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernels that no cliff resembles, to hold a fitted core against the
 * processor: heldout.py runs them on both.  They are held out: the model is
 * improved by samples/kernels, never by these.
 *
 *	heldout -l
 *	heldout [-t] [-n CALLS] KERNEL
 *
 * -t: core cycles of a call on this processor, by rdtsc beside a chain of additions, and how many independent additions it did in one
 *     meanwhile; else the kernel is called so many times.
 * -l: sets and names, "*" behind those that are one straight-line loop, the elements that it goes through, and the bytes of one.
 */
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#include "tests/stat/heldout.h"

static uint64_t ticks(void)
{
	unsigned aux;
	uint64_t t;

	_mm_lfence();
	t = __rdtscp(&aux);
	_mm_lfence();
	return t;
}

/* Of registers: some cores add constants while they rename, in no time at all. */
static uint64_t time_chain(uint64_t n)
{
	uint64_t v = 1, begin = ticks();

	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
		                 "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
		                 : "+r"(v)
		                 : "r"(n));
	return ticks() - begin;
}

static uint64_t time_calls(const struct kernel *k, unsigned n)
{
	uint64_t begin = ticks();

	for (unsigned i = 0; i < n; i++)
		k->run();
	return ticks() - begin;
}

/* Additions that wait for nothing: as many at a time as this processor does, or what a neighbour on the same core leaves of them. */
static uint64_t time_wide(uint64_t n)
{
	uint64_t begin = ticks();

	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("add $1, %%rax\n\tadd $1, %%rcx\n\tadd $1, %%rdx\n\tadd $1, %%rsi\n\t"
		                 "add $1, %%rdi\n\tadd $1, %%r8\n\tadd $1, %%r9\n\tadd $1, %%r10\n\t"
		                 "add $1, %%rax\n\tadd $1, %%rcx\n\tadd $1, %%rdx\n\tadd $1, %%rsi\n\t"
		                 "add $1, %%rdi\n\tadd $1, %%r8\n\tadd $1, %%r9\n\tadd $1, %%r10" ::
		                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "cc");
	return ticks() - begin;
}

enum { ROUNDS = 41, CHAIN = 2000, WIDE = 3000, LEAST_TICKS = 60000 };

struct round {
	double one, three; /* so many calls, three times as many */
	double wide;       /* the longest that additions took before, between and after these */
};

static struct round time_round(const struct kernel *k, unsigned n)
{
	struct round r;

	r.wide = (double)time_wide(WIDE);
	r.one = (double)time_calls(k, n);
	r.wide = fmax(r.wide, (double)time_wide(WIDE));
	r.three = (double)time_calls(k, 3 * n);
	r.wide = fmax(r.wide, (double)time_wide(WIDE));
	return r;
}

/*
 * Two numbers of calls, the least time of each subtracted: all that disturbs a
 * run makes it longer.  Rounds in which a neighbour had a part of the core are
 * left out: those whose additions took 3% longer than in the best one.  How
 * many a cycle these did tells whether there was none without a neighbour.
 */
static double time_kernel(const struct kernel *k, double *adds_a_cycle)
{
	double one = INFINITY, three = INFINITY, chain = INFINITY, wide = INFINITY;
	struct round rounds[ROUNDS];
	unsigned n = 1;

	while (time_calls(k, n) < LEAST_TICKS)
		n *= 2;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t brief = time_chain(CHAIN);

		chain = fmin(chain, (double)(time_chain(3 * CHAIN) - brief) / (20.0 * CHAIN));
		rounds[i] = time_round(k, n);
		wide = fmin(wide, rounds[i].wide);
	}
	for (int i = 0; i < ROUNDS; i++) {
		if (rounds[i].wide > 1.03 * wide)
			continue;
		one = fmin(one, rounds[i].one);
		three = fmin(three, rounds[i].three);
	}
	*adds_a_cycle = 16.0 * WIDE / (wide / chain);
	return (three - one) / (2 * n) / chain;
}

/* On one processor, whichever it is. */
static void pin(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	if (cpu >= 0) {
		CPU_SET((unsigned)cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
}

static const struct kernel *find(const char *name, const struct kernel_set **set)
{
	static const struct kernel_set *const sets[] = { &heldout_fresh, &heldout_seen };

	for (size_t s = 0; s < sizeof(sets) / sizeof(*sets); s++) {
		const struct kernel *k = sets[s]->kernels;

		*set = sets[s];
		for (; k->name; k++)
			if (name ? !strcmp(k->name, name)
			         : printf("%s %s %s %u %u\n", sets[s]->name, k->name, k->elements ? "*" : "-",
			                  k->elements, k->bytes) < 0)
				return k;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct kernel_set *set;
	const struct kernel *k;
	bool native = false;
	unsigned calls = 1;
	int opt;

	while ((opt = getopt(argc, argv, "ltn:")) != -1) {
		if (opt == 'l')
			return find(NULL, &set) != NULL;
		else if (opt == 't')
			native = true;
		else if (opt == 'n')
			calls = (unsigned)atoi(optarg);
		else
			return 2;
	}
	if (optind + 1 != argc || !(k = find(argv[optind], &set)))
		return 2;
	set->init();
	pin();
	if (native) {
		double adds_a_cycle, cycles = time_kernel(k, &adds_a_cycle);

		printf("%.1f %.3f\n", cycles, adds_a_cycle);
	} else {
		for (unsigned n = 0; n < calls; n++)
			k->run();
	}
	return set->result() == -1;
}
