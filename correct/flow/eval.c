/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one instruction does to what registers hold (symbolic.h): those that compilers use for jump tables, PLT stubs and counted
 * loops.  What any other writes is unknown.
 */
#include <string.h>

#include "correct/flow/symbolic.h"

enum operation { OTHER, MOVE, EXTEND, ADDRESS, ADD, SUB, COMPARE, AND, SHL, SHR, FIELD, XOR, STORE };

/* What instructions of a name do; they read so many bytes of memory, 0 = as many as their operand has. */
struct named {
	const char *name;
	uint8_t operation, bytes;
	bool sign;
};

static struct named find_name(const char *name)
{
	static const struct named names[] = {
		{ "mov", MOVE, 0, false },    { "movabs", MOVE, 0, false },  { "movzx", EXTEND, 0, false },
		{ "movsx", EXTEND, 0, true }, { "movsxd", EXTEND, 0, true }, { "lea", ADDRESS, 0, false },
		{ "shl", SHL, 0, false },     { "sal", SHL, 0, false },      { "shr", SHR, 0, false },
		{ "xor", XOR, 0, false },     { "add", ADD, 0, false },      { "sub", SUB, 0, false },
		{ "cmp", COMPARE, 0, false }, { "and", AND, 0, false },      { "adr", MOVE, 0, false },
		{ "adrp", MOVE, 0, false },   { "movz", MOVE, 0, false },    { "ldr", MOVE, 0, false },
		{ "ldur", MOVE, 0, false },   { "ldrb", MOVE, 1, false },    { "ldurb", MOVE, 1, false },
		{ "ldrh", MOVE, 2, false },   { "ldurh", MOVE, 2, false },   { "ldrsb", MOVE, 1, true },
		{ "ldursb", MOVE, 1, true },  { "ldrsh", MOVE, 2, true },    { "ldursh", MOVE, 2, true },
		{ "ldrsw", MOVE, 4, true },   { "ldursw", MOVE, 4, true },   { "uxtw", EXTEND, 4, false },
		{ "sxtb", EXTEND, 1, true },  { "sxth", EXTEND, 2, true },   { "sxtw", EXTEND, 4, true },
		{ "subs", SUB, 0, false },    { "lsl", SHL, 0, false },      { "ubfx", FIELD, 0, false },
		{ "str", STORE, 0, false },   { "stur", STORE, 0, false },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i].name) == 0)
			return names[i];
	return (struct named){ name, OTHER };
}

static struct sym_value reg_value(struct sym_state *s, uint8_t reg, const struct insn_arg *how)
{
	struct sym_value v = s->reg[reg];

	if (how->shift > 6)
		return sym_fresh(s);
	if (how->sign && v.kind == SYM_LOAD && v.size_bytes == how->extend)
		v.sign = true;
	return sym_scale(s, v, 1 << how->shift);
}

static bool is_memory(const struct insn_arg *a)
{
	return a->kind == ARG_MEMORY || a->kind == ARG_ELSEWHERE;
}

/* A number for a local variable, of its register and displacement; 0 = it is none. */
static uint64_t local_of(const struct insn_arg *a)
{
	return a->kind == ARG_MEMORY && a->local ? (uint64_t)a->reg << 32 | (uint32_t)a->imm : 0;
}

static bool place_of(const struct sym_state *s, const struct insn_arg *a, unsigned size_bytes,
                     struct sym_place *out)
{
	*out = (struct sym_place){ .disp = a->imm, .scale = 1 << (a->shift & 7), .size_bytes = size_bytes };
	if (a->reg != FORM_NO_REG)
		out->base = s->reg[a->reg];
	if (a->index != FORM_NO_REG)
		out->index = s->reg[a->index];
	return a->kind == ARG_MEMORY;
}

static struct sym_value address(struct sym_state *s, const struct insn_arg *a)
{
	struct sym_value v = sym_const(a->imm);

	if (a->kind != ARG_MEMORY)
		return sym_fresh(s);
	if (a->reg != FORM_NO_REG)
		v = sym_add(s, v, s->reg[a->reg]);
	return a->index == FORM_NO_REG ? v : sym_add(s, v, reg_value(s, a->index, a));
}

static bool same_value(const struct sym_value *a, const struct sym_value *b)
{
	return a->kind == b->kind && a->size_bytes == b->size_bytes && a->shift == b->shift &&
	       a->sign == b->sign && a->unknown == b->unknown && a->self == b->self && a->scale == b->scale &&
	       a->add == b->add && a->table == b->table;
}

static bool same_place(const struct sym_place *a, const struct sym_place *b)
{
	return a->disp == b->disp && a->scale == b->scale && a->size_bytes == b->size_bytes &&
	       same_value(&a->base, &b->base) && same_value(&a->index, &b->index);
}

/* "cmpb $7, (%rdi); ja ...; movzbl (%rdi), %eax": what is loaded is what was compared. */
static struct sym_value load(struct sym_state *s, const struct insn_arg *a, unsigned size_bytes, bool sign)
{
	struct sym_place p;

	if (s->seen_valid && place_of(s, a, size_bytes, &p) && same_place(&p, &s->seen))
		return s->seen_value;
	return sym_load(s, address(s, a), size_bytes, sign, local_of(a));
}

static struct sym_value value(struct sym_state *s, const struct insn_arg *a, unsigned size_bytes, bool sign)
{
	if (a->kind == ARG_IMM)
		return sym_const(a->imm);
	if (is_memory(a))
		return load(s, a, size_bytes, sign);
	return a->kind == ARG_REG ? reg_value(s, a->reg, a) : sym_fresh(s);
}

