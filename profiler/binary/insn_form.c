/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/insn_form.h"

#include <string.h>

#include "profiler/binary/insn_impl.h"

enum { RAX = 0, RDX = 2, RSP = 4, RBP = 5, FP = 29, SP = 31, NO_SHIFT = 0xff };

#define N_WORDS(words) (sizeof(words) / sizeof((words)[0]))

/* Does a name begin with one of these? */
static bool begins(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* ---- x86-64 ---- */

/* One bit; none of what is no general register, or the stack pointer, which is kept apart. */
static uint32_t bit_of(uint8_t reg, uint8_t stack, struct insn_form *out)
{
	const uint32_t bit = reg <= SP ? 1u << reg : 0;

	out->stack |= reg == stack ? bit : 0;
	return reg == stack ? 0 : bit;
}

static uint8_t x86_register(x86_reg reg)
{
	unsigned bytes;

	return insn_x86_register(reg, &bytes);
}

/* The whole of it: a part of one is no address. */
static uint8_t x86_base(x86_reg reg)
{
	unsigned bytes = 0;
	uint8_t number = insn_x86_register(reg, &bytes);

	return bytes == 8 ? number : (uint8_t)FORM_NO_REG;
}

static void x86_memory(const cs_x86_op *op, const struct insn *insn, struct insn_arg *out)
{
	const x86_op_mem *m = &op->mem;
	bool rip = m->base == X86_REG_RIP;

	out->reg = rip ? (uint8_t)FORM_NO_REG : x86_base(m->base);
	out->index = x86_base(m->index);
	out->shift = (uint8_t)__builtin_ctz((unsigned)m->scale);
	out->imm = (uint64_t)m->disp + (rip ? insn->vaddr + insn->size_bytes : 0);
	out->local = (out->reg == RSP || out->reg == RBP) && !m->index;
	out->kind = m->segment == X86_REG_FS || m->segment == X86_REG_GS ||
	                            (m->base && !rip && out->reg == FORM_NO_REG) ||
	                            (m->index && out->index == FORM_NO_REG)
	                    ? ARG_ELSEWHERE
	                    : ARG_MEMORY;
}

static struct insn_arg x86_arg(const struct insn_decoder *d, const cs_x86_op *op, const struct insn *insn)
{
	struct insn_arg a = { .bytes = op->size, .reg = FORM_NO_REG, .index = FORM_NO_REG, .extend = 8 };
	const char *name = op->type == X86_OP_REG ? cs_reg_name(d->detail, op->reg) : NULL;

	if (op->type == X86_OP_IMM) {
		a.kind = ARG_IMM;
		a.imm = (uint64_t)op->imm;
	} else if (op->type == X86_OP_MEM) {
		x86_memory(op, insn, &a);
	} else if (name) {
		a.reg = x86_register(op->reg);
		/* ah, ch, dh, bh */
		a.shift = op->reg == X86_REG_AH || op->reg == X86_REG_CH || op->reg == X86_REG_DH ||
		                          op->reg == X86_REG_BH
		                  ? (uint8_t)NO_SHIFT
		                  : 0;
		a.kind = a.reg != FORM_NO_REG                   ? ARG_REG
		         : strstr(name, "mm") || name[0] == 'k' ? ARG_VECTOR
		                                                : ARG_OTHER;
	}
	return a;
}

/* addsd, mulsd, cmppd and their like leave the flags alone: compilers put them between the comparison and its jump. */
static bool x86_sets_flags(const char *name, bool vector)
{
	static const char *const keep[] = { "push", "pop", "nop", "endbr", "mov", "lea",
		                            "xchg", "not", "j",   "set",   "cmov" };
	static const char *const compare[] = { "comis",    "ucomis",   "ptest",   "test",
		                               "pcmpistr", "pcmpestr", "kortest", "ktest" };

	return vector ? begins(name + (name[0] == 'v'), compare, N_WORDS(compare))
	              : !begins(name, keep, N_WORDS(keep));
}

static void x86_form(struct insn_decoder *d, const cs_insn *in, const struct insn *insn,
                     struct insn_form *out)
{
	static const char *const reads[] = { "push", "test", "nop", "cmp" }, *const one[] = { "mul", "imul",
		                                                                              "div", "idiv" };
	const cs_x86 *x = &in->detail->x86;
	bool vector = false;

	out->name = cs_insn_name(d->detail, in->id);
	for (; out->n < x->op_count && out->n < FORM_MAX_ARGS; out->n++) {
		out->arg[out->n] = x86_arg(d, &x->operands[out->n], insn);
		vector |= out->arg[out->n].kind == ARG_VECTOR;
	}
	if (in->id == X86_INS_CDQE) {
		out->name = "movsxd";
		out->n = 2;
		out->arg[0] = (struct insn_arg){ ARG_REG, 8, RAX, FORM_NO_REG, .extend = 8 };
		out->arg[1] = (struct insn_arg){ ARG_REG, 4, RAX, FORM_NO_REG, .extend = 8 };
	}
	out->sets_flags = x86_sets_flags(out->name, vector);
	out->reads = !vector && (begins(out->name, reads, N_WORDS(reads)) ||
	                         (out->n == 1 && begins(out->name, one, N_WORDS(one))));
	for (unsigned i = 0; i < in->detail->regs_write_count; i++)
		out->writes |= bit_of(x86_register(in->detail->regs_write[i]), RSP, out);
	if (out->arg[0].kind == ARG_REG && !out->reads)
		out->writes &= ~(1u << out->arg[0].reg);
	if (insn->flow == INSN_CALL || insn->flow == INSN_CALL_IND || insn->flow == INSN_SYSCALL)
		out->writes |= 1u << RAX | 1u << RDX;
	if ((in->id == X86_INS_XCHG || in->id == X86_INS_XADD || in->id == X86_INS_MULX) &&
	    out->arg[1].kind == ARG_REG)
		out->writes |= bit_of(out->arg[1].reg, RSP, out);
}

/* ---- aarch64 ---- */

static uint8_t a64_register(arm64_reg reg)
{
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return (uint8_t)(reg - ARM64_REG_X0);
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return (uint8_t)(reg - ARM64_REG_W0);
	switch (reg) {
	case ARM64_REG_X29:
		return 29;
	case ARM64_REG_X30:
		return 30;
	case ARM64_REG_SP:
	case ARM64_REG_WSP:
		return SP;
	case ARM64_REG_XZR:
	case ARM64_REG_WZR:
		return FORM_ZERO_REG;
	default:
		return FORM_NO_REG;
	}
}

static void a64_extend(const cs_arm64_op *op, struct insn_arg *out)
{
	static const uint8_t bytes[] = {
		[ARM64_EXT_UXTB] = 1, [ARM64_EXT_UXTH] = 2, [ARM64_EXT_UXTW] = 4, [ARM64_EXT_UXTX] = 8,
		[ARM64_EXT_SXTB] = 1, [ARM64_EXT_SXTH] = 2, [ARM64_EXT_SXTW] = 4, [ARM64_EXT_SXTX] = 8
	};

	out->extend = op->ext == ARM64_EXT_INVALID ? 8 : bytes[op->ext];
	out->sign = op->ext >= ARM64_EXT_SXTB;
	out->shift = op->shift.type == ARM64_SFT_INVALID ? 0
	             : op->shift.type == ARM64_SFT_LSL   ? (uint8_t)op->shift.value
	                                                 : (uint8_t)NO_SHIFT;
}

static struct insn_arg a64_arg(const cs_arm64_op *op)
{
	struct insn_arg a = { .reg = FORM_NO_REG, .index = FORM_NO_REG, .bytes = 8, .extend = 8 };

	a64_extend(op, &a);
	switch (op->type) {
	case ARM64_OP_IMM:
		a.kind = ARG_IMM;
		a.imm = a.shift < 64 ? (uint64_t)op->imm << a.shift : (uint64_t)op->imm;
		break;
	case ARM64_OP_MEM:
		a.reg = a64_register(op->mem.base);
		a.index = a64_register(op->mem.index);
		a.imm = (uint64_t)(int64_t)op->mem.disp;
		a.local = (a.reg == SP || a.reg == FP) && a.index == FORM_NO_REG;
		a.kind = a.reg == FORM_NO_REG ? ARG_ELSEWHERE : ARG_MEMORY;
		break;
	case ARM64_OP_REG:
		a.reg = a64_register(op->reg);
		a.kind = a.reg == FORM_NO_REG ? ARG_OTHER : ARG_REG;
		a.bytes = op->reg >= ARM64_REG_W0 && op->reg <= ARM64_REG_W30 ? 4 : 8;
		break;
	default:
		break;
	}
	return a;
}

/* A base that is moved on is no address that is known; its value, another then. */
static void move_base(const cs_arm64 *x, struct insn_form *out)
{
	for (unsigned i = 0; i < out->n && x->writeback; i++) {
		struct insn_arg *a = &out->arg[i];

		if (a->kind != ARG_MEMORY)
			continue;
		out->writes |= bit_of(a->reg, SP, out);
		if (i + 1 >= out->n || a[1].kind == ARG_IMM) {
			out->moved = a->reg;
			out->moved_by = i + 1 < out->n ? a[1].imm : a->imm;
		}
		a->kind = ARG_ELSEWHERE;
	}
}

/* adds, ands, bics and their like end so; floating point only compares. */
static bool a64_sets_flags(const char *name)
{
	static const char *const compare[] = { "tst",  "cmn",  "cmp",   "ccm", "fcm",  "fccm",
		                               "setf", "rmif", "cfinv", "msr", "whil", "ptest" };

	return begins(name, compare, N_WORDS(compare)) ||
	       (strlen(name) > 3 && name[0] != 'f' && name[strlen(name) - 1] == 's');
}

static void a64_form(const cs_insn *in, const struct insn *insn, struct insn_form *out)
{
	static const char *const reads[] = { "cb",  "tb",  "prf", "nop", "ret",
		                             "cmn", "cmp", "tst", "ccm", "dmb" };
	const cs_arm64 *x = &in->detail->arm64;

	out->name = in->mnemonic;
	for (; out->n < x->op_count && out->n < FORM_MAX_ARGS; out->n++)
		out->arg[out->n] = a64_arg(&x->operands[out->n]);
	out->sets_flags = a64_sets_flags(out->name);
	/* Stores, but for those that give a status. */
	out->reads = begins(out->name, reads, N_WORDS(reads)) ||
	             (insn->flags & INSN_STORE && !(insn->flags & INSN_LOAD) &&
	              strncmp(out->name, "stx", 3) && strncmp(out->name, "stlx", 4));
	if (insn->flow == INSN_CALL || insn->flow == INSN_CALL_IND)
		out->writes = 1u << 0 | 1u << 1;
	/* Both of a pair; what an atomic instruction gives comes first or second. */
	if (insn->flags & INSN_LOAD && out->arg[1].kind == ARG_REG)
		out->writes |= bit_of(out->arg[1].reg, SP, out);
	/* Of what lies beside the code the address is not asked for. */
	if (insn->flags & INSN_LOAD && out->n > 1 && out->arg[1].kind == ARG_IMM)
		out->arg[1].kind = ARG_ELSEWHERE;
	move_base(x, out);
}

void insn_form(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn,
               struct insn_form *out)
{
	const cs_insn *in = insn_detail(d, code, n_bytes, insn->vaddr);

	*out = (struct insn_form){ .name = "", .sets_flags = true, .moved = FORM_NO_REG };
	if (in && d->isa == ISA_X86_64)
		x86_form(d, in, insn, out);
	else if (in)
		a64_form(in, insn, out);
}
