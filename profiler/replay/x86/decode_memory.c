/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much memory an instruction touches, and whether it writes. */
#include "profiler/replay/x86/decode_tables.h"

static bool is_in(uint8_t x, uint8_t from, uint8_t to)
{
	return x >= from && x <= to;
}

static unsigned element_bytes(const struct rp_insn *i)
{
	return i->wide ? 8 : 4;
}

static unsigned vector_bytes(const struct rp_insn *i)
{
	return 16u << i->vector_log2;
}

/* movss and what else is of one element by its prefix. */
static unsigned scalar_or_vector(const struct rp_insn *i)
{
	return i->rep == 0xf3 ? 4 : i->rep == 0xf2 ? 8 : vector_bytes(i);
}

static unsigned map1_conversion_bytes(const struct rp_insn *i)
{
	switch (i->opcode) {
	case 0x5a:
		return i->rep ? scalar_or_vector(i) : i->opsize ? vector_bytes(i) : vector_bytes(i) / 2;
	case 0x78:
	case 0x79:
		return i->rep ? scalar_or_vector(i) : vector_bytes(i) / (i->opsize && !i->wide ? 2 : 1);
	case 0x7a:
		return vector_bytes(i) / (i->rep != 0xf2 && !i->wide ? 2 : 1);
	case 0x7b:
		return i->rep ? element_bytes(i) : vector_bytes(i) / (i->wide ? 1 : 2);
	default: /* e6 */
		return vector_bytes(i) / (i->rep == 0xf3 && !i->wide ? 2 : 1);
	}
}

static unsigned map1_vector_bytes(const struct rp_insn *i)
{
	switch (i->opcode) {
	case 0x10:
	case 0x11:
	case 0x51:
	case 0x52:
	case 0x53:
	case 0x58:
	case 0x59:
	case 0x5c:
	case 0x5d:
	case 0x5e:
	case 0x5f:
	case 0xc2:
		return scalar_or_vector(i);
	case 0x12:
		return i->rep == 0xf3                     ? vector_bytes(i)
		       : i->rep == 0xf2 && i->vector_log2 ? vector_bytes(i)
		                                          : 8;
	case 0x16:
		return i->rep == 0xf3 ? vector_bytes(i) : 8;
	case 0x13:
	case 0x17:
	case 0xd6:
		return 8;
	case 0x2a: /* of MMX without a prefix */
		return i->rep ? element_bytes(i) : 8;
	case 0x2c:
	case 0x2d:
		return i->rep == 0xf3 ? 4 : i->rep == 0xf2 ? 8 : 16;
	case 0x2e:
	case 0x2f:
		return i->opsize ? 8 : 4;
	case 0x6e:
		return element_bytes(i);
	case 0x7e:
		return i->rep == 0xf3 ? 8 : element_bytes(i);
	case 0x5a:
	case 0x78:
	case 0x79:
	case 0x7a:
	case 0x7b:
	case 0xe6:
		return map1_conversion_bytes(i);
	case 0x90:
	case 0x91: /* kmov: w and q by the prefix, b and d */
		return i->opsize ? i->wide ? 4 : 1 : i->wide ? 8 : 2;
	case 0xae: /* vldmxcsr */
		return 4;
	case 0xc4:
		return 2;
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xe1:
	case 0xe2:
	case 0xf1:
	case 0xf2:
	case 0xf3:
		return 16; /* shifts by the lowest element of that */
	default:
		return vector_bytes(i);
	}
}

/* Conversions of elements to larger or smaller ones: as the lower three bits have them. */
static unsigned narrow_bytes(const struct rp_insn *i)
{
	static const uint8_t parts[] = { 2, 4, 8, 2, 4, 2 };

	return vector_bytes(i) / parts[i->opcode & 7];
}

static bool is_narrow(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	if ((op & 7) > 5)
		return false;
	if (is_in(op, 0x20, 0x25) || is_in(op, 0x30, 0x35))
		return true;
	return i->encoding == RP_EVEX && is_in(op, 0x10, 0x15) && i->rep == 0xf3;
}

