/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/x86/emit.h"

#include "profiler/replay/x86/decode_flags.h"
#include "profiler/replay/x86/emit_int.h"

/* What comes behind a block's straight code. */
struct stub {
	size_t patch; /* of a jump's 32 bits, that leads here */
	size_t back;  /* where an access goes on */
	uint32_t exit;
};

struct block {
	struct rp_emitter *e;
	uint64_t from;
	struct stub stubs[RP_MAX_BLOCK_EXITS];
	size_t n_stubs;
	unsigned n_insns;
	struct rp_insn insns[RP_MAX_BLOCK_INSNS];
	enum rp_flags flags[RP_MAX_BLOCK_INSNS];
	/* Are the flags that there are before an instruction needed, by it or by one that comes after it? */
	bool needed[RP_MAX_BLOCK_INSNS];
	bool kept; /* they are in the context, and not where they should be */
};

/* Of an instruction. */
static void put_bytes(struct rp_emitter *e, const uint8_t *bytes, size_t n)
{
	uint8_t *to = e->code + e->n_code;

	for (size_t i = 0; i < n; i++)
		to[i] = bytes[i];
	e->n_code += n;
}

/* lahf; seto %al */
static void put_keep_flags(struct rp_emitter *e)
{
	put_save(e, RAX, RP_FIELD(rax));
	PUT(e, 0x9f, 0x0f, 0x90, 0xc0);
	put_save(e, RAX, RP_FIELD(lahf));
	put_load(e, RAX, RP_FIELD(rax));
}

/* add $127, %al; sahf */
static void put_flags_back(struct block *b)
{
	if (!b->kept)
		return;
	put_save(b->e, RAX, RP_FIELD(rax));
	put_load(b->e, RAX, RP_FIELD(lahf));
	PUT(b->e, 0x04, 0x7f, 0x9e);
	put_load(b->e, RAX, RP_FIELD(rax));
	b->kept = false;
}

static void leave_for(struct block *b, enum rp_exit_kind kind, uint64_t ip, uint64_t to)
{
	const struct rp_exit x = {
		.from = b->from, .ip = ip, .to = to, .kind = kind, .n_insns = (uint16_t)b->n_insns
	};

	put_flags_back(b);
	put_way_out(b->e, add_exit(b->e, &x));
}

/* The address that the instruction names, into a register.  Segments come later. */
static void put_address(struct rp_emitter *e, uint64_t ip, const struct rp_insn *i, unsigned reg)
{
	unsigned index = i->index == RP_NO_REG ? 4 : i->index, base = i->base == RP_NO_REG ? 5 : i->base;

	if (i->rip_relative) {
		uint64_t at = ip + i->len + (uint64_t)(int64_t)i->disp;

		put_constant(e, reg, i->addrsize ? (uint32_t)at : at);
		return;
	}
	if (i->addrsize)
		put(e, 0x67);
	put(e, 0x48u | (reg & 8 ? 4 : 0) | (index & 8 && i->index != RP_NO_REG ? 2 : 0) | (base & 8 ? 1 : 0));
	put(e, 0x8d);
	/* With a SIB byte and 32 bits of displacement everything can be said. */
	put(e, (i->base == RP_NO_REG ? 0 : 0x80) | (reg & 7) << 3 | 4);
	put(e, (unsigned)i->scale << 6 | (index & 7) << 3 | (base & 7));
	put_le(e, (uint32_t)i->disp, 4);
}

/*
 * Borrow registers x and y for an access; x, which holds an address of the program's, will hold ours.  Flags are put aside
 * where anyone needs them, and stay there till someone does.
 */
