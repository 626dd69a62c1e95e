/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/a64/ops.h"

#include <string.h>

#include "profiler/replay/a64/emit.h"
#include "profiler/replay/blocks.h"
#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"

/*
 * The thread is alone on its copies of pages: a store-exclusive is successful if the last
 * load-exclusive was of the same place.
 */
static struct {
	bool armed;
	uint64_t at;
	uint16_t bytes;
} monitor;

void a64_ops_begin(void)
{
	monitor.armed = false;
}

static int memory_end(void)
{
	uint64_t at;

	return (int)rp_pages_why(&at);
}

/* 31 is zero, */
static uint64_t get(unsigned reg)
{
	return reg < A64_GPRS ? RP_CONTEXT->gpr[reg] : 0;
}

static void set(unsigned reg, uint64_t v)
{
	if (reg < A64_GPRS)
		RP_CONTEXT->gpr[reg] = v;
}

/* and as a base the stack pointer. */
static uint64_t *base_of(const struct a64_insn *i)
{
	return i->rn < A64_GPRS ? &RP_CONTEXT->gpr[i->rn] : &RP_CONTEXT->sp;
}

/* The signature of a pointer goes, where this processor makes any. */
static uint64_t strip(uint64_t pointer)
{
	register uint64_t link __asm__("x30") = pointer;

	__asm__("hint #7" : "+r"(link)); /* xpaclri */
	return link;
}

static uint64_t extended(const struct a64_insn *i)
{
	uint64_t v = get(i->rm);

	if (i->extend == 2)
		v = (uint32_t)v;
	else if (i->extend == 6)
		v = (uint64_t)(int64_t)(int32_t)v;
	return v << i->shift;
}

static uint64_t operand_address(const struct a64_insn *i, uint64_t ip)
{
	switch (i->mode) {
	case A64_LITERAL:
		return ip + (uint64_t)i->imm;
	case A64_REGISTER:
		return *base_of(i) + extended(i);
	case A64_POST:
	case A64_POST_REGISTER:
		return *base_of(i);
	default:
		return *base_of(i) + (uint64_t)i->imm;
	}
}

/* An operand across two pages: the instruction runs on a copy of it. */
static int do_on_copy(const struct a64_insn *i, uint64_t ip)
{
	uint64_t at = machine_place(operand_address(i, ip));
	struct rp_emitter *e = rp_blocks_emitter();
	size_t n_code = e->n_code, n_exits = e->n_exits;
	/* Some operands must be aligned, and fault otherwise. */
	uint8_t *copy = RP_WINDOW + at % RP_PAGE;
	bool ran;

	if (!rp_read(at, copy, i->bytes))
		return memory_end();
	RP_CONTEXT->target = e->at + e->n_code;
	a64_emit_one(e, ip, i, (uintptr_t)copy);
	machine_code_is_new(e, n_code);
	ran = rp_enter();
	e->n_code = n_code;
	e->n_exits = n_exits;
	if (!ran)
		return RP_END_FAULT;
	return i->write && !rp_write(at, copy, i->bytes) ? memory_end() : RP_GOES_ON;
}

static bool is_pair(const struct a64_insn *i)
{
	return i->word >> 21 & 1;
}

static int load_exclusive(const struct a64_insn *i)
{
	uint64_t at = machine_place(*base_of(i)), v[2] = { 0, 0 };
	unsigned each = is_pair(i) ? i->bytes / 2u : i->bytes;

	if (at % i->bytes)
		return RP_END_FAULT;
	if (!rp_read(at, &v[0], each) || (is_pair(i) && !rp_read(at + each, &v[1], each)))
		return memory_end();
	set(i->rd, v[0]);
	if (is_pair(i))
		set(i->ra, v[1]);
	monitor.armed = true;
	monitor.at = at;
	monitor.bytes = i->bytes;
	return RP_GOES_ON;
}

/* One that fails touches no memory. */
static int store_exclusive(const struct a64_insn *i)
{
	uint64_t at = machine_place(*base_of(i)), v[2] = { get(i->rd), get(i->ra) };
	unsigned each = is_pair(i) ? i->bytes / 2u : i->bytes;
	bool succeeds = monitor.armed && monitor.at == at && monitor.bytes == i->bytes;

	if (succeeds && (!rp_write(at, &v[0], each) || (is_pair(i) && !rp_write(at + each, &v[1], each))))
		return memory_end();
	monitor.armed = false;
	set(i->rm, succeeds ? 0 : 1);
	return RP_GOES_ON;
}

static int load_signed(const struct a64_insn *i)
{
	uint64_t *base = base_of(i), at = strip(*base) + (uint64_t)i->imm, v;

	if (!rp_read(machine_place(at), &v, sizeof(v)))
		return memory_end();
	if (i->mode == A64_PRE)
		*base = at;
	set(i->rd, v);
	return RP_GOES_ON;
}

/* As large a block as the processor says, unless it forbids that. */
static int zero_block(const struct a64_insn *i)
{
	static const uint8_t zeros[256];
	uint64_t id, at = machine_place(get(i->rd)), bytes;

	__asm__("mrs %0, dczid_el0" : "=r"(id));
	if (id & 16)
		return RP_END_TRAP;
	bytes = 4ull << (id & 15);
	at &= ~(bytes - 1);
	for (uint64_t done = 0; done < bytes; done += sizeof(zeros)) {
		uint64_t left = bytes - done;

		if (!rp_write(at + done, zeros, left < sizeof(zeros) ? left : sizeof(zeros)))
			return memory_end();
	}
	return RP_GOES_ON;
}

static int branch(const struct a64_insn *i, uint64_t ip, uint64_t *next, bool *taken)
{
	/* Those whose bit 11 is set authenticate. */
	uint64_t to = i->word >> 11 & 1 ? strip(get(i->rn)) : get(i->rn);

	*next = machine_place(to);
	*taken = true;
	if (i->kind == A64_BLR)
		set(A64_LINK, ip + A64_INSN_BYTES);
	return RP_GOES_ON;
}

static int end_of(const struct a64_insn *i)
{
	switch (i->kind) {
	case A64_SYSCALL:
		return RP_END_SYSCALL;
	case A64_TRAP:
		return RP_END_TRAP;
	case A64_SVE:
		return RP_END_SVE;
	case A64_SME:
		return RP_END_SME;
	case A64_TAGS:
		return RP_END_TAGS;
	case A64_GUARDED_STACK:
		return RP_END_SHADOW_STACK;
	case A64_TRANSACTION:
		return RP_END_TRANSACTION;
	default:
		return RP_END_INSTRUCTION;
	}
}

int a64_op(const struct a64_insn *i, uint64_t ip, uint64_t *next, bool *taken)
{
	*next = ip + A64_INSN_BYTES;
	switch (i->kind) {
	case A64_BR:
	case A64_BLR:
	case A64_RET:
		return branch(i, ip, next, taken);
	case A64_MEMORY:
		return do_on_copy(i, ip);
	case A64_LOAD_EXCLUSIVE:
		return load_exclusive(i);
	case A64_STORE_EXCLUSIVE:
		return store_exclusive(i);
	case A64_CLEAR_EXCLUSIVE:
		monitor.armed = false;
		return RP_GOES_ON;
	case A64_LOAD_SIGNED:
		return load_signed(i);
	case A64_ZERO_BLOCK:
		return zero_block(i);
	default:
		return end_of(i);
	}
}