static unsigned map2_vector_bytes(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	if (is_narrow(i))
		return narrow_bytes(i);
	/* FMA of one element */
	if ((is_in(op, 0x98, 0x9f) || is_in(op, 0xa8, 0xaf) || is_in(op, 0xb8, 0xbf)) && op & 1)
		return element_bytes(i);
	switch (op) {
	case 0x13:
		return vector_bytes(i) / 2;
	case 0x18:
	case 0x58:
		return 4;
	case 0x19:
	case 0x59:
		return 8;
	case 0x1a:
	case 0x5a:
		return 16;
	case 0x1b:
	case 0x5b:
		return 32;
	case 0x2d:
	case 0x43:
	case 0x4d:
	case 0x4f:
	case 0xcb:
	case 0xcd:
		return i->encoding == RP_EVEX ? element_bytes(i) : vector_bytes(i);
	case 0x62:
	case 0x63:
		return i->wide ? 2 : 1;
	case 0x78:
		return 1;
	case 0x79:
		return 2;
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
	case 0x90:
	case 0x91:
	case 0x92:
	case 0x93:
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa3:
		return element_bytes(i);
	case 0xf0:
	case 0xf1:
	case 0xf2:
	case 0xf3:
	case 0xf5:
	case 0xf6:
	case 0xf7:
		return 8;
	default:
		return vector_bytes(i);
	}
}

static unsigned map3_vector_bytes(const struct rp_insn *i)
{
	switch (i->opcode) {
	case 0x0a:
	case 0x17:
	case 0x21:
		return 4;
	case 0x0b:
		return 8;
	case 0x14:
	case 0x20:
		return 1;
	case 0x15:
		return 2;
	case 0x16:
	case 0x22:
	case 0x27:
	case 0x51:
	case 0x55:
	case 0x57:
	case 0x67:
		return element_bytes(i);
	case 0x18:
	case 0x19:
	case 0x38:
	case 0x39:
		return 16;
	case 0x1a:
	case 0x1b:
	case 0x3a:
	case 0x3b:
		return 32;
	case 0x1d:
		return vector_bytes(i) / 2;
	case 0xf0:
		return 8;
	default:
		return vector_bytes(i);
	}
}

/* As EVEX counts displacements. */
static unsigned vector_operand_bytes(const struct rp_insn *i)
{
	if (i->broadcast)
		return element_bytes(i);
	return i->map == 1 ? map1_vector_bytes(i) : i->map == 2 ? map2_vector_bytes(i) : map3_vector_bytes(i);
}

static unsigned x87_bytes(const struct rp_insn *i)
{
	static const uint8_t sizes[8][8] = {
		{ 4, 4, 4, 4, 4, 4, 4, 4 },   { 4, 4, 4, 4, 28, 2, 28, 2 }, { 4, 4, 4, 4, 4, 4, 4, 4 },
		{ 4, 4, 4, 4, 4, 10, 4, 10 }, { 8, 8, 8, 8, 8, 8, 8, 8 },   { 8, 8, 8, 8, 108, 8, 108, 2 },
		{ 2, 2, 2, 2, 2, 2, 2, 2 },   { 2, 2, 2, 2, 10, 8, 10, 8 },
	};

	return sizes[i->opcode & 7][i->reg & 7];
}

static bool x87_writes(const struct rp_insn *i)
{
	static const uint8_t writes[8] = { 0, 0xcc, 0, 0x8e, 0, 0xce, 0, 0xce };

	return writes[i->opcode & 7] >> (i->reg & 7) & 1;
}

static bool is_x87(const struct rp_insn *i)
{
	return i->map == 0 && is_in(i->opcode, 0xd8, 0xdf);
}

/* Opcodes of one byte whose lowest bit is not the width. */
static unsigned one_byte_operand(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	if (is_x87(i))
		return x87_bytes(i);
	if (op == 0x63)
		return 4;
	if (op == 0x8c || op == 0x8e)
		return 2;
	if (op == 0x8f || (op == 0xff && (i->reg & 7) >= 2))
		return i->opsize ? 2 : 8;
	if (op == 0x69 || op == 0x6b || op & 1 || op == 0x62)
		return rp_operand_bytes(i);
	return 1;
}

