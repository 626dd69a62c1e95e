/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_TRACE_H
#define SKIDPROF_SIM_TRACE_H

/*
 * What a piece of code did, kept: which blocks ran, in which order, and what
 * they touched.  No time is in it, so it runs on any simulated core of its
 * instruction set.
 */
#include "profiler/base/vec.h"
#include "profiler/sim/replay.h"

/* A block that ran, and where its accesses begin in the trace. */
struct sim_step {
	uint32_t block, mem;
};

/* Every line from `from` to `to` is in the caches when the trace begins, as far as they hold them; the last ones are the newest. */
struct sim_warm {
	uint64_t from, to;
};

struct sim_trace {
	VEC(struct sim_step) steps;
	VEC(uint64_t) mem;   /* of each step, its SIM_MEM_END last (core.h) */
	VEC(uint32_t) turns; /* steps at which a turn of the measured loop begins, rising; at least two */
	VEC(struct sim_warm) warm; /* may be empty */
	uint64_t end_ip;           /* where the program went on after the last step */
	bool regular; /* every turn does the same: a few turns that take equal time stand for the rest */
};

void sim_trace_fini(struct sim_trace *t);

/*
 * Run a trace on a replay's started core, after whatever ran on it before.
 *
 * settle  turns at the beginning that are not measured; fewer than there are turns.
 * far     added to every address.  A multiple of 2^36 is memory of the trace's own, so that it does not find the lines of others.
 * Returns cycles a turn.
 */
double sim_trace_run(struct sim_replay *r, const struct sim_trace *t, size_t settle, uint64_t far);

/*
 * Cycles a turn of a loop whose body is these blocks, one after the other, in the long run.
 *
 * block  [n]; each goes on to the next, the last to the first.
 * mem    [n] what each touches in every turn; an entry may be NULL when it touches nothing.
 */
double sim_loop_run(struct sim_replay *r, const uint32_t *block, const uint64_t *const *mem, size_t n);

#endif
