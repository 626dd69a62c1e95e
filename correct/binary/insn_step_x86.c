/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/binary/insn_impl.h"
#include "correct/binary/insn_operands.h"
#include "correct/binary/insn_step.h"

/* What a callee may change: all but rbx, rsp, rbp, r12..r15. */
static const uint32_t call_changes = 0x0fc7;

static uint8_t reg_of(const cs_x86_op *op, unsigned *bytes)
{
	*bytes = 0;
	return op->type == X86_OP_REG ? insn_x86_register(op->reg, bytes) : INSN_NO_REG;
}

/* cmp, test, sub, add, inc, dec: operand 0 against a register or a constant. */
static void compare(const cs_x86 *x, uint8_t flags, bool with_imm, uint64_t imm, struct insn_step *out)
{
	unsigned bytes, right_bytes = 0;

	out->flags = STEP_FLAGS_OTHER;
	out->left = reg_of(&x->operands[0], &bytes);
	if (out->left == INSN_NO_REG || !bytes)
		return;
	if (!with_imm) {
		out->right = reg_of(&x->operands[1], &right_bytes);
		if (out->right == INSN_NO_REG || right_bytes != bytes)
			return;
	}
	out->right_imm = imm;
	out->compare_bytes = (uint8_t)bytes;
	out->flags = flags;
}

static void assign(const cs_x86_op *dst, enum step_op op, uint8_t src, uint64_t imm, struct insn_step *out)
{
	unsigned bytes;
	uint8_t reg = reg_of(dst, &bytes);

	if (reg == INSN_NO_REG || bytes < 4)
		return;
	out->op = (uint8_t)op;
	out->dst = reg;
	out->src = src;
	out->bytes = (uint8_t)bytes;
	out->imm = bytes == 4 && op == STEP_SET ? (uint32_t)imm : imm;
}

static void move(const cs_x86 *x, struct insn_step *out)
{
	unsigned bytes, from_bytes;
	uint8_t src = reg_of(&x->operands[1], &from_bytes);

	reg_of(&x->operands[0], &bytes);
	if (x->operands[1].type == X86_OP_IMM)
		assign(&x->operands[0], STEP_SET, STEP_NO_REG, (uint64_t)x->operands[1].imm, out);
	else if (src != INSN_NO_REG && from_bytes == bytes)
		assign(&x->operands[0], STEP_ADD, src, 0, out);
}

/* disp(base), disp(%rip) and disp alone. */
static void load_address(const cs_x86 *x, const struct insn *insn, struct insn_step *out)
{
	const x86_op_mem *m = &x->operands[1].mem;
	unsigned bytes;
	uint8_t base = m->base ? insn_x86_register(m->base, &bytes) : INSN_NO_REG;

	if (m->index)
		return;
	if (m->base == X86_REG_RIP)
		assign(&x->operands[0], STEP_SET, STEP_NO_REG,
		       insn->vaddr + insn->size_bytes + (uint64_t)m->disp, out);
	else if (!m->base)
		assign(&x->operands[0], STEP_SET, STEP_NO_REG, (uint64_t)m->disp, out);
	else if (base != INSN_NO_REG && bytes == 8)
		assign(&x->operands[0], STEP_ADD, base, (uint64_t)m->disp, out);
}

static bool same_register(const cs_x86 *x)
{
	return x->op_count == 2 && x->operands[0].type == X86_OP_REG && x->operands[1].type == X86_OP_REG &&
	       x->operands[0].reg == x->operands[1].reg;
}

static void add(const cs_x86 *x, uint64_t imm, struct insn_step *out)
{
	unsigned bytes;
	uint8_t reg = reg_of(&x->operands[0], &bytes);

	/* x + i is x compared with -i, but for the carry. */
	compare(x, STEP_FLAGS_SUMMED, true, -imm, out);
	assign(&x->operands[0], STEP_ADD, reg, imm, out);
}

static void subtract(const cs_x86 *x, struct insn_step *out)
{
	unsigned bytes;
	uint8_t reg = reg_of(&x->operands[0], &bytes);
	bool imm = x->operands[1].type == X86_OP_IMM;

	compare(x, STEP_FLAGS_COMPARED, imm, imm ? (uint64_t)x->operands[1].imm : 0, out);
	if (imm)
		assign(&x->operands[0], STEP_ADD, reg, -(uint64_t)x->operands[1].imm, out);
}

