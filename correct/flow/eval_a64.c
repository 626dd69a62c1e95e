/* SPDX-License-Identifier: GPL-3.0-or-later */
/* aarch64, as far as switch statements and PLT stubs use it. */
#include <stdlib.h>
#include <string.h>

#include "correct/flow/symbolic.h"

enum { NO_REG = -1, SP_REG = 31 };

static int parse_reg(const char *t)
{
	char *end;
	long n;

	if (strcmp(t, "xzr") == 0 || strcmp(t, "wzr") == 0)
		return SYM_ZERO_REG;
	if (strcmp(t, "sp") == 0 || strcmp(t, "wsp") == 0)
		return SP_REG;
	if ((*t != 'x' && *t != 'w') || t[1] < '0' || t[1] > '9')
		return NO_REG;
	n = strtol(t + 1, &end, 10);
	return n <= 30 && *end == 0 ? (int)n : NO_REG;
}

static bool parse_imm(const char *t, uint64_t *imm)
{
	if (*t != '#')
		return false;
	*imm = t[1] == '-' ? (uint64_t) - (int64_t)strtoull(t + 2, NULL, 0) : strtoull(t + 1, NULL, 0);
	return true;
}

static void set(struct sym_state *s, const char *t, struct sym_value v)
{
	int reg = parse_reg(t);

	if (reg != NO_REG && reg != SYM_ZERO_REG)
		s->reg[reg] = v;
}

