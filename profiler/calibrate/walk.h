/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_WALK_H
#define SKIDPROF_CALIBRATE_WALK_H

/*
 * Walk through a function of x86-64 code as the processor would, as far as
 * addresses and branches go: what comes out is its trace, for the simulated
 * core.  Memory is this process's own: loads read it, stores of integer
 * registers write it, so that a function leaves the same state behind as if it
 * had been called.  Vector registers are followed through moves alone; what
 * has no value is not written.
 */
#include <stddef.h>
#include <stdint.h>

#include "profiler/sim/trace.h"

struct walk_code {
	const uint8_t *code;
	size_t n_bytes;
	size_t loop_off;    /* a turn begins here */
	uint64_t arg[2];    /* rdi, rsi */
	uint64_t max_insns; /* more than that is an endless loop */
};

/*
 * Walk until the function returns.
 *
 * r    gets the function's blocks (sim_replay_add).
 * out  steps, accesses and turns are added to what it holds.
 * Returns 0; -SP_ENOTSUP: an address or a branch depends on what is not followed, with the instruction named;
 * -SP_EFORMAT: no instruction, or an address outside the code; -SP_EDOMAIN: max_insns; -SP_ENOMEM.
 */
int walk_x86(struct sim_replay *r, const struct walk_code *w, struct sim_trace *out);

#endif
