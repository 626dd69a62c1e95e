/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_PERF_MAP_H
#define SKIDPROF_BINARY_PERF_MAP_H

/*
 * perf-PID.map, in which a just-in-time compiler names what it makes: a line
 * "START SIZE name", both in hexadecimal, for each.  What is named last is
 * what lies there.  Code is not in it.
 */
#include <stdbool.h>

#include "profiler/base/texts.h"
#include "profiler/base/vec.h"

struct perf_map_entry {
	uint64_t vaddr, size_bytes;
	const char *name; /* in the pool */
};

struct perf_map {
	VEC(struct perf_map_entry) entries; /* by address; none overlaps another */
	size_t n_bad;                       /* lines that are none */
};

/* "perf-1234.map" */
bool perf_map_is_name(const char *path);

/* n log n. */
void perf_map_parse(const char *text, size_t n, struct texts *pool, struct perf_map *out);
void perf_map_fini(struct perf_map *m);

#endif
