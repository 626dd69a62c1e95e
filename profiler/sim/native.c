/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/sim/core.h"

#ifdef __x86_64__

enum {
	/*
	 * Of code, reserved at once and used as blocks come: xz needs 8 MB of it, a compiler 41 (measured).  Blocks that
	 * find no room are run by core.c: slower, but to the same times.
	 */
	REGION_BYTES = 64 << 20,
	/* Of one instruction, with what stands behind the block for it: add [rbx + 8], rax takes about 1,000. */
	MOST_INSN_BYTES = 1280,
	BLOCK_BYTES = 512, /* around them */
};

/* Registers.  What struct sim_flight has is kept in those that calls leave alone. */
enum {
	RAX = 0, /* when the instruction is ready, issued, done */
	RCX = 1,
	RDX = 2,
	CORE = 3, /* rbx */
	RSP = 4,
	TIGHT = 5, /* rbp: 1 where the rest of a group asks for room one by one, else 0 */
	RSI = 6,
	RDI = 7,
	R8 = 8,
	ZERO = 9,
	SLOT_BITS = 10,  /* r10: of an entry's number in the calendar of ports */
	RETIRED = 12,    /* where in the core's `retire` the block's first instruction stands */
	DISPATCH = 13,   /* dispatch_cyc */
	RETIRE = 14,     /* retire_cyc */
	DISPATCH_N = 15, /* dispatch_n */
};

/* Opcodes: a register and what its other operand is, which may be memory.  The second byte of those of two stands above. */
enum {
	OR_TO = 0x0b,
	AND_TO = 0x23,
	SUB_FROM = 0x2b,
	XOR_TO = 0x33,
	STORE = 0x89,
	LOAD = 0x8b,
	LEA = 0x8d,
	CMP_WITH = 0x3b,
	ADD_TO = 0x03,
	CMOV_BELOW = 0x0f42,
	CMOV_NOT_BELOW = 0x0f43,
	CMOV_NOT_ZERO = 0x0f45,
	CMOV_ABOVE = 0x0f47,
};

/* The same with a number: which of them stands where the register's number does. */
enum { NUMBER_ADD = 0, NUMBER_OR = 1, NUMBER_AND = 4, NUMBER_SUB = 5, NUMBER_CMP = 7 };

enum { JUMP_BELOW = 0x82, JUMP_ZERO = 0x84, JUMP_NOT_ZERO = 0x85, JUMP_ABOVE = 0x87 };

/* What is rarely done stands behind the block's code. */
enum late_kind { NO_ROOM, IS_TIGHT, PORTS_TAKEN, LOAD_ANY, LOAD_ISSUED, MEMORY_ANY };
struct late {
	enum late_kind kind;
	uint8_t *from, *back; /* the jump's distance; where the code goes on */
	uint8_t *from_too;    /* another jump's, or NULL */
	uint8_t *again;       /* PORTS_TAKEN: where a port is looked for */
	bool last;            /* IS_TIGHT: of its group */
	const struct sim_insn *in;
	uint32_t n;         /* of instructions, or the ports */
	uint32_t n_retired; /* as in struct sim_native, where it was left */
};

struct sim_native {
	const struct sim_config *config;
	uint8_t *region, *at, *end;
	struct late *late; /* of the block that is made */
	uint32_t n_late;
	uint32_t n_retired; /* instructions of it that have, so far */
};

#define OFFSET(field) ((uint32_t)offsetof(struct sim_core, field))
#define FRAME(field)  ((uint8_t)offsetof(struct sim_native_frame, field))
enum { FRAME_BYTES = (sizeof(struct sim_native_frame) + 15) / 16 * 16 + 8 };

_Static_assert(sizeof(struct sim_native_frame) < 128, "offsets in it are of one byte");
_Static_assert(sizeof(struct sim_line) == 16 && sizeof(struct sim_forward) == 24, "as the code multiplies");

/* ---- instructions ---- */

static void byte(struct sim_native *n, unsigned b)
{
	*n->at++ = (uint8_t)b;
}

static void bytes(struct sim_native *n, const char *hex, size_t len)
{
	memcpy(n->at, hex, len);
	n->at += len;
}
#define BYTES(n, text) bytes(n, text, sizeof(text) - 1)

