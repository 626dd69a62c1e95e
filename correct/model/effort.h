/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_MODEL_EFFORT_H
#define SKIDPROF_CORRECT_MODEL_EFFORT_H

/*
 * Limits of effort: how much time and memory a step may take.  No recording should meet one; what does is thinned evenly, left
 * as it was before the step, or called too large.  They say nothing of counts: the model's constants are in model.def, and how far
 * an iteration converges stands beside it.
 */
enum {
	/* ---- Recordings ---- */
	EFFORT_EVENTS = 64,      /* that are followed: a bit of a word each */
	EFFORT_GAPS = 1 << 22,   /* between samples of an event: 128 MB */
	EFFORT_SKIDS = 1 << 20,  /* overshoots kept: far more than quantiles need */
	EFFORT_FRAMES = 1024,    /* of a call chain */
	EFFORT_PLACED = 1 << 24, /* samples whose blocks are kept */
	EFFORT_WAY = 16,         /* branches of each that say where it came from ... */
	EFFORT_WAYS = 1 << 25,   /* ... and blocks of all of them that are kept */
	EFFORT_STACKS = 200000,  /* of a scope; past it every second one is dropped, again and again */
	EFFORT_PIECES = 1 << 17, /* of stacks, whose way is looked up once: places of a hash table */
	EFFORT_TO_CALL =
	        64, /* instructions from a branch on record to the system call behind it: arguments */
	EFFORT_RECORDS = 20000, /* that callers are learned from: so many say what all do */
	EFFORT_TIME_LINE = 400, /* steps of the page's time line: about what a screen shows */

	/* ---- The code ---- */
	EFFORT_SHORT_PATH = 48,  /* instructions looked back from an indirect jump, at first ... */
	EFFORT_LONG_PATH = 1024, /* ... and then: its table may be set before the loop */
	EFFORT_ENTRIES = 4096,   /* of a jump table with a bound ... */
	EFFORT_UNBOUND = 512,    /* ... and of one without */
	EFFORT_GUESS_ROUNDS = 8, /* explorations, each from what the one before guessed */
	EFFORT_GUESSED = 64,     /* unreached hot functions: of more a guess is worth nothing */
	EFFORT_SWEPT = 1 << 20,  /* instructions decoded in search of where unreached code begins: a second */
	EFFORT_RESOLVER_BYTES = 4096, /* of the code that chooses among a function's versions */
	EFFORT_DOMINATED = 4000,     /* blocks of a function whose dominators are found: the square of time */
	EFFORT_COPIES = 64,          /* copies and sums that a register is followed back over */
	EFFORT_UNWOUND = 20000,      /* bursts whose stacks are unwound: a tenth of a millisecond each */
	EFFORT_JUMPS = 8,            /* that are looked for where a path's return shows no call ... */
	EFFORT_JUMP_FUNCTIONS = 100, /* ... and functions looked at for them */

	/* ---- What is solved together ---- */
	/*
	 * Loops in one another that are opened to see the ones inside: programs of the test sets need five at the most, and
	 * each costs a search of all that leads to heat (an interpreter of JavaScript has 45, and nothing in the end).
	 */
	EFFORT_OPENED = 8,
	EFFORT_NESTED = 6,     /* splits of a scope into parts, and of those */
	EFFORT_PARTS = 64,     /* of a scope: the square of memory */
	EFFORT_CELLS = 512,    /* that a run is cut into for phases: the square of time ... */
	EFFORT_STRETCHES = 64, /* ... and stretches that these are joined to, compared in pairs */
	/*
	 * Edges of a region: beside branch records such of up to EFFORT_SOLVED_EDGES that carry flow are solved.  Nearly all
	 * do; of four times as many never so few.
	 */
	EFFORT_EDGES = 40000,

	/* ---- Solving ---- */
	EFFORT_JOINED = 250, /* free flows of two estimates that are joined: eigenvalues take seconds */
	EFFORT_MOVED = 600,  /* blocks whose covariance by what edges move is factored: a tenth of a second */
	EFFORT_ADMIT_ROUNDS = 6,   /* of raising noise until terms agree */
	EFFORT_ALL_DRAWS = 200,    /* free flows up to which there are as many draws as asked for, and ... */
	EFFORT_LARGE_DRAWS = 400,  /* ... of which there are so many past that: each costs their square */
	EFFORT_MOMENT_ROUNDS = 40, /* of expectation propagation, in the time of some 10^9 steps ... */
	EFFORT_LEAST_ROUNDS = 10,  /* ... no fewer than that */
	/*
	 * What callees take together, where many run on into one another's code (by jumps, as an interpreter's do): each has its
	 * own way through all of it.  Regions of cc1, node and python3 that could be solved took up to 470,000; the interpreter's
	 * loop with all that it might call took 55 million, a gigabyte and ten seconds, and was refused for its size afterwards.
	 */
	EFFORT_CALLEE_STEPS = 4000000,
	/*
	 * Free flows and edges that carry any that a region may have, and all its edges times those flows: 160 MB.  With
	 * stacks there are as many equations as flows.
	 */
	EFFORT_FREE = 1300,
	EFFORT_FREE_STACKS = 800,
	EFFORT_FREE_EDGES = 20000000,
	EFFORT_SOLVED_EDGES = 10000,
	EFFORT_WORKERS = 64,        /* threads */
	EFFORT_MOMENTS = 1000,      /* stacks of a scope that tell what else ran where a block did (eq. 19) */
	EFFORT_TOLD = 400,          /* timed paths that tell their paces */
	EFFORT_PACES = 300,         /* draws of a scope's pace */
	EFFORT_AVERAGE_DRAWS = 300, /* of averages along stacks */
	/* Draws a region: as many as its scope with the most has, of all its blocks no more cells than 32 MB hold. */
	EFFORT_DRAWS = 1200,
	EFFORT_LEAST_DRAWS = 200,
	EFFORT_DRAW_CELLS = 8 << 20,
	EFFORT_TERMS = 32,         /* totals that a sum is looked for in: each more has a noise of its own */
	EFFORT_SPREAD_ROUNDS = 10, /* of adding up calls and their noise along chains of them */
};

#endif