static bool is_vector_of_map1(uint8_t op)
{
	return is_in(op, 0x10, 0x17) || is_in(op, 0x28, 0x2f) || is_in(op, 0x50, 0x7f) || op == 0xc2 ||
	       is_in(op, 0xc4, 0xc6) || op >= 0xd0;
}

static unsigned map1_operand(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	if (is_vector_of_map1(op))
		return map1_vector_bytes(i);
	if ((op & 0xf0) == 0x90 || op == 0xb0 || op == 0xb6 || op == 0xbe || op == 0xc0)
		return 1;
	if (op == 0xb7 || op == 0xbf || op == 0x02 || op == 0x03)
		return 2;
	if (op == 0xc7)
		return i->wide ? 16 : 8;
	if (op == 0xae)
		return 4;
	return rp_operand_bytes(i);
}

static unsigned legacy_operand(const struct rp_insn *i)
{
	switch (i->map) {
	case 0:
		return one_byte_operand(i);
	case 1:
		return map1_operand(i);
	case 2:
		/* movbe, crc32, adcx */
		return i->opcode >= 0xf0 ? 8 : map2_vector_bytes(i);
	default:
		return map3_vector_bytes(i);
	}
}

static bool one_byte_writes(const struct rp_insn *i)
{
	uint8_t op = i->opcode, reg = i->reg & 7;

	if (is_x87(i))
		return x87_writes(i);
	if (op < 0x38)
		return !(op & 2);
	switch (op) {
	case 0x80:
	case 0x81:
	case 0x83:
		return reg != 7;
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x89:
	case 0x8c:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return true;
	case 0xf6:
	case 0xf7:
		return reg == 2 || reg == 3;
	case 0xfe:
	case 0xff:
		return reg < 2;
	default:
		return false;
	}
}

static bool map1_writes(const struct rp_insn *i)
{
	switch (i->opcode) {
	case 0x11:
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x2b:
	case 0x7f:
	case 0x91:
	case 0xd6:
	case 0xe7:
		return true;
	case 0x7e:
		return i->rep != 0xf3;
	case 0xae:
		return (i->reg & 7) == 3;
	case 0xba:
		return (i->reg & 7) > 4;
	case 0xa4:
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xbb:
	case 0xc0:
	case 0xc1:
	case 0xc3:
	case 0xc7:
		return true;
	default:
		return i->encoding == RP_LEGACY && (i->opcode & 0xf0) == 0x90;
	}
}

static bool map2_writes(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	if (i->encoding == RP_LEGACY)
		return (op == 0xf1 && !i->rep) || op == 0xf9;
	if (i->encoding == RP_VEX)
		return op == 0x2e || op == 0x2f || op == 0x8e;
	return op == 0x63 || op == 0x8a || op == 0x8b || is_in(op, 0xa0, 0xa3) ||
	       (i->rep == 0xf3 && (is_in(op, 0x10, 0x15) || is_in(op, 0x20, 0x25) || is_in(op, 0x30, 0x35)));
}

static bool map3_writes(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	if (is_in(op, 0x14, 0x17))
		return true;
	return i->encoding != RP_LEGACY &&
	       (op == 0x19 || op == 0x1b || op == 0x1d || op == 0x39 || op == 0x3b);
}

static bool writes(const struct rp_insn *i)
{
	switch (i->map) {
	case 0:
		return one_byte_writes(i);
	case 1:
		return map1_writes(i);
	case 2:
		return map2_writes(i);
	default:
		return map3_writes(i);
	}
}

/* Elements that are packed in memory: as many as the mask has bits. */
static bool is_packed(const struct rp_insn *i)
{
	return i->encoding == RP_EVEX && i->map == 2 &&
	       (i->opcode == 0x62 || i->opcode == 0x63 || is_in(i->opcode, 0x88, 0x8b));
}

void rp_size_memory(struct rp_insn *i)
{
	unsigned n = i->encoding == RP_LEGACY ? legacy_operand(i) : vector_operand_bytes(i);

	if (i->encoding == RP_EVEX && i->mod == 1)
		i->disp *= (int32_t)n;
	i->mem_bytes = (uint16_t)(is_packed(i) ? vector_bytes(i) : n);
	i->write = writes(i);
}
