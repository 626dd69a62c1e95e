/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/asm_x86.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"

enum { MAX_OPERANDS = 3, MAX_INSN_BYTES = 15 };

/* Which operand goes where in the encoding. */
enum encoding {
	ZO, /* none */
	RM, /* ModRM.reg, ModRM.rm [, immediate] */
	MR, /* ModRM.rm, ModRM.reg */
	M,  /* ModRM.rm [, immediate]; ModRM.reg is part of the opcode */
	O,  /* the low bits of the opcode */
	J,  /* 8 bits relative to the next instruction */
	V,  /* VEX: ModRM.reg [, vvvv], ModRM.rm */
	VM, /* VEX: ModRM.rm, ModRM.reg */
};

enum map { MAP_1, MAP_0F, MAP_0F38 };

/* Operands by letters: r integer register, x xmm, y ymm, m memory, b and i immediates of 8 and 32 bits, l label. */
struct form {
	const char *mnemonic, *operands;
	uint8_t prefix; /* 0x66, 0xf2, 0xf3 */
	uint8_t map;    /* enum map */
	uint8_t opcode;
	uint8_t encoding; /* enum encoding */
	uint8_t digit;    /* of M */
	bool w;           /* REX.W or VEX.W whatever the registers are */
	bool narrow;      /* no REX.W: 64 bits is the default */
};

static const struct form forms[] = {
	{ "mov", "rr", 0, MAP_1, 0x89, MR },
	{ "mov", "rm", 0, MAP_1, 0x8b, RM },
	{ "mov", "mr", 0, MAP_1, 0x89, MR },
	{ "mov", "ri", 0, MAP_1, 0xc7, M, 0 },
	{ "movzx", "rm", 0, MAP_0F, 0xb6, RM },
	{ "lea", "rm", 0, MAP_1, 0x8d, RM },
	{ "add", "rr", 0, MAP_1, 0x01, MR },
	{ "add", "rm", 0, MAP_1, 0x03, RM },
	{ "add", "mr", 0, MAP_1, 0x01, MR },
	{ "add", "rb", 0, MAP_1, 0x83, M, 0 },
	{ "or", "rr", 0, MAP_1, 0x09, MR },
	{ "and", "rr", 0, MAP_1, 0x21, MR },
	{ "and", "ri", 0, MAP_1, 0x81, M, 4 },
	{ "sub", "rr", 0, MAP_1, 0x29, MR },
	{ "sub", "rb", 0, MAP_1, 0x83, M, 5 },
	{ "xor", "rr", 0, MAP_1, 0x31, MR },
	{ "cmp", "rr", 0, MAP_1, 0x39, MR },
	{ "cmp", "rb", 0, MAP_1, 0x83, M, 7 },
	{ "test", "rr", 0, MAP_1, 0x85, MR },
	{ "inc", "r", 0, MAP_1, 0xff, M, 0 },
	{ "dec", "r", 0, MAP_1, 0xff, M, 1 },
	{ "shl", "rb", 0, MAP_1, 0xc1, M, 4 },
	{ "ror", "rb", 0, MAP_1, 0xc1, M, 1 },
	{ "mul", "r", 0, MAP_1, 0xf7, M, 4 },
	{ "div", "r", 0, MAP_1, 0xf7, M, 6 },
	{ "imul", "rr", 0, MAP_0F, 0xaf, RM },
	{ "imul", "rrb", 0, MAP_1, 0x6b, RM },
	{ "popcnt", "rr", 0xf3, MAP_0F, 0xb8, RM },
	{ "cmove", "rr", 0, MAP_0F, 0x44, RM },
	{ "nop", "", 0, MAP_1, 0x90, ZO },
	{ "nop", "m", 0, MAP_0F, 0x1f, M, 0 },
	{ "push", "r", 0, MAP_1, 0x50, O, 0, false, true },
	{ "pop", "r", 0, MAP_1, 0x58, O, 0, false, true },
	{ "ret", "", 0, MAP_1, 0xc3, ZO },
	{ "jmp", "l", 0, MAP_1, 0xeb, J },
	{ "jo", "l", 0, MAP_1, 0x70, J },
	{ "js", "l", 0, MAP_1, 0x78, J },
	{ "je", "l", 0, MAP_1, 0x74, J },
	{ "jne", "l", 0, MAP_1, 0x75, J },
	{ "movq", "xr", 0x66, MAP_0F, 0x6e, RM, 0, true },
	{ "movq", "rx", 0x66, MAP_0F, 0x7e, MR, 0, true },
	{ "movsd", "xm", 0xf2, MAP_0F, 0x10, RM },
	{ "movsd", "mx", 0xf2, MAP_0F, 0x11, MR },
	{ "movups", "xm", 0, MAP_0F, 0x10, RM },
	{ "movaps", "xx", 0, MAP_0F, 0x28, RM },
	{ "addsd", "xx", 0xf2, MAP_0F, 0x58, RM },
	{ "mulsd", "xx", 0xf2, MAP_0F, 0x59, RM },
	{ "divsd", "xx", 0xf2, MAP_0F, 0x5e, RM },
	{ "divss", "xx", 0xf3, MAP_0F, 0x5e, RM },
	{ "sqrtsd", "xx", 0xf2, MAP_0F, 0x51, RM },
	{ "sqrtss", "xx", 0xf3, MAP_0F, 0x51, RM },
	{ "cvtdq2ps", "xx", 0, MAP_0F, 0x5b, RM },
	{ "cvtps2dq", "xx", 0x66, MAP_0F, 0x5b, RM },
	{ "pand", "xx", 0x66, MAP_0F, 0xdb, RM },
	{ "pxor", "xx", 0x66, MAP_0F, 0xef, RM },
	{ "paddd", "xx", 0x66, MAP_0F, 0xfe, RM },
	{ "pmuludq", "xx", 0x66, MAP_0F, 0xf4, RM },
	{ "pshufd", "xxb", 0x66, MAP_0F, 0x70, RM },
	{ "aesenc", "xx", 0x66, MAP_0F38, 0xdc, RM },
	{ "vfmadd231sd", "xxx", 0x66, MAP_0F38, 0xb9, V, 0, true },
	{ "vmovups", "ym", 0, MAP_0F, 0x10, V },
	{ "vmovups", "my", 0, MAP_0F, 0x11, VM },
	{ "vzeroupper", "", 0, MAP_0F, 0x77, V },
};

