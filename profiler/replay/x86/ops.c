/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/x86/ops.h"

#include <cpuid.h>
#include <string.h>

#include "profiler/replay/blocks.h"
#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"
#include "profiler/replay/x86/emit.h"

#define GPR (RP_CONTEXT->gpr)

/* popf sets these, and no tracer's trap flag; the rest is the system's. */
#define FLAGS_POPPED 0x244dd5u

static int memory_end(void)
{
	uint64_t at;

	return (int)rp_pages_why(&at);
}

static uint64_t segment_base(const struct rp_insn *i)
{
	return i->segment == 0x64 ? RP_CONTEXT->fs_base : i->segment == 0x65 ? RP_CONTEXT->gs_base : 0;
}

uint64_t rp_operand_address(const struct rp_insn *i, uint64_t ip)
{
	uint64_t at = (uint64_t)(int64_t)i->disp;

	if (i->rip_relative)
		at += ip + i->len;
	if (i->base != RP_NO_REG)
		at += GPR[i->base & 15];
	if (i->index != RP_NO_REG)
		at += GPR[i->index & 15] << i->scale;
	if (i->addrsize)
		at = (uint32_t)at;
	return at + segment_base(i);
}

static bool push(uint64_t v, unsigned bytes)
{
	if (!rp_write(GPR[RP_RSP] - bytes, &v, bytes))
		return false;
	GPR[RP_RSP] -= bytes;
	return true;
}

static bool pop(uint64_t *v, unsigned bytes)
{
	*v = 0;
	if (!rp_read(GPR[RP_RSP], v, bytes))
		return false;
	GPR[RP_RSP] += bytes;
	return true;
}

static void set_register(unsigned reg, uint64_t v, unsigned bytes)
{
	if (bytes == 2)
		GPR[reg] = (GPR[reg] & ~(uint64_t)0xffff) | (uint16_t)v;
	else
		GPR[reg] = bytes == 4 ? (uint32_t)v : v;
}

static bool do_push(const struct rp_insn *i)
{
	unsigned reg = i->has_modrm ? i->rm : (i->opcode & 7u) | (i->rex & 1 ? 8 : 0);

	return push(i->imm_bytes ? (uint64_t)i->imm : GPR[reg], rp_stack_bytes(i));
}

static bool do_pop(const struct rp_insn *i)
{
	unsigned reg = i->has_modrm ? i->rm : (i->opcode & 7u) | (i->rex & 1 ? 8 : 0);
	uint64_t v;

	if (!pop(&v, rp_stack_bytes(i)))
		return false;
	set_register(reg, v, rp_stack_bytes(i));
	return true;
}

static bool do_push_mem(const struct rp_insn *i, uint64_t ip)
{
	uint64_t v = 0;

	return rp_read(rp_operand_address(i, ip), &v, rp_stack_bytes(i)) && push(v, rp_stack_bytes(i));
}

/* Its address is worked out with the stack pointer as it is afterwards. */
static bool do_pop_mem(const struct rp_insn *i, uint64_t ip)
{
	uint64_t v;

	if (!pop(&v, rp_stack_bytes(i)))
		return false;
	if (rp_write(rp_operand_address(i, ip), &v, rp_stack_bytes(i)))
		return true;
	GPR[RP_RSP] -= rp_stack_bytes(i);
	return false;
}

static bool do_leave(void)
{
	uint64_t v, old = GPR[RP_RSP];

	GPR[RP_RSP] = GPR[RP_RBP];
	if (!pop(&v, 8)) {
		GPR[RP_RSP] = old;
		return false;
	}
	GPR[RP_RBP] = v;
	return true;
}

static bool do_pushf(const struct rp_insn *i, uint64_t fixed)
{
	return push((RP_CONTEXT->flags & RP_FLAGS_RUN) | fixed, rp_stack_bytes(i));
}

/* What it sets beyond arithmetic (the identification flag) is seen by no instruction but pushf. */
static bool do_popf(const struct rp_insn *i)
{
	uint64_t v;

	if (!pop(&v, rp_stack_bytes(i)))
		return false;
	RP_CONTEXT->flags = (RP_CONTEXT->flags & ~(uint64_t)RP_FLAGS_RUN) | (v & RP_FLAGS_RUN);
	return true;
}

static bool do_xlat(const struct rp_insn *i)
{
	uint64_t at = GPR[RP_RBX] + (GPR[RP_RAX] & 0xff);
	uint8_t v;

	if (i->addrsize)
		at = (uint32_t)at;
	if (!rp_read(at + segment_base(i), &v, 1))
		return false;
	GPR[RP_RAX] = (GPR[RP_RAX] & ~(uint64_t)0xff) | v;
	return true;
}

static void do_segment_base(const struct rp_insn *i)
{
	uint64_t *base = i->reg & 1 ? &RP_CONTEXT->gs_base : &RP_CONTEXT->fs_base;

	if (i->reg & 2)
		*base = i->wide ? GPR[i->rm] : (uint32_t)GPR[i->rm];
	else
		set_register(i->rm, *base, i->wide ? 8 : 4);
}

