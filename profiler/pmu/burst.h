/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_BURST_H
#define SKIDPROF_PMU_BURST_H

/*
 * A burst: a thread is stopped where it happens to be, stepped through a few
 * dozen branches, and let go.  The branches it took are a branch record that
 * lies ahead of a moment in time, where those of a processor lie behind one.
 *
 * The thread is traced by whoever calls this.  When the caller is killed in
 * mid step (SIGKILL), the kernel lets the thread go with the trap flag set, and
 * its next instruction kills it by SIGTRAP: so bursts are taken by a process
 * that nobody has a reason to kill (stepper.h).
 */
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/pmu/step.h"

enum { BURST_MAX_BRANCHES = 256 };

struct burst_limits {
	uint32_t n_branches; /* enough; at most BURST_MAX_BRANCHES */
	uint32_t n_steps;
	uint64_t held_ns; /* and no thread is held for longer than this */
};

enum burst_end {
	BURST_WHOLE,   /* as many branches or steps as wanted */
	BURST_CUT,     /* a system call, or what else can't be stepped over, came before */
	BURST_SIGNAL,  /* a signal came: delivered when the thread was let go */
	BURST_ASLEEP,  /* it was not running, and was left alone */
	BURST_UNFIT,   /* it blocks or ignores SIGTRAP, and can't be stepped: let go at once */
	BURST_KERNEL,  /* it was in a system call: let go at once */
	BURST_GONE,    /* it has ended */
	BURST_REFUSED, /* it can't be traced: error says why (already traced, not allowed) */
};

struct burst_branch {
	uint64_t from_ip, to_ip;
};

struct burst {
	pid_t tid;
	uint8_t end; /* enum burst_end */
	int error;   /* errno of BURST_REFUSED */
	uint32_t cpu;
	uint64_t start_ip;
	uint64_t time_ns; /* CLOCK_MONOTONIC, when it was stopped */
	uint64_t held_ns; /* from being asked to stop until it was let go */
	double core_hz;   /* of the CPU it ran on, measured just after; 0 = not known */
	uint32_t n_steps, n;
	struct burst_branch branches[BURST_MAX_BRANCHES]; /* [n], oldest first */
};

/*
 * Take one.  *stop, which may be set by a signal handler, ends it early;
 * the thread is let go in any case.
 */
void burst_take(struct step_decoder *d, pid_t tid, const struct burst_limits *limits,
                const volatile sig_atomic_t *stop, struct burst *out);

#endif