static void word(struct sim_native *n, uint32_t w)
{
	memcpy(n->at, &w, sizeof(w));
	n->at += sizeof(w);
}

static void opcode(struct sim_native *n, bool wide, unsigned op, unsigned reg, unsigned index, unsigned base)
{
	unsigned rex = (unsigned)wide << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3;

	if (rex)
		byte(n, 0x40 | rex);
	if (op > 0xff)
		byte(n, op >> 8);
	byte(n, op & 0xff);
}

static void reg_reg(struct sim_native *n, bool wide, unsigned op, unsigned reg, unsigned other)
{
	opcode(n, wide, op, reg, 0, other);
	byte(n, 0xc0 | (reg & 7) << 3 | (other & 7));
}

/* A field of the core. */
static void reg_field(struct sim_native *n, bool wide, unsigned op, unsigned reg, uint32_t offset)
{
	opcode(n, wide, op, reg, 0, CORE);
	byte(n, 0x80 | (reg & 7) << 3 | CORE);
	word(n, offset);
}

/* An entry of one of its tables: number in rcx, of 1 << shift bytes. */
static void reg_entry(struct sim_native *n, bool wide, unsigned op, unsigned reg, unsigned shift,
                      uint32_t offset)
{
	opcode(n, wide, op, reg, RCX, CORE);
	byte(n, 0x84 | (reg & 7) << 3);
	byte(n, shift << 6 | RCX << 3 | CORE);
	word(n, offset);
}

/* At a register and a distance below 128. */
static void reg_at(struct sim_native *n, bool wide, unsigned op, unsigned reg, unsigned base, uint32_t off)
{
	opcode(n, wide, op, reg, 0, base);
	byte(n, 0x40 | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == RSP)
		byte(n, 0x24);
	byte(n, off);
}

static void reg_number(struct sim_native *n, bool wide, unsigned which, unsigned reg, uint32_t number)
{
	bool is_byte = (int32_t)number == (int8_t)number;

	opcode(n, wide, is_byte ? 0x83 : 0x81, 0, 0, reg);
	byte(n, 0xc0 | which << 3 | (reg & 7));
	if (is_byte)
		byte(n, number & 0xff);
	else
		word(n, number);
}

static void set_number(struct sim_native *n, unsigned reg, uint32_t number)
{
	byte(n, 0xb8 | reg);
	word(n, number);
}

static void add_to_field(struct sim_native *n, uint32_t offset, uint32_t number)
{
	opcode(n, true, 0x81, 0, 0, CORE);
	byte(n, 0x80 | NUMBER_ADD << 3 | CORE);
	word(n, offset);
	word(n, number);
}

/* Where the distance stands, for set_jump. */
static uint8_t *jump_if(struct sim_native *n, unsigned condition)
{
	byte(n, 0x0f);
	byte(n, condition);
	word(n, 0);
	return n->at - 4;
}

static void set_jump(uint8_t *distance, const uint8_t *to)
{
	int32_t d = (int32_t)(to - distance - 4);

	memcpy(distance, &d, sizeof(d));
}

static void jump(struct sim_native *n, const uint8_t *to)
{
	byte(n, 0xe9);
	word(n, 0);
	set_jump(n->at - 4, to);
}

static struct late *later(struct sim_native *n, enum late_kind kind, uint8_t *from, const struct sim_insn *in,
                          uint32_t number)
{
	struct late *l = &n->late[n->n_late++];

	*l = (struct late){ kind, from, n->at, NULL, NULL, false, in, number, n->n_retired };
	return l;
}

/* ---- parts of the model ---- */

/* When that one retired which is so many behind the block's next. */
static void reg_retired(struct sim_native *n, unsigned op, unsigned reg, int32_t behind_next)
{
	int32_t off = (int32_t)sizeof(uint64_t) * ((int32_t)n->n_retired + behind_next);
	bool is_byte = off == (int8_t)off;

	opcode(n, true, op, reg, 0, RETIRED);
	byte(n, (is_byte ? 0x40 : 0x80) | (reg & 7) << 3 | (RETIRED & 7));
	byte(n, 0x24);
	if (is_byte)
		byte(n, (uint32_t)off & 0xff);
	else
		word(n, (uint32_t)off);
}

