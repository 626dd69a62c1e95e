/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/x86/decode_tables.h"

/* The one-byte map: M ModRM, 1 and 4 immediates (4: two bytes with 66), w two bytes, v as wide as the operand,
 * a an address. */
static const char one_byte[256][3] = {
#define ALU "M", "M", "M", "M", "1", "4", "", ""
	ALU,
	ALU,
	ALU,
	ALU,
	ALU,
	ALU,
	ALU,
	ALU,
#undef ALU
	[0x63] = "M",
	[0x68] = "4",
	[0x69] = "M4",
	[0x6a] = "1",
	[0x6b] = "M1",
#define EIGHT(from, what)                                                                                    \
	[(from)] = what, [(from) + 1] = what, [(from) + 2] = what, [(from) + 3] = what, [(from) + 4] = what, \
	[(from) + 5] = what, [(from) + 6] = what, [(from) + 7] = what
	EIGHT(0x70, "1"),
	EIGHT(0x78, "1"),
	[0x80] = "M1",
	[0x81] = "M4",
	[0x82] = "M1",
	[0x83] = "M1",
	[0x84] = "M",
	[0x85] = "M",
	[0x86] = "M",
	[0x87] = "M",
	EIGHT(0x88, "M"),
	[0xa0] = "a",
	[0xa1] = "a",
	[0xa2] = "a",
	[0xa3] = "a",
	[0xa8] = "1",
	[0xa9] = "4",
	EIGHT(0xb0, "1"),
	EIGHT(0xb8, "v"),
	[0xc0] = "M1",
	[0xc1] = "M1",
	[0xc2] = "w",
	[0xc6] = "M1",
	[0xc7] = "M4",
	[0xc8] = "w1",
	[0xca] = "w",
	[0xcd] = "1",
	[0xd0] = "M",
	[0xd1] = "M",
	[0xd2] = "M",
	[0xd3] = "M",
	EIGHT(0xd8, "M"),
	[0xe0] = "1",
	[0xe1] = "1",
	[0xe2] = "1",
	[0xe3] = "1",
	[0xe4] = "1",
	[0xe5] = "1",
	[0xe6] = "1",
	[0xe7] = "1",
	[0xe8] = "4",
	[0xe9] = "4",
	[0xeb] = "1",
	[0xf6] = "M",
	[0xf7] = "M",
	[0xfe] = "M",
	[0xff] = "M",
};

static bool is_in(uint8_t x, uint8_t from, uint8_t to)
{
	return x >= from && x <= to;
}

static bool map1_has_modrm(uint8_t op)
{
	return !(is_in(op, 0x04, 0x0c) || op == 0x0e || is_in(op, 0x30, 0x37) || op == 0x77 ||
	         is_in(op, 0x80, 0x8f) || is_in(op, 0xa0, 0xa2) || is_in(op, 0xa8, 0xaa) ||
	         is_in(op, 0xc8, 0xcf));
}

bool rp_has_modrm(const struct rp_insn *i)
{
	if (i->map == 0)
		return one_byte[i->opcode][0] == 'M';
	/* Of VEX and EVEX only this one has none. */
	if (i->encoding != RP_LEGACY)
		return i->map != 1 || i->opcode != 0x77;
	return i->map != 1 || map1_has_modrm(i->opcode);
}

bool rp_is_gather(const struct rp_insn *i)
{
	if (i->encoding == RP_LEGACY || i->map != 2)
		return false;
	return is_in(i->opcode, 0x90, 0x93) ||
	       (i->encoding == RP_EVEX && (is_in(i->opcode, 0xa0, 0xa3) || is_in(i->opcode, 0xc6, 0xc7)));
}

static uint8_t bytes_of_word(const struct rp_insn *i, char word)
{
	switch (word) {
	case '1':
		return 1;
	case 'w':
		return 2;
	case '4':
		/* Branches are as far with 66; one that is not is refused below. */
		return i->opsize && !i->wide && i->opcode != 0xe8 && i->opcode != 0xe9 ? 2 : 4;
	case 'v':
		return i->wide ? 8 : i->opsize ? 2 : 4;
	case 'a':
		return i->addrsize ? 4 : 8;
	default:
		return 0;
	}
}

