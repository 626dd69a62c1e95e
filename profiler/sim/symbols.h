/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_SYMBOLS_H
#define SKIDPROF_SIM_SYMBOLS_H

/* Where functions lie in a file, by its symbols. */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/base/vec.h"

enum symbol_kind {
	SYMBOL_FUNCTION,
	SYMBOL_STUB, /* the linker's: it jumps to a function elsewhere */
	SYMBOL_ENTRY /* no function: what stubs jump through to the dynamic linker, for it to look that one up */
};

struct symbol {
	uint64_t off, end_off; /* in the file */
	bool switches;         /* it goes on with another stack: a coroutine's, a goroutine's */
	enum symbol_kind kind;
};

struct symbols {
	VEC(struct symbol) v; /* by off, one each */
};

/*
 * Read those of an ELF file; none where it can't be read.  The linker's stubs and where the program begins are among them, with a
 * symbol or without: both are jumped to, and a stub's caller may be gone by that.  Left out are pieces that the compiler split off a function (they are
 * jumped to and jump back), and what the dynamic linker looks a function up with and then jumps to it: it does not call that.
 */
void symbols_read(struct symbols *s, const char *path);

/* What holds an offset; NULL: nothing does. */
const struct symbol *symbols_find(const struct symbols *s, uint64_t off);

#endif