/* What calls do not leave alone. */
static void set_constants(struct sim_native *n)
{
	reg_reg(n, false, XOR_TO, ZERO, ZERO);
	BYTES(n, "\x41\xba"); /* mov r10d, */
	word(n, SIM_PORT_CALENDAR_BITS);
}

static void at_least(struct sim_native *n, unsigned reg, unsigned other)
{
	reg_reg(n, true, CMP_WITH, reg, other);
	reg_reg(n, true, CMOV_BELOW, reg, other);
}

static void wait_for_reg(struct sim_native *n, uint8_t reg)
{
	uint32_t offset = OFFSET(reg) + 8u * reg;

	/* Never written: zero. */
	if (reg == SIM_R_READY)
		return;
	reg_field(n, true, CMP_WITH, RAX, offset);
	reg_field(n, true, CMOV_BELOW, RAX, offset);
}

/* rax: when both are there, and not before the cycle behind dispatch. */
static void wait_for_regs(struct sim_native *n, const uint8_t *reg)
{
	reg_at(n, true, LEA, RAX, DISPATCH, 1);
	wait_for_reg(n, reg[0]);
	if (reg[1] != reg[0])
		wait_for_reg(n, reg[1]);
}

/* rax: when all that the operation waits for is there as well. */
static void wait_for_sources(struct sim_native *n, const struct sim_insn *in)
{
	for (unsigned i = 0; i < (in->flags & SIM_F_MANY ? 4 : 2); i++)
		wait_for_reg(n, in->src[i]);
}

/* As dispatch() does, for what takes no more than a cycle's share. */
static void dispatch(struct sim_native *n, const struct sim_insn *in)
{
	reg_reg(n, false, LOAD, RCX, DISPATCH_N);
	reg_number(n, false, NUMBER_SUB, RCX, n->config->dispatch_width * SIM_SLOT);
	reg_reg(n, false, CMOV_NOT_BELOW, DISPATCH_N, RCX);
	BYTES(n, "\x49\x83\xdd\xff"); /* sbb r13, -1: one more, less the borrow */
	reg_number(n, false, NUMBER_ADD, DISPATCH_N, in->slots);
}

/* As take_port() does, from rax on; rax becomes the cycle. */
static void take_port(struct sim_native *n, const struct sim_insn *in, uint32_t ports)
{
	struct late *l;
	uint8_t *again = n->at;

	BYTES(n, "\xc4\xe2\x28\xf5\xc8");     /* bzhi ecx, eax, r10d */
	BYTES(n, "\xc4\xe3\x7b\xf0\xd0\x1b"); /* rorx edx, eax, 27: to the left by 5 */
	_Static_assert(SIM_PORT_CALENDAR_BITS == 11, "16 - 11 = 5");
	reg_number(n, false, NUMBER_AND, RDX, 0xffff0000);
	reg_entry(n, false, LOAD, RSI, 2, OFFSET(port));
	set_number(n, RDI, ports);
	/* As if the entry were of this turn: what is next issued in the cycle waits for its new value. */
	BYTES(n, "\xc4\xe2\x48\xf2\xff"); /* andn edi, esi, edi */
	l = later(n, PORTS_TAKEN, jump_if(n, JUMP_ZERO), in, ports);
	BYTES(n, "\xc4\xe2\x40\xf3\xdf"); /* blsi edi, edi */
	reg_reg(n, false, OR_TO, RDI, RSI);
	reg_reg(n, false, XOR_TO, RSI, RDX);
	l->again = again;
	l->back = n->at;
	/* If it is not, what it is then. */
	reg_number(n, false, NUMBER_OR, RDX, ports & -ports);
	reg_number(n, false, NUMBER_CMP, RSI, 0xffff);
	reg_reg(n, false, CMOV_ABOVE, RDI, RDX);
	reg_entry(n, false, STORE, RDI, 2, OFFSET(port));
}

