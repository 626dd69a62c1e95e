/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/insn_step.h"

#include <string.h>

#include "profiler/binary/insn_form.h"
#include "profiler/binary/insn_impl.h"

enum { LAST_REG = 31, LINK_BYTES = 8 };

/* What a callee may change: all but rbx, rsp, rbp, r12..r15; x0..x18 and the link register. */
static const uint32_t x86_call_changes = 0x0fc7, a64_call_changes = 0x4007ffff;

/* A register as it is: neither extended nor shifted, nor the second byte of one. */
static bool is_plain(const struct insn_arg *a)
{
	return a->kind == ARG_REG && a->extend == 8 && !a->shift;
}

static void assign(const struct insn_arg *dst, enum step_op op, uint8_t src, uint64_t imm,
                   struct insn_step *out)
{
	if (dst->kind != ARG_REG || dst->reg > LAST_REG || dst->bytes < 4)
		return;
	out->op = (uint8_t)op;
	out->dst = dst->reg;
	out->src = src;
	out->bytes = dst->bytes;
	out->imm = dst->bytes == 4 && op == STEP_SET ? (uint32_t)imm : imm;
}

static void copy(const struct insn_form *f, struct insn_step *out)
{
	const struct insn_arg *from = &f->arg[1];

	if (from->kind == ARG_IMM)
		assign(&f->arg[0], STEP_SET, STEP_NO_REG, strcmp(f->name, "movn") ? from->imm : ~from->imm,
		       out);
	else if (is_plain(from) && from->reg == FORM_ZERO_REG)
		assign(&f->arg[0], STEP_SET, STEP_NO_REG, 0, out);
	else if (is_plain(from) && from->bytes == f->arg[0].bytes)
		assign(&f->arg[0], STEP_ADD, from->reg, 0, out);
}

/* disp(base), disp(%rip) and disp alone. */
static void load_address(const struct insn_form *f, struct insn_step *out)
{
	const struct insn_arg *m = &f->arg[1];

	if (m->kind == ARG_MEMORY && m->index == FORM_NO_REG)
		assign(&f->arg[0], m->reg == FORM_NO_REG ? STEP_SET : STEP_ADD, m->reg, m->imm, out);
}

static void compare(const struct insn_arg *left, uint8_t flags, uint64_t imm, struct insn_step *out)
{
	if (!is_plain(left) || left->reg > LAST_REG)
		return;
	out->left = left->reg;
	out->right_imm = imm;
	out->compare_bytes = left->bytes;
	out->flags = flags;
}

/* Of registers the second one's comparison with the stack pointer is not read: it is encoded as one with zero. */
static void compare_registers(const struct insn_arg *left, const struct insn_arg *right,
                              struct insn_step *out)
{
	if (!is_plain(right) || right->bytes != left->bytes)
		return;
	compare(left, STEP_FLAGS_COMPARED, 0, out);
	if (out->flags == STEP_FLAGS_COMPARED && right->reg <= LAST_REG)
		out->right = right->reg;
}

/* *dst = *a + imm.  a + i is a compared with -i, but for the carry. */
static void add(const struct insn_form *f, const struct insn_arg *a, uint64_t imm, bool sets_flags,
                struct insn_step *out)
{
	if (sets_flags)
		compare(a, STEP_FLAGS_SUMMED, -imm, out);
	if (is_plain(a))
		assign(&f->arg[0], STEP_ADD, a->reg, imm, out);
}

static void subtract(const struct insn_form *f, const struct insn_arg *a, const struct insn_arg *b,
                     struct insn_step *out)
{
	if (b->kind == ARG_IMM) {
		if (f->sets_flags)
			compare(a, STEP_FLAGS_COMPARED, b->imm, out);
		add(f, a, -b->imm, false, out);
	} else if (f->sets_flags) {
		compare_registers(a, b, out);
	}
}

enum operation { OTHER, COPY, PUT, ADDRESS, ADD, INC, DEC, SUB, CMP, CMN, TEST, XOR };

static enum operation operation_of(const char *name)
{
	static const struct {
		const char *name;
		enum operation operation;
	} names[] = {
		{ "mov", COPY },  { "movabs", COPY }, { "movz", COPY },   { "movn", COPY }, { "adr", COPY },
		{ "adrp", COPY }, { "movk", PUT },    { "lea", ADDRESS }, { "add", ADD },   { "adds", ADD },
		{ "inc", INC },   { "dec", DEC },     { "sub", SUB },     { "subs", SUB },  { "cmp", CMP },
		{ "cmn", CMN },   { "test", TEST },   { "xor", XOR },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i].name) == 0)
			return names[i].operation;
	return OTHER;
}

