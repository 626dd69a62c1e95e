/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of exact counts, of every tool; and what becomes of them beside a
 * profile whose one file is a small program.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/log.h"
#include "report/match/names.h"
#include "report/match/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sorted, within bounds, and adding up. */
static void check(const struct truth *t)
{
	uint64_t sum = 0, lines = 0;

	for (size_t i = 0; i < t->n_insns; i++) {
		sum += t->insns[i].n;
		if (t->insns[i].object >= t->n_objects)
			abort();
		if (i && t->insns[i].object == t->insns[i - 1].object &&
		    t->insns[i].vaddr <= t->insns[i - 1].vaddr)
			abort();
	}
	for (size_t i = 0; i < t->n_funcs; i++) {
		sum += t->funcs[i].n_insn;
		if (t->funcs[i].object != TRUTH_NONE && t->funcs[i].object >= t->n_objects)
			abort();
	}
	for (size_t i = 0; i < t->n_lines; i++) {
		lines += t->lines[i].n_insn;
		if (t->lines[i].file >= t->n_files)
			abort();
	}
	for (size_t i = 0; i < t->n_branches; i++)
		if (t->branches[i].from >= t->n_symbols || t->branches[i].to >= t->n_symbols)
			abort();
	for (size_t i = 0; i < t->n_runs; i++)
		if (t->runs[i].func != TRUTH_NONE && t->runs[i].func >= t->n_symbols)
			abort();
	if (sum != t->total || sum > INT64_MAX || (t->n_lines && lines != t->total))
		abort();
}

/* A profile of one file without samples: a seed of another target, by its path in the tree. */
static void join(struct truth *t)
{
	static const struct module_options opts = { .no_debuginfod = true };
	struct profile *p = calloc(1, sizeof(*p));
	struct truth_join j;
	struct names_join n;

	if (!p || !(p->mapped = calloc(1, sizeof(*p->mapped))))
		abort();
	p->mapped[p->n_mapped++] =
	        (struct profile_mapped){ "tests/fuzz/corpus/fuzz_elf/x86_64-pie-dwarf5", "", -1 };
	if (match_place(p, t, "t", &opts) == 0) {
		check(t);
		if (t->n_insns && match_join(p, t, "t", &opts, &j) == 0)
			match_join_fini(&j);
		if (t->n_funcs && match_names(p, t, "t", &opts, &n) == 0)
			match_names_fini(&n);
	}
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct truth *t = NULL;

	sp_log_level_set(-1);
	if (fd < 0) {
		fd = memfd_create("truth", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (truth_read(path, &t) == 0) {
		check(t);
		join(t);
		truth_free(t);
	}
	return 0;
}