static void put_lookup(struct block *b, const struct rp_insn *i, struct rp_exit *access)
{
	struct rp_emitter *e = b->e;
	unsigned x = access->x, y = access->y, entries = e->chains ? RP_TLB_FAST_SIZE : RP_TLB_SIZE;
	uint32_t tag = RP_FIELD(tlb) + (uint32_t)(access->write ? offsetof(struct rp_tlb, write_tag)
	                                                        : offsetof(struct rp_tlb, read_tag));
	size_t patch;

	if (b->needed[b->n_insns - 1] && !b->kept) {
		put_keep_flags(e);
		b->kept = true;
	}
	access->flags_kept = b->kept;
	if (i->segment)
		put_at(e, 0x03, x, i->segment == 0x64 ? RP_FIELD(fs_base) : RP_FIELD(gs_base));
	put_save(e, y, RP_FIELD(y));
	/* mov x, y; shr $7, y; and $mask, y: the entry's offset */
	PUT(e, 0x48, 0x89, (uint8_t)(0xc0 | x << 3 | y), 0x48, 0xc1, (uint8_t)(0xe8 | y), 7, 0x81,
	    (uint8_t)(0xe0 | y));
	put_le(e, (entries - 1) * sizeof(struct rp_tlb), 4);
	/* sub tag(y), x; cmp $4096-bytes, x; ja: the offset in the page, where it is that one and all of it */
	PUT(e, 0x48, 0x2b, (uint8_t)(0x80 | x << 3 | y));
	put_le(e, tag, 4);
	PUT(e, 0x48, 0x81, (uint8_t)(0xf8 | x));
	put_le(e, (uint32_t)RP_PAGE - access->bytes, 4);
	PUT(e, 0x0f, 0x87);
	patch = e->n_code;
	put_le(e, 0, 4);
	/* add host(y), x */
	PUT(e, 0x48, 0x03, (uint8_t)(0x80 | x << 3 | y));
	put_le(e, RP_FIELD(tlb) + (uint32_t)offsetof(struct rp_tlb, host), 4);
	b->stubs[b->n_stubs++] = (struct stub){ patch, e->n_code, add_exit(e, access) };
	put_load(e, y, RP_FIELD(y));
}

/*
 * A register that the instruction doesn't use: never one whose number needs a prefix, for that would
 * make another register of %ah.  All of rsi, rdi and rbx may be in the way of it, but not at once.
 */
static void choose_borrowed(const struct rp_insn *i, uint8_t *x, uint8_t *y)
{
	static const uint8_t candidates[] = { RSI, RDI, RBX };
	/* cmpxchg16b; %bh */
	bool uses_rbx = i->encoding == RP_LEGACY &&
	                ((i->map == 1 && i->opcode == 0xc7) || (!i->rex && (i->reg & 7) == 7));
	uint8_t reg = i->reg & 7;

	if (i->kind == RP_PUSH || i->kind == RP_POP)
		reg = i->rm & 7;
	for (unsigned k = 0; k < 3; k++) {
		uint8_t c = candidates[k];

		if (c == reg || (i->encoding != RP_LEGACY && c == (i->vvvv & 7)) || (c == RBX && uses_rbx))
			continue;
		*x = c;
		*y = candidates[(k + 1) % 3];
		return;
	}
}

static bool is_kept_prefix(uint8_t b)
{
	return b == 0x66 || b == 0xf0 || b == 0xf2 || b == 0xf3;
}

/* The instruction, its memory operand at register x. */
static void put_operand_at(struct rp_emitter *e, const uint8_t *code, const struct rp_insn *i, unsigned x)
{
	unsigned at = i->n_prefixes, extension = i->encoding == RP_EVEX ? 4 : code[at] == 0xc4 ? 3 : 2;

	for (unsigned k = 0; k < i->n_prefixes; k++)
		if (is_kept_prefix(code[k]))
			put(e, code[k]);
	if (i->encoding == RP_LEGACY) {
		if (i->rex)
			put(e, i->rex & 0x4cu);
		at += i->rex ? 1 : 0;
	} else {
		/* Their bits of base and index are inverted; the short form of VEX has none. */
		for (unsigned k = 0; k < extension; k++)
			put(e, code[at + k] | (k == 1 && extension > 2 ? 0x60u : 0));
		at += extension;
	}
	put_bytes(e, code + at, i->modrm_off - at);
	put(e, (code[i->modrm_off] & 0x38u) | x);
	put_bytes(e, code + i->imm_off, i->imm_bytes);
}

