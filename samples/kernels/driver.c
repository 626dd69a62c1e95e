/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs kernels often enough to be profiled, and says what they computed:
 *
 *	O2 [-l] [-t] [-w TURNS] [KERNEL...]
 *
 * -l lists the kernels.  -w TURNS: about how many turns of its innermost loop each kernel makes in all (a
 * million).  -t times a call of each in core cycles, warm, where the machine has a cycle clock: rdtsc, made core
 * cycles by a chain of dependent additions that is timed next to it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels.h"

static const struct kernel *const families[] = {
	kernels_linalg, kernels_solve, kernels_stencil, kernels_dynprog, kernels_stats,
	kernels_string, kernels_hash,  kernels_sort,    kernels_parse,
};

struct options {
	bool list, time;
	double turns;
	char **names;
	int n_names;
};

static uint64_t checksum(const struct kernel *k)
{
	const unsigned char *at = k->out;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < k->out_bytes; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h;
}

#ifdef __x86_64__
#include <x86intrin.h>

enum { CHAIN = 2000, ROUNDS = 61 };

static uint64_t ticks(void)
{
	unsigned aux;
	uint64_t t;

	_mm_lfence();
	t = __rdtscp(&aux);
	_mm_lfence();
	return t;
}

/* n times ten dependent additions of one cycle each; of registers, for some cores add constants in no time. */
static uint64_t time_chain(uint64_t n)
{
	uint64_t x = 1, begin = ticks();

	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
		                 "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
		                 : "+r"(x)
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

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Core cycles of one call: two numbers of calls subtracted, in ticks of a chain timed in the same breath. */
static double time_kernel(const struct kernel *k)
{
	unsigned n = 1 + 40000 / k->work;
	double cyc[ROUNDS];

	time_calls(k, 3 * n);
	for (int i = 0; i < ROUNDS; i++) {
		double one = (double)time_calls(k, n), three = (double)time_calls(k, 3 * n);
		double per_cyc = (double)(time_chain(2 * CHAIN) - time_chain(CHAIN)) / (10.0 * CHAIN);

		cyc[i] = (three - one) / (2 * n) / per_cyc;
	}
	qsort(cyc, ROUNDS, sizeof(cyc[0]), ascending);
	return cyc[ROUNDS / 4];
}
#else
static double time_kernel(const struct kernel *k)
{
	(void)k;
	return -1;
}
#endif

static void run_kernel(const struct kernel *k, const struct options *o)
{
	unsigned long calls = (unsigned long)(o->turns / k->work) + 1;

	k->init();
	if (o->time) {
		printf("%-12s %14.1f cycles a call\n", k->name, time_kernel(k));
		return;
	}
	for (unsigned long i = 0; i < calls; i++)
		k->run();
	printf("%-12s %8lu calls, checksum %016llx\n", k->name, calls, (unsigned long long)checksum(k));
}

static bool wanted(const struct kernel *k, const struct options *o)
{
	for (int i = 0; i < o->n_names; i++)
		if (strcmp(o->names[i], k->name) == 0)
			return true;
	return o->n_names == 0;
}

static int run_all(const struct options *o)
{
	int n = 0;

	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
		for (const struct kernel *k = families[f]; k->name; k++) {
			if (!wanted(k, o))
				continue;
			n++;
			if (o->list)
				puts(k->name);
			else
				run_kernel(k, o);
		}
	if (n < o->n_names) {
		fputs("kernels: no such kernel; -l lists them\n", stderr);
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .turns = 1e6 };
	int opt;

	while ((opt = getopt(argc, argv, "ltw:")) != -1) {
		if (opt == 'l')
			o.list = true;
		else if (opt == 't')
			o.time = true;
		else if (opt == 'w')
			o.turns = atof(optarg);
		else
			return 2;
	}
	o.names = argv + optind;
	o.n_names = argc - optind;
#ifndef __x86_64__
	if (o.time) {
		fputs("kernels: -t needs a cycle clock, which this build knows on x86-64 only\n", stderr);
		return 1;
	}
#endif
	return run_all(&o);
}