/* A function of core.c: core, instruction, number (in edx already), frame.  What it leaves is rax. */
static void call(struct sim_native *n, const struct sim_insn *in, uint32_t function)
{
	uint64_t address = (uintptr_t)in;

	reg_reg(n, true, LOAD, RDI, CORE);
	BYTES(n, "\x48\xbe"); /* mov rsi, */
	memcpy(n->at, &address, sizeof(address));
	n->at += sizeof(address);
	reg_reg(n, true, LOAD, RCX, RSP);
	BYTES(n, "\xff\x93"); /* call [rbx + */
	word(n, function);
	set_constants(n);
}

/* The same from the cycle behind dispatch on. */
static void call_at_dispatch(struct sim_native *n, const struct sim_insn *in, uint32_t function)
{
	reg_at(n, true, LEA, RDX, DISPATCH, 1);
	call(n, in, function);
}

static bool lines_are_near(const struct sim_config *c)
{
	uint64_t n_sets = (uint64_t)c->l1.kb * 1024 / c->line_bytes / c->l1.ways;

	return n_sets > 1 && !(n_sets & (n_sets - 1));
}

/* Is the access at [rdx + off] a load of the instruction's? */
static void compare_access(struct sim_native *n, const struct sim_insn *in, uint32_t off)
{
	reg_at(n, false, LOAD, RCX, RDX, off);
	reg_number(n, false, NUMBER_AND, RCX, 0xfff1);
	reg_number(n, false, NUMBER_CMP, RCX, (uint32_t)in->index << 4);
}

/*
 * What only loads: where it makes one access, to an old line at the front of its set that no store on its way writes,
 * which is nearly always, nothing is called.
 */
static void load(struct sim_native *n, const struct sim_insn *in)
{
	unsigned line_shift = (unsigned)__builtin_ctz(n->config->line_bytes);
	uint8_t *other_access, *in_flight, *not_near, *not_old;
	struct late *any, *issued;

	if (!lines_are_near(n->config) || !in->load_ports) {
		call_at_dispatch(n, in, OFFSET(help.load));
		return;
	}
	reg_at(n, true, LOAD, RDX, RSP, FRAME(f.mem));
	compare_access(n, in, 0);
	any = later(n, LOAD_ANY, jump_if(n, JUMP_NOT_ZERO), in, 0);
	compare_access(n, in, sizeof(uint64_t));
	other_access = jump_if(n, JUMP_ZERO);
	any->from_too = other_access;
	wait_for_regs(n, in->addr);
	take_port(n, in, in->load_ports);
	reg_at(n, true, LOAD, RDX, RSP, FRAME(f.mem));
	reg_at(n, true, LOAD, R8, RDX, 0);
	BYTES(n, "\x49\xc1\xe8\x10"); /* shr r8, 16: its address */
	reg_reg(n, false, LOAD, RCX, R8);
	BYTES(n, "\xc1\xe9\x03"); /* shr ecx, 3 */
	reg_number(n, false, NUMBER_AND, RCX, SIM_FORWARD - 1);
	BYTES(n, "\x48\x8d\x0c\x49"); /* lea rcx, [rcx + 2 * rcx] */
	reg_entry(n, true, CMP_WITH, RAX, 3, OFFSET(forward) + offsetof(struct sim_forward, drain_cyc));
	in_flight = jump_if(n, JUMP_BELOW);
	BYTES(n, "\x49\xc1\xe8"); /* shr r8, : its line */
	byte(n, line_shift);
	reg_field(n, true, LOAD, RCX, OFFSET(memory.near_mask));
	reg_reg(n, true, AND_TO, RCX, R8);
	BYTES(n, "\x48\xc1\xe1\x05"); /* shl rcx, 5: of two lines */
	reg_field(n, true, ADD_TO, RCX, OFFSET(memory.near));
	reg_at(n, true, LEA, RDX, R8, 1);
	reg_at(n, true, CMP_WITH, RDX, RCX, 0);
	reg_at(n, true, LEA, R8, RCX, sizeof(struct sim_line));
	reg_reg(n, true, CMOV_NOT_ZERO, RCX, R8);
	reg_at(n, true, CMP_WITH, RDX, RCX, 0);
	not_near = jump_if(n, JUMP_NOT_ZERO);
	reg_at(n, true, LOAD, RDX, RCX, offsetof(struct sim_line, ready));
	BYTES(n, "\x48\xd1\xca"); /* ror rdx, 1: as sim_memory_access turns it */
	reg_reg(n, true, CMP_WITH, RDX, RAX);
	not_old = jump_if(n, JUMP_ABOVE);
	reg_number(n, true, NUMBER_ADD, RAX, n->config->l1.latency_cyc + in->load_cyc);
	BYTES(n, "\x48\x83\x44\x24"); /* add qword [rsp + .mem], 8 */
	byte(n, FRAME(f.mem));
	byte(n, sizeof(uint64_t));
	issued = later(n, LOAD_ISSUED, in_flight, in, 0);
	issued->from_too = not_near;
	later(n, LOAD_ISSUED, not_old, in, 0);
	wait_for_sources(n, in);
	any->back = n->at;
}