static void put_access(struct block *b, uint64_t ip, const uint8_t *code, const struct rp_insn *i)
{
	struct rp_exit access = { .from = b->from,
		                  .ip = ip,
		                  .kind = RP_EXIT_ACCESS,
		                  .n_insns = (uint16_t)b->n_insns,
		                  .write = i->write,
		                  .bytes = i->mem_bytes };

	choose_borrowed(i, &access.x, &access.y);
	put_save(b->e, access.x, RP_FIELD(x));
	put_address(b->e, ip, i, access.x);
	put_lookup(b, i, &access);
	if (b->flags[b->n_insns - 1] == RP_FLAGS_OTHER)
		put_flags_back(b);
	put_operand_at(b->e, code, i, access.x);
	put_load(b->e, access.x, RP_FIELD(x));
}

/* lea change(%rsp), %rsp */
static void put_stack(struct rp_emitter *e, int change)
{
	PUT(e, 0x48, 0x8d, 0x64, 0x24, (uint8_t)change);
}

/* mov between a register and (x) */
static void put_move(struct rp_emitter *e, uint8_t opcode, unsigned reg, unsigned x)
{
	PUT(e, (uint8_t)(0x48 | (reg & 8 ? 4 : 0)), opcode, (uint8_t)((reg & 7) << 3 | x));
}

static unsigned pushed_register(const struct rp_insn *i)
{
	return i->has_modrm ? i->rm : (i->opcode & 7u) | (i->rex & 1 ? 8 : 0);
}

static void put_push_or_pop(struct block *b, uint64_t ip, struct rp_insn *i)
{
	bool push = i->kind == RP_PUSH;
	unsigned reg = pushed_register(i);
	struct rp_exit access = { .from = b->from,
		                  .ip = ip,
		                  .kind = RP_EXIT_ACCESS,
		                  .n_insns = (uint16_t)b->n_insns,
		                  .write = push,
		                  .bytes = 8 };

	i->base = RSP;
	i->index = RP_NO_REG;
	i->disp = push ? -8 : 0;
	i->segment = 0;
	i->addrsize = false;
	i->rm = (uint8_t)reg;
	choose_borrowed(i, &access.x, &access.y);
	put_save(b->e, access.x, RP_FIELD(x));
	put_address(b->e, ip, i, access.x);
	put_lookup(b, i, &access);
	if (i->imm_bytes) {
		PUT(b->e, 0x48, 0xc7, access.x);
		put_le(b->e, (uint64_t)i->imm, 4);
	} else {
		put_move(b->e, push ? 0x89 : 0x8b, reg, access.x);
	}
	put_load(b->e, access.x, RP_FIELD(x));
	if (push || reg != RSP)
		put_stack(b->e, push ? -8 : 8);
}

/* An access of 8 bytes at change(base), at rsi then: its own value is in the context. */
static void put_word_access(struct block *b, uint64_t ip, struct rp_insn *i, unsigned base, int change,
                            bool write)
{
	struct rp_exit access = { .from = b->from,
		                  .ip = ip,
		                  .kind = RP_EXIT_ACCESS,
		                  .n_insns = (uint16_t)b->n_insns,
		                  .write = write,
		                  .x = RSI,
		                  .y = RDI,
		                  .bytes = 8 };

	if (base != RP_NO_REG) {
		i->base = (uint8_t)base;
		i->index = RP_NO_REG;
		i->disp = change;
		i->segment = 0;
		i->rip_relative = i->addrsize = false;
	}
	put_save(b->e, RSI, RP_FIELD(x));
	put_address(b->e, ip, i, RSI);
	put_lookup(b, i, &access);
}

/* The return address is written in two halves. */
static void put_return_address(struct block *b, uint64_t ip, struct rp_insn *i)
{
	uint64_t next = ip + i->len;

	put_word_access(b, ip, i, RSP, -8, true);
	PUT(b->e, 0xc7, RSI);
	put_le(b->e, next & 0xffffffff, 4);
	PUT(b->e, 0xc7, 0x40 | RSI, 4);
	put_le(b->e, next >> 32, 4);
	put_load(b->e, RSI, RP_FIELD(x));
	put_stack(b->e, -8);
}