struct operand {
	char kind;      /* the letter of struct form; 'i' for any number */
	uint8_t reg;    /* or the base of an address */
	uint8_t index;  /* of an address, 4 (rsp) = none */
	uint8_t scale;  /* log2 */
	uint8_t wide;   /* a 64-bit register */
	int32_t number; /* immediate, displacement */
};

struct insn {
	uint8_t byte[MAX_INSN_BYTES + 1];
	size_t n;
};

static void put(struct insn *i, unsigned byte)
{
	if (i->n < sizeof(i->byte))
		i->byte[i->n++] = (uint8_t)byte;
}

static void put_number(struct insn *i, int32_t x, unsigned n_bytes)
{
	for (unsigned k = 0; k < n_bytes; k++)
		put(i, (uint32_t)x >> 8 * k & 0xff);
}

/* "rax", "eax", "r8", "r8d", "xmm3", "ymm3": false for anything else. */
static bool parse_register(const char *s, size_t n, struct operand *o)
{
	static const char low[8][3] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" };
	char *end;

	*o = (struct operand){ 0 };
	if (n == 3 && (*s == 'r' || *s == 'e'))
		for (unsigned i = 0; i < 8; i++)
			if (!strncmp(s + 1, low[i], 2)) {
				*o = (struct operand){ .kind = 'r', .reg = (uint8_t)i, .wide = *s == 'r' };
				return true;
			}
	if (n > 3 && (!strncmp(s, "xmm", 3) || !strncmp(s, "ymm", 3))) {
		o->reg = (uint8_t)strtoul(s + 3, &end, 10);
		o->kind = *s;
		return end == s + n && o->reg < 16;
	}
	if (n < 2 || *s != 'r' || s[1] < '0' || s[1] > '9')
		return false;
	o->reg = (uint8_t)strtoul(s + 1, &end, 10);
	o->wide = end == s + n;
	o->kind = 'r';
	return o->reg >= 8 && o->reg < 16 && (o->wide || (*end == 'd' && end + 1 == s + n));
}

