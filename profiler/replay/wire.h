/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_WIRE_H
#define SKIDPROF_REPLAY_WIRE_H

/*
 * What the recorder and skidreplay, the program that replays, share: one piece
 * of memory, and a socket (skidreplay's standard input) by which each tells
 * the other that its turn has come.  Before the first turn of a program's
 * comes a descriptor of its /proc/PID/mem, the memory to read from then on.
 * Both are of one build; neither believes the other's numbers to be in range.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	RP_PAGE = 4096,
	RP_N_FRAMES = 32768, /* copies of pages that one replay may need: a long one of scattered memory */
	RP_OFTEN_FRAMES =
	        768, /* ... and hardly one does: 1,000 branches of a linked list of 400 MB take 500 */
	RP_MAX_BRANCHES = 2048, /* of one replay */
	RP_MAX_MARKS = 8,
	RP_MARK_STACK = 512, /* bytes */
	RP_MAX_RUNS = 32768,
	RP_MAX_FRESH = 256,
};

#if defined(__x86_64__)

/* The kernel's NT_X86_XSTATE, whatever the processor has. */
enum { RP_VECTORS_BYTES = 16384 };

/* As they are encoded: 0 rax, 1 rcx, ... 15 r15. */
enum { RP_RAX, RP_RCX, RP_RDX, RP_RBX, RP_RSP, RP_RBP, RP_RSI, RP_RDI, RP_N_GPRS = 16 };

struct rp_registers {
	uint64_t gpr[RP_N_GPRS];
	uint64_t ip, flags, fs_base, gs_base;
};

#define RP_STACK(regs) ((regs)->gpr[RP_RSP])

/* Counts at an even rate, the same in all processes. */
static inline uint64_t rp_clock(void)
{
	return __builtin_ia32_rdtsc();
}

#else

/* aarch64: its NT_PRFPREG; x0 to x30, and what pstate has. */
enum { RP_VECTORS_BYTES = 528, RP_N_GPRS = 31 };

struct rp_registers {
	uint64_t gpr[RP_N_GPRS];
	uint64_t sp, ip, flags, thread;
};

#define RP_STACK(regs) ((regs)->sp)

static inline uint64_t rp_clock(void)
{
	uint64_t count = 0;

#if defined(__aarch64__)
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
#endif
	return count;
}

#endif

enum rp_end {
	RP_END_WHOLE,   /* as many branches or instructions as wanted */
	RP_END_TIME,    /* it would have taken longer than it may */
	RP_END_SYSCALL, /* the program would call the system */
	RP_END_TRAP,    /* int3, ud2, hlt and the like: a signal would come */
	RP_END_FAULT,   /* memory that can't be read, a division by zero, a misaligned vector */
	RP_END_VSYSCALL,
	RP_END_GONE,         /* there is no memory to read: the process has ended, or runs another program */
	RP_END_CODE_WRITTEN, /* code that had been run was overwritten */
	RP_END_PAGES,        /* it touches more than RP_N_FRAMES */
	RP_END_FAR,          /* a far branch, a segment register */
	RP_END_TRANSACTION,
	RP_END_SHADOW_STACK,
	RP_END_KEYS,        /* protection keys */
	RP_END_SVE,         /* scalable vectors */
	RP_END_SME,         /* matrices */
	RP_END_TAGS,        /* memory tags */
	RP_END_TILES,       /* AMX */
	RP_END_HALF,        /* vectors of numbers of 16 bits (AVX512-FP16) */
	RP_END_MUCH_CODE,   /* more of it than can be counted between marks */
	RP_END_ALIAS,       /* memory that is mapped twice was written at one place, and used at the other */
	RP_END_INSTRUCTION, /* one that is not known here; at_ip says where */
	RP_N_ENDS,
};

/* Would the thread itself go no further without the kernel, or is it the replayer that can't? */
static inline bool rp_end_is_ours(uint32_t end)
{
	return end >= RP_END_CODE_WRITTEN;
}

enum {
	RP_WANT_STATE = 1,      /* registers and vectors at the end are wanted */
	RP_SHADOW_STACK_ON = 2, /* the thread has one */
	/*
	 * Past the marks, n_insns at most, at full speed: what ran between two of them is told, and no branches.
	 */
	RP_TO_MARKS = 4,
	/* Then as far past them as a thread may have gone in their time, to see whether they are met once more. */
	RP_PAST_MARKS = 8,
};