static uint8_t map1_immediate(const struct rp_insn *i)
{
	uint8_t op = i->opcode;

	if (is_in(op, 0x70, 0x73) || op == 0xc2 || is_in(op, 0xc4, 0xc6))
		return 1;
	if (i->encoding != RP_LEGACY)
		return 0;
	if (is_in(op, 0x80, 0x8f))
		return 4;
	return op == 0xa4 || op == 0xac || op == 0xba;
}

uint8_t rp_immediate_bytes(const struct rp_insn *i)
{
	const char *words = one_byte[i->opcode];
	uint8_t n = 0;

	if (i->map == 1)
		return map1_immediate(i);
	if (i->map)
		return i->map == 3;
	for (const char *w = words; w < words + 3 && *w; w++)
		n = (uint8_t)(n + bytes_of_word(i, *w));
	if ((i->opcode == 0xf6 || i->opcode == 0xf7) && (i->reg & 7) < 2)
		n = bytes_of_word(i, i->opcode == 0xf6 ? '1' : '4');
	return n;
}

static enum rp_kind classify_ff(const struct rp_insn *i)
{
	static const uint8_t kinds[] = { RP_PLAIN,  RP_PLAIN, RP_CALL_AT, RP_FAR,
		                         RP_JMP_AT, RP_FAR,   RP_PUSH,    RP_UNKNOWN };
	enum rp_kind kind = kinds[i->reg & 7];

	if (kind == RP_PUSH && i->mem)
		return RP_PUSH_MEM;
	/* A branch of 16 bits: two makers of processors, two meanings. */
	return i->opsize && (kind == RP_CALL_AT || kind == RP_JMP_AT) ? RP_UNKNOWN : kind;
}

static enum rp_kind classify_moves(const struct rp_insn *i, uint8_t modrm)
{
	switch (i->opcode) {
	case 0x8d:
		return i->mem ? RP_LEA : RP_UNKNOWN;
	case 0x8e:
		return RP_FAR;
	case 0x8f:
		return i->reg & 7 ? RP_UNKNOWN : i->mem ? RP_POP_MEM : RP_POP;
	case 0xc6:
	case 0xc7:
		/* xabort, xbegin */
		if (modrm == 0xf8)
			return RP_TRANSACTION;
		return i->reg & 7 ? RP_UNKNOWN : RP_PLAIN;
	default:
		return i->reg & 6 ? RP_UNKNOWN : RP_PLAIN; /* fe */
	}
}

static enum rp_kind classify_one_byte(const struct rp_insn *i, uint8_t modrm)
{
	uint8_t op = i->opcode;

	switch (op) {
	case 0x06:
	case 0x07:
	case 0x0e:
	case 0x16:
	case 0x17:
	case 0x1e:
	case 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60:
	case 0x61:
	case 0x62:
	case 0x82:
	case 0x9a:
	case 0xc4:
	case 0xc5:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
	/* A prefix behind REX, which is then void. */
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return RP_UNKNOWN;
	case 0x8d:
	case 0x8e:
	case 0x8f:
	case 0xc6:
	case 0xc7:
	case 0xfe:
		return classify_moves(i, modrm);
	case 0x68:
	case 0x6a:
		return RP_PUSH;
	case 0x9c:
		return RP_PUSHF;
	case 0x9d:
		return RP_POPF;
	case 0xa4:
	case 0xa5:
	case 0xa6:
	case 0xa7:
	case 0xaa:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xae:
	case 0xaf:
		return RP_STRING;
	case 0xc2:
	case 0xc3:
		return i->opsize ? RP_UNKNOWN : RP_RET;
	case 0xc9:
		return i->opsize ? RP_UNKNOWN : RP_LEAVE;
	case 0xca:
	case 0xcb:
	case 0xcf:
		return RP_FAR;
	case 0xc8:
		return i->opsize ? RP_UNKNOWN : RP_ENTER;
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa3:
		return RP_MOV_AT;
	case 0xcd:
	case 0xf1:
	case 0xcc:
	case 0xce:
	case 0xf4:
	case 0xfa:
	case 0xfb:
	case 0x6c:
	case 0x6d:
	case 0x6e:
	case 0x6f:
	case 0xe4:
	case 0xe5:
	case 0xe6:
	case 0xe7:
	case 0xec:
	case 0xed:
	case 0xee:
	case 0xef:
		return op == 0xcd ? RP_SYSCALL : RP_TRAP;
	case 0xd7:
		return RP_XLAT;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return i->rep || i->opsize ? RP_UNKNOWN : RP_LOOP;
	case 0xe8:
		return i->opsize ? RP_UNKNOWN : RP_CALL;
	case 0xe9:
	case 0xeb:
		return i->opsize ? RP_UNKNOWN : RP_JMP;
	case 0xff:
		return classify_ff(i);
	default:
		break;
	}
	if ((op & 0xf0) == 0x40)
		return RP_UNKNOWN; /* REX twice */
	if ((op & 0xf0) == 0x70)
		return i->opsize ? RP_UNKNOWN : RP_JCC;
	if ((op & 0xf0) == 0x50)
		return op < 0x58 ? RP_PUSH : RP_POP;
	return RP_PLAIN;
}