/* One term of an address: a register, the first is the base, or a displacement. */
static bool add_term(const char *s, size_t n, bool minus, struct operand *o, bool *has_base)
{
	const char *star = memchr(s, '*', n);
	struct operand r;
	char *end;

	if (!parse_register(s, star ? (size_t)(star - s) : n, &r)) {
		o->number += (int32_t)strtol(s, &end, 10) * (minus ? -1 : 1);
		return end == s + n;
	}
	if (!*has_base && !star) {
		o->reg = r.reg;
		*has_base = true;
		return r.wide;
	}
	o->index = r.reg;
	if (star)
		o->scale = (uint8_t)__builtin_ctz((unsigned)atoi(star + 1) | 8);
	return r.wide && r.reg != 4;
}

/* "[r13+rax*8-16]" */
static bool parse_address(const char *s, size_t n, struct operand *o)
{
	const char *end = s + n - 1;
	bool has_base = false, minus = false;

	*o = (struct operand){ .kind = 'm', .index = 4 };
	if (n < 3 || *end != ']')
		return false;
	for (s++; s < end; s++) {
		size_t len = strcspn(s, "+-]");

		if (!add_term(s, len, minus, o, &has_base))
			return false;
		s += len;
		minus = *s == '-';
	}
	return has_base;
}

static bool parse_operand(const char *s, size_t n, struct operand *o)
{
	char *end;

	if (*s == '[')
		return parse_address(s, n, o);
	if (parse_register(s, n, o))
		return true;
	*o = (struct operand){ .kind = *s == '@' ? 'l' : 'i' };
	if (o->kind == 'l')
		return n == 1;
	o->number = (int32_t)strtol(s, &end, 10);
	return n && end == s + n;
}

static bool does_fit(char want, const struct operand *o)
{
	if (want == 'b')
		return o->kind == 'i' && o->number >= -128 && o->number < 128;
	return want == o->kind;
}

static const struct form *find_form(const char *mnemonic, const struct operand *o, unsigned n)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const struct form *f = &forms[i];
		unsigned fits = 0;

		if (strcmp(f->mnemonic, mnemonic) != 0 || strlen(f->operands) != n)
			continue;
		while (fits < n && does_fit(f->operands[fits], &o[fits]))
			fits++;
		if (fits == n)
			return f;
	}
	return NULL;
}

static void put_rm(struct insn *i, unsigned reg, const struct operand *rm)
{
	unsigned mod, base = rm->reg & 7;
	bool sib = rm->index != 4 || base == 4;

	reg = (reg & 7) << 3;
	if (rm->kind != 'm') {
		put(i, 0xc0 | reg | base);
		return;
	}
	/* A base of rbp or r13 has no form without displacement. */
	mod = rm->number == 0 && base != 5 ? 0 : rm->number >= -128 && rm->number < 128 ? 1 : 2;
	put(i, mod << 6 | reg | (sib ? 4 : base));
	if (sib)
		put(i, (unsigned)rm->scale << 6 | (rm->index & 7u) << 3 | base);
	put_number(i, rm->number, mod == 2 ? 4 : mod);
}

/* The operands of a form by their place in the encoding. */
struct places {
	const struct operand *reg, *rm, *vvvv, *imm;
};

static struct places place(const struct form *f, const struct operand *o, unsigned n)
{
	struct places p = { 0 };

	if (n && (o[n - 1].kind == 'i'))
		p.imm = &o[--n];
	if (f->encoding == RM || f->encoding == V) {
		p.reg = n ? &o[0] : NULL;
		p.rm = n > 1 ? &o[n - 1] : NULL;
		p.vvvv = n == 3 ? &o[1] : NULL;
	} else if (n) {
		p.rm = &o[0];
		p.reg = n > 1 ? &o[1] : NULL;
	}
	return p;
}

