/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The few forms that count loops are read from the encoding; capstone says what else is written. */
#include <string.h>

#include "correct/binary/insn_form.h"
#include "correct/binary/insn_impl.h"
#include "correct/binary/insn_step.h"

enum { REG_SP = 31 };

/* What a callee may change: x0..x18 and the link register. */
static const uint32_t call_changes = 0x4007ffff;

static unsigned bits(uint32_t word, unsigned at, unsigned n)
{
	return word >> at & ((1u << n) - 1);
}

static uint64_t extended(uint64_t value, unsigned n_bits)
{
	return (uint64_t)((int64_t)(value << (64 - n_bits)) >> (64 - n_bits));
}

static void assign(uint32_t word, enum step_op op, uint8_t src, uint64_t imm, struct insn_step *out)
{
	out->op = (uint8_t)op;
	out->dst = (uint8_t)bits(word, 0, 5);
	out->src = src;
	out->bytes = word >> 31 ? 8 : 4;
	out->imm = out->bytes == 4 && op == STEP_SET ? (uint32_t)imm : imm;
}

static void compare(uint32_t word, uint8_t left, uint8_t right, uint64_t imm, uint8_t flags,
                    struct insn_step *out)
{
	out->flags = flags;
	out->left = left;
	out->right = right;
	out->right_imm = imm;
	out->compare_bytes = word >> 31 ? 8 : 4;
}

/* add, adds, sub, subs, and so cmp and cmn, with a constant. */
static void sum_immediate(uint32_t word, struct insn_step *out)
{
	uint8_t rn = (uint8_t)bits(word, 5, 5);
	uint64_t imm = (uint64_t)bits(word, 10, 12) << (bits(word, 22, 1) ? 12 : 0);
	bool subtracts = bits(word, 30, 1), sets_flags = bits(word, 29, 1);

	if (sets_flags)
		compare(word, rn, STEP_NO_REG, subtracts ? imm : -imm,
		        subtracts ? STEP_FLAGS_COMPARED : STEP_FLAGS_SUMMED, out);
	/* With flags register 31 is none at all. */
	if (!sets_flags || bits(word, 0, 5) != REG_SP)
		assign(word, STEP_ADD, rn, subtracts ? -imm : imm, out);
}

/* subs and cmp of registers as they are; else the flags are something else's. */
static void sum_register(uint32_t word, struct insn_step *out)
{
	bool plain = bits(word, 10, 6) == 0 && bits(word, 22, 2) == 0 && bits(word, 21, 1) == 0;
	uint8_t rn = (uint8_t)bits(word, 5, 5), rm = (uint8_t)bits(word, 16, 5);

	if (!bits(word, 29, 1))
		return;
	out->flags = STEP_FLAGS_OTHER;
	if (!plain || !bits(word, 30, 1) || rn == REG_SP)
		return;
	compare(word, rn, rm == REG_SP ? STEP_NO_REG : rm, 0, STEP_FLAGS_COMPARED, out);
}

static void move_wide(uint32_t word, struct insn_step *out)
{
	uint64_t imm = (uint64_t)bits(word, 5, 16) << 16 * bits(word, 21, 2);

	switch (bits(word, 29, 2)) {
	case 0:
		assign(word, STEP_SET, STEP_NO_REG, ~imm, out);
		break;
	case 2:
		assign(word, STEP_SET, STEP_NO_REG, imm, out);
		break;
	case 3:
		assign(word, STEP_PUT, (uint8_t)bits(word, 0, 5), bits(word, 5, 16), out);
		out->shift = (uint8_t)(16 * bits(word, 21, 2));
	}
}

static void address(uint32_t word, const struct insn *insn, struct insn_step *out)
{
	uint64_t by = extended((uint64_t)bits(word, 5, 19) << 2 | bits(word, 29, 2), 21);

	assign(word | 1u << 31, STEP_SET, STEP_NO_REG,
	       word >> 31 ? (insn->vaddr & ~(uint64_t)4095) + (by << 12) : insn->vaddr + by, out);
}

/* The base of a load or store that moves it on, by how much; false where it does not. */
static bool writeback(uint32_t word, uint8_t *base, uint64_t *by)
{
	unsigned scale = bits(word, 26, 1) ? 2 + bits(word, 30, 2) : 2 + bits(word, 31, 1);

	*base = (uint8_t)bits(word, 5, 5);
	if ((word & 0x3b200400) == 0x38000400) {
		*by = extended(bits(word, 12, 9), 9);
		return true;
	}
	if ((word & 0x3a800000) == 0x28800000) {
		*by = extended(bits(word, 15, 7), 7) << scale;
		return true;
	}
	return false;
}

static uint8_t condition_of(uint32_t word)
{
	static const uint8_t conditions[16] = {
		STEP_EQUAL,
		STEP_UNEQUAL,
		STEP_ABOVE_EQUAL,
		STEP_BELOW,
		STEP_NEGATIVE,
		STEP_POSITIVE,
		0,
		0,
		STEP_ABOVE,
		STEP_BELOW_EQUAL,
		STEP_GREATER_EQUAL,
		STEP_LESS,
		STEP_GREATER,
		STEP_LESS_EQUAL,
		0,
		0,
	};

	return conditions[word & 15];
}

