/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_WIRE_H
#define SKIDPROF_SIM_WIRE_H

/*
 * What the plugin in the emulator (profiler/sim) and the recorder
 * (profiler/pmu/simulated.c) say to each other, over one AF_UNIX
 * SOCK_SEQPACKET socket that forked children inherit: a message is one
 * packet, whole or not at all, so processes and threads never interleave.
 * Both ends are of one build on one machine: native layout, version checked.
 *
 * The plugin gets the socket's descriptor as its argument "fd=N".  It is open
 * at the first exec; the plugin marks it close-on-exec, so that programs the
 * target starts don't hold it.
 *
 * Order: the recorder sends WIRE_CONFIG; every process sends WIRE_HELLO
 * before anything else, its maps before samples in them, WIRE_COUNTS (when
 * counting) and WIRE_BYE at its end.  Counts of a process add up over all its
 * messages; of a thread's totals the last hold: before exec and before a
 * signal of its own that kills it, a process sends what it has so far.  One
 * killed by a fault or from outside ends without a word: its samples are
 * there, its counts since the last message are lost.  Whatever is written to a recorder that
 * has gone is dropped, and the program runs on.
 */
#include <stdint.h>

enum {
	WIRE_VERSION = 4,
	WIRE_MAX_BYTES = 65536,
	WIRE_MAX_EVENTS = 48,
	WIRE_MAX_BRANCHES = 64,   /* of a branch record */
	WIRE_BURST_BRANCHES = 160 /* of a burst, as profiler/pmu/bursts.c takes them */
};

/* Where the kernel's code is thought to lie: a place for each system call. */
#define WIRE_KERNEL_IP UINT64_C(0xffffffff81000000)
enum { WIRE_KERNEL_CALL_BYTES = 1 << 12, WIRE_KERNEL_CALLS = 1 << 10 };

enum wire_kind {
	WIRE_CONFIG = 1, /* recorder -> plugin: struct wire_config, then text */
	WIRE_HELLO,      /* a process begins (program start or fork child) */
	WIRE_MAP,        /* an executable file mapping appeared */
	WIRE_COMM,       /* a thread's name: at start, after exec, prctl */
	WIRE_TASK,       /* clone or fork: pid/tid are the new one's, ppid/ptid the parent's; a child
	                  * of fork sends HELLO, then TASK, and inherits name and maps without a word */
	WIRE_EXIT,       /* a thread ended */
	WIRE_EXEC,       /* a process calls execve and is lost to us: path follows */
	WIRE_SAMPLE,     /* struct wire_sample */
	WIRE_COUNTS,     /* exact counts per instruction: struct wire_count[n] */
	WIRE_TOTALS,     /* a thread's final counter values: u64[n_events] */
	WIRE_BYE,        /* a process ends in order */
	WIRE_WARN,       /* text for the user */
	WIRE_THROTTLE,   /* struct wire_throttle: an event that came too often stands still, or goes on */
};

/* Which taken branches a branch record takes: bits of struct wire_config.branch_filter. */
enum wire_filter {
	WIRE_ONLY_COND = 1 << 0,
	WIRE_ONLY_JUMP = 1 << 1,
	WIRE_ONLY_INDIRECT_JUMP = 1 << 2,
	WIRE_ONLY_CALL = 1 << 3,
	WIRE_ONLY_INDIRECT_CALL = 1 << 4,
	WIRE_ONLY_RETURN = 1 << 5,
	WIRE_CALL_STACK = 1 << 6, /* calls that have not returned; alone */
};

struct wire_head {
	uint32_t kind;
	uint32_t bytes; /* whole message, this head included */
	uint32_t pid, tid;
	uint64_t time_ns; /* simulated time; never goes back within a process tree */
};

/* A counter of the group. */
struct wire_event {
	uint32_t event;     /* enum sim_event (profiler/sim/events.h) */
	uint32_t set;       /* which set it is of, from 0 */
	uint64_t period;    /* 0: only counts */
	uint64_t more_sets; /* which it is of beside that one: bit by set */
	uint32_t kernel;    /* 1: it counts in the kernel as well */
	uint32_t precise;   /* as precise_ip: 0 to 3 */
	uint32_t rate_hz;   /* the period is changed so that it comes that often; 0: it stays */
	uint32_t pad;
};

/* Followed by `text_bytes` of "key value\n" lines: the core file, whole. */
struct wire_config {
	struct wire_head head;
	uint32_t version;
	uint32_t timing;   /* 0: count only (truth) */
	uint32_t counting; /* 1: send exact counts at the end */
	uint32_t branches; /* depth of the branch stack in samples, 0 = none */
	uint64_t seed;
	uint32_t n_events; /* all sets together */
	uint32_t text_bytes;
	uint32_t n_sets;        /* one of them counts at a time ... */
	uint32_t branch_filter; /* of enum wire_filter; 0: all taken branches */
	uint64_t rotate_ns;     /* ... for about so long */
	uint64_t burst_ns;      /* between a thread's bursts, on average; 0: none are taken */
	uint32_t no_values;     /* 1: samples carry none */
	uint32_t max_rate_hz;   /* an event that comes more often is throttled; 0: none is */
	struct wire_event event[WIRE_MAX_EVENTS];
};

struct wire_map {
	struct wire_head head;
	uint64_t ip, len_bytes, pgoff_bytes;
	uint32_t prot, flags;
	char path[]; /* NUL-terminated */
};

struct wire_task {
	struct wire_head head;
	uint32_t ppid, ptid;
};

struct wire_text { /* COMM, EXEC, WARN */
	struct wire_head head;
	char text[]; /* NUL-terminated */
};

struct wire_branch {
	uint64_t from_ip, to_ip;
	uint32_t mispredicted, cycles; /* cycles since the branch before it, 0 = unknown */
};

/* Followed by n_values u64 (its set's counters at the interrupt), then n_branches wire_branch, newest first. */
struct wire_sample {
	struct wire_head head;
	uint64_t ip;         /* oldest instruction not yet retired */
	uint64_t enabled_ns; /* since this thread's counters began */
	uint64_t running_ns; /* of that, how long its set has counted */
	uint64_t period;     /* of its event as it was when the overflow came; 0: a burst */
	uint32_t event;      /* index into the group: whose overflow; n_events: a burst, without values */
	uint32_t n_values, n_branches, pad;
};

struct wire_throttle {
	struct wire_head head;
	uint32_t event, on; /* on: it stands still from now */
};

struct wire_count {
	uint64_t ip;
	uint64_t n_insn; /* times this instruction ran */
	uint64_t n_load; /* of them as a load */
	uint64_t n_miss; /* loads that missed the first-level cache; 0 where none is simulated */
};

struct wire_counts {
	struct wire_head head;
	uint32_t n, last; /* last: no more follow from this process */
	struct wire_count count[];
};

#endif
