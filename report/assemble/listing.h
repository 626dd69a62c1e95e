/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_LISTING_H
#define SKIDPROF_REPORT_ASSEMBLE_LISTING_H

/*
 * The whole code of one physical function: every instruction with its text,
 * the functions that were put in place around it, and where it goes to.  A
 * profile has only code that was sampled or is in a region.
 */
#include "profiler/base/texts.h"
#include "profiler/binary/module.h"
#include "report/profile.h"

/* One of the functions that an instruction is in, and the line of it that is being executed. */
struct listing_inlining {
	const char *name;
	const char *file;   /* of `line`; "" = unknown */
	uint32_t line;      /* 0 = unknown */
	uint32_t decl_line; /* of the function */
};

enum listing_kind {
	LISTING_PLAIN,
	LISTING_BRANCH, /* conditional */
	LISTING_JUMP,
	LISTING_CALL,
	LISTING_RETURN,
};

struct listing_insn {
	uint64_t vaddr;
	uint64_t target;     /* of a direct branch, jump or call; 0 = none */
	const char *text;    /* "" if not decoded */
	const char *goes_to; /* the function that target is the beginning of; "" = none, or inside */
	uint32_t insn;       /* profile->insns; UINT32_MAX = not in the profile */
	uint32_t inlining0, n_inlinings; /* listing->inlinings, outermost first */
	uint8_t size_bytes;
	uint8_t kind; /* enum listing_kind */
	bool waits;   /* a load or a division: what comes after it may wait for it */
};

struct listing {
	struct listing_insn *insns; /* by address */
	size_t n;
	struct listing_inlining *inlinings;
	size_t n_inlinings;
	bool has_lines;      /* debug information tells lines */
	const char *trouble; /* why instructions have no text; "" = they have */
	struct texts strings;
	struct module *module; /* owner of the names: one of listing_modules */
};

/* The binaries of one profile, each opened when something of it is first listed, for reading its debug information is costly. */
struct listing_modules {
	const struct module_options *opts;
	struct module **v; /* by p->modules; NULL = nothing was listed yet */
	size_t n;
};

/* After all listings that were made with them. */
void listing_modules_free(struct listing_modules *m);

/*
 * The listing of p->funcs[func], in all its pieces.  The binary is read again; where that can't be, the instructions are
 * those of the profile.
 */
int listing_new(const struct profile *p, uint32_t func, struct listing_modules *modules,
                struct listing **out);
void listing_free(struct listing *l);

/* The disassembly of p->insns[first, end), all of module m. */
void listing_fill_texts(struct profile *p, struct module *m, size_t first, size_t end);

#endif
