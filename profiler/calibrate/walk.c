/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/walk.h"

#include <capstone/capstone.h>
#include <stdbool.h>

#include "profiler/base/err.h"

enum {
	N_INT = 16,
	N_REGS = N_INT + 16, /* the lower halves of vector registers, as far as moves go */
	R_NONE = N_REGS,
	R_RSP = 4,
	R_RSI = 6,
	R_RDI = 7,
	STACK_WORDS = 1 << 12,
};

/* Registers as the instruction set numbers them. */
static const x86_reg names[N_INT][4] = {
	{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
	{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL },
	{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL },
	{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL },
	{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
	{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
	{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
	{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
	{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
	{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
	{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
	{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
	{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
	{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
	{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
	{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
};

/* One operand: a register, a constant, or memory. */
struct place {
	uint8_t type;       /* enum x86_op_type; X86_OP_INVALID = none */
	uint8_t reg, bytes; /* reg R_NONE: not an integer register */
	uint8_t base, index, scale;
	int64_t value; /* constant, or displacement */
};

struct op {
	unsigned id; /* capstone's */
	uint8_t n;
	struct place p[3];
	uint32_t clobbers; /* registers written, for instructions that are not followed */
	bool sets_flags;
};

struct block {
	uint64_t off;
	uint32_t number; /* in the replay */
	size_t first;    /* in walk.ops */
};

struct walk {
	csh cs;
	cs_insn *insn;
	struct sim_replay *replay;
	const struct walk_code *w;
	struct sim_trace *out;
	VEC(struct op) ops;
	VEC(struct block) blocks;
	uint32_t *block_at; /* [n_bytes] number + 1 */
	uint64_t reg[N_REGS];
	uint32_t unknown; /* bit for each register */
	bool flags_unknown, zf, sf, cf, of;
	uint64_t next_off;
	uint64_t stack[STACK_WORDS];
};

enum { LEFT = -1 }; /* next_off once the function has returned */

static uint8_t reg_of(unsigned reg)
{
	for (unsigned r = 0; r < N_INT; r++)
		for (unsigned k = 0; k < 4; k++)
			if (names[r][k] == (x86_reg)reg)
				return (uint8_t)r;
	if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM15)
		return (uint8_t)(N_INT + reg - X86_REG_XMM0);
	if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM15)
		return (uint8_t)(N_INT + reg - X86_REG_YMM0);
	return R_NONE;
}

static struct place place_of(const cs_x86_op *op)
{
	struct place p = {
		.type = (uint8_t)op->type, .reg = R_NONE, .bytes = op->size, .base = R_NONE, .index = R_NONE
	};

	switch ((int)op->type) {
	case X86_OP_REG:
		p.reg = reg_of(op->reg);
		break;
	case X86_OP_IMM:
		p.value = op->imm;
		break;
	case X86_OP_MEM:
		p.base = reg_of(op->mem.base);
		p.index = reg_of(op->mem.index);
		p.scale = (uint8_t)op->mem.scale;
		p.value = op->mem.disp;
		break;
	}
	return p;
}

static void note_written(const struct walk *w, struct op *o)
{
	cs_regs read, written;
	uint8_t n_read = 0, n_written = 0;

	if (cs_regs_access(w->cs, w->insn, read, &n_read, written, &n_written) != CS_ERR_OK)
		return;
	for (uint8_t i = 0; i < n_written; i++) {
		uint8_t r = reg_of(written[i]);

		if (r != R_NONE)
			o->clobbers |= 1u << r;
		else if (written[i] == X86_REG_EFLAGS)
			o->sets_flags = true;
	}
}

/* The instructions of a block, for us; their bytes are known to be instructions. */
static int add_ops(struct walk *w, uint64_t off, uint32_t n_insn)
{
	const uint8_t *at = w->w->code + off;
	size_t left = w->w->n_bytes - off;
	uint64_t ip = off;
	int err = 0;

	for (uint32_t i = 0; i < n_insn && err == 0 && cs_disasm_iter(w->cs, &at, &left, &ip, w->insn); i++) {
		const cs_x86 *x = &w->insn->detail->x86;
		struct op o = { .id = w->insn->id, .n = x->op_count > 3 ? 3 : x->op_count };

		for (unsigned k = 0; k < o.n; k++)
			o.p[k] = place_of(&x->operands[k]);
		note_written(w, &o);
		err = vec_push(&w->ops, o);
	}
	return err;
}

static int block_at(struct walk *w, uint64_t off, uint32_t *index)
{
	struct block b = { .off = off, .first = w->ops.n };
	long taken;
	int err;

	if (off >= w->w->n_bytes)
		return sp_fail(SP_EFORMAT, "code goes on at offset %#jx, outside its %zu bytes",
		               (uintmax_t)off, w->w->n_bytes);
	if ((*index = w->block_at[off])) {
		--*index;
		return 0;
	}
	taken = sim_replay_add(w->replay, (uint64_t)(uintptr_t)w->w->code + off, w->w->code + off,
	                       w->w->n_bytes - off, &b.number);
	if (taken < 0)
		return (int)taken;
	if ((err = add_ops(w, off, sim_replay_block(w->replay, b.number)->n_insn)) < 0)
		return err;
	*index = (uint32_t)w->blocks.n;
	w->block_at[off] = *index + 1;
	return vec_push(&w->blocks, b);
}

/* ---- values ---- */

static int lost(const struct op *o, const char *what)
{
	return sp_fail(SP_ENOTSUP,
	               "code can't be followed: %s of instruction %u (capstone's number) is not known", what,
	               o->id);
}

static bool is_known(const struct walk *w, uint8_t reg)
{
	return reg < N_REGS && !(w->unknown >> reg & 1);
}

static uint64_t trim(uint64_t v, unsigned bytes)
{
	return bytes >= 8 ? v : v & ((UINT64_C(1) << 8 * bytes) - 1);
}

static uint64_t extend(uint64_t v, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (uint64_t)((int64_t)(v << shift) >> shift);
}

static int address(const struct walk *w, const struct op *o, const struct place *p, uint64_t *out)
{
	*out = (uint64_t)p->value;
	if (p->base != R_NONE) {
		if (!is_known(w, p->base))
			return lost(o, "the address");
		*out += w->reg[p->base];
	}
	if (p->index != R_NONE) {
		if (!is_known(w, p->index))
			return lost(o, "the address");
		*out += w->reg[p->index] * p->scale;
	}
	return 0;
}

/* False: it has no value that we know. */
static bool value(const struct walk *w, const struct place *p, uint64_t vaddr, uint64_t *out)
{
	*out = 0;
	switch (p->type) {
	case X86_OP_IMM:
		*out = trim((uint64_t)p->value, p->bytes);
		return true;
	case X86_OP_REG:
		if (!is_known(w, p->reg))
			return false;
		*out = trim(w->reg[p->reg], p->bytes);
		return true;
	case X86_OP_MEM:
		if (p->bytes > 8)
			return false;
		memcpy(out, (const void *)(uintptr_t)vaddr, p->bytes);
		return true;
	default:
		return false;
	}
}

static void assign_reg(struct walk *w, uint8_t r, unsigned bytes, bool known, uint64_t v)
{
	if (r >= N_REGS)
		return;
	/* A result of 32 bits clears the upper half; a shorter one keeps the rest. */
	if (bytes < 4) {
		uint64_t mask = (UINT64_C(1) << 8 * bytes) - 1;

		known = known && is_known(w, r);
		v = (w->reg[r] & ~mask) | (v & mask);
	}
	w->reg[r] = bytes == 4 ? (uint32_t)v : v;
	w->unknown = known ? w->unknown & ~(1u << r) : w->unknown | 1u << r;
}

static void assign(struct walk *w, const struct place *p, uint64_t vaddr, bool known, uint64_t v)
{
	if (p->type == X86_OP_REG)
		assign_reg(w, p->reg, p->bytes, known, v);
	else if (p->type == X86_OP_MEM && known && p->bytes <= 8)
		memcpy((void *)(uintptr_t)vaddr, &v, p->bytes);
}

/* ---- instructions ---- */

static void flags_of(struct walk *w, bool known, uint64_t v, unsigned bytes)
{
	w->flags_unknown = !known;
	w->zf = trim(v, bytes) == 0;
	w->sf = v >> (8 * bytes - 1) & 1;
	w->cf = w->of = false;
}

static void flags_of_sum(struct walk *w, uint64_t a, uint64_t b, uint64_t sum, unsigned bytes)
{
	w->cf = trim(sum, bytes) < trim(a, bytes);
	w->of = (~(a ^ b) & (a ^ sum)) >> (8 * bytes - 1) & 1;
}

static void flags_of_difference(struct walk *w, uint64_t a, uint64_t b, uint64_t difference, unsigned bytes)
{
	w->cf = trim(a, bytes) < trim(b, bytes);
	w->of = ((a ^ b) & (a ^ difference)) >> (8 * bytes - 1) & 1;
}

/* a OP b; false when it is no operation of this kind. */
static bool arithmetic(struct walk *w, unsigned id, uint64_t a, uint64_t b, unsigned bytes, bool known,
                       uint64_t *out)
{
	bool carry = w->cf;

	switch (id) {
	case X86_INS_ADD:
	case X86_INS_INC:
		*out = a + b;
		flags_of(w, known, *out, bytes);
		flags_of_sum(w, a, b, *out, bytes);
		break;
	case X86_INS_SUB:
	case X86_INS_DEC:
	case X86_INS_CMP:
		*out = a - b;
		flags_of(w, known, *out, bytes);
		flags_of_difference(w, a, b, *out, bytes);
		break;
	case X86_INS_AND:
	case X86_INS_TEST:
		*out = a & b;
		flags_of(w, known, *out, bytes);
		break;
	case X86_INS_OR:
		*out = a | b;
		flags_of(w, known, *out, bytes);
		break;
	case X86_INS_XOR:
		*out = a ^ b;
		flags_of(w, known, *out, bytes);
		break;
	case X86_INS_IMUL:
		*out = a * b;
		flags_of(w, false, *out, bytes);
		break;
	case X86_INS_SHL:
		*out = a << (b & (bytes == 8 ? 63 : 31));
		flags_of(w, false, *out, bytes);
		break;
	case X86_INS_SHR:
		*out = a >> (b & (bytes == 8 ? 63 : 31));
		flags_of(w, false, *out, bytes);
		break;
	case X86_INS_ROR:
		b &= bytes == 8 ? 63 : 31;
		*out = b ? a >> b | a << (8 * bytes - b) : a;
		flags_of(w, false, *out, bytes);
		break;
	default:
		return false;
	}
	if (id == X86_INS_INC || id == X86_INS_DEC)
		w->cf = carry;
	return true;
}

static bool is_same_register(const struct op *o)
{
	return o->n == 2 && o->p[0].type == X86_OP_REG && o->p[1].type == X86_OP_REG &&
	       o->p[0].reg == o->p[1].reg && o->p[0].reg != R_NONE;
}

/* Two operands, or one and a constant 1; three for multiplication. */
static bool do_arithmetic(struct walk *w, const struct op *o, uint64_t vaddr)
{
	const struct place one = { .type = X86_OP_IMM, .bytes = 8, .value = 1 };
	const struct place *a = &o->p[o->n == 3 ? 1 : 0];
	const struct place *b = o->n > 1 ? &o->p[o->n - 1] : &one;
	unsigned bytes = o->p[0].bytes;
	uint64_t va, vb, v = 0;
	bool known;

	if (o->n < 1 || (o->n == 1 && o->id != X86_INS_INC && o->id != X86_INS_DEC))
		return false;
	known = value(w, a, vaddr, &va);
	known = value(w, b, vaddr, &vb) && known;
	if ((o->id == X86_INS_XOR || o->id == X86_INS_SUB) && is_same_register(o)) {
		known = true;
		va = vb = 0;
	}
	if (!arithmetic(w, o->id, va, vb, bytes, known, &v))
		return false;
	if (o->id != X86_INS_CMP && o->id != X86_INS_TEST)
		assign(w, &o->p[0], vaddr, known, trim(v, bytes));
	return true;
}

/* To and from the lower half of a vector register; movsd between two of them keeps the upper half, which has no value anyway. */
static bool do_vector_move(struct walk *w, const struct op *o, uint64_t vaddr)
{
	struct place to = o->p[0], from = o->p[1];
	uint64_t v;
	bool known;

	to.bytes = from.bytes = o->id == X86_INS_MOVD ? 4 : 8;
	known = value(w, &from, vaddr, &v);
	assign(w, &to, vaddr, known, v);
	return true;
}

static bool do_move(struct walk *w, const struct op *o, uint64_t vaddr)
{
	uint64_t v;
	bool known;

	if (o->n != 2)
		return false;
	if (o->id == X86_INS_MOVQ || o->id == X86_INS_MOVD || o->id == X86_INS_MOVSD)
		return do_vector_move(w, o, vaddr);
	if (o->p[0].bytes > 8)
		return false;
	switch (o->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
		known = value(w, &o->p[1], vaddr, &v);
		break;
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
		known = value(w, &o->p[1], vaddr, &v);
		v = extend(v, o->p[1].bytes);
		break;
	case X86_INS_LEA:
		known = true;
		v = vaddr;
		break;
	case X86_INS_CMOVE:
		known = value(w, &o->p[w->zf ? 1 : 0], vaddr, &v) && !w->flags_unknown;
		break;
	default:
		return false;
	}
	assign(w, &o->p[0], vaddr, known, trim(v, o->p[0].bytes));
	return true;
}

/* 1: taken, 0: not, -1: no conditional jump. */
static int condition(const struct walk *w, unsigned id)
{
	switch (id) {
	case X86_INS_JE:
		return w->zf;
	case X86_INS_JNE:
		return !w->zf;
	case X86_INS_JB:
		return w->cf;
	case X86_INS_JAE:
		return !w->cf;
	case X86_INS_JBE:
		return w->cf || w->zf;
	case X86_INS_JA:
		return !w->cf && !w->zf;
	case X86_INS_JL:
		return w->sf != w->of;
	case X86_INS_JGE:
		return w->sf == w->of;
	case X86_INS_JLE:
		return w->zf || w->sf != w->of;
	case X86_INS_JG:
		return !w->zf && w->sf == w->of;
	case X86_INS_JS:
		return w->sf;
	case X86_INS_JNS:
		return !w->sf;
	case X86_INS_JO:
		return w->of;
	case X86_INS_JNO:
		return !w->of;
	default:
		return -1;
	}
}

static void push(struct walk *w, uint64_t v)
{
	w->reg[R_RSP] -= 8;
	memcpy((void *)(uintptr_t)w->reg[R_RSP], &v, sizeof(v));
}

static uint64_t pop(struct walk *w)
{
	uint64_t v;

	memcpy(&v, (const void *)(uintptr_t)w->reg[R_RSP], sizeof(v));
	w->reg[R_RSP] += 8;
	return v;
}

/* Where a jump or call goes. */
static int branch_target(const struct walk *w, const struct op *o, uint64_t vaddr, uint64_t *off)
{
	if (o->p[0].type == X86_OP_IMM) {
		*off = (uint64_t)o->p[0].value;
		return 0;
	}
	if (!value(w, &o->p[0], vaddr, off))
		return lost(o, "the target");
	*off -= (uint64_t)(uintptr_t)w->w->code;
	return 0;
}

/* Returns 1 when it was a branch or touched the stack, 0 when it did neither. */
static int do_control(struct walk *w, const struct op *o, uint64_t vaddr)
{
	uint64_t v;
	int taken, err;

	switch (o->id) {
	case X86_INS_JMP:
		err = branch_target(w, o, vaddr, &w->next_off);
		return err < 0 ? err : 1;
	case X86_INS_CALL:
		v = w->next_off;
		if ((err = branch_target(w, o, vaddr, &w->next_off)) < 0)
			return err;
		push(w, (uint64_t)(uintptr_t)w->w->code + v);
		return 1;
	case X86_INS_RET:
		v = pop(w);
		w->next_off = v ? v - (uint64_t)(uintptr_t)w->w->code : (uint64_t)LEFT;
		return 1;
	case X86_INS_PUSH:
		value(w, &o->p[0], vaddr, &v);
		push(w, v);
		return 1;
	case X86_INS_POP:
		assign(w, &o->p[0], vaddr, true, pop(w));
		return 1;
	}
	if ((taken = condition(w, o->id)) < 0)
		return 0;
	if (w->flags_unknown)
		return lost(o, "the condition");
	if (taken)
		w->next_off = (uint64_t)o->p[0].value;
	return 1;
}

static unsigned shift_of(unsigned bytes)
{
	return bytes ? 31u - (unsigned)__builtin_clz(bytes) : 0;
}

/* The accesses of an instruction, as the core wants them. */
static int touch(struct walk *w, const struct op *o, const struct sim_insn *in, uint64_t vaddr,
                 unsigned bytes)
{
	bool pushes = o->id == X86_INS_PUSH || o->id == X86_INS_CALL;
	bool pops = o->id == X86_INS_POP || o->id == X86_INS_RET;
	int err = 0;

	if (in->flags & SIM_F_LOAD)
		err = vec_push(&w->out->mem, SIM_MEM(pops ? w->reg[R_RSP] : vaddr, in->index,
		                                     shift_of(pops ? 8 : bytes), 0));
	if (in->flags & SIM_F_STORE && err == 0)
		err = vec_push(&w->out->mem, SIM_MEM(pushes ? w->reg[R_RSP] - 8 : vaddr, in->index,
		                                     shift_of(pushes ? 8 : bytes), 1));
	return err;
}

static int run_op(struct walk *w, const struct op *o, const struct sim_insn *in)
{
	uint64_t vaddr = 0;
	unsigned bytes = 8;
	int err;

	for (unsigned k = 0; k < o->n; k++)
		if (o->p[k].type == X86_OP_MEM) {
			bytes = o->p[k].bytes;
			/* A nop's operand is none; lea's may be anything. */
			if ((in->flags & SIM_F_MEM || o->id == X86_INS_LEA) &&
			    (err = address(w, o, &o->p[k], &vaddr)) < 0) {
				if (o->id != X86_INS_LEA)
					return err;
				assign(w, &o->p[0], 0, false, 0);
				return 0;
			}
		}
	if (in->flags & SIM_F_MEM && (err = touch(w, o, in, vaddr, bytes)) < 0)
		return err;
	if ((err = do_control(w, o, vaddr)) != 0)
		return err < 0 ? err : 0;
	if (do_move(w, o, vaddr) || do_arithmetic(w, o, vaddr))
		return 0;
	w->unknown |= o->clobbers;
	w->flags_unknown |= o->sets_flags;
	return 0;
}

static int run_block(struct walk *w, const struct block *b)
{
	const struct sim_block *s = sim_replay_block(w->replay, b->number);
	int err;

	if ((b->off == w->w->loop_off && (err = vec_push(&w->out->turns, (uint32_t)w->out->steps.n)) < 0) ||
	    (err = vec_push(&w->out->steps, (struct sim_step){ b->number, (uint32_t)w->out->mem.n })) < 0)
		return err;
	w->next_off = s->end_ip - (uint64_t)(uintptr_t)w->w->code;
	for (uint32_t i = 0; i < s->n_insn; i++)
		if ((err = run_op(w, &w->ops.v[b->first + i], &s->insn[i])) < 0)
			return err;
	return vec_push(&w->out->mem, SIM_MEM_END);
}

static int run(struct walk *w)
{
	uint64_t n_insn = 0;
	uint32_t index = 0;
	int err;

	w->reg[R_RSP] = (uint64_t)(uintptr_t)&w->stack[STACK_WORDS - 2];
	w->unknown = ~(1u << R_RSP | 1u << R_RDI | 1u << R_RSI);
	w->reg[R_RDI] = w->w->arg[0];
	w->reg[R_RSI] = w->w->arg[1];
	while (w->next_off != (uint64_t)LEFT) {
		if ((err = block_at(w, w->next_off, &index)) < 0)
			return err;
		n_insn += sim_replay_block(w->replay, w->blocks.v[index].number)->n_insn;
		if (n_insn > w->w->max_insns)
			return sp_fail(SP_EDOMAIN, "code did not return within %ju instructions",
			               (uintmax_t)w->w->max_insns);
		if ((err = run_block(w, &w->blocks.v[index])) < 0)
			return err;
	}
	return 0;
}

int walk_x86(struct sim_replay *r, const struct walk_code *code, struct sim_trace *out)
{
	struct walk *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w || !(w->block_at = calloc(code->n_bytes, sizeof(*w->block_at)))) {
		err = sp_fail(SP_ENOMEM, "out of memory for a trace");
		goto out;
	}
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &w->cs) != CS_ERR_OK) {
		err = sp_fail(SP_ENOTSUP, "capstone: can't decode x86-64");
		goto out;
	}
	cs_option(w->cs, CS_OPT_DETAIL, CS_OPT_ON);
	if (!(w->insn = cs_malloc(w->cs))) {
		err = sp_fail(SP_ENOMEM, "out of memory for a trace");
		goto out;
	}
	w->replay = r;
	w->w = code;
	w->out = out;
	err = run(w);
out:
	if (w) {
		if (w->insn)
			cs_free(w->insn, 1);
		if (w->cs)
			cs_close(&w->cs);
		free(w->block_at);
		vec_fini(&w->blocks);
		vec_fini(&w->ops);
	}
	free(w);
	return err;
}
