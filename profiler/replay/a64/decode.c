/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/a64/decode.h"

#include "profiler/replay/a64/decode_int.h"

#define BITS(high, low) a64_bits(i->word, high, low)

/* rd is the stack pointer where flags are not set; rn always. */
static void decode_stack(struct a64_insn *i, bool rd, bool rn)
{
	i->sp_d = rd && i->rd == A64_SP_REG;
	i->sp_n = rn && i->rn == A64_SP_REG;
	i->kind = i->sp_d || i->sp_n ? A64_STACK : A64_PLAIN;
}

static void decode_address(struct a64_insn *i)
{
	int64_t imm = (int64_t)((uint64_t)a64_signed_bits(i->word, 23, 5) << 2 | BITS(30, 29));

	i->kind = A64_ADDRESS;
	i->imm = BITS(31, 31) ? (int64_t)((uint64_t)imm << 12) : imm;
}

static void decode_immediate(struct a64_insn *i)
{
	switch (BITS(25, 23)) {
	case 0:
	case 1:
		decode_address(i);
		break;
	case 2: /* add, sub */
		decode_stack(i, !BITS(29, 29), true);
		break;
	case 3: /* of tags; smallest and largest */
		i->kind = BITS(22, 22) ? A64_PLAIN : A64_TAGS;
		break;
	case 4: /* logical */
		decode_stack(i, BITS(30, 29) != 3, false);
		break;
	case 5: /* move wide */
	case 6: /* bit fields */
		i->kind = A64_PLAIN;
		break;
	default: /* extract; autiasppc */
		i->kind = BITS(30, 29) ? A64_UNKNOWN : A64_PLAIN;
		break;
	}
}

/* Signs, authenticates or strips a pointer. */
static void decode_signature(struct a64_insn *i)
{
	unsigned opcode = BITS(15, 10);

	if (BITS(20, 16) != 1 || !BITS(31, 31))
		return;
	/* Whose keys it would be signed with is known to the system only: it is left unsigned. */
	if (opcode < 16)
		i->kind = opcode & 4 ? A64_STRIP : A64_NOTHING;
	else if (opcode < 18)
		i->kind = A64_PLAIN;
	i->imm = (opcode & 2) != 0;
}

static void decode_two_sources(struct a64_insn *i)
{
	unsigned opcode = BITS(15, 10);

	if (BITS(29, 29) || opcode == 0 || opcode == 4 || opcode == 5)
		i->kind = A64_TAGS; /* subp, subps, irg, gmi */
	else if (opcode != 12 && opcode < 32)
		i->kind = A64_PLAIN; /* 12: pacga, whose key is not known */
}

static void decode_with_carry(struct a64_insn *i)
{
	unsigned opcode = BITS(15, 10);

	/* adc, sbc; rmif; setf8, setf16.  addpt names the stack pointer. */
	if (opcode == 0 || (opcode & 0x1f) == 1 || (opcode & 0xf) == 2)
		i->kind = A64_PLAIN;
}

static void decode_register(struct a64_insn *i)
{
	if (!BITS(28, 28)) {
		if (BITS(24, 24) && BITS(21, 21))
			decode_stack(i, !BITS(29, 29), true); /* add, sub, extended */
		else
			i->kind = A64_PLAIN;
		return;
	}
	switch (BITS(24, 21)) {
	case 0:
		decode_with_carry(i);
		break;
	case 2: /* conditional compare */
	case 4: /* conditional select */
		i->kind = A64_PLAIN;
		break;
	case 6:
		if (!BITS(30, 30))
			decode_two_sources(i);
		else if (!BITS(29, 29) && BITS(20, 16) == 0)
			i->kind = A64_PLAIN;
		else if (!BITS(29, 29))
			decode_signature(i);
		break;
	default:
		if (BITS(24, 24))
			i->kind = A64_PLAIN; /* of three sources */
		break;
	}
}

static void decode_exception(struct a64_insn *i)
{
	unsigned opc = BITS(23, 21), ll = BITS(1, 0);

	if (opc == 0 && ll)
		i->kind = A64_SYSCALL; /* svc, hvc, smc */
	else if (opc == 3)
		i->kind = A64_TRANSACTION; /* tcancel */
	else
		i->kind = A64_TRAP;
}

