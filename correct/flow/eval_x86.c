/* SPDX-License-Identifier: GPL-3.0-or-later */
/* x86-64 in AT&T syntax, as far as switch statements use it. */
#include <stdlib.h>
#include <string.h>

#include "correct/flow/symbolic.h"

enum { RAX = 0, RDX = 2, NO_REG = -1 };

struct operand {
	char *text;
	int reg;             /* NO_REG if it is none */
	unsigned size_bytes; /* of the register */
	bool mem, imm;
	uint64_t value; /* imm */
};

/* "%r10d", "%eax", "%al": number and size. */
static int parse_reg(const char *t, unsigned *size_bytes)
{
	static const char *const names[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" };
	char *end;
	long n;

	*size_bytes = 8;
	if (*t++ != '%')
		return NO_REG;
	if (*t == 'r' && t[1] >= '0' && t[1] <= '9') {
		n = strtol(t + 1, &end, 10);
		*size_bytes = *end == 'd' ? 4 : *end == 'w' ? 2 : *end == 'b' ? 1 : 8;
		return n >= 8 && n <= 15 ? (int)n : NO_REG;
	}
	*size_bytes = *t == 'r' ? 8 : *t == 'e' ? 4 : 2;
	if (*t == 'r' || *t == 'e')
		t++;
	for (int i = 0; i < 8; i++) {
		if (strcmp(t, names[i]) == 0)
			return i;
		if (t[0] == names[i][0] && ((i < 4 && t[1] == 'l' && !t[2]) ||
		                            (i >= 4 && strncmp(t, names[i], 2) == 0 && t[2] == 'l'))) {
			*size_bytes = 1;
			return i;
		}
	}
	return NO_REG;
}

static struct operand parse(char *t)
{
	struct operand o = { .text = t, .reg = NO_REG };

	if (*t == '*')
		o.text = ++t;
	if (*t == '$') {
		o.imm = true;
		o.value = t[1] == '-' ? (uint64_t) - (int64_t)strtoull(t + 2, NULL, 0)
		                      : strtoull(t + 1, NULL, 0);
	} else if (*t == '%' && !strchr(t, ':')) {
		o.reg = parse_reg(t, &o.size_bytes);
	} else {
		o.mem = true;
	}
	return o;
}

/* "-0x14(%rbp)": locals are known by their text. */
static const char *stack_text(const struct operand *o)
{
	return strstr(o->text, "(%rbp)") || strstr(o->text, "(%rsp)") ? o->text : NULL;
}

static struct sym_value reg_value(struct sym_state *s, const char *t)
{
	unsigned size_bytes;
	int reg = parse_reg(t, &size_bytes);

	return reg == NO_REG ? sym_fresh(s) : s->reg[reg];
}

/* disp(base, index, scale); false for what is none, as with segment registers. */
static bool place_of(struct sym_state *s, const struct sym_insn *insn, const struct operand *o,
                     unsigned size_bytes, struct sym_place *out)
{
	char copy[96], *part[3] = { 0 }, *open;
	unsigned n;

	*out = (struct sym_place){ .scale = 1, .size_bytes = size_bytes };
	if (strlen(o->text) >= sizeof(copy) || *o->text == '%')
		return false;
	strcpy(copy, o->text);
	out->disp =
	        copy[0] == '-' ? (uint64_t) - (int64_t)strtoull(copy + 1, NULL, 0) : strtoull(copy, NULL, 0);
	open = strchr(copy, '(');
	if (!open)
		return true;
	*strchrnul(open, ')') = 0;
	if (strcmp(open + 1, "%rip") == 0) {
		out->disp += insn->end_vaddr;
		return true;
	}
	if (open[1] == ',') { /* no base */
		n = sym_split(open + 2, part + 1, 2) + 1;
	} else {
		n = sym_split(open + 1, part, 3);
		out->base = reg_value(s, part[0]);
	}
	if (n > 1)
		out->index = reg_value(s, part[1]);
	if (n > 2)
		out->scale = strtol(part[2], NULL, 0);
	return true;
}

static struct sym_value address(struct sym_state *s, const struct sym_insn *insn, const struct operand *o)
{
	struct sym_place p;

	if (!place_of(s, insn, o, 0, &p))
		return sym_fresh(s);
	return sym_add(s, sym_add(s, sym_const(p.disp), p.base), sym_scale(s, p.index, p.scale));
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
static struct sym_value load(struct sym_state *s, const struct sym_insn *insn, const struct operand *o,
                             unsigned size_bytes, bool sign)
{
	struct sym_place p;

	if (s->seen_valid && place_of(s, insn, o, size_bytes, &p) && same_place(&p, &s->seen))
		return s->seen_value;
	return sym_load(s, address(s, insn, o), size_bytes, sign, stack_text(o));
}

static struct sym_value value(struct sym_state *s, const struct sym_insn *insn, const struct operand *o,
                              unsigned size_bytes, bool sign)
{
	if (o->imm)
		return sym_const(o->value);
	if (o->mem)
		return load(s, insn, o, size_bytes, sign);
	return o->reg == NO_REG ? sym_fresh(s) : s->reg[o->reg];
}

static void assign(struct sym_state *s, const struct operand *o, struct sym_value v)
{
	if (o->reg != NO_REG)
		s->reg[o->reg] = o->size_bytes >= 4 ? v : sym_fresh(s);
	else if (o->mem)
		sym_store(s, stack_text(o), v);
	/* Locals known by their text are taken for places that nothing else points to. */
	s->seen_valid &= !o->mem || stack_text(o);
}

static void clobber(struct sym_state *s, const struct operand *o)
{
	assign(s, o, sym_fresh(s));
}

/*
 * No correct code reads a register that a call may have changed, but for its
 * results; what is read was kept, by convention or because the compiler saw
 * that the callee leaves it alone.
 */
static void clobber_by_call(struct sym_state *s)
{
	s->reg[RAX] = sym_fresh(s);
	s->reg[RDX] = sym_fresh(s);
	s->compared = false;
	s->seen_valid = false;
}

static unsigned suffix_bytes(char c)
{
	return c == 'b' ? 1 : c == 'w' ? 2 : c == 'l' ? 4 : 8;
}

static bool starts(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

/* mov, movzbl, movslq, cltq: copies, with or without extension. */
static bool eval_move(struct sym_state *s, const struct sym_insn *insn, const char *op, struct operand *o,
                      unsigned n)
{
	struct sym_value v;
	bool extends = strlen(op) == 6 && (op[3] == 's' || op[3] == 'z') && starts(op, "mov");
	unsigned from = extends ? suffix_bytes(op[4]) : suffix_bytes(op[strlen(op) - 1]);

	if (strcmp(op, "cltq") == 0) {
		s->reg[RAX].sign |= s->reg[RAX].kind == SYM_LOAD && s->reg[RAX].size_bytes == 4;
		return true;
	}
	if (n != 2 || !(extends || strcmp(op, "movabsq") == 0 ||
	                (starts(op, "mov") && strlen(op) == 4 && strchr("bwlq", op[3]))))
		return false;
	v = value(s, insn, &o[0], from, extends && op[3] == 's');
	if (extends && o[0].reg != NO_REG && v.kind == SYM_LOAD && v.size_bytes == from)
		v.sign = op[3] == 's';
	if (extends && from == 1 && op[3] == 'z' && v.kind == SYM_LINEAR && v.unknown &&
	    !sym_bound_of(s, v.unknown))
		v = sym_fresh_below(s, 255, true);
	assign(s, &o[1], v);
	return true;
}

/* x & y is no larger than the smaller of the two, as far as either is bounded. */
static struct sym_value masked(struct sym_state *s, struct sym_value x, struct sym_value y)
{
	uint64_t of_x = sym_max(s, &x), of_y = sym_max(s, &y), max = of_x < of_y ? of_x : of_y;

	return max < UINT64_MAX ? sym_fresh_below(s, max, false) : sym_fresh(s);
}

static bool eval_arithmetic(struct sym_state *s, const struct sym_insn *insn, const char *op,
                            struct operand *o, unsigned n)
{
	struct sym_value v;

	if (n != 2)
		return false;
	v = value(s, insn, &o[1], suffix_bytes(op[strlen(op) - 1]), false);
	if (starts(op, "add")) {
		s->compared = false;
		assign(s, &o[1], sym_add(s, v, value(s, insn, &o[0], 8, false)));
	} else if (starts(op, "sub") && o[0].imm) {
		sym_compare(s, v, o[0].value);
		assign(s, &o[1], sym_add(s, v, sym_const(-o[0].value)));
	} else if (starts(op, "cmp")) {
		sym_compare(s, v, o[0].value);
		s->compared &= o[0].imm;
		if (o[0].imm && o[1].mem && !stack_text(&o[1])) {
			s->seen_valid = place_of(s, insn, &o[1], suffix_bytes(op[strlen(op) - 1]), &s->seen);
			s->seen_value = v;
		}
	} else if (starts(op, "and") && o[0].imm && (int64_t)o[0].value >= 0) {
		s->compared = false;
		assign(s, &o[1], sym_fresh_below(s, o[0].value, false));
	} else if (starts(op, "and") && o[0].reg != NO_REG) {
		s->compared = false;
		assign(s, &o[1], masked(s, v, s->reg[o[0].reg]));
	} else if (starts(op, "shr") && o[0].imm && o[0].value > 0 && o[0].value < 8 * suffix_bytes(op[3])) {
		s->compared = false;
		assign(s, &o[1],
		       sym_fresh_below(s, UINT64_MAX >> (64 - 8 * suffix_bytes(op[3]) + o[0].value), false));
	} else if ((starts(op, "shl") || starts(op, "sal")) && o[0].imm && o[0].value < 8) {
		s->compared = false;
		assign(s, &o[1], sym_scale(s, v, 1 << o[0].value));
	} else if (starts(op, "xor") && o[0].reg != NO_REG && o[0].reg == o[1].reg) {
		s->compared = false;
		assign(s, &o[1], sym_const(0));
	} else {
		return false;
	}
	return true;
}

/* Whatever else: its destination, the last operand, is unknown now. */
static void eval_other(struct sym_state *s, const char *op, struct operand *o, unsigned n)
{
	static const char *const flagless[] = { "push", "pop", "nop", "endbr", "mov", "lea",
		                                "xchg", "not", "j",   "set",   "cmov" };
	static const char *const wide[] = { "mul", "imul",  "div",   "idiv",   "cq",      "cl",   "cw",
		                            "cdq", "cpuid", "rdtsc", "xgetbv", "cmpxchg", "lods", "syscall" };
	bool keeps_flags = false;

	if (n)
		clobber(s, &o[n - 1]);
	if (starts(op, "xchg") || starts(op, "xadd"))
		clobber(s, &o[0]);
	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (starts(op, wide[i]))
			s->reg[RAX] = sym_fresh(s), s->reg[RDX] = sym_fresh(s);
	for (size_t i = 0; i < sizeof(flagless) / sizeof(*flagless); i++)
		keeps_flags |= starts(op, flagless[i]);
	s->compared &= keeps_flags;
}

static bool is_vector_reg(const char *text)
{
	static const char *const kinds[] = { "%xmm", "%ymm", "%zmm", "%mm", "%k" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (starts(text, kinds[i]))
			return true;
	return false;
}

/*
 * addsd, mulsd, cmppd and their like are none of add, mul and cmp: compilers put them between the comparison and its
 * jump because they leave the flags alone.
 */
static bool eval_vector(struct sym_state *s, const char *op, struct operand *o, unsigned n)
{
	static const char *const sets_flags[] = { "comis",    "ucomis",   "ptest",   "test",
		                                  "pcmpistr", "pcmpestr", "kortest", "ktest" };
	bool vector = false;

	for (unsigned i = 0; i < n; i++)
		vector |= is_vector_reg(o[i].text);
	if (!vector)
		return false;
	clobber(s, &o[n - 1]);
	for (size_t i = 0; i < sizeof(sets_flags) / sizeof(*sets_flags); i++)
		s->compared &= !starts(op + (op[0] == 'v'), sets_flags[i]);
	return true;
}

static char *skip_prefixes(char *t)
{
	static const char *const prefixes[] = { "notrack ", "bnd ",   "rep ",  "repz ",  "repe ",
		                                "repne ",   "repnz ", "lock ", "data16 " };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts(t, prefixes[i]))
			return skip_prefixes(t + strlen(prefixes[i]));
	return t;
}

void sym_eval_x86(struct sym_state *s, const struct sym_insn *insn, struct sym_value *jump)
{
	char *op = skip_prefixes(insn->text), *space = strchr(op, ' '), *texts[4];
	struct operand o[4] = { 0 };
	unsigned n = 0;

	if (space) {
		*space = 0;
		n = sym_split(space + 1, texts, 4);
	}
	for (unsigned i = 0; i < n; i++)
		o[i] = parse(texts[i]);
	if (insn->call) {
		clobber_by_call(s);
	} else if (op[0] == 'j') {
		if (n == 1 && starts(op, "jmp"))
			*jump = value(s, insn, &o[0], 8, false);
	} else if (starts(op, "lea") && n == 2 && strlen(op) == 4) {
		assign(s, &o[1], address(s, insn, &o[0]));
	} else if (starts(op, "push") || starts(op, "test") || starts(op, "nop")) {
		s->compared &= op[0] != 't';
	} else if (eval_vector(s, op, o, n)) {
		return;
	} else if (!eval_move(s, insn, op, o, n) && !eval_arithmetic(s, insn, op, o, n)) {
		eval_other(s, op, o, n);
	}
}