static void assign(struct sym_state *s, const struct insn_arg *a, struct sym_value v)
{
	if (a->kind == ARG_REG && a->reg != SYM_ZERO_REG)
		s->reg[a->reg] = a->bytes >= 4 ? v : sym_fresh(s);
	else if (is_memory(a))
		sym_store(s, local_of(a), v);
	/* A store to a local is taken to leave the memory that was compared as it was: no pointer leads to locals. */
	s->seen_valid &= !is_memory(a) || local_of(a);
}

/* Copies, with or without extension. */
static struct sym_value moved(struct sym_state *s, const struct named *op, const struct insn_form *f)
{
	const struct insn_arg *from = &f->arg[1];
	unsigned bytes = op->bytes                                            ? op->bytes
	                 : f->arg[0].kind == ARG_REG && op->operation == MOVE ? f->arg[0].bytes
	                                                                      : from->bytes;
	struct sym_value v = value(s, from, bytes, op->sign);

	if (op->operation == MOVE)
		return v;
	if (from->kind == ARG_REG && v.kind == SYM_LOAD && v.size_bytes == bytes)
		v.sign = op->sign;
	if (bytes == 1 && !op->sign && v.kind == SYM_LINEAR && v.unknown && !sym_bound_of(s, v.unknown))
		v = sym_fresh_below(s, 255, true);
	return v;
}

/* x & y is no larger than the smaller of the two, as far as either is bounded. */
static struct sym_value masked(struct sym_state *s, struct sym_value x, struct sym_value y)
{
	uint64_t of_x = sym_max(s, &x), of_y = sym_max(s, &y), max = of_x < of_y ? of_x : of_y;

	return max < UINT64_MAX ? sym_fresh_below(s, max, false) : sym_fresh(s);
}

static void compare(struct sym_state *s, const struct insn_form *f)
{
	const struct insn_arg *left = &f->arg[0], *right = &f->arg[1];
	struct sym_value v = value(s, left, left->bytes, false);

	sym_compare(s, v, right->imm);
	s->compared &= right->kind == ARG_IMM;
	if (right->kind == ARG_IMM && is_memory(left) && !local_of(left)) {
		s->seen_valid = place_of(s, left, left->bytes, &s->seen);
		s->seen_value = v;
	}
}

/* The first operand's new value, from the two behind it, or from itself and the one behind it.  False where it is not known. */
static bool computed(struct sym_state *s, const struct named *op, const struct insn_form *f,
                     struct sym_value *out)
{
	const struct insn_arg *a = &f->arg[f->n == 2 ? 0 : 1], *b = &f->arg[f->n == 2 ? 1 : 2];
	const bool imm = b->kind == ARG_IMM;
	const unsigned bits = 8 * f->arg[0].bytes;
	struct sym_value v;

	if (f->n < 2 || (f->n > 3 && op->operation != FIELD))
		return false;
	v = value(s, a, a->bytes, false);
	switch (op->operation) {
	case ADD:
		*out = sym_add(s, v, value(s, b, b->bytes, false));
		return true;
	case SUB:
		if (imm && f->sets_flags)
			sym_compare(s, v, b->imm);
		*out = sym_add(s, v, sym_const(-b->imm));
		return imm;
	case AND:
		*out = imm ? sym_fresh_below(s, b->imm, false) : masked(s, v, value(s, b, b->bytes, false));
		return imm ? (int64_t)b->imm >= 0 : b->kind == ARG_REG;
	case SHL:
		*out = sym_scale(s, v, 1 << (b->imm & 7));
		return imm && b->imm < 8;
	case SHR:
		if (!imm || !b->imm || b->imm >= bits)
			return false;
		*out = sym_fresh_below(s, UINT64_MAX >> (64 - bits + b->imm), false);
		return true;
	case FIELD:
		*out = sym_fresh_below(s, (UINT64_C(1) << (f->arg[3].imm & 31)) - 1, false);
		return f->n == 4 && f->arg[3].imm < 32;
	case XOR:
		*out = sym_const(0);
		return a->kind == ARG_REG && b->kind == ARG_REG && a->reg == b->reg;
	default:
		return false;
	}
}

void sym_eval(struct sym_state *s, const struct insn *insn, const struct insn_form *f, struct sym_value *jump)
{
	const struct named op = find_name(f->name);
	const bool call = insn->flow == INSN_CALL || insn->flow == INSN_CALL_IND;
	struct sym_value v = { 0 };
	bool known = true;

	if (insn->flow == INSN_JUMP_IND && f->n == 1)
		*jump = value(s, &f->arg[0], 8, false);
	if (insn->flow == INSN_JUMP || insn->flow == INSN_JUMP_IND)
		return;
	if (op.operation != SUB)
		s->compared &= !f->sets_flags && !call;
	if ((op.operation == MOVE || op.operation == EXTEND) && f->n >= 2)
		v = moved(s, &op, f);
	else if (op.operation == ADDRESS && f->n == 2)
		v = address(s, &f->arg[1]);
	else
		known = computed(s, &op, f, &v);
	if (op.operation == COMPARE && f->n == 2)
		compare(s, f);
	else if (op.operation == STORE && f->n == 2)
		sym_store(s, local_of(&f->arg[1]), value(s, &f->arg[0], 8, false));
	else if (f->n && !f->reads && insn->flow == INSN_PLAIN)
		assign(s, &f->arg[0], known ? v : sym_fresh(s));
	s->compared &= op.operation != SUB || known || !f->sets_flags;
	for (unsigned reg = 0; reg < FORM_ZERO_REG; reg++)
		if (f->writes >> reg & 1)
			s->reg[reg] = sym_fresh(s);
	/*
	 * No correct code reads a register that a call may have changed, but for its results; what is read was kept, by
	 * convention or because the compiler saw that the callee leaves it alone.
	 */
	s->seen_valid &= !call;
}
