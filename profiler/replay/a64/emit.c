/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/a64/emit.h"

#include <string.h>

#include "profiler/replay/a64/context.h"

enum { SP = 31, LINK = A64_LINK, X16 = 16, X17 = 17 };

/* An access that misses the table leads here, behind the block's straight code. */
struct stub {
	size_t patch; /* of the branch that leads here */
	size_t back;  /* where the access goes on */
	uint32_t exit;
};

struct block {
	struct rp_emitter *e;
	uint64_t from;
	struct stub stubs[RP_MAX_BLOCK_INSNS];
	size_t n_stubs;
	unsigned n_insns;
};

/* Registers that the instruction names nowhere. */
struct borrowed {
	unsigned x, y, z;
};

static void put(struct rp_emitter *e, uint32_t word)
{
	memcpy(e->code + e->n_code, &word, sizeof(word));
	e->n_code += sizeof(word);
}

/* ---- instructions of ours, between registers and the context, which the stack pointer points to ---- */

static void put_load(struct rp_emitter *e, unsigned reg, uint32_t field)
{
	put(e, 0xf9400000 | field / 8 << 10 | SP << 5 | reg);
}

static void put_store(struct rp_emitter *e, unsigned reg, uint32_t field)
{
	put(e, 0xf9000000 | field / 8 << 10 | SP << 5 | reg);
}

static void put_store_32(struct rp_emitter *e, unsigned reg, uint32_t field)
{
	put(e, 0xb9000000 | field / 4 << 10 | SP << 5 | reg);
}

static void put_load_pair(struct rp_emitter *e, unsigned reg, unsigned reg2, unsigned base, uint32_t off)
{
	put(e, 0xa9400000 | off / 8 << 15 | reg2 << 10 | base << 5 | reg);
}

static void put_store_pair(struct rp_emitter *e, unsigned reg, unsigned reg2, uint32_t field)
{
	put(e, 0xa9000000 | field / 8 << 15 | reg2 << 10 | SP << 5 | reg);
}

static void put_move(struct rp_emitter *e, unsigned to, unsigned from)
{
	put(e, 0xaa0003e0 | from << 16 | to);
}

static void put_constant(struct rp_emitter *e, unsigned reg, uint64_t v)
{
	put(e, 0xd2800000 | (uint32_t)(v & 0xffff) << 5 | reg);
	for (unsigned k = 1; k < 4; k++)
		if (v >> 16 * k & 0xffff)
			put(e, 0xf2800000 | k << 21 | (uint32_t)(v >> 16 * k & 0xffff) << 5 | reg);
}

/* to = from + v, |v| < 2^24; 31 is the stack pointer. */
static void put_add(struct rp_emitter *e, unsigned to, unsigned from, int64_t v)
{
	uint32_t add = v < 0 ? 0xd1000000 : 0x91000000, size = (uint32_t)(v < 0 ? -v : v);

	put(e, add | (size & 0xfff) << 10 | from << 5 | to);
	if (size >> 12)
		put(e, add | 1 << 22 | size >> 12 << 10 | to << 5 | to);
}

/* to = from + reg; from may be the stack pointer, ours. */
static void put_add_extended(struct rp_emitter *e, unsigned to, unsigned from, unsigned reg, unsigned extend,
                             unsigned shift)
{
	put(e, 0x8b200000 | reg << 16 | extend << 13 | shift << 10 | from << 5 | to);
}

static uint32_t distance(size_t from, size_t to)
{
	return (uint32_t)(((int64_t)to - (int64_t)from) / A64_INSN_BYTES);
}

static void put_jump(struct rp_emitter *e, size_t to)
{
	put(e, 0x14000000 | (distance(e->n_code, to) & 0x3ffffff));
}

static uint32_t add_exit(struct rp_emitter *e, const struct rp_exit *x)
{
	e->exits[e->n_exits] = *x;
	return (uint32_t)e->n_exits++;
}

static void put_index(struct rp_emitter *e, unsigned reg, uint32_t index)
{
	put(e, 0x52800000 | (index & 0xffff) << 5 | reg);
	put(e, 0x72a00000 | (index >> 16) << 5 | reg);
}

enum { LEAVE_INSNS = 5 };

