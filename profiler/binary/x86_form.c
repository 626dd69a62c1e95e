/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/x86_form.h"

#include <string.h>

/* What follows an opcode byte. */
enum {
	NONE = 0,
	MODRM = 1,
	IMM8 = 2,
	IMM16 = 4,
	IMMZ = 8,   /* 4 bytes, or 2 with the operand size prefix */
	IMMV = 16,  /* IMMZ, or 8 with REX.W: mov $imm64 */
	REL32 = 32, /* 4 bytes whatever the prefixes say, as Intel's processors do */
	MOFFS = 64, /* an address of 8 bytes, or 4 */
	BAD = 128,
	M8 = MODRM | IMM8,
	MZ = MODRM | IMMZ,
	ENTER = IMM16 | IMM8,
};

/* clang-format off */
static const uint8_t one_byte[256] = {
	/* 00 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 08 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 10 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 18 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 20 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 28 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 30 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 38 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD,
	/* 40 */ BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	/* 48 */ BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	/* 50 */ 0, 0, 0, 0, 0, 0, 0, 0,
	/* 58 */ 0, 0, 0, 0, 0, 0, 0, 0,
	/* 60 */ BAD, BAD, BAD, MODRM, BAD, BAD, BAD, BAD,
	/* 68 */ IMMZ, MZ, IMM8, M8, 0, 0, 0, 0,
	/* 70 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
	/* 78 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
	/* 80 */ M8, MZ, BAD, M8, MODRM, MODRM, MODRM, MODRM,
	/* 88 */ MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM,
	/* 90 */ 0, 0, 0, 0, 0, 0, 0, 0,
	/* 98 */ 0, 0, BAD, 0, 0, 0, 0, 0,
	/* a0 */ MOFFS, MOFFS, MOFFS, MOFFS, 0, 0, 0, 0,
	/* a8 */ IMM8, IMMZ, 0, 0, 0, 0, 0, 0,
	/* b0 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
	/* b8 */ IMMV, IMMV, IMMV, IMMV, IMMV, IMMV, IMMV, IMMV,
	/* c0 */ M8, M8, IMM16, 0, BAD, BAD, M8, MZ,
	/* c8 */ ENTER, 0, IMM16, 0, 0, IMM8, BAD, 0,
	/* d0 */ MODRM, MODRM, MODRM, MODRM, BAD, BAD, BAD, 0,
	/* d8 */ MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM,
	/* e0 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
	/* e8 */ REL32, REL32, BAD, IMM8, 0, 0, 0, 0,
	/* f0 */ BAD, 0, BAD, BAD, 0, 0, MODRM, MODRM,
	/* f8 */ 0, 0, 0, 0, 0, 0, MODRM, MODRM,
};
/* clang-format on */

/* Most of the 0f map has a modrm byte; these ranges are the rest. */
static const struct {
	uint8_t first, last, after;
} two_byte[] = {
	{ 0x04, 0x04, BAD },  { 0x05, 0x09, NONE },  { 0x0a, 0x0a, BAD },  { 0x0b, 0x0b, NONE },
	{ 0x0c, 0x0c, BAD },  { 0x0e, 0x0e, NONE },  { 0x0f, 0x0f, M8 },   { 0x24, 0x27, BAD },
	{ 0x30, 0x37, NONE }, { 0x39, 0x39, BAD },   { 0x3b, 0x3f, BAD },  { 0x70, 0x73, M8 },
	{ 0x77, 0x77, NONE }, { 0x80, 0x8f, REL32 }, { 0xa0, 0xa2, NONE }, { 0xa4, 0xa4, M8 },
	{ 0xa8, 0xaa, NONE }, { 0xac, 0xac, M8 },    { 0xba, 0xba, M8 },   { 0xc2, 0xc2, M8 },
	{ 0xc4, 0xc6, M8 },   { 0xc8, 0xcf, NONE },
};

static unsigned after_two_byte(uint8_t opcode)
{
	for (size_t i = 0; i < sizeof(two_byte) / sizeof(two_byte[0]); i++)
		if (opcode >= two_byte[i].first && opcode <= two_byte[i].last)
			return two_byte[i].after;
	return MODRM;
}

/* VEX and EVEX use the 0f map's vector part only. */
static unsigned after_vector(uint8_t opcode)
{
	if (opcode == 0x77)
		return NONE;
	if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6))
		return M8;
	return MODRM;
}

static unsigned what_follows(const struct x86_form *f)
{
	switch (f->map) {
	case X86_MAP_ONE:
		return one_byte[f->opcode];
	case X86_MAP_0F:
		return f->vector ? after_vector(f->opcode) : after_two_byte(f->opcode);
	case X86_MAP_0F3A:
	case X86_MAP_XOP8:
		return M8;
	case X86_MAP_XOPA:
		return MODRM | REL32;
	default:
		return MODRM;
	}
}

/* A reader that remembers having run out of bytes. */
struct cursor {
	const uint8_t *code;
	size_t n, at;
	bool ended;
};

static uint8_t peek(struct cursor *c)
{
	if (c->at < c->n)
		return c->code[c->at];
	c->ended = true;
	return 0;
}

static uint8_t take(struct cursor *c)
{
	uint8_t byte = peek(c);

	c->at++;
	return byte;
}

/* A little-endian signed number; past eight bytes never. */
static int64_t take_signed(struct cursor *c, unsigned n_bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n_bytes; i++)
		value |= (uint64_t)take(c) << (8 * i);
	if (n_bytes < 8 && n_bytes && value >> (8 * n_bytes - 1))
		value |= ~0ULL << (8 * n_bytes);
	return (int64_t)value;
}