/* 0f 01: the system's, but for a few. */
static enum rp_kind classify_0f01(uint8_t modrm)
{
	switch (modrm) {
	case 0xd0: /* xgetbv */
	case 0xd6: /* xtest */
	case 0xe8: /* serialize */
	case 0xf9: /* rdtscp */
		return RP_PLAIN;
	case 0xd5: /* xend */
		return RP_TRANSACTION;
	case 0xea: /* saveprevssp */
		return RP_SHADOW_STACK;
	case 0xee: /* rdpkru, wrpkru */
	case 0xef:
		return RP_KEYS;
	default:
		return RP_UNKNOWN;
	}
}

/* 0f ae: areas in memory, fences, bases of segments. */
static enum rp_kind classify_0fae(const struct rp_insn *i)
{
	unsigned reg = i->reg & 7;

	if (i->mem) {
		if (i->rep)
			return RP_SHADOW_STACK; /* clrssbsy */
		if (reg == 2 || reg == 3)
			return RP_PLAIN; /* ldmxcsr, stmxcsr */
		/* xsaveopt is as free as xsave to write all; clwb, clflush */
		return reg == 7 || (reg == 6 && i->opsize) ? RP_NOTHING : RP_AREA;
	}
	if (i->rep == 0xf3 && reg < 4)
		return RP_SEGMENT_BASE;
	if (i->rep == 0xf3 && reg == 5)
		return RP_SHADOW_STACK; /* incssp */
	return !i->rep && !i->opsize && reg >= 5 ? RP_PLAIN : RP_UNKNOWN;
}

static enum rp_kind classify_0fc7(const struct rp_insn *i)
{
	unsigned reg = i->reg & 7;

	if (i->mem)
		return reg == 1 ? RP_PLAIN : reg == 4 || reg == 5 || reg == 3 ? RP_AREA : RP_UNKNOWN;
	/* rdrand, rdseed, rdpid */
	return (reg == 6 && i->rep != 0xf3) || reg == 7 ? RP_PLAIN : RP_UNKNOWN;
}

static enum rp_kind classify_0f(const struct rp_insn *i, uint8_t modrm)
{
	uint8_t op = i->opcode;