static void put_leave(struct rp_emitter *e, uint32_t exit)
{
	put_store_pair(e, X16, X17, A64_FIELD(kept));
	put_index(e, X16, exit);
	put_load(e, X17, A64_FIELD(leave));
	put(e, 0xd61f0000 | X17 << 5);
}

static void leave_for(struct block *b, enum rp_exit_kind kind, uint64_t ip, uint64_t to)
{
	const struct rp_exit x = {
		.from = b->from, .ip = ip, .to = to, .kind = kind, .n_insns = (uint16_t)b->n_insns
	};

	put_leave(b->e, add_exit(b->e, &x));
}

/* ---- what names the stack pointer or memory ---- */

/* Those behind the ones that it names are left alone too: a pair may be of two that follow each other. */
static struct borrowed choose_borrowed(const struct a64_insn *i)
{
	uint64_t used = 3ull << i->rd | 3ull << i->rn | 3ull << i->rm | 3ull << i->ra;
	unsigned found[3], n = 0;

	for (unsigned k = 0; n < 3; k++) {
		unsigned reg = (9 + k) % A64_GPRS;

		/* 31 and the one behind it: x0, of a pair. */
		if (!(used >> reg & 1) && !(reg == 0 && used >> 32))
			found[n++] = reg;
	}
	return (struct borrowed){ found[0], found[1], found[2] };
}

static void put_borrow(struct rp_emitter *e, const struct borrowed *r)
{
	put_store_pair(e, r->x, r->y, A64_FIELD(kept));
	put_store(e, r->z, A64_FIELD(kept[2]));
}

static void put_back(struct rp_emitter *e, const struct borrowed *r)
{
	put_load_pair(e, r->x, r->y, SP, A64_FIELD(kept));
	put_load(e, r->z, A64_FIELD(kept[2]));
}

/* The address that the instruction names, into a register. */
static void put_address(struct rp_emitter *e, uint64_t ip, const struct a64_insn *i, unsigned reg)
{
	unsigned base = i->rn;

	if (i->mode == A64_LITERAL) {
		put_constant(e, reg, ip + (uint64_t)i->imm);
		return;
	}
	if (base == SP) {
		put_load(e, reg, A64_FIELD(sp));
		base = reg;
	}
	if (i->mode == A64_REGISTER)
		put_add_extended(e, reg, base, i->rm, i->extend, i->shift);
	else if (i->mode == A64_POST || i->mode == A64_POST_REGISTER)
		put_move(e, reg, base);
	else
		put_add(e, reg, base, i->imm);
}

/* r->x, which holds an address of the program's, will hold ours. */
static void put_lookup(struct block *b, const struct borrowed *r, const struct rp_exit *access)
{
	struct rp_emitter *e = b->e;
	uint32_t tlb = A64_FIELD(tlb);
	size_t patch;

	/* and y, x, #0x3ff000; lsr y, y, #7; add y, sp, y: the entry, less its offset in the context */
	put(e, 0x92742400 | r->x << 5 | r->y);
	put(e, 0xd347fc00 | r->y << 5 | r->y);
	put_add_extended(e, r->y, SP, r->y, 3, 0);
	/* Tag and delta lie side by side either way. */
	if (access->write)
		put_load_pair(e, r->y, r->z, r->y, tlb + (uint32_t)offsetof(struct rp_tlb, delta));
	else
		put_load_pair(e, r->z, r->y, r->y, tlb + (uint32_t)offsetof(struct rp_tlb, read_tag));
	/* sub z, x, z; add z, z, bytes - 1; lsr z, z, #12; cbnz z: its last byte is in the page */
	put(e, 0xcb000000 | r->z << 16 | r->x << 5 | r->z);
	if (access->bytes > 1)
		put_add(e, r->z, r->z, access->bytes - 1);
	put(e, 0xd34cfc00 | r->z << 5 | r->z);
	patch = e->n_code;
	put(e, 0xb5000000 | r->z);
	b->stubs[b->n_stubs++] = (struct stub){ patch, e->n_code, add_exit(e, access) };
	/* add x, x, y */
	put(e, 0x8b000000 | r->y << 16 | r->x << 5 | r->x);
}