static void decode_hint(struct a64_insn *i)
{
	unsigned hint = BITS(11, 5);

	i->kind = A64_NOTHING;
	if (hint == 7 || hint == 40) {
		i->kind = A64_PLAIN; /* xpaclri; chkfeat */
	} else if (hint == 12 || hint == 14) {
		i->kind = A64_STRIP_X17; /* autia1716, autib1716 */
	} else if (hint >= 28 && hint <= 31) {
		i->kind = A64_STRIP; /* autiasp and its like */
		i->rd = A64_LINK;
	}
}

static void decode_barrier(struct a64_insn *i)
{
	unsigned op2 = BITS(7, 5);

	if (BITS(4, 0) != 31)
		return;
	if (op2 == 2)
		i->kind = A64_CLEAR_EXCLUSIVE;
	else if (op2 == 3)
		i->kind = A64_TRANSACTION; /* tcommit */
	else if (op2)
		i->kind = A64_PLAIN;
}

/* msr of an immediate. */
static void decode_state(struct a64_insn *i)
{
	unsigned op1 = BITS(18, 16), op2 = BITS(7, 5);

	if (BITS(4, 0) != 31)
		return;
	if (op1 == 0 && op2 < 3 && BITS(11, 8) == 0)
		i->kind = A64_PLAIN; /* cfinv, xaflag, axflag */
	else if (op1 == 3 && (op2 == 1 || op2 == 2))
		i->kind = A64_PLAIN; /* ssbs, dit */
	else if (op1 == 3)
		i->kind = op2 == 3 ? A64_SME : op2 == 4 ? A64_TAGS : A64_UNKNOWN;
}

/* sys and sysl: caches, and the guarded stack. */
static void decode_sys(struct a64_insn *i)
{
	unsigned op1 = BITS(18, 16), n = BITS(15, 12), m = BITS(11, 8), op2 = BITS(7, 5);

	if (op1 != 3 || n != 7)
		return;
	if (m == 7)
		i->kind = A64_GUARDED_STACK;
	else if (BITS(21, 21))
		i->kind = A64_UNKNOWN;
	else if (m == 4)
		i->kind = op2 == 1 ? A64_ZERO_BLOCK : A64_TAGS;
	else if ((m == 5 || m >= 10) && op2 == 1)
		i->kind = A64_NOTHING; /* ic ivau, dc cvac and its like */
	else if (m >= 10)
		i->kind = A64_TAGS;
}

/* op0, op1, CRn, CRm, op2 of a system register. */
#define SYSTEM(op0, op1, n, m, op2) ((unsigned)((op0) << 14 | (op1) << 11 | (n) << 7 | (m) << 3 | (op2)))

static void decode_system_register(struct a64_insn *i)
{
	unsigned reg = BITS(20, 5);
	bool read = BITS(21, 21);

	switch (reg) {
	case SYSTEM(3, 3, 13, 0, 2):
		i->kind = read ? A64_GET_THREAD : A64_SET_THREAD;
		return;
	case SYSTEM(3, 3, 4, 2, 0): /* nzcv */
	case SYSTEM(3, 3, 4, 2, 5): /* dit */
	case SYSTEM(3, 3, 4, 2, 6): /* ssbs */
	case SYSTEM(3, 3, 4, 4, 0): /* fpcr */
	case SYSTEM(3, 3, 4, 4, 1): /* fpsr */
		i->kind = A64_PLAIN;
		return;
	case SYSTEM(3, 3, 4, 2, 7): /* tco */
		i->kind = A64_TAGS;
		return;
	case SYSTEM(3, 3, 4, 2, 2):  /* svcr */
	case SYSTEM(3, 3, 13, 0, 5): /* tpidr2_el0 */
		i->kind = A64_SME;
		return;
	case SYSTEM(3, 3, 2, 5, 1): /* gcspr_el0 */
		i->kind = A64_GUARDED_STACK;
		return;
	case SYSTEM(3, 3, 0, 0, 1):  /* ctr_el0 */
	case SYSTEM(3, 3, 0, 0, 7):  /* dczid_el0 */
	case SYSTEM(3, 3, 2, 4, 0):  /* rndr */
	case SYSTEM(3, 3, 2, 4, 1):  /* rndrrs */
	case SYSTEM(3, 3, 13, 0, 3): /* tpidrro_el0 */
	case SYSTEM(3, 3, 14, 0, 0): /* the clock: its frequency and its counts */
	case SYSTEM(3, 3, 14, 0, 1):
	case SYSTEM(3, 3, 14, 0, 2):
	case SYSTEM(3, 3, 14, 0, 5):
	case SYSTEM(3, 3, 14, 0, 6):
		i->kind = read ? A64_PLAIN : A64_UNKNOWN;
		return;
	default:
		/* What the processor can, as the system tells it to any process. */
		if (read && reg >> 7 == SYSTEM(3, 0, 0, 0, 0) >> 7)
			i->kind = A64_PLAIN;
		return;
	}
}