static void put_call(struct block *b, uint64_t ip, struct rp_insn *i)
{
	uint64_t to = ip + i->len + (uint64_t)i->imm;

	put_return_address(b, ip, i);
	leave_for(b, RP_EXIT_TAKEN, ip, to);
}

static void leave_at(struct block *b, uint64_t ip)
{
	const struct rp_exit x = {
		.from = b->from, .ip = ip, .kind = RP_EXIT_AT, .n_insns = (uint16_t)b->n_insns
	};

	put_flags_back(b);
	put_way_at(b->e, add_exit(b->e, &x));
}

/* To rsi, of which there is its own value in the context then. */
static void put_target(struct block *b, uint64_t ip, struct rp_insn *i)
{
	if (i->mem) {
		put_word_access(b, ip, i, RP_NO_REG, 0, false);
		put_move(b->e, 0x8b, RSI, RSI);
		return;
	}
	put_save(b->e, RSI, RP_FIELD(x));
	PUT(b->e, (uint8_t)(0x48 | (i->rm & 8 ? 4 : 0)), 0x89, (uint8_t)(0xc0 | (i->rm & 7) << 3 | RSI));
}

/* lea 8+bytes(%rsp), %rsp */
static void put_return(struct block *b, uint64_t ip, struct rp_insn *i)
{
	put_word_access(b, ip, i, RSP, 0, false);
	put_move(b->e, 0x8b, RSI, RSI);
	PUT(b->e, 0x48, 0x8d, 0xa4, 0x24);
	put_le(b->e, 8u + (uint16_t)i->imm, 4);
	leave_at(b, ip);
}

static void put_branch_at(struct block *b, uint64_t ip, struct rp_insn *i)
{
	put_target(b, ip, i);
	if (i->kind == RP_CALL_AT) {
		put_save(b->e, RSI, RP_FIELD(to));
		put_load(b->e, RSI, RP_FIELD(x));
		put_return_address(b, ip, i);
		put_save(b->e, RSI, RP_FIELD(x));
		put_load(b->e, RSI, RP_FIELD(to));
	}
	leave_at(b, ip);
}

/* lea 8(%rbp), %rsp; mov (%rsi), %rbp */
static void put_leave_frame(struct block *b, uint64_t ip, struct rp_insn *i)
{
	put_word_access(b, ip, i, RBP, 0, false);
	PUT(b->e, 0x48, 0x8d, 0x65, 8);
	put_move(b->e, 0x8b, RBP, RSI);
	put_load(b->e, RSI, RP_FIELD(x));
}

static void put_lea(struct rp_emitter *e, uint64_t ip, const uint8_t *code, const struct rp_insn *i)
{
	uint64_t at = ip + i->len + (uint64_t)(int64_t)i->disp;

	if (!i->rip_relative) {
		put_bytes(e, code, i->len);
		return;
	}
	if (i->addrsize)
		at = (uint32_t)at;
	if (i->wide) {
		put_constant(e, i->reg, at);
	} else if (!i->opsize) {
		put_constant(e, i->reg, (uint32_t)at);
	} else {
		put(e, 0x66);
		if (i->reg & 8)
			put(e, 0x41);
		put(e, 0xb8 | (i->reg & 7));
		put_le(e, at, 2);
	}
}

static void put_jcc(struct block *b, uint64_t ip, const struct rp_insn *i)
{
	/* Whether one that leads to where it would go on anyway is taken makes no difference, and is not seen in steps. */
	const struct rp_exit x = { .from = b->from,
		                   .ip = ip,
		                   .to = ip + i->len + (uint64_t)i->imm,
		                   .kind = i->imm ? RP_EXIT_TAKEN : RP_EXIT_NEXT,
		                   .n_insns = (uint16_t)b->n_insns };

	PUT(b->e, 0x0f, (uint8_t)(0x80 | (i->opcode & 15)));
	b->stubs[b->n_stubs++] = (struct stub){ b->e->n_code, 0, add_exit(b->e, &x) };
	put_le(b->e, 0, 4);
}