/* What the access makes of its base. */
static void put_new_base(struct rp_emitter *e, const struct a64_insn *i, unsigned free)
{
	unsigned base = i->rn == SP ? free : i->rn;

	if (i->mode != A64_PRE && i->mode != A64_POST && i->mode != A64_POST_REGISTER)
		return;
	if (i->rn == SP)
		put_load(e, free, A64_FIELD(sp));
	if (i->mode == A64_POST_REGISTER)
		put(e, 0x8b000000 | (uint32_t)i->rm << 16 | base << 5 | base);
	else
		put_add(e, base, base, i->imm);
	if (i->rn == SP)
		put_store(e, free, A64_FIELD(sp));
}

static void put_access(struct block *b, uint64_t ip, const struct a64_insn *i)
{
	const struct borrowed r = choose_borrowed(i);
	const struct rp_exit access = { .from = b->from,
		                        .ip = ip,
		                        .kind = RP_EXIT_ACCESS,
		                        .n_insns = (uint16_t)b->n_insns,
		                        .x = (uint8_t)r.x,
		                        .y = (uint8_t)r.y,
		                        .z = (uint8_t)r.z,
		                        .write = i->write,
		                        .bytes = i->bytes };

	put_borrow(b->e, &r);
	put_address(b->e, ip, i, r.x);
	put_lookup(b, &r, &access);
	put(b->e, i->word_without_rn | r.x << 5);
	put_new_base(b->e, i, r.y);
	put_back(b->e, &r);
}

/* A register of ours stands in for the stack pointer. */
static void put_stack(struct rp_emitter *e, const struct a64_insn *i)
{
	unsigned x = choose_borrowed(i).x;
	uint32_t word = i->word;

	put_store(e, x, A64_FIELD(kept));
	if (i->sp_n) {
		put_load(e, x, A64_FIELD(sp));
		word = (word & ~(31u << 5)) | x << 5;
	}
	if (i->sp_d)
		word = (word & ~31u) | x;
	put(e, word);
	if (i->sp_d)
		put_store(e, x, A64_FIELD(sp));
	put_load(e, x, A64_FIELD(kept));
}

/* ---- the others ---- */

enum { XPACLRI = 0xd50320ff, XPACI = 0xdac143e0, XPACD = 0xdac147e0 };

/* Processors that sign nothing have the hint only. */
static void put_strip(struct rp_emitter *e, const struct a64_insn *i)
{
	if (i->imm)
		put(e, (uint32_t)XPACD | i->rd);
	else
		put(e, i->rd == LINK ? (uint32_t)XPACLRI : (uint32_t)XPACI | i->rd);
}

static void put_strip_x17(struct rp_emitter *e)
{
	put_store(e, LINK, A64_FIELD(kept));
	put_move(e, LINK, X17);
	put(e, (uint32_t)XPACLRI);
	put_move(e, X17, LINK);
	put_load(e, LINK, A64_FIELD(kept));
}

/* The branch, turned round, leads behind what leaves. */
static void put_if(struct block *b, uint64_t ip, const struct a64_insn *i)
{
	bool tests_bit = (i->word & 0x7e000000) == 0x36000000, flags = (i->word & 0xff000000) == 0x54000000;
	uint32_t mask = tests_bit ? 0x3fff : 0x7ffff;
	uint32_t word = (i->word ^ (flags ? 1u : 1u << 24)) & ~(mask << 5);

	put(b->e, word | (LEAVE_INSNS + 1) << 5);
	/* Whether one that leads to where it would go on anyway is taken makes no difference, and is not seen in steps. */
	leave_for(b, i->imm == A64_INSN_BYTES ? RP_EXIT_NEXT : RP_EXIT_TAKEN, ip, ip + (uint64_t)i->imm);
}

static void put_branch(struct block *b, uint64_t ip, const struct a64_insn *i)
{
	if (i->kind == A64_BL)
		put_constant(b->e, LINK, ip + A64_INSN_BYTES);
	leave_for(b, RP_EXIT_TAKEN, ip, ip + (uint64_t)i->imm);
}

static void put_address_of(struct rp_emitter *e, uint64_t ip, const struct a64_insn *i)
{
	bool page = i->word >> 31;

	/* 31 is no register here. */
	if (i->rd < A64_GPRS)
		put_constant(e, i->rd, (page ? ip & ~4095ull : ip) + (uint64_t)i->imm);
}