static void conditional(uint32_t word, struct insn_step *out)
{
	if (word >> 24 == 0x54) {
		out->condition = condition_of(word);
	} else if ((word & 0x7e000000) == 0x34000000 && bits(word, 0, 5) != REG_SP) {
		compare(word, (uint8_t)bits(word, 0, 5), STEP_NO_REG, 0, STEP_FLAGS_COMPARED, out);
		out->condition = bits(word, 24, 1) ? STEP_UNEQUAL : STEP_EQUAL;
	}
}

uint8_t insn_a64_register(arm64_reg reg)
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
		return REG_SP;
	case ARM64_REG_XZR:
	case ARM64_REG_WZR:
		return FORM_ZERO_REG;
	default:
		return FORM_NO_REG;
	}
}

static uint32_t register_bit(arm64_reg reg)
{
	uint8_t number = insn_a64_register(reg);

	return number <= REG_SP ? 1u << number : 0;
}

/* cmp, cmn and tst, which have no result; stores, but for those that give a status. */
static bool has_no_result(uint32_t word, const struct insn *insn)
{
	bool exclusive = (word & 0x3f000000) == 0x08000000,
	     sums = (word & 0x3f800000) == 0x31000000 || (word & 0x3f000000) == 0x2b000000,
	     ands = (word & 0x7f000000) == 0x6a000000 || (word & 0x7f800000) == 0x72000000;

	if (insn->flags & INSN_STORE && !(insn->flags & INSN_LOAD))
		return !exclusive;
	return (sums || ands) && bits(word, 0, 5) == REG_SP;
}

/* capstone's marks, the first register where there is a result, and a base that moves on. */
static uint32_t written(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn)
{
	const cs_insn *in = insn_detail(d, code, n_bytes, insn->vaddr);
	cs_regs reads, writes;
	uint8_t n_reads, n_writes;
	uint32_t mask = 0, word;
	bool result;

	memcpy(&word, code, sizeof(word));
	result = !has_no_result(word, insn);
	if (!in || cs_regs_access(d->detail, in, reads, &n_reads, writes, &n_writes) != CS_ERR_OK)
		return UINT32_MAX;
	for (unsigned i = 0; i < n_writes && result; i++)
		mask |= register_bit(writes[i]);
	for (unsigned i = 0; i < in->detail->arm64.op_count; i++) {
		const cs_arm64_op *op = &in->detail->arm64.operands[i];

		/* Both of a pair that is loaded; a status or a value that an atomic gives comes first or second. */
		if (op->type == ARM64_OP_REG && result && (i == 0 || (i == 1 && insn->flags & INSN_LOAD)))
			mask |= register_bit(op->reg);
		if (op->type == ARM64_OP_MEM && in->detail->arm64.writeback)
			mask |= register_bit(op->mem.base);
	}
	return mask;
}

/* ands and bics, adcs, ccmp and setf, fcmp, all of SVE, writes to system registers. */
static bool sets_flags(uint32_t word)
{
	return (word & 0x1f000000) == 0x0a000000 || (word & 0x1f800000) == 0x12000000 ||
	       (word & 0x1fe00000) == 0x1a000000 || (word & 0x1fe00000) == 0x1a400000 ||
	       (word & 0x1f200000) == 0x1e200000 || (word & 0x1e000000) == 0x04000000 ||
	       (word & 0xffc00000) == 0xd5000000;
}

void insn_a64_step(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn,
                   struct insn_step *out)
{
	uint32_t word;
	uint8_t base;
	uint64_t by;

	memcpy(&word, code, sizeof(word));
	if (insn->flow == INSN_COND) {
		conditional(word, out);
		return;
	}
	if (insn->flow == INSN_CALL || insn->flow == INSN_CALL_IND || insn->flow == INSN_SYSCALL) {
		out->writes = call_changes;
		out->flags = STEP_FLAGS_OTHER;
		return;
	}
	out->writes = written(d, code, n_bytes, insn);
	if ((word & 0x1f800000) == 0x11000000) {
		sum_immediate(word, out);
	} else if ((word & 0x1f000000) == 0x0b000000) {
		sum_register(word, out);
	} else if ((word & 0x7fe0ffe0) == 0x2a0003e0) {
		if (bits(word, 16, 5) == REG_SP)
			assign(word, STEP_SET, STEP_NO_REG, 0, out);
		else
			assign(word, STEP_ADD, (uint8_t)bits(word, 16, 5), 0, out);
	} else if ((word & 0x1f800000) == 0x12800000) {
		move_wide(word, out);
	} else if ((word & 0x1f000000) == 0x10000000) {
		address(word, insn, out);
	} else if (writeback(word, &base, &by)) {
		out->writes |= 1u << base;
		/* A base that is loaded as well is not. */
		if (!(insn->flags & INSN_LOAD) || bits(word, 26, 1) ||
		    (bits(word, 0, 5) != base && bits(word, 10, 5) != base)) {
			out->op = STEP_ADD;
			out->dst = out->src = base;
			out->bytes = 8;
			out->imm = by;
		}
	} else if (sets_flags(word)) {
		out->flags = STEP_FLAGS_OTHER;
	}
}
