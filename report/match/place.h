/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_MATCH_PLACE_H
#define SKIDPROF_REPORT_MATCH_PLACE_H

/*
 * Exact counts that only the binaries turn into counts of instructions:
 * branches of a native run, as BOLT's instrumentation counts them, and
 * runs of instructions at addresses of a process that has ended.
 */
#include "report/match/join.h"
#include "report/profile.h"

/* Files of the recording that could be opened, each once. */
struct place_files {
	struct module **v;
	size_t n, cap;
};

/* Add one unless it is there, or can't be read. */
int place_files_add(struct place_files *f, const char *path, const struct module_options *opts);
void place_files_fini(struct place_files *f);

/*
 * Give t counts by instruction where it has branches or runs; nothing is done
 * to another.  -SP_ENOENT where they are of another program.
 */
int match_place(const struct profile *p, struct truth *t, const char *path,
                const struct module_options *opts);

/*
 * Of branches: a block runs as often as it is entered.  BOLT lists every edge
 * of its blocks that was taken, those to the next block too, and every call
 * of a function.  Functions that it did not instrument are gaps.
 */
int place_branches(struct truth *t, const char *path, const struct place_files *files);

/*
 * Of runs: files lie at some multiple of a page.  Of all such places the one
 * is taken at which most runs are runs of the file's code: each begins where an
 * instruction does, and is of the function it names, or, without a name, goes
 * straight on to its last instruction, which is a branch.
 */
int place_runs(struct truth *t, const char *path, const struct place_files *files);

#endif