/* loop 1f; jmp 2f; 1: leave; 2: */
static void put_loop(struct block *b, uint64_t ip, const struct rp_insn *i)
{
	struct rp_emitter *e = b->e;
	size_t patch;

	if (i->addrsize)
		put(e, 0x67);
	PUT(e, i->opcode, 2, 0xeb, 0);
	patch = e->n_code - 1;
	leave_for(b, i->imm ? RP_EXIT_TAKEN : RP_EXIT_NEXT, ip, ip + i->len + (uint64_t)i->imm);
	e->code[patch] = (uint8_t)(e->n_code - patch - 1);
}

/* Emit one instruction.  True when the block goes on behind it. */
static bool put_insn(struct block *b, uint64_t ip, const uint8_t *code, struct rp_insn *i)
{
	b->n_insns++;
	switch (i->kind) {
	case RP_PLAIN:
		if (i->mem) {
			put_access(b, ip, code, i);
		} else {
			if (b->flags[b->n_insns - 1] == RP_FLAGS_OTHER)
				put_flags_back(b);
			put_bytes(b->e, code, i->len);
		}
		if (b->flags[b->n_insns - 1] == RP_FLAGS_SET)
			b->kept = false;
		return true;
	case RP_NOTHING:
		return true;
	case RP_LEA:
		put_lea(b->e, ip, code, i);
		return true;
	case RP_PUSH:
	case RP_POP:
		if (rp_stack_bytes(i) != 8)
			break;
		put_push_or_pop(b, ip, i);
		return true;
	case RP_LEAVE:
		put_leave_frame(b, ip, i);
		return true;
	case RP_JCC:
		put_flags_back(b);
		put_jcc(b, ip, i);
		return true;
	case RP_LOOP:
		put_flags_back(b);
		put_loop(b, ip, i);
		return true;
	case RP_CALL:
		if (!b->e->chains || i->opsize)
			break;
		put_call(b, ip, i);
		return false;
	case RP_CALL_AT:
	case RP_JMP_AT:
	case RP_RET:
		if (!b->e->chains)
			break;
		if (i->kind == RP_RET)
			put_return(b, ip, i);
		else
			put_branch_at(b, ip, i);
		return false;
	case RP_JMP:
		leave_for(b, RP_EXIT_TAKEN, ip, ip + i->len + (uint64_t)i->imm);
		return false;
	default:
		break;
	}
	b->n_insns--;
	leave_for(b, RP_EXIT_OP, ip, ip);
	return false;
}

static void patch_jump(struct rp_emitter *e, size_t patch, size_t to)
{
	uint32_t distance = (uint32_t)(to - patch - 4);

	for (unsigned i = 0; i < 4; i++)
		e->code[patch + i] = (uint8_t)(distance >> 8 * i);
}

/* An access that missed: C is asked for our address, and says it in slow_at. */
static void put_miss(struct rp_emitter *e, const struct stub *s)
{
	const struct rp_exit *access = &e->exits[s->exit];
	unsigned x = access->x;
	uint32_t after;

	/* add tag(y), x */
	PUT(e, 0x48, 0x03, (uint8_t)(0x80 | x << 3 | access->y));
	put_le(e,
	       RP_FIELD(tlb) + (uint32_t)(access->write ? offsetof(struct rp_tlb, write_tag)
	                                                : offsetof(struct rp_tlb, read_tag)),
	       4);
	put_save(e, x, RP_FIELD(slow_at));
	PUT(e, 0xc7, 0x04, 0x25);
	put_le(e, RP_FIELD(slow_exit), 4);
	put_le(e, s->exit, 4);
	PUT(e, 0x48, 0xc7, 0x04, 0x25);
	put_le(e, RP_FIELD(slow_return), 4);
	after = e->at + (uint32_t)e->n_code + 4 + 7;
	put_le(e, after, 4);
	PUT(e, 0xff, 0x24, 0x25);
	put_le(e, RP_FIELD(slow), 4);
	put_load(e, x, RP_FIELD(slow_at));
	put(e, 0xe9);
	put_le(e, 0, 4);
	patch_jump(e, e->n_code - 4, s->back);
}

