/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/x86/decode_flags.h"

static bool is_in(uint8_t x, uint8_t from, uint8_t to)
{
	return x >= from && x <= to;
}

/* add, or, adc, sbb, and, sub, xor, cmp: two of them take the carry. */
static enum rp_flags of_alu(unsigned which)
{
	return which == 2 || which == 3 ? RP_FLAGS_OTHER : RP_FLAGS_SET;
}

static enum rp_flags of_one_byte(const struct rp_insn *i)
{
	uint8_t op = i->opcode, reg = i->reg & 7;

	if (op < 0x40)
		return (op & 7) < 6 ? of_alu(op >> 3) : RP_FLAGS_OTHER;
	if (is_in(op, 0x80, 0x83))
		return of_alu(reg);
	/* test, neg; not */
	if (op == 0xf6 || op == 0xf7)
		return reg < 2 || reg == 3 ? RP_FLAGS_SET : reg == 2 ? RP_FLAGS_LEFT : RP_FLAGS_OTHER;
	if (op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9)
		return RP_FLAGS_SET;
	/* movsxd, xchg, mov, conversions, x87 but for its moves and comparisons by flags */
	if (op == 0x63 || is_in(op, 0x86, 0x8b) || is_in(op, 0x90, 0x99) || is_in(op, 0xb0, 0xbf) ||
	    op == 0xc6 || op == 0xc7 || op == 0xd8 || op == 0xd9 || op == 0xdc || op == 0xdd)
		return RP_FLAGS_LEFT;
	return RP_FLAGS_OTHER;
}

static enum rp_flags of_0f(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	/* ucomis, comis; cmpxchg, xadd */
	if (op == 0x2e || op == 0x2f || op == 0xb0 || op == 0xb1 || op == 0xc0 || op == 0xc1)
		return RP_FLAGS_SET;
	if (op == 0xb8)
		return i->rep == 0xf3 ? RP_FLAGS_SET : RP_FLAGS_OTHER; /* popcnt */
	/* Vectors; movzx, movsx, movnti, bswap */
	if (is_in(op, 0x10, 0x17) || is_in(op, 0x28, 0x2d) || is_in(op, 0x50, 0x77) ||
	    is_in(op, 0x7c, 0x7f) || op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf ||
	    is_in(op, 0xc2, 0xc6) || is_in(op, 0xc8, 0xfe))
		return RP_FLAGS_LEFT;
	return RP_FLAGS_OTHER;
}

/* Of vectors; of general registers (from f2 on) some set some flags. */
static enum rp_flags of_0f38(const struct rp_insn *i)
{
	if (i->encoding == RP_LEGACY && i->opcode == 0x17)
		return RP_FLAGS_SET; /* ptest */
	return i->opcode == 0x17 || i->opcode == 0x0e || i->opcode == 0x0f || i->opcode >= 0xe0
	               ? RP_FLAGS_OTHER
	               : RP_FLAGS_LEFT;
}

static enum rp_flags of_vex(const struct rp_insn *i)
{
	if (i->map == 2)
		return of_0f38(i);
	if (i->map == 3)
		return is_in(i->opcode, 0x60, 0x63) ? RP_FLAGS_OTHER : RP_FLAGS_LEFT;
	if (i->map != 1)
		return RP_FLAGS_OTHER;
	if (i->opcode == 0x2e || i->opcode == 0x2f)
		return RP_FLAGS_SET;
	/* kortest, ktest */
	return i->opcode == 0x98 || i->opcode == 0x99 ? RP_FLAGS_OTHER : RP_FLAGS_LEFT;
}

static enum rp_flags of_plain(const struct rp_insn *i)
{
	if (i->encoding != RP_LEGACY)
		return of_vex(i);
	switch (i->map) {
	case 0:
		return of_one_byte(i);
	case 1:
		return of_0f(i);
	case 2:
		return of_0f38(i);
	default:
		return is_in(i->opcode, 0x60, 0x63) ? RP_FLAGS_OTHER
		                                    : RP_FLAGS_LEFT; /* pcmpestri and its like */
	}
}

enum rp_flags rp_flags_of(const struct rp_insn *i)
{
	switch (i->kind) {
	case RP_PLAIN:
		return of_plain(i);
	case RP_NOTHING:
	case RP_LEA:
	case RP_PUSH:
	case RP_POP:
	case RP_LEAVE:
		return RP_FLAGS_LEFT;
	default:
		return RP_FLAGS_OTHER;
	}
}