/* A bit's number reaches beyond the operand. */
static bool do_bit(const struct rp_insn *i, uint64_t ip)
{
	unsigned bytes = rp_operand_bytes(i), bits = 8 * bytes;
	int64_t number = bytes == 8   ? (int64_t)GPR[i->reg]
	                 : bytes == 4 ? (int32_t)GPR[i->reg]
	                              : (int16_t)GPR[i->reg];
	uint64_t at = rp_operand_address(i, ip) + (uint64_t)((number >> (bytes == 8   ? 6
	                                                                 : bytes == 4 ? 5
	                                                                              : 4)) *
	                                                     bytes);
	uint64_t bit = 1ull << ((uint64_t)number & (bits - 1)), v = 0;

	if (!rp_read(at, &v, bytes))
		return false;
	RP_CONTEXT->flags = (RP_CONTEXT->flags & ~1ull) | (v & bit ? 1 : 0);
	if (i->opcode == 0xa3)
		return true;
	v = i->opcode == 0xab ? v | bit : i->opcode == 0xb3 ? v & ~bit : v ^ bit;
	return rp_write(at, &v, bytes);
}

/* What there is of an operand, copied to where the instruction can run on it. */
struct copy {
	uint64_t host;   /* where its first byte is, or would be */
	size_t from, to; /* the bytes that are there */
};

/*
 * Of memory that ends within the operand, or begins in it, the end lies where the window ends: an instruction
 * that reaches beyond it faults, one whose mask leaves that out goes on, and the processor knows which.
 */
static struct copy copy_operand(uint64_t at, size_t bytes)
{
	size_t off = at % RP_PAGE, next = RP_PAGE - off, n = rp_read_some(at, RP_WINDOW + off, bytes);
	uint8_t *end = RP_WINDOW + (size_t)RP_WINDOW_PAGES * RP_PAGE;

	if (n == bytes)
		return (struct copy){ RP_AT_WINDOW + off, 0, n };
	if (n) {
		memmove(end - n, RP_WINDOW + off, n);
		return (struct copy){ (uint64_t)(uintptr_t)(end - n), 0, n };
	}
	if (next < bytes && rp_read_some(at + next, RP_WINDOW, bytes - next) == bytes - next)
		return (struct copy){ RP_AT_WINDOW - next, next, bytes };
	return (struct copy){ (uint64_t)(uintptr_t)end + off, 0, 0 };
}

/* An operand across two pages, or in one that can't be had: the instruction runs on a copy of it. */
static int do_on_copy(const struct rp_insn *i, const uint8_t *code, uint64_t ip, uint64_t at, size_t bytes)
{
	const struct copy copy = copy_operand(at, bytes);
	struct rp_emitter *e = rp_blocks_emitter();
	size_t n_code = e->n_code, n_exits = e->n_exits, n = copy.to - copy.from;
	bool ran;

	RP_CONTEXT->target = e->at + (uint32_t)e->n_code;
	if (i->kind == RP_MASKED)
		rp_emit_masked(e, ip, code, i, (uint32_t)copy.host);
	else if (!rp_emit_one(e, ip, code, i, (uint32_t)copy.host))
		return RP_END_INSTRUCTION;
	ran = rp_enter();
	e->n_code = n_code;
	e->n_exits = n_exits;
	if (!ran)
		return n < bytes ? memory_end() : RP_END_FAULT;
	return i->write && rp_write_some(at + copy.from, (const uint8_t *)(uintptr_t)(copy.host + copy.from),
	                                 n) != n
	               ? memory_end()
	               : RP_GOES_ON;
}

/* Components that loading may change; the rest are keys, tiles, and what comes yet. */
static bool may_load(const struct rp_insn *i)
{
	uint32_t low, high;
	bool fxrstor = i->map == 1 && i->opcode == 0xae && (i->reg & 7) == 1;
	bool xrstor = i->map == 1 && i->opcode == 0xae && (i->reg & 7) == 5;

	if (!xrstor)
		return fxrstor || (i->opcode == 0xae) || (i->reg & 7) == 4; /* xsavec */
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return !((GPR[RP_RAX] & low & ~(uint64_t)0xe7) | (GPR[RP_RDX] & high));
}

static int do_area(struct rp_insn *i, const uint8_t *code, uint64_t ip)
{
	unsigned a, b, c, d, reg = i->reg & 7;
	size_t bytes = 512;

	if (!may_load(i))
		return RP_END_KEYS;
	if (reg > 1) {
		__cpuid_count(0xd, 0, a, b, c, d);
		bytes = b;
	}
	if (bytes > RP_AREA_BYTES)
		return RP_END_INSTRUCTION;
	i->write = reg != 1 && reg != 5;
	return do_on_copy(i, code, ip, rp_operand_address(i, ip), bytes);
}