static void put_stubs(struct block *b)
{
	for (size_t k = 0; k < b->n_stubs; k++) {
		const struct stub *s = &b->stubs[k];

		patch_jump(b->e, s->patch, b->e->n_code);
		if (s->back)
			put_miss(b->e, s);
		else
			put_way_out(b->e, s->exit);
	}
}

/* Does its block go on behind it? */
static bool goes_on(const struct rp_insn *i)
{
	switch (i->kind) {
	case RP_PUSH:
	case RP_POP:
		return rp_stack_bytes(i) == 8;
	case RP_PLAIN:
	case RP_NOTHING:
	case RP_LEA:
	case RP_LEAVE:
	case RP_JCC:
	case RP_LOOP:
		return true;
	default:
		return false;
	}
}

/* The block's instructions, n at most; *whole: the last one ends within code[n]. */
static unsigned decode_block(struct block *b, const uint8_t *code, size_t n, size_t in_page, unsigned most,
                             bool *whole)
{
	unsigned k = 0;

	*whole = true;
	for (size_t at = 0; k < most && at < in_page && at < n && (!k || goes_on(&b->insns[k - 1]));
	     at += b->insns[k++].len) {
		*whole = rp_decode(code + at, n - at, &b->insns[k]);
		if (!*whole)
			break;
	}
	return k;
}

/* Whoever the block leads to may need them. */
static void find_needed(struct block *b, unsigned n)
{
	bool needed = true;

	while (n-- > 0) {
		b->flags[n] = rp_flags_of(&b->insns[n]);
		needed = b->flags[n] == RP_FLAGS_OTHER || (b->flags[n] == RP_FLAGS_LEFT && needed);
		b->needed[n] = needed;
	}
}

size_t rp_emit_block(struct rp_emitter *e, uint64_t ip, const uint8_t *code, size_t n, unsigned max_insns)
{
	static struct block b;
	size_t at = 0;
	bool on = true, whole;
	unsigned n_insns;

	b.e = e;
	b.from = ip;
	b.n_stubs = b.n_insns = 0;
	b.kept = false;
	n_insns = decode_block(&b, code, n, RP_PAGE - ip % RP_PAGE, max_insns, &whole);
	find_needed(&b, n_insns);
	for (unsigned k = 0; k < n_insns; k++) {
		on = put_insn(&b, ip + at, code + at, &b.insns[k]);
		at += b.insns[k].len;
	}
	/* What ends in a page that isn't there: C finds out what comes of it. */
	if (on)
		leave_for(&b, whole && (n_insns || n) ? RP_EXIT_NEXT : RP_EXIT_OP, ip + at, ip + at);
	put_stubs(&b);
	return at;
}

bool rp_emit_one(struct rp_emitter *e, uint64_t ip, const uint8_t *code, const struct rp_insn *i,
                 uint32_t host)
{
	const struct rp_exit out = { .ip = ip, .to = ip + i->len, .kind = RP_EXIT_NEXT, .n_insns = 1 };
	uint8_t x, y;

	if ((i->kind != RP_PLAIN && i->kind != RP_AREA) || !i->mem)
		return false;
	choose_borrowed(i, &x, &y);
	put_save(e, x, RP_FIELD(x));
	put_constant(e, x, host);
	put_operand_at(e, code, i, x);
	put_load(e, x, RP_FIELD(x));
	put_leave(e, add_exit(e, &out));
	return true;
}

void rp_emit_masked(struct rp_emitter *e, uint64_t ip, const uint8_t *code, const struct rp_insn *i,
                    uint32_t host)
{
	const struct rp_exit out = { .ip = ip, .to = ip + i->len, .kind = RP_EXIT_NEXT, .n_insns = 1 };

	put_save(e, RDI, RP_FIELD(x));
	put_constant(e, RDI, host);
	for (unsigned k = 0; k < i->n_prefixes; k++)
		if (is_kept_prefix(code[k]))
			put(e, code[k]);
	put_bytes(e, code + i->n_prefixes, (size_t)i->len - i->n_prefixes);
	put_load(e, RDI, RP_FIELD(x));
	put_leave(e, add_exit(e, &out));
}
