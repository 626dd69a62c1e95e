/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_TOOL_H
#define SKIDPROF_REPORT_LIFT_TOOL_H

/*
 * What predicts how many cycles a piece of straight code takes.  A tool is
 * one file with one ops table and one row in tools.c; a program from outside
 * is a description file (skidprof-lift(1)) that external.c follows.
 *
 * A tool says of a block how many cycles one execution of it takes in the
 * steady state, or in words why it can't.  One that follows a whole kernel
 * instead says how many cycles all its executions in the run took together.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/binary/insn.h"

struct lift;
struct lift_kernel;

enum { TOOL_WHY_MAX = 160, TOOL_NAME_MAX = 64, TOOL_VERSION_MAX = 96 };

struct tool_block {
	const uint8_t *bytes; /* borrowed */
	size_t n_bytes;
	uint64_t vaddr; /* as linked */
	enum insn_isa isa;
	/* About how often it runs in succession before something else does, 1 and more; 0 = not known. */
	uint32_t turns;
};

struct tool_prediction {
	double cyc; /* NAN: it failed */
	char why[TOOL_WHY_MAX];
};

/* What the code runs on. */
struct tool_target {
	enum insn_isa isa;
	const char *cpu;  /* LLVM's name ("znver5"); "" = unknown */
	const char *core; /* of the simulator: a name or a path; NULL = by the cpu */
	bool this_machine;
};

struct tool {
	const struct tool_ops *ops;
	char name[TOOL_NAME_MAX];
	/* All its predictions depend on beside the bytes, for the cache: program, its version, the core. */
	char version[TOOL_VERSION_MAX];
	const struct tool_target *target;
	const char *path; /* of a description file; NULL for tools of our own */
	void *state;      /* the tool's own */
};

struct tool_ops {
	const char *name, *summary;
	/*
	 * Can it work here?  Fills in version and state.  -SP_ENOTSUP, worded, if
	 * it can't: such a tool is left out unless it was asked for by name.
	 */
	int (*open)(struct tool *t);
	void (*close)(struct tool *t); /* may be NULL */
	/* Called from several threads at a time.  Failing is in the prediction.  NULL: only whole kernels. */
	void (*predict)(const struct tool *t, const struct tool_block *b, struct tool_prediction *out);
	/* Cycles of a whole kernel, all its executions together.  NULL for a tool that predicts blocks. */
	void (*kernel)(const struct tool *t, const struct lift *l, const struct lift_kernel *k,
	               struct tool_prediction *out);
	bool by_turns;   /* how often a block runs in succession counts */
	bool by_address; /* the address of a block counts, not only its bytes */
	bool by_machine; /* it measures: not run on two cores at once, and its predictions are not kept on disk */
};

extern const struct tool_ops tool_mca, tool_native, tool_native_splits, tool_sim, tool_sim_run, tool_external;

/*
 * The tools of those names, in that order: names of our own tools, of shipped
 * description files ("osaca"), or paths of others (with a '/').  Without
 * names all that can work here.
 *
 * *out  malloc'd, tools_close it.  target is borrowed till then.
 */
int tools_open(const char *const *names, size_t n, const struct tool_target *target, struct tool **out,
               size_t *n_out);
void tools_close(struct tool *tools, size_t n);

/* A tool's own words for a failure. */
void tool_failed(struct tool_prediction *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
