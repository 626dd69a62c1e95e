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
 * at the first exec; the plugin marks it close-on-exec.
 *
 * Order: the recorder sends WIRE_CONFIG; every process sends WIRE_HELLO
 * before anything else, its maps before samples in them, and WIRE_BYE at its
 * end.  Exact counts are in memory shared with the recorder, whose descriptor
 * comes with WIRE_HELLO (counts.h): they are whole however a process ends.  Of
 * a thread's totals the last hold: before exec and before a signal of its own
 * that kills it, a process sends what it has so far.  One killed by a fault or
 * from outside ends without a word; its samples are there.
 *
 * A program begun by exec is run by an emulator of its own where it can be:
 * the plugin then puts that in the program's place, with the arguments "fd=N"
 * and "config=M", a descriptor to read WIRE_CONFIG from, whose time_ns is the
 * clock to go on from, and then what its counters go on from (struct
 * sim_pmu_state); its WIRE_HELLO says by_exec.  Where it can't be,
 * WIRE_EXEC says what was lost.
 *
 * Whatever is written to a recorder that has gone is dropped, and the program
 * runs on.
 */
#include <stdint.h>

enum {
	WIRE_VERSION = 7,
	WIRE_MAX_BYTES = 65536,
	WIRE_MAX_EVENTS = 48,
	WIRE_MAX_KINDS = 2,     /* of cores in one processor */
	WIRE_MAX_BRANCHES = 64, /* of a branch record */
	WIRE_MAX_BURST = 2000,  /* of a burst */
	WIRE_MAX_CHAIN = 512,   /* calls not back at its beginning; of more the innermost */
};

/* Where the kernel's code is thought to lie: a place for each system call. */
#define WIRE_KERNEL_IP UINT64_C(0xffffffff81000000)
enum { WIRE_KERNEL_CALL_BYTES = 1 << 12, WIRE_KERNEL_CALLS = 1 << 10 };

enum wire_kind {
	WIRE_CONFIG = 1, /* recorder -> plugin: struct wire_config, then text */
	WIRE_HELLO,      /* struct wire_hello: a process begins (program start, fork child, exec) */
	WIRE_MAP,        /* an executable file mapping appeared */
	WIRE_COMM,       /* a thread's name: at start, after exec, prctl */
	WIRE_TASK,       /* clone or fork: pid/tid are the new one's, ppid/ptid the parent's; a child
	                  * of fork sends HELLO, then TASK, and inherits name and maps without a word */
	WIRE_EXIT,       /* a thread ended */
	WIRE_EXEC,     /* a process calls execve and is lost to us: path and, behind a line end, why follow */
	WIRE_SAMPLE,   /* struct wire_sample */
	WIRE_TOTALS,   /* a thread's final counter values: u64[n_events] */
	WIRE_BYE,      /* a process ends in order */
	WIRE_WARN,     /* text for the user */
	WIRE_THROTTLE, /* struct wire_throttle: an event that came too often stands still, or goes on */
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
	uint32_t set;       /* which set of its kind it is of, from 0 */
	uint64_t period;    /* 0: only counts */
	uint64_t more_sets; /* which it is of beside that one: bit by set */
	uint32_t kernel;    /* 1: it counts in the kernel as well */
	uint32_t precise;   /* as precise_ip: 0 to 3 */
	uint32_t rate_hz;   /* the period is changed so that it comes that often; 0: it stays */
	uint32_t pad;
};

/* A kind of core, which has a PMU of its own. */
struct wire_core {
	uint32_t n_events, n_sets; /* one set counts at a time */
	uint32_t text_bytes, pad;
};

/* Followed by the kinds' core files, each text_bytes of "key value\n" lines, whole. */
struct wire_config {
	struct wire_head head;
	uint32_t version;
	uint32_t timing;   /* 0: count only (truth) */
	uint32_t counting; /* 1: count every instruction (counts.h) */
	uint32_t branches; /* depth of the branch stack in samples, 0 = none */
	uint64_t seed;
	uint32_t n_events;      /* of all kinds and sets together, kind by kind */
	uint32_t branch_filter; /* of enum wire_filter; 0: all taken branches */
	uint32_t n_kinds;
	uint32_t calls; /* 1: and who called, of what is counted */
	struct wire_core kind[WIRE_MAX_KINDS];
	uint64_t stay_ns;              /* on one kind of core, about, before a thread is moved to the other */
	uint64_t rotate_ns;            /* a set's turn, about */
	uint64_t burst_ns;             /* between a thread's bursts, on average; 0: none are taken */
	uint32_t burst_branches, pad2; /* of one */
	uint32_t no_values;            /* 1: samples carry none */
	uint32_t max_rate_hz;          /* an event that comes more often is throttled; 0: none is */
	struct wire_event event[WIRE_MAX_EVENTS];
};

struct wire_hello {
	struct wire_head head;
	uint32_t by_exec; /* 1: in the place of the program that process had */
	uint32_t fresh,
	        pad[2]; /* 1: its counters begin anew, as it wasn't the first thread that called exec */
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

/* Followed by n_values u64 (its set's counters at the interrupt), then n_branches wire_branch, newest first, then n_chain u64, innermost first. */
struct wire_sample {
	struct wire_head head;
	uint64_t ip;         /* oldest instruction not yet retired */
	uint64_t enabled_ns; /* since this thread's counters began */
	uint64_t running_ns; /* of that, how long its set has counted */
	uint64_t period;     /* of its event as it was when the overflow came; 0: a burst */
	uint32_t event;      /* index into the group: whose overflow; n_events: a burst, without values */
	uint32_t n_values, n_branches, n_chain;
};

struct wire_throttle {
	struct wire_head head;
	uint32_t event, on; /* on: it stands still from now */
};

#endif
