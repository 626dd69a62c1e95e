/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_JITDUMP_H
#define SKIDPROF_BINARY_JITDUMP_H

/*
 * jitdump files, in which a just-in-time compiler keeps the code it makes
 * (tools/perf/Documentation/jitdump-specification.txt of Linux).  An address
 * may hold one code after another: codes that overlap are put into layers, of
 * each of which an address has one at most.  All that overlaps nothing is in
 * layer 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/base/vec.h"

struct jit_line {
	uint64_t vaddr;
	uint32_t line;
	const char *file;
};

struct jit_code {
	uint64_t vaddr, size_bytes; /* addresses are those at run time */
	uint64_t from_ns;           /* it is there from then on */
	const char *name;
	const uint8_t *bytes; /* [size_bytes] */
	uint32_t layer, line0, n_lines;
};

/* All that is pointed to lies in the bytes that were parsed. */
struct jitdump {
	uint32_t machine; /* EM_* */
	bool other_clock; /* times are not those of CLOCK_MONOTONIC */
	uint32_t n_layers;
	size_t dropped_off, dropped_bytes; /* behind the last whole record: it may still be written */
	VEC(struct jit_code) codes;        /* by layer, then by address */
	VEC(struct jit_line) lines;
};

bool jitdump_is_one(const uint8_t *data, size_t n);
/* "jit-1234.dump", as perf takes the mapping of such a file for the sign of one. */
bool jitdump_is_name(const char *path);

/* -SP_EFORMAT where it is none, or of the other byte order; path is for the message.  n log n. */
int jitdump_parse(const uint8_t *data, size_t n, const char *path, struct jitdump *out);
void jitdump_fini(struct jitdump *j);

/* The code at vaddr of one layer; NULL if none.  log n. */
const struct jit_code *jitdump_at(const struct jitdump *j, uint32_t layer, uint64_t vaddr);

#endif