static unsigned high_bit(const struct operand *o)
{
	return o ? o->reg >> 3 : 0;
}

static void put_opcode(struct insn *i, const struct form *f, const struct places *p, bool w)
{
	unsigned r = high_bit(p->reg), b = high_bit(p->rm),
	         x = p->rm && p->rm->kind == 'm' ? p->rm->index >> 3 : 0;
	unsigned rex = (unsigned)w << 3 | r << 2 | x << 1 | b;

	if (f->prefix)
		put(i, f->prefix);
	if (rex)
		put(i, 0x40 | rex);
	if (f->map != MAP_1)
		put(i, 0x0f);
	if (f->map == MAP_0F38)
		put(i, 0x38);
	put(i, f->opcode | (f->encoding == O ? p->rm->reg & 7u : 0));
}

static void put_vex(struct insn *i, const struct form *f, const struct places *p)
{
	unsigned r = high_bit(p->reg), b = high_bit(p->rm),
	         x = p->rm && p->rm->kind == 'm' ? p->rm->index >> 3 : 0;
	unsigned pp = f->prefix == 0x66 ? 1 : f->prefix == 0xf3 ? 2 : f->prefix == 0xf2 ? 3 : 0;
	unsigned l = p->reg && p->reg->kind == 'y';

	put(i, 0xc4);
	put(i, (r << 7 | x << 6 | b << 5) ^ 0xe0u ^ f->map);
	put(i, (unsigned)f->w << 7 | (~(p->vvvv ? p->vvvv->reg : 0u) & 15u) << 3 | l << 2 | pp);
	put(i, f->opcode);
}

/* Everything but the distance of a jump, which is left zero. */
static void encode(struct insn *i, const struct form *f, const struct operand *o, unsigned n)
{
	struct places p = place(f, o, n);
	bool w = f->w;

	for (unsigned k = 0; k < n; k++)
		w |= o[k].kind == 'r' && o[k].wide && !f->narrow;
	if (f->encoding == J) {
		put(i, f->opcode);
		put(i, 0);
		return;
	}
	if (f->encoding == V || f->encoding == VM)
		put_vex(i, f, &p);
	else
		put_opcode(i, f, &p, w);
	if (p.rm && f->encoding != O)
		put_rm(i, f->encoding == M ? f->digit : p.reg->reg, p.rm);
	if (p.imm)
		put_number(i, p.imm->number, f->operands[n - 1] == 'b' ? 1 : 4);
}

static int append(struct asm_buf *b, const uint8_t *bytes, size_t n)
{
	if (b->n + n > b->cap)
		return sp_fail(SP_ENOMEM, "a cliff's code does not fit into %zu bytes", b->cap);
	memcpy(b->code + b->n, bytes, n);
	b->n += n;
	return 0;
}

/* Jumps of one text to its label, in both directions. */
struct label {
	size_t at, jump[4];
	unsigned n_jumps;
	bool is_set;
};

static int unknown(const char *text)
{
	return sp_fail(SP_EFORMAT, "no form of the instruction \"%s\" is known", text);
}

/* One instruction, without braces and leading blanks. */
static int assemble(struct asm_buf *b, const char *text, struct label *label)
{
	struct operand o[MAX_OPERANDS];
	struct insn insn = { 0 };
	size_t len = strcspn(text, " ");
	char mnemonic[16] = "";
	const struct form *f;
	unsigned n = 0;

	if (!strcmp(text, "@:")) {
		label->at = b->n;
		label->is_set = true;
		return 0;
	}
	if (!strncmp(text, "lock ", 5)) {
		put(&insn, 0xf0);
		text += 5;
		len = strcspn(text, " ");
	}
	if (len >= sizeof(mnemonic))
		return unknown(text);
	memcpy(mnemonic, text, len);
	for (const char *s = text + len; *s && n < MAX_OPERANDS; n++) {
		size_t width = strcspn(++s, ",");

		if (!parse_operand(s, width, &o[n]))
			return unknown(text);
		s += width;
	}
	f = find_form(mnemonic, o, n);
	if (!f)
		return unknown(text);
	encode(&insn, f, o, n);
	b->n_insn++;
	if (f->encoding == J) {
		if (label->n_jumps == sizeof(label->jump) / sizeof(*label->jump))
			return sp_fail(SP_EFORMAT, "more than %u jumps in one text", label->n_jumps);
		label->jump[label->n_jumps++] = b->n + insn.n;
	}
	return append(b, insn.byte, insn.n);
}

