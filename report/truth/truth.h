/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TRUTH_TRUTH_H
#define SKIDPROF_REPORT_TRUTH_TRUTH_H

/*
 * Exact instruction counts: what a corrected profile is held against, and
 * CCTLib's role in [SKID].  Written in callgrind's format, one cost line an
 * instruction ("positions: instr line"), so KCachegrind and
 * callgrind_annotate open ours; read in that and in what other tools write.
 *
 * What a file gives depends on who wrote it: counts by instruction, by
 * function and line, by function alone, or numbers that only the binaries
 * turn into counts of instructions (report/truth/place.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/base/texts.h"

enum truth_texts { TRUTH_OBJECTS, TRUTH_FILES, TRUTH_SYMBOLS, TRUTH_OTHERS, TRUTH_TEXTS };

/* The object that calls what threads begin with. */
#define TRUTH_THREADS "[threads]"

/* Told by nothing: of no object, no file. */
#define TRUTH_NONE UINT32_MAX

struct truth_insn {
	uint32_t object; /* index into objects */
	uint64_t vaddr;
	uint64_t n; /* executions */
	/* Loads, and those that missed a simulated first-level cache: events Dr and D1mr; 0 where not told. */
	uint64_t n_load, n_miss;
};

/* Calls of one function by another: the addresses that they begin at. */
struct truth_call {
	uint32_t from_object, to_object; /* from_object TRUTH_NONE: nobody called, a thread begins there */
	uint64_t from_vaddr, to_vaddr;
	uint64_t n, n_insn; /* instructions with all that was called, once where a function calls itself */
};

struct truth_func { /* where a file counts by function */
	const char *name;
	uint32_t object; /* TRUTH_NONE = not told */
	uint64_t n_insn;
};

struct truth_line {            /* where a file counts by source line */
	uint32_t object, file; /* TRUTH_NONE = not told; index into files */
	uint32_t line;         /* 0 = not known */
	uint64_t n_insn;
};

/* A branch of a native run, places as symbols of the binary that BOLT read.  "" = code it knows nothing of. */
struct truth_branch {
	uint32_t from, to; /* index into symbols */
	uint64_t from_off, to_off;
	uint64_t n;
};

/* Instructions that ran in a row from an address at run time on, in a file that is not told. */
struct truth_run {
	uint64_t ip;
	uint32_t n_insns;
	uint32_t func; /* index into symbols, TRUTH_NONE = not told */
	uint64_t n;    /* executions */
};

struct truth {
	const char **objects;   /* paths */
	const char **build_ids; /* [n_objects] hex text, "" = not recorded */
	size_t n_objects;
	struct truth_insn *insns; /* sorted by (object, vaddr), one each */
	size_t n_insns;
	struct truth_call *calls; /* sorted, one of each kind; none where nothing tells them */
	size_t n_calls;
	struct truth_func *funcs; /* sorted by (name, object), one each */
	size_t n_funcs;
	const char **files;
	size_t n_files;
	struct truth_line
	        *lines; /* sorted by (file, line, object), one each; the same instructions as funcs */
	size_t n_lines;
	const char **symbols;
	size_t n_symbols;
	struct truth_branch *branches;
	size_t n_branches;
	struct truth_run *runs;
	size_t n_runs;
	/* Of what was placed (report/match/place.h): code that the counts say nothing of, sorted. */
	struct truth_gap {
		uint32_t object;
		uint64_t vaddr, end_vaddr;
	} * gaps;
	size_t n_gaps;
	bool of_objects;               /* it counts objects only: other files of the recording are left out */
	const char *creator, *cmdline; /* "" = not said */
	const char *format;            /* what the file was taken for, as words; static */
	bool partial;   /* it lists what ran most often, not all: its counts are lower bounds */
	bool moves_plt; /* it may count PLT stubs at the instructions that call them */
	/* It is of that one alone, threads by callgrind's numbers; 0 = not so. */
	uint32_t process, thread;
	uint64_t total; /* all instructions of insns, or of funcs */
	uint64_t total_load, total_miss;
	/* Owners of all text: that of objects, files, symbols and functions, and the rest. */
	struct texts texts[TRUTH_TEXTS];
	struct truth *placed; /* whose objects and instructions these are */
};

void truth_free(struct truth *t);

/*
 * Read exact counts, in a format that is told by the content: callgrind's
 * (ours; of callgrind itself with and without --dump-instr=yes), cachegrind's,
 * what BOLT's instrumentation writes (fdata), what DrCCTProf's clients and
 * QEMU's plugin hotblocks print, and a table of names and counts.
 *
 * -SP_EFORMAT names file, line and remedy: for what is none of these, and
 * where counts can't be true (above their total, below zero and wrapped round,
 * or not adding up to the sum that the file has).
 */
int truth_read(const char *path, struct truth **out);

#endif
