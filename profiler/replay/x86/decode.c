/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/x86/decode.h"

#include "profiler/replay/x86/decode_tables.h"

struct cursor {
	const uint8_t *code;
	size_t n, at;
	bool short_of; /* it ran past the end */
};

static uint8_t peek(const struct cursor *c)
{
	return c->at < c->n ? c->code[c->at] : 0;
}

static uint8_t take(struct cursor *c)
{
	if (c->at >= c->n) {
		c->short_of = true;
		return 0;
	}
	return c->code[c->at++];
}

static int64_t take_signed(struct cursor *c, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)take(c) << 8 * i;
	if (bytes && bytes < 8)
		v = (v ^ 1ull << (8 * bytes - 1)) - (1ull << (8 * bytes - 1));
	return (int64_t)v;
}

static void take_prefixes(struct cursor *c, struct rp_insn *i)
{
	for (; i->n_prefixes < RP_MAX_INSN_BYTES; i->n_prefixes++, c->at++) {
		uint8_t b = peek(c);

		if (b == 0x66)
			i->opsize = true;
		else if (b == 0x67)
			i->addrsize = true;
		else if (b == 0xf0)
			i->lock = true;
		else if (b == 0xf2 || b == 0xf3)
			i->rep = b;
		else if (b == 0x64 || b == 0x65)
			i->segment = b;
		else if (b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26)
			return;
	}
}

static void take_rex(struct cursor *c, struct rp_insn *i)
{
	if ((peek(c) & 0xf0) != 0x40)
		return;
	i->rex = take(c);
	i->wide = i->rex & 8;
}

static void take_legacy_opcode(struct cursor *c, struct rp_insn *i)
{
	i->opcode = take(c);
	if (i->opcode != 0x0f)
		return;
	i->map = 1;
	i->opcode = take(c);
	if (i->opcode == 0x38 || i->opcode == 0x3a) {
		i->map = i->opcode == 0x38 ? 2 : 3;
		i->opcode = take(c);
	}
}

/*
 * 66 before REX.W says nothing, unless it belongs to the opcode.  Compilers pad with it: each call of __tls_get_addr()
 * is data16 data16 rex.W call.
 */
static bool prefix_is_void(const struct rp_insn *i)
{
	return i->wide && (i->map == 0 || (i->map == 1 && (i->opcode & 0xf0) == 0x80));
}

static void set_pp(struct rp_insn *i, unsigned pp)
{
	static const uint8_t reps[] = { 0, 0, 0xf3, 0xf2 };

	i->opsize = pp == 1;
	i->rep = reps[pp];
}

/* The bits that extend register fields, as REX has them. */
static void take_vex(struct cursor *c, struct rp_insn *i)
{
	bool three = take(c) == 0xc4;
	uint8_t p0 = take(c), p1 = three ? take(c) : p0;

	i->encoding = RP_VEX;
	i->map = three ? p0 & 0x1f : 1;
	i->rex = (uint8_t)((p0 & 0x80 ? 0 : 4) | (three ? (p0 & 0x40 ? 0 : 2) | (p0 & 0x20 ? 0 : 1) : 0));
	i->wide = three && p1 & 0x80;
	i->vvvv = (uint8_t)(~(p1 >> 3) & 15);
	i->vector_log2 = p1 >> 2 & 1;
	set_pp(i, p1 & 3);
	i->opcode = take(c);
}