/* From its dispatch to its end, as run_memory() does. */
static void memory(struct sim_native *n, const struct sim_insn *in)
{
	struct late *unforeseen = NULL;

	if (in->flags & SIM_F_UNIT) {
		call_at_dispatch(n, in, OFFSET(help.memory));
		return;
	}
	if (in->flags & SIM_F_LOAD) {
		load(n, in);
	} else {
		/* Accesses of an instruction before must not hide its own. */
		reg_at(n, true, LOAD, RDX, RSP, FRAME(f.mem));
		BYTES(n, "\x0f\xb7\x0a"); /* movzx ecx, word [rdx] */
		reg_number(n, false, NUMBER_CMP, RCX, (uint32_t)in->index << 4);
		unforeseen = later(n, MEMORY_ANY, jump_if(n, JUMP_BELOW), in, 0);
		reg_at(n, true, LEA, RAX, DISPATCH, 1);
		wait_for_sources(n, in);
	}
	if (in->ports) {
		take_port(n, in, in->ports);
		reg_number(n, true, NUMBER_ADD, RAX, in->latency_cyc);
	}
	if (in->flags & SIM_F_STORE) {
		reg_at(n, true, STORE, RAX, RSP, FRAME(done));
		wait_for_regs(n, in->addr);
		take_port(n, in, n->config->cls[SIM_C_STORE].ports);
		reg_at(n, true, CMP_WITH, RAX, RSP, FRAME(done));
		reg_at(n, true, CMOV_BELOW, RAX, RSP, FRAME(done));
		reg_number(n, true, NUMBER_ADD, RAX, 1);
	}
	if (unforeseen)
		unforeseen->back = n->at;
}

static void write_results(struct sim_native *n, const struct sim_insn *in)
{
	for (unsigned i = 0; i < (in->flags & SIM_F_MANY ? 3 : 2); i++)
		/* Who reads a result that nobody waits for? */
		if (in->dst[i] != SIM_R_SINK && (i == 0 || in->dst[i] != in->dst[i - 1]))
			reg_field(n, true, STORE, RAX, OFFSET(reg) + 8u * in->dst[i]);
}

static void retire(struct sim_native *n)
{
	/* What the newest one does not decide first, as all after it wait for that. */
	reg_retired(n, LOAD, RCX, -(int32_t)n->config->retire_width);
	reg_number(n, true, NUMBER_ADD, RCX, 1);
	at_least(n, RCX, RAX);
	at_least(n, RETIRE, RCX);
	reg_retired(n, STORE, RETIRE, 0);
	n->n_retired++;
}

static uint32_t freed_of(unsigned pool)
{
	return OFFSET(freed) + (uint32_t)sizeof(uint64_t) * SIM_WINDOW * pool;
}

/* As place_take() does when it has retired; there is always room where none is taken. */
static void take_place(struct sim_native *n, unsigned pool, uint32_t before)
{
	if (pool == SIM_POOL_NONE)
		return;
	reg_field(n, false, LOAD, RCX, OFFSET(place) + 8 * pool);
	if (before)
		reg_number(n, false, NUMBER_ADD, RCX, before);
	reg_number(n, false, NUMBER_AND, RCX, SIM_WINDOW - 1);
	reg_entry(n, true, STORE, RETIRE, 3, freed_of(pool));
}

/* The stores of an instruction leave for the cache; rax stays what it is. */
static void leave_stores(struct sim_native *n, const struct sim_insn *in)
{
	reg_at(n, true, STORE, RAX, RSP, FRAME(done));
	reg_at(n, true, STORE, RETIRE, RSP, FRAME(f.retire_cyc));
	call(n, in, OFFSET(help.leave));
	reg_at(n, true, LOAD, RAX, RSP, FRAME(done));
}

