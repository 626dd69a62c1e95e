/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_RECORD_H
#define SKIDPROF_RECORD_H

/*
 * Recording: a program runs under one source of samples (profiler/pmu/), a
 * perf.data file comes out.  The command lines of record and truth end here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Executions of one instruction: where in which file. */
struct record_count {
	uint32_t file; /* index into record_counts.files */
	uint64_t off;
	uint64_t n;
	uint64_t n_load,
	        n_miss; /* loads, and those that missed the simulated first-level cache; 0 without one */
};

/* Calls of one function by another: where each begins. */
struct record_call {
	uint32_t caller_file,
	        callee_file; /* index into record_counts.files; RECORD_NO_FILE: outside any file */
	uint64_t caller_off, callee_off; /* there: 0 */
	uint64_t n, n_insn; /* instructions with all that was called, once where a function calls itself */
	bool begins;        /* nobody called: a thread begins there */
};
#define RECORD_NO_FILE UINT32_MAX

struct record_counts {
	char **files;
	size_t n_files;
	struct record_count *v; /* sorted by (file, off) */
	size_t n;
	uint64_t n_unmapped; /* instructions outside any file (JIT code, signal trampolines) */
	struct record_call
	        *calls; /* sorted, one of each kind; none where they were not wanted, or some are lost */
	size_t n_calls;
};

void record_counts_fini(struct record_counts *c);

/* "-g": how it is told who called. */
enum record_stacks {
	STACKS_NONE,
	STACKS_FP,    /* the kernel follows frame pointers */
	STACKS_DWARF, /* the kernel copies registers and stack, which the reader unwinds */
	STACKS_LBR,   /* the processor keeps the calls that are not back yet */
};

struct record_opts {
	const char *pmu;    /* "auto" or the name of a source */
	const char *output; /* NULL: no samples are taken (truth) */
	const char *core;   /* name or path of a core file; NULL = the default of the ISA */
	const char *events; /* "-e": comma-separated names, sampled ones first; NULL = default group */
	uint64_t period;    /* 0 = default */
	uint64_t rotate_ns; /* more events than counters take turns of about so long; 0 = they are an error */
	int branches;       /* 1 = yes, 0 = no, -1 = as the core has them */
	uint64_t branch_filter; /* "-j": PERF_SAMPLE_BRANCH_..., without modes; 0 = any */
	/* Only of the simulated PMU. */
	bool plain;           /* every event by itself, sampled, without values */
	uint64_t max_rate_hz; /* of an event's samples, or it is throttled; 0 = none */
	uint64_t seed;
	bool counting; /* exact counts wanted, */
	bool calls;    /* and those of calls */
	enum record_stacks stacks;
	uint32_t stack_bytes; /* copied of a stack for STACKS_DWARF; 0 = default */
	/* What to record, where it is not one program; only of real sources. */
	const char *pids, *tids; /* "-p", "-t": numbers separated by commas */
	const char *cpus;        /* "-C": "0-3,8" */
	bool whole_system;       /* "-a" */
	/* How long, how much. */
	double delay_s, duration_s; /* 0 = none */
	uint64_t max_bytes;         /* 0 = no limit */
	uint32_t compress_level;    /* zstd, 0 = none */
	uint64_t rate_hz;           /* "-F" in place of a period, 0 = none */
	bool stats;
	/* Bursts a second; 0 = none, -1 = as the source has them, HUGE_VAL = as many as the budget allows. */
	double bursts_hz;
	uint32_t burst_length; /* branches of one, where it is replayed; 0 = default */
	double burst_budget;   /* of the target's time that they may take: 0.02; timed paths as much again */
	/* Timed paths a second, where bursts are taken; 0 = none, HUGE_VAL = as many as the budget allows. */
	double timed_hz;
	int argc; /* the program; 0 = none */
	char **argv;
};

/*
 * Run it.  The program's streams, signals and status pass through.
 *
 * counts       out when opts->counting; init to zero, record_counts_fini it.
 * exit_status  out: the program's, 128 + signal when it was killed.
 * Returns 0 when a recording was made, whatever the program's status.
 */
int record_run(const struct record_opts *opts, struct record_counts *counts, int *exit_status);

/* Where nothing is said: what `skidprof record` begins from. */
struct record_opts record_opts_default(void);

/* What a recording would be made of. */
struct record_plan {
	const char *source; /* the word for --pmu; NULL: none works */
	char events[1024];  /* their names; those that are not sampled are marked so */
	uint32_t n_events;
	bool counts;  /* a processor's counters, or a simulated one's */
	bool records; /* of branches, */
	bool tell_cycles;
	double bursts_hz; /* 0 = none, HUGE_VAL = as many as the budget allows */
};

/*
 * Decide as record_run does, and record nothing.  The source's own words for why not, where it can't; what
 * only a program to run can tell (another machine's) is asked of opts->argv where there is one.
 */
int record_plan(const struct record_opts *opts, struct record_plan *out);

/* "-e help": the names of events to standard output, those that hold `part` where it is not NULL. */
int record_list_events(const char *part);

/*
 * What turns exact counts into a truth file.  main() sets it, because that
 * code needs binaries and debug information, which recording must not.
 */
extern int (*record_write_truth)(const char *path, const struct record_counts *counts, int argc, char **argv);

#endif
