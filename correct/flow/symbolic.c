/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/symbolic.h"

#include <string.h>

/* Addresses below are offsets into a structure, not tables. */
enum {
	MIN_TABLE_VADDR = 0x200,
	LONGEST_TABLE = 1 << 16, /* entries */
};

void sym_init(struct sym_state *s)
{
	for (unsigned i = 0; i < SYM_REGS; i++)
		s->reg[i] = sym_fresh(s);
	s->reg[SYM_ZERO_REG] = sym_const(0);
}

struct sym_value sym_const(uint64_t value)
{
	return (struct sym_value){ .kind = SYM_LINEAR, .add = value };
}

struct sym_value sym_fresh(struct sym_state *s)
{
	return (struct sym_value){ .kind = SYM_LINEAR, .unknown = ++s->n_unknowns, .scale = 1 };
}

static void add_bound(struct sym_state *s, struct sym_bound b)
{
	if (s->n_bounds == SYM_BOUNDS)
		memmove(s->bound, s->bound + 1, sizeof(*s->bound) * --s->n_bounds);
	s->bound[s->n_bounds++] = b;
}

struct sym_value sym_fresh_below(struct sym_state *s, uint64_t max, bool weak)
{
	struct sym_value v = sym_fresh(s);

	/* What bounds no table would push out of a long path's bounds those that do. */
	if (max < LONGEST_TABLE)
		add_bound(s, (struct sym_bound){ .unknown = v.unknown, .weak = weak, .max = max });
	return v;
}

bool sym_is_const(const struct sym_value *v)
{
	return v->kind == SYM_LINEAR && v->unknown == 0;
}

struct sym_value sym_add(struct sym_state *s, struct sym_value a, struct sym_value b)
{
	if (sym_is_const(&a) && b.kind != SYM_SLOT) {
		b.add += a.add;
		return b;
	}
	if (sym_is_const(&b) && a.kind != SYM_SLOT) {
		a.add += b.add;
		return a;
	}
	if (a.kind == SYM_LINEAR && b.kind == SYM_LINEAR && a.unknown == b.unknown) {
		a.add += b.add;
		a.scale += b.scale;
		return a;
	}
	return sym_fresh(s);
}

struct sym_value sym_scale(struct sym_state *s, struct sym_value a, int64_t by)
{
	if (by == 1)
		return a;
	if (a.kind == SYM_LINEAR) {
		a.add *= (uint64_t)by;
		a.scale = (int64_t)((uint64_t)a.scale * (uint64_t)by);
		return a;
	}
	if (a.kind == SYM_LOAD && a.add == 0 && a.shift == 0 && by > 1 && (by & (by - 1)) == 0) {
		a.shift = (uint8_t)__builtin_ctzll((uint64_t)by);
		return a;
	}
	return sym_fresh(s);
}

static struct sym_value *find_slot(struct sym_state *s, uint64_t local)
{
	unsigned i;

	for (i = 0; i < s->n_slots; i++)
		if (s->slot[i].local == local)
			return &s->slot[i].value;
	if (i == SYM_STACK_SLOTS) /* the oldest goes */
		memmove(s->slot, s->slot + 1, sizeof(*s->slot) * --s->n_slots);
	i = s->n_slots++;
	s->slot[i].local = local;
	s->slot[i].value = sym_fresh(s);
	return &s->slot[i].value;
}

/* Where the first entry of a table is: the unknown may count from another number than 0. */
static uint64_t first_entry(const struct sym_state *s, const struct sym_value *address)
{
	const struct sym_bound *bound = sym_bound_of(s, address->unknown);

	return address->add - (bound ? bound->add * (uint64_t)address->scale : 0);
}

static bool is_table(const struct sym_state *s, const struct sym_value *address, unsigned size_bytes)
{
	uint64_t first = first_entry(s, address);

	return address->kind == SYM_LINEAR && address->unknown && address->scale >= (int64_t)size_bytes &&
	       address->scale <= 64 && first >= MIN_TABLE_VADDR && s->is_data(s->ctx, first);
}