static void decode_system(struct a64_insn *i)
{
	unsigned op0 = BITS(20, 19), n = BITS(15, 12);

	if (BITS(31, 22) != 0x354)
		return;
	if (op0 >= 2)
		decode_system_register(i);
	else if (op0 == 1)
		decode_sys(i);
	else if (BITS(21, 21))
		i->kind = BITS(18, 12) == 0x33 ? A64_TRANSACTION : A64_UNKNOWN; /* tstart, ttest */
	else if (n == 2 && BITS(18, 16) == 3 && BITS(4, 0) == 31)
		decode_hint(i);
	else if (n == 1 && BITS(18, 16) == 3)
		i->kind = A64_NOTHING; /* wfet, wfit */
	else if (n == 3 && BITS(18, 16) == 3)
		decode_barrier(i);
	else if (n == 4)
		decode_state(i);
}

/* br, blr, ret, and those that authenticate. */
static void decode_branch_register(struct a64_insn *i)
{
	static const uint8_t kinds[] = { A64_BR, A64_BLR, A64_RET };
	unsigned opc = BITS(24, 21), op3 = BITS(15, 10);
	bool signed_by_zero = (op3 == 2 || op3 == 3) && i->rd == 31, plain = op3 == 0 && i->rd == 0;

	if (BITS(20, 16) != 31)
		return;
	if (opc < 3 && (plain || signed_by_zero))
		i->kind = kinds[opc];
	else if ((opc == 8 || opc == 9) && (op3 == 2 || op3 == 3))
		i->kind = kinds[opc & 1];
	if (i->kind == A64_RET && signed_by_zero) {
		if (i->rn != 31)
			i->kind = A64_UNKNOWN;
		i->rn = A64_LINK;
	}
}

static void decode_branch(struct a64_insn *i)
{
	switch (BITS(31, 29)) {
	case 0:
	case 4:
		i->kind = BITS(31, 31) ? A64_BL : A64_B;
		i->imm = 4 * a64_signed_bits(i->word, 25, 0);
		break;
	case 1:
	case 5:
		i->kind = A64_IF;
		i->imm = 4 *
		         (BITS(25, 25) ? a64_signed_bits(i->word, 18, 5) : a64_signed_bits(i->word, 23, 5));
		break;
	case 2:
		if (BITS(25, 24) == 0) {
			/* Two of the sixteen conditions are none. */
			i->kind = BITS(3, 1) == 7 ? A64_B : A64_IF;
			i->imm = 4 * a64_signed_bits(i->word, 23, 5);
		}
		break;
	case 6:
		if (BITS(25, 24) == 0)
			decode_exception(i);
		else if (BITS(25, 24) == 1)
			decode_system(i);
		else
			decode_branch_register(i);
		break;
	default:
		break;
	}
}

void a64_decode(uint32_t word, struct a64_insn *out)
{
	struct a64_insn *i = out;

	*out = (struct a64_insn){ .word = word,
		                  .kind = A64_UNKNOWN,
		                  .rd = (uint8_t)a64_bits(word, 4, 0),
		                  .rn = (uint8_t)a64_bits(word, 9, 5),
		                  .rm = (uint8_t)a64_bits(word, 20, 16),
		                  .ra = (uint8_t)a64_bits(word, 14, 10) };
	switch (BITS(28, 25)) {
	case 0:
		i->kind = BITS(31, 31) ? A64_SME : word >> 16 ? A64_UNKNOWN : A64_TRAP;
		break;
	case 2:
		i->kind = A64_SVE;
		break;
	case 8:
	case 9:
		decode_immediate(i);
		break;
	case 10:
	case 11:
		decode_branch(i);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		a64_decode_memory(i);
		break;
	case 5:
	case 13:
		decode_register(i);
		break;
	case 7:
	case 15: /* of vectors and of floating point */
		i->kind = A64_PLAIN;
		break;
	default:
		break;
	}
}
