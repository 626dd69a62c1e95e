/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SAMPLES_KERNELS_H
#define SKIDPROF_SAMPLES_KERNELS_H

/*
 * Small loops whose data stay in the first-level cache, for block predictors to be held against.  Each is one
 * function without calls, run over and over by driver.c.  A kernel gives the same result however often it has
 * run before: what it changes it first writes itself, or it changes towards something steady.
 */
#include <stddef.h>
#include <stdint.h>

/* Not inlined, not cloned, and nothing is concluded from its callers. */
#define KERNEL __attribute__((noipa)) void

struct kernel {
	const char *name; /* its function is kernel_NAME */
	void (*init)(void);
	void (*run)(void);
	const void *out; /* what it computed, for the checksum */
	size_t out_bytes;
	unsigned work; /* turns of its innermost loop in a call, about */
};

#define KERNEL_ROW(kernel, setup, result, turns)                                   \
	{                                                                          \
#kernel, setup, kernel_##kernel, (result), sizeof(result), (turns) \
	}

/* One list a family, ended by a row without a name. */
extern const struct kernel kernels_linalg[], kernels_solve[], kernels_stencil[], kernels_dynprog[],
        kernels_stats[], kernels_string[], kernels_hash[], kernels_sort[], kernels_parse[];

/* The same numbers on every machine. */
static inline uint32_t kernel_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* In [0.5, 1.5): sums and products of these stay far from zero and from infinity. */
static inline void kernel_fill(double *v, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		v[i] = 0.5 + kernel_random(&seed) / 2147483648.0;
}

#endif