static void evaluate(const cs_insn *in, const struct insn *insn, struct insn_step *out)
{
	const cs_x86 *x = &in->detail->x86;

	switch (in->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		move(x, out);
		break;
	case X86_INS_LEA:
		load_address(x, insn, out);
		break;
	case X86_INS_NOP:
	case X86_INS_PUSH:
	case X86_INS_POP:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
		break;
	case X86_INS_CMP:
		compare(x, STEP_FLAGS_COMPARED, x->operands[1].type == X86_OP_IMM,
		        x->operands[1].type == X86_OP_IMM ? (uint64_t)x->operands[1].imm : 0, out);
		break;
	case X86_INS_TEST:
		out->flags = STEP_FLAGS_OTHER;
		if (same_register(x))
			compare(x, STEP_FLAGS_COMPARED, true, 0, out);
		break;
	case X86_INS_XOR:
		out->flags = STEP_FLAGS_OTHER;
		if (same_register(x))
			assign(&x->operands[0], STEP_SET, STEP_NO_REG, 0, out);
		break;
	case X86_INS_ADD:
		out->flags = STEP_FLAGS_OTHER;
		if (x->operands[1].type == X86_OP_IMM)
			add(x, (uint64_t)x->operands[1].imm, out);
		break;
	case X86_INS_INC:
		add(x, 1, out);
		break;
	case X86_INS_DEC:
		add(x, UINT64_MAX, out);
		break;
	case X86_INS_SUB:
		subtract(x, out);
		break;
	default:
		out->flags = STEP_FLAGS_OTHER;
	}
}

static uint8_t condition_of(unsigned id)
{
	static const struct {
		uint16_t id;
		uint8_t condition;
	} jumps[] = {
		{ X86_INS_JE, STEP_EQUAL },        { X86_INS_JNE, STEP_UNEQUAL },
		{ X86_INS_JL, STEP_LESS },         { X86_INS_JGE, STEP_GREATER_EQUAL },
		{ X86_INS_JLE, STEP_LESS_EQUAL },  { X86_INS_JG, STEP_GREATER },
		{ X86_INS_JB, STEP_BELOW },        { X86_INS_JAE, STEP_ABOVE_EQUAL },
		{ X86_INS_JBE, STEP_BELOW_EQUAL }, { X86_INS_JA, STEP_ABOVE },
		{ X86_INS_JS, STEP_NEGATIVE },     { X86_INS_JNS, STEP_POSITIVE },
	};

	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++)
		if (jumps[i].id == id)
			return jumps[i].condition;
	return STEP_NEVER_KNOWN;
}

/* A single operand that is read: of push, and of what multiplies and divides rdx:rax. */
static bool reads_first(const cs_insn *in)
{
	return in->detail->x86.op_count == 1 &&
	       (in->id == X86_INS_PUSH || in->id == X86_INS_MUL || in->id == X86_INS_IMUL ||
	        in->id == X86_INS_DIV || in->id == X86_INS_IDIV);
}

/*
 * capstone's own marks, and every register that comes first: marks that are
 * missing must not pass for values kept.
 */
static uint32_t written(struct insn_decoder *d, const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;
	cs_regs reads, writes;
	uint8_t n_reads, n_writes;
	unsigned bytes;
	uint32_t mask = 0;

	if (in->id == X86_INS_CMP || in->id == X86_INS_TEST || in->id == X86_INS_NOP)
		return 0;
	if (cs_regs_access(d->detail, in, reads, &n_reads, writes, &n_writes) != CS_ERR_OK)
		return UINT32_MAX;
	for (unsigned i = 0; i < n_writes; i++)
		if (insn_x86_register(writes[i], &bytes) != INSN_NO_REG)
			mask |= 1u << insn_x86_register(writes[i], &bytes);
	for (unsigned i = 0; i < x->op_count; i++)
		if (((i == 0 && !reads_first(in)) || in->id == X86_INS_XCHG || in->id == X86_INS_XADD ||
		     in->id == X86_INS_MULX) &&
		    reg_of(&x->operands[i], &bytes) != INSN_NO_REG)
			mask |= 1u << reg_of(&x->operands[i], &bytes);
	return mask;
}

void insn_x86_step(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn,
                   struct insn_step *out)
{
	const cs_insn *in = insn_detail(d, code, n_bytes, insn->vaddr);

	if (!in) {
		out->writes = UINT32_MAX;
		out->flags = STEP_FLAGS_OTHER;
		return;
	}
	if (insn->flow == INSN_COND) {
		out->condition = condition_of(in->id);
		/* loop and its like count by themselves. */
		out->writes = written(d, in);
		return;
	}
	if (insn->flow == INSN_CALL || insn->flow == INSN_CALL_IND || insn->flow == INSN_SYSCALL) {
		out->writes = call_changes;
		out->flags = STEP_FLAGS_OTHER;
		return;
	}
	evaluate(in, insn, out);
	out->writes = written(d, in);
}
