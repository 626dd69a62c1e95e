/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways out of blocks: no flag is touched, and one register is borrowed, rcx. */
#include "profiler/replay/x86/emit.h"
#include "profiler/replay/x86/emit_int.h"

/* mov %rax, ...; mov $exit, %eax; jmp *leave */
void put_leave(struct rp_emitter *e, uint32_t exit)
{
	put_save(e, RAX, RP_FIELD(gpr));
	put(e, 0xb8);
	put_le(e, exit, 4);
	PUT(e, 0xff, 0x24, 0x25);
	put_le(e, RP_FIELD(leave), 4);
}

/* lea change(%rcx), %rcx, by way of memory. */
static void put_add(struct rp_emitter *e, uint32_t at, int32_t change)
{
	put_load(e, RCX, at);
	PUT(e, 0x48, 0x8d, 0x89);
	put_le(e, (uint32_t)change, 4);
	put_save(e, RCX, at);
}

static void put_count(struct rp_emitter *e, uint32_t exit)
{
	put_save(e, RCX, RP_FIELD(rcx));
	put_add(e, RP_AT_COUNTS + 8 * exit, 1);
	put_add(e, RP_FIELD(insns), e->exits[exit].n_insns);
}

/* jrcxz over the next n bytes where the fuel is used up. */
static void put_fuel(struct rp_emitter *e, uint8_t n)
{
	put_add(e, RP_FIELD(fuel), -1);
	PUT(e, 0xe3, n);
}

/* Who goes on for ever goes back again and again. */
static bool leads_back(const struct rp_exit *x)
{
	return x->kind == RP_EXIT_TAKEN && x->to <= x->ip;
}

/* The jump leads to where C is asked as well, at first. */
void put_way_out(struct rp_emitter *e, uint32_t exit)
{
	struct rp_exit *x = &e->exits[exit];
	enum { LOAD_BYTES = 8, JMP_BYTES = 5 };

	if (!e->chains) {
		put_leave(e, exit);
		return;
	}
	put_count(e, exit);
	if (x->kind != RP_EXIT_OP) {
		if (leads_back(x))
			put_fuel(e, LOAD_BYTES + JMP_BYTES);
		put_load(e, RCX, RP_FIELD(rcx));
		put(e, 0xe9);
		x->chain = (uint32_t)e->n_code;
		put_le(e, LOAD_BYTES, 4);
	}
	put_load(e, RCX, RP_FIELD(rcx));
	put_leave(e, exit);
}

static void patch_short(struct rp_emitter *e, size_t patch)
{
	e->code[patch - 1] = (uint8_t)(e->n_code - patch);
}

void put_way_at(struct rp_emitter *e, uint32_t exit)
{
	size_t hit;

	put_count(e, exit);
	put_fuel(e, 17);
	/* movzwl %si, %ecx; mov targets(, %rcx, 8), %rcx; lea (%rcx, %rsi), %rcx; jrcxz hit */
	PUT(e, 0x0f, 0xb7, 0xce, 0x48, 0x8b, 0x0c, 0xcd);
	put_le(e, RP_AT_TARGETS + (uint32_t)offsetof(struct rp_targets, minus_to), 4);
	PUT(e, 0x48, 0x8d, 0x0c, 0x31, 0xe3, 0);
	hit = e->n_code;
	put_save(e, RSI, RP_FIELD(to));
	put_load(e, RCX, RP_FIELD(rcx));
	put_load(e, RSI, RP_FIELD(x));
	put_leave(e, exit);
	patch_short(e, hit);
	/* movzwl %si, %ecx; mov code(, %rcx, 4), %ecx; jmp *jump */
	PUT(e, 0x0f, 0xb7, 0xce, 0x8b, 0x0c, 0x8d);
	put_le(e, RP_AT_TARGETS + (uint32_t)offsetof(struct rp_targets, code), 4);
	put_save(e, RCX, RP_FIELD(jump));
	put_load(e, RCX, RP_FIELD(rcx));
	put_load(e, RSI, RP_FIELD(x));
	PUT(e, 0xff, 0x24, 0x25);
	put_le(e, RP_FIELD(jump), 4);
}

/* mov $-value, %rcx; lea (%rcx, reg), %rcx; jrcxz over the jump.  Returns where that says how far. */
static size_t put_test(struct rp_emitter *e, unsigned reg, uint64_t value)
{
	PUT(e, 0x48, 0xb9);
	put_le(e, 0 - value, 8);
	PUT(e, (uint8_t)(0x48 | reg >> 3), 0x8d, 0x4c, (uint8_t)(0x08 | (reg & 7)), 0, 0xe3, 5, 0xe9);
	put_le(e, 0, 4);
	return e->n_code - 4;
}

static void patch_here(struct rp_emitter *e, size_t patch)
{
	uint32_t distance = (uint32_t)(e->n_code - patch - 4);

	__builtin_memcpy(e->code + patch, &distance, sizeof(distance));
}

/* rcx is borrowed, and not looked at. */
static void put_mark(struct rp_emitter *e, const struct rp_registers *mark, uint32_t exit)
{
	size_t others[RP_N_GPRS], n = 0;

	/* The stack pointer, which is the same most often, comes last. */
	for (unsigned k = 1; k <= RP_N_GPRS; k++) {
		unsigned reg = (RSP + k) % RP_N_GPRS;

		if (reg != RCX)
			others[n++] = put_test(e, reg, mark->gpr[reg]);
	}
	put_load(e, RCX, RP_FIELD(rcx));
	put_leave(e, exit);
	while (n > 0)
		patch_here(e, others[--n]);
}

uint32_t rp_emit_guard(struct rp_emitter *e, uint64_t ip, const struct rp_registers *const *marks, size_t n,
                       uint64_t code)
{
	const struct rp_exit x = { .from = ip, .ip = ip, .to = ip, .kind = RP_EXIT_NEXT };
	uint32_t begin = e->at + (uint32_t)e->n_code, exit = add_exit(e, &x);

	put_save(e, RCX, RP_FIELD(rcx));
	for (size_t k = 0; k < n; k++)
		put_mark(e, marks[k], exit);
	put_load(e, RCX, RP_FIELD(rcx));
	put(e, 0xe9);
	put_le(e, code - (e->at + e->n_code + 4), 4);
	return begin;
}