/* More sources or results than two, or a unit that is not pipelined. */
static void other(struct sim_native *n, const struct sim_insn *in)
{
	if (in->flags & SIM_F_UNIT) {
		call_at_dispatch(n, in, OFFSET(help.other));
		return;
	}
	reg_at(n, true, LEA, RAX, DISPATCH, 1);
	wait_for_sources(n, in);
	if (in->ports) {
		take_port(n, in, in->ports);
		reg_number(n, true, NUMBER_ADD, RAX, in->latency_cyc);
	}
}

static void instruction(struct sim_native *n, const struct sim_insn *in)
{
	dispatch(n, in);
	switch (in->kind) {
	case SIM_K_PLAIN:
		wait_for_regs(n, in->src);
		take_port(n, in, in->ports);
		reg_number(n, true, NUMBER_ADD, RAX, in->latency_cyc);
		break;
	case SIM_K_FREE:
		wait_for_regs(n, in->src);
		break;
	case SIM_K_LOAD:
		load(n, in);
		break;
	case SIM_K_OTHER:
		other(n, in);
		break;
	default:
		memory(n, in);
	}
	write_results(n, in);
	if (!(in->flags & SIM_F_FUSED))
		retire(n);
	take_place(n, in->pool, in->pool_before);
	if (in->flags & SIM_F_LOAD)
		take_place(n, SIM_POOL_LOAD, in->loads_before);
	if (in->flags & SIM_F_STORE)
		leave_stores(n, in);
}

/* rcx: the entry of `freed` that says when the place is free that an instruction takes of a pool, as place_free(). */
static void find_place(struct sim_native *n, unsigned pool, uint32_t before)
{
	reg_field(n, false, LOAD, RCX, OFFSET(place) + 8 * pool);
	reg_number(n, false, NUMBER_ADD, RCX, before - sim_core_room(n->config, pool));
	reg_number(n, false, NUMBER_AND, RCX, SIM_WINDOW - 1);
}

/* To where the jump leads if the group has to wait for its last place of the pool. */
static uint8_t *ask_for_place(struct sim_native *n, const struct sim_insn *first, unsigned pool)
{
	find_place(n, pool, first->group_taken[pool - SIM_POOL_INT] - 1u);
	reg_entry(n, true, CMP_WITH, DISPATCH, 3, freed_of(pool));
	return jump_if(n, JUMP_BELOW);
}

/* Who takes no place of a pool does not wait for one. */
static bool takes_place(const struct sim_insn *first, uint32_t n_insn, unsigned pool)
{
	bool takes = false;

	for (uint32_t i = 0; i < n_insn; i++)
		takes |= first[i].pool == pool || (pool == SIM_POOL_LOAD && first[i].flags & SIM_F_LOAD) ||
		         (pool == SIM_POOL_STORE && first[i].flags & SIM_F_STORE);
	return takes;
}

/* Is there room for n_insn instructions, as is_tight() asks at first? */
static void ask_for_room(struct sim_native *n, const struct sim_insn *first, uint32_t n_insn)
{
	uint8_t *no_store = NULL;
	struct late *l;

	if (takes_place(first, n_insn, SIM_POOL_STORE))
		no_store = ask_for_place(n, first, SIM_POOL_STORE);
	reg_retired(n, CMP_WITH, DISPATCH, -(int32_t)sim_core_least_room(n->config));
	l = later(n, NO_ROOM, jump_if(n, JUMP_BELOW), first, n_insn);
	l->from_too = no_store;
}

/* One that is not the first of its group. */
static void ask_if_tight(struct sim_native *n, const struct sim_insn *in, bool last)
{
	BYTES(n, "\x85\xed"); /* test ebp, ebp */
	later(n, IS_TIGHT, jump_if(n, JUMP_NOT_ZERO), in, 0)->last = last;
}

/* ---- what stands behind ---- */