/*
 * Pages that the kernel shares with all programs and no other may read: what clock_gettime() reads.
 * They are the same here.
 */
enum rp_clock_page { RP_VVAR, RP_VVAR_VCLOCK, RP_N_CLOCK_PAGES };

struct rp_range {
	uint64_t begin, end; /* 0, 0 = none */
};

static inline int rp_clock_page_named(const char *name)
{
	return strcmp(name, "[vvar]") == 0          ? RP_VVAR
	       : strcmp(name, "[vvar_vclock]") == 0 ? RP_VVAR_VCLOCK
	                                            : -1;
}

struct rp_branch {
	uint64_t from_ip, to_ip;
};

/* Straight on from an address to another one, which belongs to it still. */
struct rp_straight {
	uint64_t from_ip, to_ip;
	uint64_t n;       /* so often */
	uint64_t n_insns; /* of all of them */
};

/* What is known of a thread at a moment when it ran: its general registers, and what stood at its stack pointer. */
struct rp_mark {
	struct rp_registers regs;
	uint32_t n_stack;
	uint8_t stack[RP_MARK_STACK];
};

struct rp_request {
	uint32_t flags;
	uint32_t n_branches; /* wanted; at most RP_MAX_BRANCHES */
	uint64_t
	        n_insns; /* so many exactly, at one to a block (slow), but for RP_TO_MARKS; 0 = by branches */
	uint64_t deadline;  /* rp_clock()'s */
	uint32_t n_fetched; /* pages that lie in frames 0.. already */
	uint64_t fetched[RP_N_FRAMES];
	struct rp_range clock_pages[RP_N_CLOCK_PAGES];
	/* Where pages that were not fetched were zero: they may have been written since. */
	uint32_t n_fresh;
	struct rp_range fresh[RP_MAX_FRESH];
	uint32_t n_marks,
	        n_passed; /* where the thread came to on its way, in this order; what ran is told behind some of them */
	struct rp_mark marks[RP_MAX_MARKS];
	struct rp_registers regs;
	uint8_t vectors[RP_VECTORS_BYTES] __attribute__((aligned(64)));
};

struct rp_reply {
	uint32_t end;        /* enum rp_end */
	uint32_t n_branches; /* those noted: of RP_TO_MARKS none */
	uint64_t n_insns;
	uint64_t at_ip;                  /* where it ended */
	uint64_t fault_at;               /* the address, of RP_END_FAULT */
	uint32_t n_missed;               /* pages that were read one at a time */
	uint32_t n_translated, n_blocks; /* blocks translated, run */
	uint32_t n_pages;
	uint64_t pages[RP_N_FRAMES];  /* that were touched */
	uint16_t frames[RP_N_FRAMES]; /* where each lies */
	bool written[RP_N_FRAMES], run[RP_N_FRAMES];
	uint16_t used_after[RP_N_FRAMES], written_after[RP_N_FRAMES]; /* branches, for the first time */
	struct rp_registers regs;
	uint8_t vectors[RP_VECTORS_BYTES] __attribute__((aligned(64)));
	struct rp_branch branches[RP_MAX_BRANCHES];
	/* Instructions from the beginning to each mark, and how often it was met up to the end. */
	uint64_t mark_insns[RP_MAX_MARKS];
	uint32_t mark_met[RP_MAX_MARKS];
	/*
	 * The first two, of those behind the first n_passed, that were met once up to as far past them as the thread may have gone;
	 * to_mark 0: there are none.
	 */
	uint32_t from_mark, to_mark;
	/* What ran from the one to the other. */
	uint32_t n_runs;
	struct rp_straight runs[RP_MAX_RUNS];
};

static inline bool rp_is_within(const struct rp_range *ranges, size_t n, uint64_t page)
{
	for (size_t i = 0; i < n; i++)
		if (page >= ranges[i].begin && page < ranges[i].end)
			return true;
	return false;
}

/* Was one of n marks that what ran could be told from met twice? */
static inline bool rp_came_again(const struct rp_reply *reply, uint32_t n_passed, uint32_t n)
{
	for (uint32_t k = n_passed; k < n; k++)
		if (reply->mark_met[k] > 1)
			return true;
	return false;
}

struct rp_shared {
	struct rp_request request;
	struct rp_reply reply;
	uint8_t frames[RP_N_FRAMES][RP_PAGE] __attribute__((aligned(4096)));
};

#endif
