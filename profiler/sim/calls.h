/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_CALLS_H
#define SKIDPROF_SIM_CALLS_H

/*
 * Who called whom, and what a call came to: a stack of functions beside each thread's own.  A call puts a function on it, and
 * the return to behind that call takes it off.  A jump to where another function begins is a call that does not come back: that
 * function goes when the one below it does.  Where a stub jumps to a function begins, with a symbol or, in a stripped library,
 * without.  What a thread's first function jumps to begins anew.  A return or a jump into the midst of a function that is on the
 * stack ends all above it: an exception, longjmp().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "profiler/sim/branch.h"

/* The place where a thread begins has no function: such calls are made by this one. */
#define CALLS_NOBODY 0

/* Where a piece of code belongs. */
struct calls_place {
	uint32_t func;   /* numbered from 1; CALLS_NOBODY: no symbol tells */
	uint32_t called; /* the function that a call of its address calls */
	bool enters;     /* it is where func begins */
	bool stub;       /* the linker's, which jumps to func's namesake elsewhere */
	bool looks_up; /* no function: what such jump through to the dynamic linker, which looks that one up */
	bool switches; /* which goes on with another stack (symbols.h) */
};

struct calls_frame {
	uint64_t return_ip; /* behind the call; 0: jumped to, or a thread began; 1: a signal's handler */
	uint64_t since;     /* the thread's instructions when it was entered */
	uint32_t func;
};

struct calls_arc {
	uint32_t caller, callee;
	uint64_t n;
	uint64_t
	        n_insn; /* with all that it called, of calls that were not made below another of the same function */
};

struct calls {
	uint64_t n_insn; /* of the thread; the caller adds to it before each step */
	VEC(struct calls_frame) frames;
	VEC(uint32_t) active; /* frames, by function */
	struct pairs index;   /* (caller, callee) */
	VEC(struct calls_arc) arcs;
	uint64_t n_returns, n_lost; /* lost: to where nothing on the stack has called from */
	uint64_t n_switches;        /* of stacks: arcs are as if all ran on one */
	bool from_stub, from_entry; /* the last place is a stub; is where stubs jump to the dynamic linker */
	size_t looking_up; /* frames at which that one looks a function up, and jumps to it then; 0: it does not */
	bool failed;       /* no memory, or a stack without an end */
};

/*
 * A block that ended in `exit` was left for code at next_ip, whose place is `to`.
 * behind  the address behind that block: where a call of it returns to.
 */
void calls_step(struct calls *c, enum sim_exit exit, uint64_t behind, uint64_t next_ip,
                const struct calls_place *to);

/* A signal came, and its handler begins at `to`: when that returns what it interrupted goes on. */
void calls_signal(struct calls *c, const struct calls_place *to);

/* The thread ends: so do all calls.  Their arcs stay for the caller to take. */
void calls_end(struct calls *c);

/* A child of fork: what has been called before is its parent's, and it goes on below the same functions. */
void calls_restart(struct calls *c);

/* Nothing has been called. */
void calls_forget(struct calls *c);

void calls_fini(struct calls *c);

#endif
