/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_DEBUG_IMPL_H
#define SKIDPROF_BINARY_DEBUG_IMPL_H

/*
 * What is kept of a module's DWARF: two sorted tables, and the functions they
 * speak of.  All text is in the module's pool, so that libdw can be closed
 * once it is read.
 */
#include "profiler/base/pairs.h"
#include "profiler/binary/module_impl.h"
#include "profiler/binary/spans.h"

#include <elfutils/libdw.h>

#define NO_ID UINT32_MAX

/* From this address to the next row's; file NO_ID ends a sequence or has no line. */
struct line_row {
	uint64_t vaddr;
	uint32_t file, line;
};

/* A function, whether inlined or not. */
struct inlining {
	const char *name; /* demangled when first asked for: NULL until then */
	const char *linkage;
	uint32_t file, line, column; /* declared at; file may be NO_ID */
};

/* One copy of a function in the code, inside another copy or, where parent is NO_ID, by itself. */
struct copy {
	uint32_t inlining, parent;
	uint32_t call_file, call_line;
};

struct debug {
	VEC(const char *) files;
	VEC(const char *)
	dirs;                  /* by file: the folder that a relative one was compiled in; NULL = not known */
	const char *unit_dir;  /* of the unit that is being read */
	struct pairs file_ids; /* by the address of a file in the pool */
	VEC(struct line_row) lines;
	VEC(struct inlining) inlinings;
	VEC(struct copy) copies;
	struct span_list spans;   /* owned by copies */
	uint32_t *func_inlinings; /* [m->funcs.n] of functions without DWARF; NO_ID until asked for */
};

/* Addresses in the debug file plus this are the module's. */
struct dwarf_source {
	struct module *m;
	struct debug *d;
	Dwarf *dwarf;
	uint64_t shift;
};

/* The file's number, with "." and ".." folded away so that one file has one number. */
uint32_t debug_file_id(struct module *m, struct debug *d, const char *path);
/* Is it in executable bytes?  What the linker threw away is left at address 0. */
bool debug_is_code(const struct module *m, uint64_t vaddr);

/* damaged DWARF is used as far as libdw reads it. */
void dwarf_lines_load(struct dwarf_source *s);
void dwarf_inlinings_load(struct dwarf_source *s);

#endif
