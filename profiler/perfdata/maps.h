/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_MAPS_H
#define SKIDPROF_PERFDATA_MAPS_H

/*
 * Address maps of every process in a recording: which file, and where in it,
 * an ip of a process was at that moment.  Feed it every record in order.
 */
#include "profiler/perfdata/record.h"

struct maps;

/* A file that was mapped executable, once per (path, build id). */
struct maps_file {
	const char *path; /* as recorded: "[vdso]", "[kernel.kallsyms]", "//anon" too */
	uint8_t build_id[PD_BUILD_ID_MAX];
	size_t build_id_bytes;
};

struct maps_place {
	uint32_t file; /* index for maps_file() */
	uint64_t off;  /* in the file; for the kernel and anonymous memory the ip itself */
};

int maps_new(struct maps **out);
void maps_free(struct maps *m);

/* Apply MMAP, MMAP2, FORK, COMM (exec) and EXIT; others are ignored.  0 or -SP_ENOMEM. */
int maps_apply(struct maps *m, const struct pd_record *rec);

/* Where ip of process pid is now.  False where nothing is mapped there. */
bool maps_find(const struct maps *m, uint32_t pid, uint64_t ip, struct maps_place *out);

size_t maps_n_files(const struct maps *m);
const struct maps_file *maps_file(const struct maps *m, uint32_t file);

/* The current name of a thread, borrowed; in `room` ":TID", as perf(1) calls it, where none was recorded. */
enum { MAPS_COMM_ROOM = 16 };
const char *maps_comm(const struct maps *m, uint32_t pid, uint32_t tid, char room[MAPS_COMM_ROOM]);

#endif
