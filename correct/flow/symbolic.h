/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_SYMBOLIC_H
#define SKIDPROF_CORRECT_FLOW_SYMBOLIC_H

/*
 * What registers hold, as far as it matters for jump tables: sums of a constant and a multiple of one unknown, and values read
 * from a table that is indexed so.
 */
#include "profiler/binary/insn_form.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sym_kind {
	SYM_LINEAR, /* add + scale * unknown; unknown 0: a constant */
	SYM_LOAD,   /* add + (mem[table + scale * unknown] << shift) */
	SYM_SLOT,   /* mem[add], eight bytes at a fixed address */
};

struct sym_value {
	uint8_t kind; /* enum sym_kind */
	uint8_t size_bytes, shift;
	bool sign; /* SYM_LOAD: sign-extended from size_bytes */
	uint32_t unknown;
	uint32_t self; /* SYM_LOAD: the unknown that stands for what is read */
	int64_t scale;
	uint64_t add;
	uint64_t table;
};

struct sym_bound { /* 0 <= unknown + add <= max */
	uint32_t unknown;
	bool weak; /* only by its width */
	uint64_t add, max;
};

/* A place in memory by what its address is made of: disp + base + scale * index. */
struct sym_place {
	struct sym_value base, index;
	uint64_t disp;
	long scale;
	unsigned size_bytes;
};

enum { SYM_REGS = 33, SYM_ZERO_REG = FORM_ZERO_REG, SYM_STACK_SLOTS = 16, SYM_BOUNDS = 64 };

struct sym_state {
	struct sym_value reg[SYM_REGS];
	struct {
		uint64_t local; /* its register and displacement */
		struct sym_value value;
	} slot[SYM_STACK_SLOTS]; /* locals of unoptimised code */
	unsigned n_slots;
	struct sym_bound bound[SYM_BOUNDS];
	unsigned n_bounds;
	uint32_t n_unknowns;
	bool compared; /* the flags come from comparing: */
	struct sym_value cmp_value;
	uint64_t cmp_imm;
	bool seen_valid; /* nothing was stored since memory was compared: */
	struct sym_place seen;
	struct sym_value seen_value;
	bool (*is_data)(void *ctx, uint64_t vaddr);
	void *ctx;
};

void sym_init(struct sym_state *s);
struct sym_value sym_const(uint64_t value);
struct sym_value sym_fresh(struct sym_state *s);
struct sym_value sym_fresh_below(struct sym_state *s, uint64_t max, bool weak);
struct sym_value sym_add(struct sym_state *s, struct sym_value a, struct sym_value b);
struct sym_value sym_scale(struct sym_state *s, struct sym_value a, int64_t by);
bool sym_is_const(const struct sym_value *v);
/* A load from an address; local: 0, or the place of a local variable. */
struct sym_value sym_load(struct sym_state *s, struct sym_value address, unsigned size_bytes, bool sign,
                          uint64_t local);
void sym_store(struct sym_state *s, uint64_t local, struct sym_value v);
void sym_compare(struct sym_state *s, struct sym_value v, uint64_t imm);
/* A conditional jump was passed: by the condition's letters ("a", "hi", "le" ...), taken or not. */
void sym_branch(struct sym_state *s, const char *condition, bool taken);
/* The bound of an unknown, NULL if none. */
const struct sym_bound *sym_bound_of(const struct sym_state *s, uint32_t unknown);

/* The largest that v can be, UINT64_MAX where that is not known for sure. */
uint64_t sym_max(const struct sym_state *s, const struct sym_value *v);

/* One instruction.  *jump: what an indirect jump goes to. */
void sym_eval(struct sym_state *s, const struct insn *insn, const struct insn_form *f,
              struct sym_value *jump);

#endif
