/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_STAT_HELDOUT_H
#define SKIDPROF_STAT_HELDOUT_H

/* Kernels to hold a fitted core against the processor, in two sets: see heldout.c. */
#include <stddef.h>
#include <stdint.h>

#define KERNEL static __attribute__((noipa)) void

struct kernel {
	const char *name;
	void (*run)(void);
	unsigned elements; /* that its one loop goes through; 0: it has more than one block */
	unsigned bytes;    /* of one */
};

struct kernel_set {
	const char *name;
	const struct kernel *kernels; /* ends with a name of NULL */
	void (*init)(void);
	double (*result)(void);
};

extern const struct kernel_set heldout_seen, heldout_fresh;

/* The same numbers on every machine. */
static inline uint32_t next_random(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

#endif