static int do_masked(const struct rp_insn *i, const uint8_t *code, uint64_t ip)
{
	uint64_t at = i->addrsize ? (uint32_t)GPR[RP_RDI] : GPR[RP_RDI];
	struct rp_insn store = *i;

	store.write = true;
	return do_on_copy(&store, code, ip, at + segment_base(i), i->opsize ? 16 : 8);
}

static bool do_mov_at(const struct rp_insn *i)
{
	uint64_t at = (i->addrsize ? (uint32_t)i->imm : (uint64_t)i->imm) + segment_base(i), v = GPR[RP_RAX];
	unsigned bytes = i->opcode & 1 ? rp_operand_bytes(i) : 1;

	if (i->opcode & 2)
		return rp_write(at, &v, bytes);
	v = 0;
	if (!rp_read(at, &v, bytes))
		return false;
	if (bytes == 1)
		v |= GPR[RP_RAX] & ~(uint64_t)0xff;
	set_register(RP_RAX, v, bytes == 1 ? 8 : bytes);
	return true;
}

/* imm: the frame's size, 16 bits, and how many frames its own is nested in. */
static bool do_enter(const struct rp_insn *i)
{
	uint64_t old_sp = GPR[RP_RSP], from = GPR[RP_RBP], frame, v;
	unsigned level = (unsigned)(i->imm >> 16) & 31;
	bool ok = push(from, 8);

	frame = GPR[RP_RSP];
	for (unsigned k = 1; ok && k < level; k++) {
		from -= 8;
		ok = rp_read(from, &v, 8) && push(v, 8);
	}
	ok = ok && (!level || push(frame, 8));
	/* It faults where the stack's new end could not be written. */
	ok = ok && rp_page((GPR[RP_RSP] - (uint16_t)i->imm) & ~(uint64_t)(RP_PAGE - 1), RP_READ);
	GPR[RP_RSP] = ok ? GPR[RP_RSP] - (uint16_t)i->imm : old_sp;
	GPR[RP_RBP] = ok ? frame : GPR[RP_RBP];
	return ok;
}

static bool call(uint64_t back)
{
	return push(back, 8);
}

static bool do_branch(const struct rp_insn *i, uint64_t ip, uint64_t *next)
{
	uint64_t after = *next, to = after + (uint64_t)i->imm;

	if (i->kind == RP_RET) {
		if (!pop(next, 8))
			return false;
		GPR[RP_RSP] += (uint16_t)i->imm;
		return true;
	}
	if (i->kind != RP_CALL) {
		to = i->mem ? 0 : GPR[i->rm];
		if (i->mem && !rp_read(rp_operand_address(i, ip), &to, 8))
			return false;
	}
	if (i->kind != RP_JMP_AT && !call(after))
		return false;
	*next = to;
	return true;
}

static bool do_simple(const struct rp_insn *i, uint64_t ip, uint64_t fixed)
{
	switch (i->kind) {
	case RP_PUSH:
		return do_push(i);
	case RP_POP:
		return do_pop(i);
	case RP_PUSH_MEM:
		return do_push_mem(i, ip);
	case RP_POP_MEM:
		return do_pop_mem(i, ip);
	case RP_LEAVE:
		return do_leave();
	case RP_PUSHF:
		return do_pushf(i, fixed);
	case RP_POPF:
		return do_popf(i);
	case RP_XLAT:
		return do_xlat(i);
	case RP_ENTER:
		return do_enter(i);
	case RP_MOV_AT:
		return do_mov_at(i);
	default:
		return do_bit(i, ip);
	}
}

int rp_op(const struct rp_insn *i, const uint8_t *code, uint64_t ip, uint64_t fixed, uint64_t *next)
{
	struct rp_insn area;

	*next = ip + i->len;
	switch (i->kind) {
	case RP_CALL:
	case RP_JMP_AT:
	case RP_CALL_AT:
	case RP_RET:
		return do_branch(i, ip, next) ? RP_GOES_ON : memory_end();
	case RP_PLAIN:
		return do_on_copy(i, code, ip, rp_operand_address(i, ip), i->mem_bytes);
	case RP_AREA:
		area = *i;
		return do_area(&area, code, ip);
	case RP_MASKED:
		return do_masked(i, code, ip);
	case RP_STRING:
		return rp_op_string(i, ip);
	case RP_GATHER:
		return rp_op_gather(i, ip);
	case RP_SEGMENT_BASE:
		do_segment_base(i);
		return RP_GOES_ON;
	case RP_SYSCALL:
		return RP_END_SYSCALL;
	case RP_TRAP:
		return RP_END_TRAP;
	case RP_FAR:
		return RP_END_FAR;
	case RP_TRANSACTION:
		return RP_END_TRANSACTION;
	case RP_SHADOW_STACK:
		return RP_END_SHADOW_STACK;
	case RP_KEYS:
		return RP_END_KEYS;
	case RP_TILES:
		return RP_END_TILES;
	case RP_HALF:
		return RP_END_HALF;
	case RP_UNKNOWN:
		return RP_END_INSTRUCTION;
	default:
		return do_simple(i, ip, fixed) ? RP_GOES_ON : memory_end();
	}
}