	if (is_in(op, 0x18, 0x1f))
		/* rdssp: nothing happens without a shadow stack; who calls for one is asked elsewhere */
		return op == 0x1e && i->rep == 0xf3 && !i->mem && (i->reg & 7) == 1 ? RP_SHADOW_STACK
		                                                                    : RP_NOTHING;
	if ((op & 0xf0) == 0x80)
		return i->opsize ? RP_UNKNOWN : RP_JCC;
	switch (op) {
	case 0x01:
		return i->mem || i->rep ? RP_UNKNOWN : classify_0f01(modrm);
	case 0x02:
	case 0x03:
		return RP_PLAIN;
	case 0x05:
	case 0x34:
		return RP_SYSCALL;
	case 0x0b:
	case 0xb9:
	case 0xff:
		return RP_TRAP;
	case 0x0d:
		return i->mem ? RP_NOTHING : RP_UNKNOWN;
	case 0xa0:
	case 0xa1:
	case 0xa8:
	case 0xa9:
	case 0xb2:
	case 0xb4:
	case 0xb5:
		return RP_FAR;
	case 0xa3:
	case 0xab:
	case 0xb3:
	case 0xbb:
		return i->mem ? RP_BIT : RP_PLAIN;
	case 0xae:
		return classify_0fae(i);
	case 0xb8:
		return i->rep == 0xf3 ? RP_PLAIN : RP_UNKNOWN;
	case 0xba:
		return (i->reg & 7) >= 4 ? RP_PLAIN : RP_UNKNOWN;
	case 0xc7:
		return classify_0fc7(i);
	case 0xf7:
		return i->mem || i->rep ? RP_UNKNOWN : RP_MASKED;
	case 0x31:
	case 0xa2:
	case 0x77:
		return RP_PLAIN;
	default:
		break;
	}
	if (op < 0x10 || is_in(op, 0x20, 0x27) || is_in(op, 0x30, 0x3f) || is_in(op, 0x78, 0x7b) ||
	    op == 0xa6 || op == 0xa7 || op == 0xaa)
		return RP_UNKNOWN;
	return RP_PLAIN;
}

static enum rp_kind classify_0f38(const struct rp_insn *i)
{
	if (i->opcode == 0xf5)
		return RP_SHADOW_STACK; /* wruss */
	if (i->opcode == 0xf6 && !i->opsize && !i->rep)
		return RP_SHADOW_STACK; /* wrss */
	/* invept and its like, keys of AES that no one may read, stores of 64 bytes to a register's address */
	if (is_in(i->opcode, 0x80, 0x82) || is_in(i->opcode, 0xd8, 0xd8) || i->opcode == 0xf8 ||
	    is_in(i->opcode, 0xfa, 0xff) || (is_in(i->opcode, 0xdc, 0xdf) && i->rep))
		return RP_UNKNOWN;
	return RP_PLAIN;
}

static enum rp_kind classify_vex(const struct rp_insn *i)
{
	if (rp_is_gather(i))
		return is_in(i->opcode, 0xc6, 0xc7) ? RP_NOTHING : i->mem ? RP_GATHER : RP_UNKNOWN;
	if (i->map == 1)
		return i->opcode == 0xf7 ? (i->mem || i->encoding == RP_EVEX || !i->opsize || i->rep ||
		                                            i->vector_log2 || i->vvvv
		                                    ? RP_UNKNOWN
		                                    : RP_MASKED)
		       : i->opcode == 0xae && !i->mem ? RP_UNKNOWN
		                                      : RP_PLAIN;
	/* Tiles */
	if (i->map == 2 &&
	    (is_in(i->opcode, 0x48, 0x4b) || is_in(i->opcode, 0x5c, 0x5e) || i->opcode == 0x6c) &&
	    i->encoding == RP_VEX)
		return RP_TILES;
	/* It scales displacements in a way of its own, and no processor here has it to be held against. */
	if (i->encoding == RP_EVEX && (i->map == 5 || i->map == 6 || (i->map == 3 && !i->opsize)))
		return RP_HALF;
	return i->map == 2 || i->map == 3 ? RP_PLAIN : RP_UNKNOWN;
}

static enum rp_kind classify(const struct rp_insn *i, uint8_t modrm)
{
	if (i->encoding != RP_LEGACY)
		return classify_vex(i);
	switch (i->map) {
	case 0:
		return classify_one_byte(i, modrm);
	case 1:
		return classify_0f(i, modrm);
	case 2:
		return classify_0f38(i);
	default:
		return i->opcode == 0xf0 ? RP_UNKNOWN : RP_PLAIN;
	}
}

enum rp_kind rp_classify(const struct rp_insn *i, uint8_t modrm)
{
	enum rp_kind kind = classify(i, modrm);

	/* What is run as it stands finds out by itself whether it may be locked. */
	return i->lock && kind != RP_PLAIN && kind < RP_SYSCALL ? RP_UNKNOWN : kind;
}