/* Emit one instruction.  True when the block goes on behind it. */
static bool put_insn(struct block *b, uint64_t ip, const struct a64_insn *i)
{
	b->n_insns++;
	switch (i->kind) {
	case A64_PLAIN:
		put(b->e, i->word);
		return true;
	case A64_STACK:
		put_stack(b->e, i);
		return true;
	case A64_NOTHING:
		return true;
	case A64_ADDRESS:
		put_address_of(b->e, ip, i);
		return true;
	case A64_MEMORY:
		put_access(b, ip, i);
		return true;
	case A64_GET_THREAD:
		put_load(b->e, i->rd, A64_FIELD(thread));
		return true;
	case A64_SET_THREAD:
		put_store(b->e, i->rd, A64_FIELD(thread));
		return true;
	case A64_STRIP:
		put_strip(b->e, i);
		return true;
	case A64_STRIP_X17:
		put_strip_x17(b->e);
		return true;
	case A64_IF:
		put_if(b, ip, i);
		return true;
	case A64_B:
	case A64_BL:
		put_branch(b, ip, i);
		return false;
	default:
		break;
	}
	b->n_insns--;
	leave_for(b, RP_EXIT_OP, ip, ip);
	return false;
}

/* An access that missed: C is asked for our address, and says it in slow_at. */
static void put_stub(struct rp_emitter *e, const struct stub *s)
{
	const struct rp_exit *access = &e->exits[s->exit];
	uint32_t branch;

	memcpy(&branch, e->code + s->patch, sizeof(branch));
	branch |= (distance(s->patch, e->n_code) & 0x7ffff) << 5;
	memcpy(e->code + s->patch, &branch, sizeof(branch));
	put_store(e, access->x, A64_FIELD(slow_at));
	put_index(e, access->y, s->exit);
	put_store_32(e, access->y, A64_FIELD(slow_exit));
	/* adr y: four instructions on */
	put(e, 0x10000000 | 4 << 5 | access->y);
	put_store(e, access->y, A64_FIELD(slow_return));
	put_load(e, access->y, A64_FIELD(slow));
	put(e, 0xd61f0000 | (uint32_t)access->y << 5);
	/* The way back is through x17. */
	put_load(e, X17, A64_FIELD(gpr[X17]));
	put_load(e, access->x, A64_FIELD(slow_at));
	/* Behind the addition: this is our address already. */
	put_jump(e, s->back + A64_INSN_BYTES);
}

/* The way in is through x17. */
static void put_begin(struct rp_emitter *e)
{
	put_load(e, X17, A64_FIELD(gpr[X17]));
}

size_t a64_emit_block(struct rp_emitter *e, uint64_t ip, const uint8_t *code, size_t n, unsigned max_insns)
{
	static struct block b;
	size_t at = 0, in_page = RP_PAGE - ip % RP_PAGE;
	bool on = true;

	b.e = e;
	b.from = ip;
	b.n_stubs = b.n_insns = 0;
	put_begin(e);
	while (on && b.n_insns < max_insns && at < in_page && at + A64_INSN_BYTES <= n) {
		struct a64_insn i;
		uint32_t word;

		memcpy(&word, code + at, sizeof(word));
		a64_decode(word, &i);
		on = put_insn(&b, ip + at, &i);
		at += A64_INSN_BYTES;
	}
	if (on)
		leave_for(&b, RP_EXIT_NEXT, ip + at, ip + at);
	for (size_t k = 0; k < b.n_stubs; k++)
		put_stub(e, &b.stubs[k]);
	return at;
}

void a64_emit_one(struct rp_emitter *e, uint64_t ip, const struct a64_insn *i, uint64_t host)
{
	const struct rp_exit out = {
		.ip = ip, .to = ip + A64_INSN_BYTES, .kind = RP_EXIT_NEXT, .n_insns = 1
	};
	const struct borrowed r = choose_borrowed(i);

	put_begin(e);
	put_borrow(e, &r);
	put_constant(e, r.x, host);
	put(e, i->word_without_rn | r.x << 5);
	put_new_base(e, i, r.y);
	put_back(e, &r);
	put_leave(e, add_exit(e, &out));
}
