/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_TRUTH_TRUTH_H
#define SKIDPROF_CORRECT_TRUTH_TRUTH_H

/*
 * Exact instruction counts: what a corrected profile is held against, and
 * CCTLib's role in [SKID].  Written and read in callgrind's format, one cost line an
 * instruction ("positions: instr line"), so KCachegrind and
 * callgrind_annotate open ours and we read callgrind's --dump-instr=yes.
 */
#include <stddef.h>
#include <stdint.h>

struct truth_insn {
	uint32_t object; /* index into objects */
	uint64_t vaddr;
	uint64_t n; /* executions */
	/* Loads, and those that missed a simulated first-level cache: events Dr and D1mr; 0 where not told. */
	uint64_t n_load, n_miss;
};

struct truth_func { /* only where a file gives no instructions: counts by name (CCTLib, DrCCTProf) */
	char *name;
	uint64_t n_insn;
};

struct truth {
	char **objects;   /* paths */
	char **build_ids; /* [n_objects] hex text, "" = not recorded */
	size_t n_objects;
	struct truth_insn *insns; /* sorted by (object, vaddr), one each */
	size_t n_insns;
	struct truth_func *funcs;
	size_t n_funcs;
	char *creator, *cmdline; /* "" = not said */
	uint64_t total;          /* all instructions */
	uint64_t total_load, total_miss;
};

void truth_free(struct truth *t);

/*
 * Read callgrind's or our own format, or the textual instruction counts of
 * CCTLib / DrCCTProf clients; told by content.  -SP_EFORMAT names file,
 * line and remedy (callgrind without --dump-instr=yes has no instructions).
 */
int truth_read(const char *path, struct truth **out);

/*
 * Write t in callgrind's format with function, file and inlined file (fi=,
 * fe=) and line of every instruction, taken from the objects themselves.
 * Written beside path and renamed: an existing file is lost only to a whole new one.
 */
int truth_write(const char *path, const struct truth *t);

#endif