static void evaluate(const struct insn_form *f, struct insn_step *out)
{
	const struct insn_arg *a = &f->arg[f->n == 3 ? 1 : 0], *b = a + 1;
	const bool same = f->n == 2 && a->kind == ARG_REG && b->kind == ARG_REG && a->reg == b->reg &&
	                  a->bytes == b->bytes;

	switch (operation_of(f->name)) {
	case COPY:
		copy(f, out);
		break;
	case PUT:
		assign(&f->arg[0], STEP_PUT, f->arg[0].reg, b->imm >> b->shift, out);
		out->shift = b->shift;
		break;
	case ADDRESS:
		load_address(f, out);
		break;
	case ADD:
		if (b->kind == ARG_IMM)
			add(f, a, b->imm, f->sets_flags, out);
		break;
	case INC:
		add(f, a, 1, true, out);
		break;
	case DEC:
		add(f, a, UINT64_MAX, true, out);
		break;
	case SUB:
		subtract(f, a, b, out);
		break;
	case CMP:
		if (b->kind == ARG_IMM)
			compare(a, STEP_FLAGS_COMPARED, b->imm, out);
		else
			compare_registers(a, b, out);
		break;
	case CMN:
		if (b->kind == ARG_IMM)
			compare(a, STEP_FLAGS_SUMMED, -b->imm, out);
		break;
	case TEST:
		if (same)
			compare(a, STEP_FLAGS_COMPARED, 0, out);
		break;
	case XOR:
		if (same)
			assign(a, STEP_SET, STEP_NO_REG, 0, out);
		break;
	case OTHER:
		break;
	}
	if (f->moved != FORM_NO_REG) {
		const struct insn_arg base = { .kind = ARG_REG, .reg = f->moved, .bytes = LINK_BYTES };

		assign(&base, STEP_ADD, f->moved, f->moved_by, out);
	}
}

/* Of jne and b.ne what follows the j, or the point. */
static uint8_t condition_of(const char *name)
{
	static const char *const names[][2] = {
		[STEP_EQUAL] = { "e", "eq" },        [STEP_UNEQUAL] = { "ne", "ne" },
		[STEP_LESS] = { "l", "lt" },         [STEP_GREATER_EQUAL] = { "ge", "ge" },
		[STEP_LESS_EQUAL] = { "le", "le" },  [STEP_GREATER] = { "g", "gt" },
		[STEP_BELOW] = { "b", "lo" },        [STEP_ABOVE_EQUAL] = { "ae", "hs" },
		[STEP_BELOW_EQUAL] = { "be", "ls" }, [STEP_ABOVE] = { "a", "hi" },
		[STEP_NEGATIVE] = { "s", "mi" },     [STEP_POSITIVE] = { "ns", "pl" },
	};
	const bool x86 = name[0] == 'j';

	for (uint8_t i = STEP_EQUAL; i <= STEP_POSITIVE && (x86 || strncmp(name, "b.", 2) == 0); i++)
		if (strcmp(name + (x86 ? 1 : 2), names[i][!x86]) == 0)
			return i;
	return STEP_NEVER_KNOWN;
}

static void conditional(const struct insn_form *f, struct insn_step *out)
{
	out->flags = STEP_FLAGS_KEPT;
	out->condition = condition_of(f->name);
	if (strcmp(f->name, "cbz") && strcmp(f->name, "cbnz"))
		return;
	compare(&f->arg[0], STEP_FLAGS_COMPARED, 0, out);
	if (out->flags == STEP_FLAGS_COMPARED)
		out->condition = f->name[2] == 'n' ? STEP_UNEQUAL : STEP_EQUAL;
}

void insn_step(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn,
               struct insn_step *out)
{
	struct insn_form f;

	*out = (struct insn_step){ .dst = STEP_NO_REG,
		                   .src = STEP_NO_REG,
		                   .right = STEP_NO_REG,
		                   .writes = UINT32_MAX,
		                   .flags = STEP_FLAGS_OTHER };
	if (insn->flags & INSN_UNKNOWN)
		return;
	insn_form(d, code, n_bytes, insn, &f);
	if (!f.name[0])
		return;
	if (insn->flow == INSN_CALL || insn->flow == INSN_CALL_IND || insn->flow == INSN_SYSCALL) {
		out->writes = d->isa == ISA_X86_64 ? x86_call_changes : a64_call_changes;
		return;
	}
	out->writes = f.writes | f.stack;
	if (f.n && !f.reads && f.arg[0].kind == ARG_REG && f.arg[0].reg <= LAST_REG)
		out->writes |= 1u << f.arg[0].reg;
	out->flags = f.sets_flags ? STEP_FLAGS_OTHER : STEP_FLAGS_KEPT;
	if (insn->flow == INSN_COND)
		conditional(&f, out);
	else
		evaluate(&f, out);
}

int insn_step_taken(uint8_t condition, uint64_t l, uint64_t r, unsigned bytes)
{
	unsigned up = 64 - 8 * bytes;
	uint64_t ul = l << up, ur = r << up;
	int64_t sl = (int64_t)ul, sr = (int64_t)ur;

	switch (condition) {
	case STEP_EQUAL:
		return ul == ur;
	case STEP_UNEQUAL:
		return ul != ur;
	case STEP_LESS:
		return sl < sr;
	case STEP_GREATER_EQUAL:
		return sl >= sr;
	case STEP_LESS_EQUAL:
		return sl <= sr;
	case STEP_GREATER:
		return sl > sr;
	case STEP_BELOW:
		return ul < ur;
	case STEP_ABOVE_EQUAL:
		return ul >= ur;
	case STEP_BELOW_EQUAL:
		return ul <= ur;
	case STEP_ABOVE:
		return ul > ur;
	case STEP_NEGATIVE:
		return (int64_t)(ul - ur) < 0;
	case STEP_POSITIVE:
		return (int64_t)(ul - ur) >= 0;
	default:
		return -1;
	}
}
