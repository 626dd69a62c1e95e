/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_BURST_H
#define SKIDPROF_PMU_BURST_H

/*
 * A burst: a thread is stopped where it happens to be, and let go.  The
 * branches it takes from there are a branch record that lies ahead of a moment
 * in time, where those of a processor lie behind one.  They are found without
 * the thread, by running ahead on copies of its pages (replayer.h), from system
 * call to system call, which the thread itself makes (past_call.h); where that
 * can't be, by stepping the thread through some dozens of them.
 *
 * The thread is traced by whoever calls this.  When the caller is killed
 * (SIGKILL), the kernel lets the thread go; in mid step it does so with the
 * trap flag set, and the thread's next instruction kills it by SIGTRAP: so
 * bursts are taken by a process that nobody has a reason to kill (stepper.h).
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/pmu/past_call.h"
#include "profiler/pmu/procfile.h"
#include "profiler/pmu/step.h"

enum { BURST_MAX_BRANCHES = 2048, BURST_MAX_RUNS = 1360 };

/* Of a stack so much is copied, as a record has room for beside 2,000 branches; and registers to unwind it with. */
enum { BURST_STACK_BYTES = 16384, BURST_MAX_REGS = 33 };

/* Which registers these are, by the numbers of the architecture's perf_regs.h: all that hold addresses. */
uint64_t burst_regs_mask(void);

struct burst_limits {
	uint32_t n_branches; /* enough; at most BURST_MAX_BRANCHES */
	uint32_t n_calls;    /* system calls to go past, where it is replayed */
	uint32_t
	        n_left_out; /* branches at its beginning to leave out, where that is the end of a system call */
	/* Where it must be stepped. */
	uint32_t n_stepped;
	uint32_t n_steps;
	uint64_t held_ns;   /* and no thread is held for longer than this */
	uint64_t replay_ns; /* or than this, where it is replayed */
	/*
	 * Not 0: no branches are wanted, but how long the thread takes for a path, which is looked for through so many
	 * instructions, for replay_ns while the thread runs.
	 */
	uint64_t timed_insns;
	uint64_t period_ns; /* of its time, from moment to moment */
};

/* What came of a path that was to be timed. */
enum burst_timing {
	TIMING_DONE,
	TIMING_NONE, /* the thread was not running, or in the kernel: nothing was tried */
	TIMING_LATE, /* it did not run for long enough within the time that we wait */
	TIMING_CUT, /* a system call, or what else a replay can't go past, came before: burst.replay_end tells */
	TIMING_LOST,    /* the replay did not come past where it was: memory had changed, or it is too far */
	TIMING_TWICE,   /* the path comes to the same registers more than once */
	TIMING_REFUSED, /* its event: error says why */
	BURST_N_TIMINGS,
};

/* Straight on from from_ip to to_ip, n times: n_insns in all. */
struct burst_run {
	uint64_t from_ip, to_ip;
	uint32_t n, n_insns;
};

enum burst_end {
	BURST_WHOLE,   /* as many branches or steps as wanted */
	BURST_CUT,     /* a system call that it doesn't go past, or what else it can't, came before */
	BURST_SIGNAL,  /* a signal came: delivered when the thread was let go */
	BURST_ASLEEP,  /* it was not running, and was left alone */
	BURST_UNFIT,   /* it blocks or ignores SIGTRAP, and can't be stepped: let go at once */
	BURST_KERNEL,  /* it was in a system call: let go at once */
	BURST_LOST,    /* the replayer was late or died: let go at once */
	BURST_GONE,    /* it has ended */
	BURST_REFUSED, /* it can't be traced: tracer says who does already, error why else */
};

struct burst_branch {
	uint64_t from_ip, to_ip;
};

struct burst {
	pid_t tid;
	uint8_t end;        /* enum burst_end */
	bool replayed;      /* or stepped, where it has branches */
	uint8_t replay_end; /* enum rp_end of a replay, also of one that stepping took the place of */
	int error;          /* errno of BURST_REFUSED */
	pid_t tracer;       /* who traces it already, where that is why; else 0 */
	char tracer_name[PROCFILE_NAME_MAX];
	uint32_t cpu;
	uint64_t start_ip;
	uint64_t time_ns; /* CLOCK_MONOTONIC, when it was stopped */
	/* From being asked to stop until it was let go, without what it or we waited for a CPU. */
	uint64_t held_ns;
	/* CPU time that we, and the replayer, have taken since the last one, beside that in which a thread was held. */
	uint64_t work_ns;
	double core_hz; /* of the CPU it ran on, measured just after; 0 = not known, or not again so soon */
	uint32_t n_steps, n;
	uint32_t n_calls;           /* system calls that it went past, or tried to: two stops each */
	bool astray;                /* the thread came to another call than a replay, which was left out */
	uint32_t n_pages, n_missed; /* that replays touched, and read one at a time */
	uint8_t timing;             /* enum burst_timing, where a path was to be timed */
	/* Of one that was: what ran in so much of the thread's time, the most frequent runs of it, and how far the path went. */
	uint64_t timed_insns, timed_ns, far_insns;
	uint64_t replay_ns; /* CPU time of the replay, while the thread ran */
	uint32_t n_runs;
	/* When it was stopped, to unwind by: 0 of both where it could not be read. */
	uint32_t n_regs, n_stack_bytes;
	uint64_t regs[BURST_MAX_REGS];    /* [n_regs] by rising bits of burst_regs_mask() */
	uint8_t stack[BURST_STACK_BYTES]; /* [n_stack_bytes] from the stack pointer on */
	union {
		struct burst_branch branches[BURST_MAX_BRANCHES]; /* [n], oldest first */
		struct burst_run runs[BURST_MAX_RUNS];            /* [n_runs] */
	};
};

struct awake;
struct replayer;

/* What bursts are taken with. */
struct burst_tools {
	struct step_decoder *decoder;
	struct replayer *replayer; /* NULL: all are stepped */
	struct awake *awake;       /* NULL: CPUs sleep while their threads are stopped */
	struct left_threads left;
	uint64_t core_hz_ns; /* when the frequency was measured last */
	uint64_t ran_ns;     /* our CPU time and the replayer's, up to the last burst's end */
	double interrupt_ns; /* timed.h; 0 = not measured yet */
	struct procfile own_turns, turns, stat; /* ours; the thread's */
	struct procfile process;                /* that of its first thread */
	cpu_set_t anywhere;                     /* where we may run, while we are pinned */
	bool pinned;
};

/* What was done to find them is no burst's work. */
void burst_tools_begin(struct burst_tools *tools);

/*
 * Take one of the thread tid of process pid.  *stop, which may be set by a signal handler, ends it early;
 * the thread is let go in any case.
 */
void burst_take(struct burst_tools *tools, pid_t pid, pid_t tid, const struct burst_limits *limits,
                const volatile sig_atomic_t *stop, struct burst *out);

#endif