/* rax: not before the place is free that an instruction takes of a pool, `before` of its block ahead of it. */
static void wait_for_place(struct sim_native *n, unsigned pool, uint32_t before)
{
	if (pool == SIM_POOL_NONE)
		return;
	find_place(n, pool, before);
	reg_entry(n, true, CMP_WITH, RAX, 3, freed_of(pool));
	reg_entry(n, true, CMOV_BELOW, RAX, 3, freed_of(pool));
}

/* Dispatch stands until there is room for one instruction: hold_dispatch() of what room_for_one() says. */
static void wait_for_room(struct sim_native *n, const struct sim_insn *in)
{
	reg_retired(n, LOAD, RAX, -(int32_t)n->config->rob);
	wait_for_place(n, in->pool, in->pool_before);
	if (in->flags & SIM_F_LOAD)
		wait_for_place(n, SIM_POOL_LOAD, in->loads_before);
	if (in->flags & SIM_F_STORE)
		wait_for_place(n, SIM_POOL_STORE, in->stores_before);
	reg_reg(n, true, CMP_WITH, DISPATCH, RAX);
	reg_reg(n, true, CMOV_BELOW, DISPATCH, RAX);
	reg_reg(n, true, CMOV_BELOW, DISPATCH_N, ZERO);
}

/* Many are in flight: is_tight() asks on.  If some of the group have to wait, each of it asks for itself. */
static void no_room(struct sim_native *n, const struct late *l)
{
	uint8_t *waits[SIM_N_LIMITED + 1];
	unsigned n_waits = 0;

	set_jump(l->from, n->at);
	reg_retired(n, CMP_WITH, DISPATCH, (int32_t)(l->n - 1 - n->config->rob));
	waits[n_waits++] = jump_if(n, JUMP_BELOW);
	for (unsigned pool = SIM_POOL_INT; pool < SIM_POOL_STORE; pool++)
		if (takes_place(l->in, l->n, pool))
			waits[n_waits++] = ask_for_place(n, l->in, pool);
	jump(n, l->back);
	while (n_waits > 0)
		set_jump(waits[--n_waits], n->at);
	if (l->from_too)
		set_jump(l->from_too, n->at);
	if (l->n > 1)
		set_number(n, TIGHT, 1);
	wait_for_room(n, l->in);
	jump(n, l->back);
}

static void behind(struct sim_native *n, const struct late *l)
{
	n->n_retired = l->n_retired;
	if (l->kind == NO_ROOM) {
		no_room(n, l);
		return;
	}
	set_jump(l->from, n->at);
	if (l->from_too)
		set_jump(l->from_too, n->at);
	switch (l->kind) {
	case NO_ROOM:
		break;
	case IS_TIGHT:
		wait_for_room(n, l->in);
		if (l->last)
			reg_reg(n, false, XOR_TO, TIGHT, TIGHT);
		break;
	case PORTS_TAKEN:
		reg_reg(n, false, XOR_TO, RSI, RDX);
		reg_number(n, false, NUMBER_CMP, RSI, 0xffff);
		set_jump(jump_if(n, JUMP_ABOVE), l->back);
		reg_reg(n, true, LOAD, RDI, CORE);
		reg_at(n, true, LEA, RSI, RAX, 1);
		set_number(n, RDX, l->n);
		BYTES(n, "\xff\x93"); /* call [rbx + */
		word(n, OFFSET(find_port));
		set_constants(n);
		jump(n, l->again);
		return;
	case LOAD_ANY:
		call_at_dispatch(n, l->in, OFFSET(help.load));
		break;
	case MEMORY_ANY:
		call_at_dispatch(n, l->in, OFFSET(help.memory));
		break;
	case LOAD_ISSUED:
		reg_reg(n, true, LOAD, RDX, RAX);
		call(n, l->in, OFFSET(help.load_issued));
		break;
	}
	jump(n, l->back);
}

/* ---- a block ---- */

