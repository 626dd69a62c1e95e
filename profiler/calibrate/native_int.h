/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_NATIVE_INT_H
#define SKIDPROF_CALIBRATE_NATIVE_INT_H

/* What the files of the processor's cliffs share: native.c, native_clock.c, native_look.c, native_run.c. */
#include <sched.h>

#include "profiler/calibrate/cliff.h"
#include "profiler/calibrate/watch.h"

struct cliff_native {
	struct cliff_arena arena;
	struct cliff_code code, clock;
	struct cliff_code window[SENTINEL_SIZES]; /* the sentinel's; in one mapping */
	struct sentinel sentinel;
	struct watch watch;
	unsigned n_void;   /* how often more was found to fit than was learnt */
	unsigned n_unable; /* looks that could not tell */
	struct cliff_sizes sizes;
	cpu_set_t cpus_before;
	bool is_pinned;
	double cycles_per_tick, tsc_ghz, core_ghz;
	int counter;      /* the processor's cycle counter, -1 = none */
	char no_pmu[256]; /* why not */
};

/* ---- native_clock.c ---- */

/* Room for code, not yet executable.  -SP_ENOMEM. */
int native_code_open(struct cliff_code *c);

/* PROT_…, never writable and executable at a time.  -SP_ENOTSUP. */
int native_code_allow(struct cliff_code *c, int prot);

/* Emit a cliff's code, ready to run.  What native_code_allow and cliff_emit return. */
int native_code_make(struct cliff_code *out, const struct cliff *c, uint32_t pressure);

/* Ticks of the time stamp counter. */
uint64_t native_call_ticks(const struct cliff_code *c, uint64_t iterations, struct cliff_state *state);

/* Core cycles where there is a counter for them, else ticks. */
uint64_t native_run_ticks(struct cliff_native *n, const struct cliff_code *c, uint64_t iterations);

/* The counter, where there is one; else n->no_pmu says why not. */
void native_counter_open(struct cliff_native *n);

/* The chain of additions that tells cycles from ticks, and what it tells at first. */
int native_clock_start(struct cliff_native *n);

/* Core cycles a tick, just now; false: it was disturbed. */
bool native_clock_once(struct cliff_native *n, double *cycles_per_tick);

double native_seconds_now(void);

/* ---- native_look.c ---- */

/* Emit the sentinel's windows and learn what fits. */
int native_look_start(struct cliff_native *n);

/* Who is on the core just now. */
enum sentinel_word native_look(struct cliff_native *n);

#endif