/* Legacy prefixes and REX; a REX that isn't the last prefix counts for nothing. */
static void take_prefixes(struct cursor *c, struct x86_form *f)
{
	for (; c->at < X86_MAX_BYTES; c->at++) {
		uint8_t byte = peek(c);

		if ((byte & 0xf0) == 0x40) {
			f->rex_w = byte & 8;
			f->rex_b = byte & 1;
			continue;
		}
		switch (byte) {
		case 0x66:
			f->opsize = true;
			break;
		case 0x67:
			f->addrsize = true;
			break;
		case 0xf0:
			f->lock = true;
			break;
		case 0xf2:
			f->repne = true;
			break;
		case 0xf3:
			f->rep = true;
			break;
		case 0x64:
		case 0x65:
			f->fs_gs = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			break;
		default:
			return;
		}
		f->rex_w = f->rex_b = false;
	}
}

static bool set_vector_map(struct x86_form *f, unsigned map)
{
	static const int8_t evex[8] = { -1, X86_MAP_0F, X86_MAP_0F38, X86_MAP_0F3A,
		                        -1, X86_MAP_5,  X86_MAP_6,    -1 };

	if (map > 7 || evex[map] < 0)
		return false;
	f->map = (uint8_t)evex[map];
	return f->vector == X86_EVEX || map <= 3;
}

/* 62: P0 (map), P1, P2.  c4: map, then W and the rest.  c5: the 0f map.  8f: XOP. */
static bool take_vector_prefix(struct cursor *c, struct x86_form *f, uint8_t lead)
{
	uint8_t payload = take(c);

	f->vector = lead == 0x62 ? X86_EVEX : X86_VEX;
	if (lead == 0xc5) {
		f->map = X86_MAP_0F;
		f->pp = payload & 3;
	} else {
		uint8_t second = take(c);

		f->pp = second & 3;
		f->rex_w = second & 0x80;
		if (lead == 0x62)
			take(c);
		if (lead == 0x8f)
			f->map = (uint8_t)(X86_MAP_XOP8 + (payload & 0x1f) - 8);
		else if (!set_vector_map(f, payload & (lead == 0x62 ? 7 : 0x1f)))
			return false;
		if (f->map > X86_MAP_XOPA)
			return false;
	}
	f->opcode = take(c);
	return true;
}

static bool take_opcode(struct cursor *c, struct x86_form *f)
{
	uint8_t byte = take(c);

	/* 8f is pop, or XOP where pop's modrm byte would be one of no pop. */
	if (byte == 0x62 || byte == 0xc4 || byte == 0xc5 || (byte == 0x8f && (peek(c) & 0x1f) >= 8))
		return take_vector_prefix(c, f, byte);
	f->opcode = byte;
	if (byte != 0x0f)
		return true;
	f->map = X86_MAP_0F;
	f->opcode = take(c);
	if (f->opcode == 0x38 || f->opcode == 0x3a) {
		f->map = f->opcode == 0x38 ? X86_MAP_0F38 : X86_MAP_0F3A;
		f->opcode = take(c);
	}
	return true;
}

static void take_modrm(struct cursor *c, struct x86_form *f)
{
	unsigned mod, rm, disp_bytes;

	f->has_modrm = true;
	f->modrm = take(c);
	mod = f->modrm >> 6;
	rm = f->modrm & 7;
	/* Control and debug registers: mod means nothing. */
	if (mod == 3 || (f->map == X86_MAP_0F && !f->vector && (f->opcode & 0xfc) == 0x20))
		return;
	f->has_memory = true;
	disp_bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (rm == 4) {
		uint8_t sib = take(c);

		if ((sib & 7) == 5 && mod == 0) {
			disp_bytes = 4;
			f->absolute = (sib & 0x38) == 0x20;
		}
	} else if (rm == 5 && mod == 0) {
		f->rip_relative = true;
		disp_bytes = 4;
	}
	f->disp = (int32_t)take_signed(c, disp_bytes);
}

static unsigned imm_bytes(const struct x86_form *f, unsigned after)
{
	if (f->map == X86_MAP_ONE && (f->opcode & 0xfe) == 0xf6 && x86_form_reg(f) < 2)
		after |= f->opcode == 0xf6 ? IMM8 : IMMZ; /* test has one, its group's others don't */
	/* extrq and insertq have two bytes. */
	if (f->map == X86_MAP_0F && f->opcode == 0x78 && !f->vector && (f->opsize || f->repne))
		return 2;
	if (after & MOFFS)
		return f->addrsize ? 4 : 8;
	if (after & IMMV && f->rex_w)
		return 8;
	if (after & (IMMZ | IMMV))
		return f->opsize && !f->rex_w ? 2 : 4;
	return (after & IMM8 ? 1 : 0) + (after & IMM16 ? 2 : 0) + (after & REL32 ? 4 : 0);
}

int x86_form_parse(const uint8_t *code, size_t n_bytes, struct x86_form *form)
{
	struct cursor c = { .code = code, .n = n_bytes < X86_MAX_BYTES ? n_bytes : X86_MAX_BYTES };
	unsigned after;

	memset(form, 0, sizeof(*form));
	take_prefixes(&c, form);
	if (c.at >= X86_MAX_BYTES || !take_opcode(&c, form))
		return c.ended ? -1 : 0;
	after = what_follows(form);
	if (c.ended || after & BAD)
		return c.ended && n_bytes < X86_MAX_BYTES ? -1 : 0;
	if (after & MODRM)
		take_modrm(&c, form);
	form->imm = (int32_t)take_signed(&c, imm_bytes(form, after));
	if (c.ended)
		return n_bytes < X86_MAX_BYTES ? -1 : 0;
	form->size_bytes = (uint8_t)c.at;
	return 1;
}