static bool starts(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

/* "lsl #2", "uxtw", "sxtb #2": applied to a value. */
static struct sym_value extend(struct sym_state *s, struct sym_value v, const char *how)
{
	const char *number = strchr(how, '#');
	unsigned by = number ? (unsigned)strtoul(number + 1, NULL, 0) : 0;
	unsigned size_bytes = starts(how + 3, "b")   ? 1
	                      : starts(how + 3, "h") ? 2
	                      : starts(how + 3, "w") ? 4
	                                             : 8;

	if (by > 6 || !(starts(how, "lsl") || starts(how, "uxt") || starts(how, "sxt")))
		return sym_fresh(s);
	if (starts(how, "sxt") && v.kind == SYM_LOAD && v.size_bytes == size_bytes)
		v.sign = true;
	return sym_scale(s, v, 1 << by);
}

static struct sym_value operand(struct sym_state *s, char **o, unsigned n, unsigned i)
{
	struct sym_value v;
	uint64_t imm;
	int reg;

	if (i >= n)
		return sym_fresh(s);
	reg = parse_reg(o[i]);
	if (parse_imm(o[i], &imm))
		v = sym_const(imm);
	else
		v = reg == NO_REG ? sym_fresh(s) : s->reg[reg];
	if (i + 1 < n && parse_reg(o[i + 1]) == NO_REG && *o[i + 1] != '#') {
		if (starts(o[i + 1], "lsl #") && sym_is_const(&v))
			return sym_const(v.add << (strtoul(o[i + 1] + 5, NULL, 0) & 63));
		return extend(s, v, o[i + 1]);
	}
	return v;
}

/* "[x1, w0, uxtw #1]".  Written-back forms change the base: unknown then. */
static struct sym_value address(struct sym_state *s, const char *text)
{
	char copy[80], *part[3];
	struct sym_value v;
	unsigned n;

	if (*text != '[' || strlen(text) >= sizeof(copy) || strchr(text, '!'))
		return sym_fresh(s);
	strcpy(copy, text + 1);
	*strchrnul(copy, ']') = 0;
	n = sym_split(copy, part, 3);
	v = operand(s, part, n > 1 ? 1 : n, 0);
	return n < 2 ? v : sym_add(s, v, operand(s, part, n, 1));
}

static const char *stack_text(const char *t)
{
	return starts(t, "[sp") || starts(t, "[x29") ? t : NULL;
}

/* A base register that is written back: "[x0, #8]!", "[x0], #8". */
static void write_back(struct sym_state *s, char **o, unsigned n, unsigned mem)
{
	char reg[8] = { 0 };

	if (mem >= n || *o[mem] != '[' || !(strchr(o[mem], '!') || mem + 1 < n))
		return;
	strncpy(reg, o[mem] + 1, sizeof(reg) - 1);
	reg[strcspn(reg, ",]")] = 0;
	if (strcmp(reg, "sp") != 0)
		set(s, reg, sym_fresh(s));
}

static bool eval_load(struct sym_state *s, const char *op, char **o, unsigned n)
{
	unsigned size_bytes = *o[0] == 'w' ? 4 : 8;
	const char *kind = op + 3;
	bool sign;

	if (!(starts(op, "ldr") || starts(op, "ldur")) || n < 2)
		return false;
	if (starts(op, "ldur"))
		kind = op + 4;
	sign = *kind == 's';
	kind += sign;
	if (*kind == 'b' || *kind == 'h' || *kind == 'w')
		size_bytes = *kind == 'b' ? 1 : *kind == 'h' ? 2 : 4;
	set(s, o[0], sym_load(s, address(s, o[1]), size_bytes, sign, stack_text(o[1])));
	write_back(s, o, n, 1);
	return true;
}

static bool eval_arithmetic(struct sym_state *s, const char *op, char **o, unsigned n)
{
	struct sym_value a = n > 1 ? operand(s, o, 2, 1) : sym_const(0);
	uint64_t imm = 0, width = 0;
	bool has_imm = n > 2 && parse_imm(o[2], &imm);

	if (strcmp(op, "adrp") == 0 || strcmp(op, "adr") == 0 || strcmp(op, "mov") == 0 ||
	    strcmp(op, "movz") == 0) {
		set(s, o[0], operand(s, o, n, 1));
	} else if (strcmp(op, "add") == 0) {
		set(s, o[0], sym_add(s, a, operand(s, o, n, 2)));
	} else if (strcmp(op, "cmp") == 0 && n == 2) {
		sym_compare(s, operand(s, o, 1, 0), imm);
		s->compared &= parse_imm(o[1], &s->cmp_imm);
	} else if (starts(op, "sub") && has_imm && n == 3) {
		if (op[3] == 's')
			sym_compare(s, a, imm);
		set(s, o[0], sym_add(s, a, sym_const(-imm)));
	} else if (strcmp(op, "and") == 0 && has_imm && (int64_t)imm >= 0) {
		set(s, o[0], sym_fresh_below(s, imm, false));
	} else if (strcmp(op, "ubfx") == 0 && n == 4 && parse_imm(o[3], &width) && width < 32) {
		set(s, o[0], sym_fresh_below(s, (1u << width) - 1, false));
	} else if (strcmp(op, "lsl") == 0 && has_imm && imm < 7) {
		set(s, o[0], sym_scale(s, a, 1 << imm));
	} else if (strcmp(op, "sxtw") == 0 || strcmp(op, "sxtb") == 0 || strcmp(op, "sxth") == 0 ||
	           strcmp(op, "uxtw") == 0) {
		set(s, o[0], extend(s, a, op));
	} else {
		return false;
	}
	return true;
}

static void eval_other(struct sym_state *s, const char *op, char **o, unsigned n)
{
	static const char *const readers[] = { "str", "stp", "stur", "cb",  "tb",   "prf",
		                               "nop", "ret", "cmn",  "tst", "ccmp", "dmb" };

	if (starts(op, "str") || starts(op, "stur")) {
		if (n > 1 && op[strlen(op) - 1] == 'r')
			sym_store(s, stack_text(o[1]), operand(s, o, 1, 0));
		write_back(s, o, n, 1);
		return;
	}
	if (starts(op, "stp") || starts(op, "ldp"))
		write_back(s, o, n, 2);
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (starts(op, readers[i])) {
			s->compared &= op[0] != 't' && op[0] != 'c';
			return;
		}
	if (n)
		set(s, o[0], sym_fresh(s));
	if (n > 1 && starts(op, "ldp"))
		set(s, o[1], sym_fresh(s));
	if (strlen(op) > 3 && op[strlen(op) - 1] == 's') /* adds, ands, bics */
		s->compared = false;
}

void sym_eval_a64(struct sym_state *s, const struct sym_insn *insn, struct sym_value *jump)
{
	char *op = insn->text, *space = strchr(op, ' '), *o[5];
	unsigned n = 0;

	if (space) {
		*space = 0;
		n = sym_split(space + 1, o, 5);
	}
	if (insn->call) {
		for (unsigned i = 0; i <= 1; i++) /* the results; see eval_x86.c */
			s->reg[i] = sym_fresh(s);
		s->compared = false;
	} else if (strcmp(op, "br") == 0 && n == 1) {
		*jump = operand(s, o, n, 0);
	} else if (op[0] == 'b' && (op[1] == 0 || op[1] == '.')) {
		return;
	} else if (n == 0 || (!eval_load(s, op, o, n) && !eval_arithmetic(s, op, o, n))) {
		eval_other(s, op, o, n);
	}
}
