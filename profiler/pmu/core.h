/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_CORE_H
#define SKIDPROF_PMU_CORE_H

/*
 * A core file as the recorder needs it: its text, for the plugin, and what
 * the core can count.  A file whose first words are "like NAME" is that core
 * but for the lines it has itself; the text is then both, made one.
 */
#include <limits.h>

#include "profiler/pmu/events.h"
#include "profiler/pmu/program.h"

struct sim_core {
	char name[64]; /* of the file, without folder and ".core" */
	char path[PATH_MAX];
	char *text; /* owned */
	size_t n_bytes;
	struct sim_counters counters;
};

/* word: "--core", a name or a path; NULL = the default of the ISA. */
int sim_core_load(const char *word, enum program_isa isa, struct sim_core *out);
void sim_core_fini(struct sim_core *c);

#endif