static const char *const int_stream[ASM_INT_STREAMS] = { "ax", "cx", "dx", "bx", "bp", "si", "8", "9", "10" };

/* What a brace stands for. */
static int expand(char what, uint32_t stream, char *out, size_t size)
{
	uint32_t r = stream % ASM_INT_STREAMS;

	switch (what) {
	case 'r':
		return snprintf(out, size, "r%s", int_stream[r]);
	case 'e':
		return snprintf(out, size, r < 6 ? "e%s" : "r%sd", int_stream[r]);
	case 'x':
	case 'y':
		return snprintf(out, size, "%cmm%u", what, stream % ASM_VEC_STREAMS);
	case 'd':
		return snprintf(out, size, "%u", stream * 8 % 1024);
	case 'l':
		return snprintf(out, size, "%u", stream * 64 % 4096);
	case 'n':
		return snprintf(out, size, "%u", stream);
	case 'w':
		return snprintf(out, size, "r%u", 14 + stream % 2);
	default:
		return -1;
	}
}

/* The next instruction of a text, braces filled in; what follows it, NULL when there is none or it is too long. */
static const char *next_insn(const char *text, uint32_t stream, char *out, size_t size)
{
	size_t n = 0;

	text += strspn(text, " ");
	for (; *text && *text != ';'; text++) {
		int len = 1;

		if (*text == '{' && text[1] && text[2] == '}') {
			len = expand(text[1], stream, out + n, size - n);
			text += 2;
		} else {
			out[n] = *text;
		}
		if (len < 0 || (n += (size_t)len) + 1 >= size)
			return NULL;
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
	return text + (*text == ';');
}

static int close_label(struct asm_buf *b, const struct label *label)
{
	for (unsigned i = 0; i < label->n_jumps; i++) {
		long distance = (long)label->at - (long)label->jump[i];

		if (!label->is_set || distance < -128 || distance > 127)
			return sp_fail(SP_EFORMAT, "a jump has no label \"@:\" within 127 bytes");
		b->code[label->jump[i] - 1] = (uint8_t)distance;
	}
	return 0;
}

int asm_text(struct asm_buf *b, const char *text, uint32_t stream)
{
	struct label label = { 0 };
	char one[80];
	int err;

	for (const char *s = text; *s;) {
		s = next_insn(s, stream, one, sizeof(one));
		if (!s)
			return sp_fail(SP_EFORMAT, "\"%s\" is no text to assemble", text);
		if (*one && (err = assemble(b, one, &label)) < 0)
			return err;
	}
	return close_label(b, &label);
}

int asm_align(struct asm_buf *b, size_t bytes)
{
	while (b->n % bytes) {
		int err = asm_text(b, "nop", 0);

		if (err < 0)
			return err;
	}
	return 0;
}

int asm_branch(struct asm_buf *b, const char *mnemonic, size_t to_off)
{
	struct insn i = { 0 };

	if (!strcmp(mnemonic, "call")) {
		put(&i, 0xe8);
	} else if (!strcmp(mnemonic, "jmp")) {
		put(&i, 0xe9);
	} else if (!strcmp(mnemonic, "jne")) {
		put(&i, 0x0f);
		put(&i, 0x85);
	} else {
		return unknown(mnemonic);
	}
	put_number(&i, (int32_t)((long)to_off - (long)(b->n + i.n + 4)), 4);
	b->n_insn++;
	return append(b, i.byte, i.n);
}
