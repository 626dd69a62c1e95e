/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_SANDBOX_LAYOUT_H
#define SKIDPROF_REPORT_LIFT_SANDBOX_LAYOUT_H

/*
 * Where things are in the process that runs a block, and what it shares with
 * the server that forked it.  All at fixed addresses that nothing else is
 * given: the code emitted names them.
 */
#include <stdint.h>

#include "report/lift/sandbox/wire.h"

#define AREA_CTL  0x100000000000u /* struct control, shared */
#define AREA_CODE 0x100001000000u /* three runs, CODE_BYTES each: shorter, longer, watched; shared */
#define AREA_RIP  0x100004000000u /* what the block's rip-relative operands name; mapped when touched */

enum {
	PAGE = 4096,
	CODE_BYTES = 1 << 19,
	N_GPRS = 16,
	N_VECTORS = 32,
	MAX_PAGES = 96,
	/* As many pages of their own fit in the first-level cache, whatever its ways; more share these. */
	MAX_FRAMES = 7,
	MAX_SEEN = 4096,
	N_ROUNDS = 15,
	CHAIN_TURNS = 400, /* of the shorter chain; the longer one has twice as many */
	CHAIN_ADDS = 25,   /* in a turn */
};

enum run { RUN_SHORTER, RUN_LONGER, RUN_WATCHED, N_RUNS };

enum stage { STAGE_SETUP, STAGE_RUN, STAGE_DONE };

/* Ticks of both runs, and of two chains of dependent additions. */
struct round {
	uint64_t one, two, chain_one, chain_two;
};

struct control {
	/* Read and written by the emitted code. */
	uint64_t gpr[N_GPRS];
	uint64_t counter, saved_rsp, saved_rax;
	uint32_t mxcsr, saved_mxcsr;
	uint64_t saved_fcw;
	uint8_t vectors[N_VECTORS][64] __attribute__((aligned(64)));
	/* Written by the child, believed as far as it can be. */
	uint32_t stage; /* enum stage */
	int32_t signal, code;
	uint64_t addr, rip;
	uint32_t turns; /* of a timed run */
	struct round rounds[N_ROUNDS];
	uint64_t seen[MAX_SEEN]; /* addresses, by the watched run: [n_watched][n_accesses] */
};

#define CONTROL ((volatile struct control *)AREA_CTL)

/* The addresses that a block is given when it touches them: not page zero, not the kernel's. */
enum { LOWEST_PAGE = 1 << 16 };
#define HIGHEST_PAGE 0x7ffffffe0000u

/* What loads find, in the order tried. */
enum fill {
	FILL_RANDOM,   /* bytes: an index from them reaches many places of a table */
	FILL_NUMBERS,  /* two floats of 1, which are a double as well */
	FILL_POINTERS, /* the address of a place that is mapped when touched */
	N_FILLS,
};

/* One try at a block: how it is laid out, what it finds. */
struct attempt {
	const struct block_request *block;
	uint32_t n_copies; /* in the shorter run; twice as many in the others */
	uint32_t n_pages;
	uint64_t pages[MAX_PAGES];
	enum fill fill;
	int small_rdx; /* 0: a division of rdx:rax fits */
	int frames_fd; /* the memory behind the pages */
	uint32_t n_frames;
	uint32_t n_watched;  /* out of emit_runs: copies in the watched run */
	uint32_t n_unsteady; /* measures that were: the next takes longer */
};

/* Fill in the runs and the control block's registers.  0, or -1 when it doesn't fit. */
int emit_runs(struct attempt *a);

/* The child: never returns. */
void child_run(const struct attempt *a) __attribute__((noreturn));

/* Cycles and spread of an execution, and whether it is steady. */
void conclude_times(const struct control *c, uint32_t n_copies, struct block_reply *out);
/* Accesses across the end of a cache line. */
void conclude_splits(const struct control *c, const struct attempt *a, struct block_reply *out);

#endif