static void take_evex(struct cursor *c, struct rp_insn *i)
{
	uint8_t p0, p1, p2;

	take(c);
	p0 = take(c);
	p1 = take(c);
	p2 = take(c);
	i->encoding = RP_EVEX;
	i->map = p0 & 7;
	/* Bits that must be so, and are otherwise in instructions with 32 general registers. */
	if (p0 & 8 || !(p1 & 4))
		i->kind = RP_UNKNOWN;
	i->rex = (uint8_t)((p0 & 0x80 ? 0 : 4) | (p0 & 0x40 ? 0 : 2) | (p0 & 0x20 ? 0 : 1));
	i->reg = p0 & 0x10 ? 0 : 16;
	i->wide = p1 & 0x80;
	i->vvvv = (uint8_t)((~(p1 >> 3) & 15) | (p2 & 8 ? 0 : 16));
	i->vector_log2 = p2 >> 5 & 3;
	i->broadcast = p2 & 0x10;
	i->zeroing = p2 & 0x80;
	i->mask = p2 & 7;
	set_pp(i, p1 & 3);
	i->opcode = take(c);
}

static void take_sib(struct cursor *c, struct rp_insn *i, bool vector_index)
{
	uint8_t sib = take(c);

	i->scale = sib >> 6;
	i->index = (uint8_t)((sib >> 3 & 7) | (i->rex & 2 ? 8 : 0));
	if (vector_index)
		i->index |= i->encoding == RP_EVEX ? i->vvvv & 16 : 0;
	else if (i->index == 4)
		i->index = RP_NO_REG;
	i->base = (uint8_t)((sib & 7) | (i->rex & 1 ? 8 : 0));
	if ((sib & 7) == 5 && i->mod == 0) {
		i->base = RP_NO_REG;
		i->disp = (int32_t)take_signed(c, 4);
	}
}

/* EVEX counts a displacement of one byte in what the operand has; that is worked out when its size is known. */
static void take_modrm(struct cursor *c, struct rp_insn *i)
{
	uint8_t b;

	i->modrm_off = (uint8_t)c->at;
	b = take(c);
	i->has_modrm = true;
	i->mod = b >> 6;
	i->reg |= (uint8_t)((b >> 3 & 7) | (i->rex & 4 ? 8 : 0));
	i->rm = (uint8_t)((b & 7) | (i->rex & 1 ? 8 : 0));
	i->base = i->index = RP_NO_REG;
	if (i->mod == 3)
		return;
	i->mem = true;
	if ((b & 7) == 4) {
		take_sib(c, i, rp_is_gather(i));
	} else if ((b & 7) == 5 && i->mod == 0) {
		i->rip_relative = true;
		i->disp = (int32_t)take_signed(c, 4);
	} else {
		i->base = i->rm;
	}
	if (i->mod == 1)
		i->disp = (int32_t)take_signed(c, 1);
	else if (i->mod == 2)
		i->disp = (int32_t)take_signed(c, 4);
}

static void take_immediate(struct cursor *c, struct rp_insn *i)
{
	i->imm_bytes = rp_immediate_bytes(i);
	i->imm_off = (uint8_t)c->at;
	i->imm = take_signed(c, i->imm_bytes);
}

bool rp_decode(const uint8_t *code, size_t n, struct rp_insn *out)
{
	struct cursor c = { code, n < RP_MAX_INSN_BYTES ? n : RP_MAX_INSN_BYTES, 0, false };
	struct rp_insn i = { .kind = RP_PLAIN };
	uint8_t b;

	take_prefixes(&c, &i);
	b = peek(&c);
	if (b == 0xc4 || b == 0xc5) {
		take_vex(&c, &i);
	} else if (b == 0x62) {
		take_evex(&c, &i);
	} else {
		take_rex(&c, &i);
		take_legacy_opcode(&c, &i);
		if (prefix_is_void(&i))
			i.opsize = false;
	}
	i.op_off = (uint8_t)(c.at - 1);
	if (rp_has_modrm(&i))
		take_modrm(&c, &i);
	take_immediate(&c, &i);
	if (c.short_of && n < RP_MAX_INSN_BYTES)
		return false;
	i.len = (uint8_t)c.at;
	if (i.kind == RP_PLAIN)
		i.kind = c.short_of ? RP_UNKNOWN : rp_classify(&i, i.has_modrm ? code[i.modrm_off] : 0);
	if (i.mem)
		rp_size_memory(&i);
	*out = i;
	return true;
}