/* What is read as a number of its own. */
static struct sym_value as_number(struct sym_state *s, struct sym_value v)
{
	struct sym_value number = { .kind = SYM_LINEAR, .unknown = v.self, .scale = 1 };

	if (v.kind != SYM_LOAD)
		return v;
	number = sym_scale(s, number, 1 << v.shift);
	number.add += v.add;
	return number;
}

struct sym_value sym_load(struct sym_state *s, struct sym_value address, unsigned size_bytes, bool sign,
                          uint64_t local)
{
	struct sym_value read;

	if (local)
		return *find_slot(s, local);
	/* A byte from one table that indexes another. */
	if (address.kind == SYM_LOAD && address.size_bytes == 1 && !address.sign)
		address = as_number(s, address);
	if (sym_is_const(&address) && size_bytes == 8)
		return (struct sym_value){ .kind = SYM_SLOT, .add = address.add };
	read = size_bytes == 1 && !sign ? sym_fresh_below(s, 255, true) : sym_fresh(s);
	if (is_table(s, &address, size_bytes))
		return (struct sym_value){ .kind = SYM_LOAD,
			                   .size_bytes = (uint8_t)size_bytes,
			                   .sign = sign,
			                   .unknown = address.unknown,
			                   .self = read.unknown,
			                   .scale = address.scale,
			                   .table = address.add };
	return read;
}

void sym_store(struct sym_state *s, uint64_t local, struct sym_value v)
{
	if (local)
		*find_slot(s, local) = v;
}

void sym_compare(struct sym_state *s, struct sym_value v, uint64_t imm)
{
	v = as_number(s, v);
	s->compared = v.kind == SYM_LINEAR && v.unknown && v.scale == 1;
	s->cmp_value = v;
	s->cmp_imm = imm;
}

void sym_branch(struct sym_state *s, const char *condition, bool taken)
{
	static const struct {
		const char *condition;
		bool taken;
		unsigned less; /* the bound is the compared number, less this */
	} rules[] = {
		{ "a", false, 0 },  { "nbe", false, 0 }, { "hi", false, 0 }, { "g", false, 0 },
		{ "gt", false, 0 }, { "ae", false, 1 },  { "nb", false, 1 }, { "hs", false, 1 },
		{ "cs", false, 1 }, { "ge", false, 1 },  { "be", true, 0 },  { "ls", true, 0 },
		{ "le", true, 0 },  { "b", true, 1 },    { "lo", true, 1 },  { "cc", true, 1 },
		{ "l", true, 1 },   { "lt", true, 1 },
	};

	if (!s->compared)
		return;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (strcmp(condition, rules[i].condition) == 0 && rules[i].taken == taken &&
		    s->cmp_imm >= rules[i].less)
			add_bound(s, (struct sym_bound){ .unknown = s->cmp_value.unknown,
			                                 .add = s->cmp_value.add,
			                                 .max = s->cmp_imm - rules[i].less });
}

const struct sym_bound *sym_bound_of(const struct sym_state *s, uint32_t unknown)
{
	const struct sym_bound *weak = NULL;

	for (unsigned i = s->n_bounds; i-- > 0;) {
		if (s->bound[i].unknown != unknown)
			continue;
		if (!s->bound[i].weak)
			return &s->bound[i];
		weak = &s->bound[i];
	}
	return weak;
}

uint64_t sym_max(const struct sym_state *s, const struct sym_value *v)
{
	const struct sym_bound *bound = sym_bound_of(s, v->unknown);

	if (sym_is_const(v))
		return v->add;
	/* Its unknown may begin elsewhere than at 0, but v itself counts from there. */
	return v->kind == SYM_LINEAR && v->scale == 1 && bound && !bound->weak && bound->add == v->add
	               ? bound->max
	               : UINT64_MAX;
}