static void begin(struct sim_native *n)
{
	BYTES(n, "\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57"); /* push rbx, rbp, r12 to r15 */
	BYTES(n, "\x48\x83\xec");                             /* sub rsp, */
	byte(n, FRAME_BYTES);
	reg_reg(n, true, LOAD, CORE, RDI);
	reg_at(n, true, STORE, RSI, RSP, FRAME(f.mem));
	reg_field(n, true, LOAD, RETIRED, OFFSET(seq));
	reg_field(n, true, SUB_FROM, RETIRED, OFFSET(retired_from));
	opcode(n, true, LEA, RETIRED, RETIRED, CORE);
	byte(n, 0x84 | (RETIRED & 7) << 3);
	byte(n, 3 << 6 | (RETIRED & 7) << 3 | CORE);
	word(n, OFFSET(retire));
	reg_field(n, true, LOAD, DISPATCH, OFFSET(dispatch_cyc));
	reg_field(n, true, LOAD, RETIRE, OFFSET(retire_cyc));
	reg_field(n, false, LOAD, DISPATCH_N, OFFSET(dispatch_n));
	set_constants(n);
	reg_reg(n, false, XOR_TO, TIGHT, TIGHT);
	/* Nothing is dispatched before it was fetched. */
	reg_field(n, true, LOAD, RAX, OFFSET(fetch_cyc));
	reg_reg(n, true, CMP_WITH, DISPATCH, RAX);
	reg_reg(n, true, CMOV_BELOW, DISPATCH, RAX);
	reg_reg(n, true, CMOV_BELOW, DISPATCH_N, ZERO);
}

static void end(struct sim_native *n, const struct sim_block *b)
{
	add_to_field(n, OFFSET(seq), n->n_retired);
	reg_field(n, true, STORE, DISPATCH, OFFSET(dispatch_cyc));
	reg_field(n, true, STORE, RETIRE, OFFSET(retire_cyc));
	reg_field(n, false, STORE, DISPATCH_N, OFFSET(dispatch_n));
	for (unsigned p = 0; p < SIM_POOLS_ROOM; p++)
		if (b->taken[p])
			add_to_field(n, OFFSET(place) + 8 * p, b->taken[p]);
	BYTES(n, "\x48\x83\xc4"); /* add rsp, */
	byte(n, FRAME_BYTES);
	BYTES(n, "\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b\xc3"); /* pop r15 to r12, rbp, rbx; ret */
}

static bool has_room(const struct sim_native *n, const struct sim_block *b)
{
	return (size_t)(n->end - n->at) > BLOCK_BYTES + (size_t)MOST_INSN_BYTES * b->n_insn;
}

void sim_native_make(struct sim_native *n, struct sim_block *b)
{
	uint8_t *entry;

	if (!n || !b->n_insn || b->n_insn >= SIM_WINDOW || !has_room(n, b))
		return;
	entry = n->at;
	n->n_late = n->n_retired = 0;
	begin(n);
	for (uint32_t i = 0; i < b->n_insn; i++) {
		uint32_t left = b->n_insn - i;

		if (i % SIM_GROUP == 0)
			ask_for_room(n, &b->insn[i], left < SIM_GROUP ? left : SIM_GROUP);
		else
			ask_if_tight(n, &b->insn[i], left == 1 || i % SIM_GROUP == SIM_GROUP - 1);
		instruction(n, &b->insn[i]);
	}
	end(n, b);
	for (uint32_t k = 0; k < n->n_late; k++)
		behind(n, &n->late[k]);
	b->native = (sim_native_fn *)(uintptr_t)entry;
}

struct sim_native *sim_native_new(const struct sim_config *config)
{
	struct sim_native *n;

	if (!sim_core_takes_native(config))
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->config = config;
	/* Of one that loads, computes and stores: a port each, its load in three ways, its room. */
	n->late = calloc(7 * SIM_WINDOW, sizeof(*n->late));
	n->region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
	                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (n->region == MAP_FAILED)
		n->region = NULL;
	if (!n->late || !n->region) {
		sim_native_free(n);
		return NULL;
	}
	n->at = n->region;
	n->end = n->region + REGION_BYTES;
	return n;
}

void sim_native_free(struct sim_native *n)
{
	if (!n)
		return;
	if (n->region)
		munmap(n->region, REGION_BYTES);
	free(n->late);
	free(n);
}

#else

struct sim_native *sim_native_new(const struct sim_config *config)
{
	(void)config;
	return NULL;
}

void sim_native_free(struct sim_native *n)
{
	(void)n;
}

void sim_native_make(struct sim_native *n, struct sim_block *b)
{
	(void)n;
	(void)b;
}

#endif
