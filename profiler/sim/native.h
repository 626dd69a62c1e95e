/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_NATIVE_H
#define SKIDPROF_SIM_NATIVE_H

/*
 * Code of the host that times one block of the guest's: what run_simple of core.c does for it, to the bit, without
 * asking at each run what its instructions are, and with branches that the host foretells one by one.  Made when the
 * block is decoded.  Only on x86-64 hosts with BMI, and for core files that run_simple is enough for; core.c runs
 * all other blocks, and may run any.
 */
#include <stddef.h>

#include "profiler/sim/block.h"
#include "profiler/sim/config.h"

struct sim_native;

/* Of blocks decoded for that core file, which must outlive it.  NULL: there is to be no such code, or no memory for it. */
struct sim_native *sim_native_new(const struct sim_config *config);
void sim_native_free(struct sim_native *n);

/* Sets b->native of a block that sim_decode_finish is done with; it stays NULL where there is no room for more. */
void sim_native_make(struct sim_native *n, struct sim_block *b);

#endif
