/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code that runs a block: called as a function, it sets the registers,
 * runs n copies, waits for them to end, and begins again until the counter is
 * zero.
 *
 * Waiting (lfence) keeps the chains of two turns apart, and registers are set
 * anew in each, so that a turn always touches the same few lines.  What a turn
 * costs beside its copies is the same in the shorter and the longer run.
 */
#include <stddef.h>
#include <string.h>

#include "report/lift/sandbox/anew.h"
#include "report/lift/sandbox/layout.h"

enum { N_GROUPS = 16, LINE_BYTES = 64 };

struct emit {
	uint8_t *at, *end;
	int overflow;
};

static void put(struct emit *e, const void *bytes, size_t n)
{
	if ((size_t)(e->end - e->at) < n) {
		e->overflow = 1;
		return;
	}
	memcpy(e->at, bytes, n);
	e->at += n;
}

static void put_le32(struct emit *e, uint32_t v)
{
	put(e, &v, sizeof(v));
}

#define PUT(e, ...) put(e, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* The displacement of a place in the control block, from after it; n_after bytes of immediate follow it. */
static void put_ctl(struct emit *e, size_t off, unsigned n_after)
{
	uint64_t next = (uint64_t)(uintptr_t)e->at + 4 + n_after;

	put_le32(e, (uint32_t)(AREA_CTL + off - next));
}

#define CTL(field) offsetof(struct control, field)

/*
 * movaps to each vector register, as wide as the block uses them: instructions that leave the upper part of a
 * register as it is are slower when there is something in it.
 */
static void put_vectors(struct emit *e, unsigned bytes)
{
	int have_avx = __builtin_cpu_supports("avx");

	if (!bytes)
		return;
	if (have_avx)
		PUT(e, 0xc5, 0xf8, 0x77); /* vzeroupper */
	for (unsigned r = 0; r < (bytes == 64 ? 32 : 16); r++) {
		uint8_t reg = (uint8_t)((r & 7) << 3 | 5);
		/* R and R', inverted */
		uint8_t high = (uint8_t)((r & 8 ? 0 : 0x80) | (r & 16 ? 0 : 0x10));

		if (bytes == 64)
			PUT(e, 0x62, (uint8_t)(0x61 | high), 0x7c, 0x48, 0x28, reg);
		else if (bytes == 32)
			PUT(e, 0xc5, (uint8_t)(0x7c | (r & 8 ? 0 : 0x80)), 0x28, reg);
		else
			PUT(e, (uint8_t)(0x40 | (r & 8 ? 4 : 0)), 0x0f, 0x28, reg);
		put_ctl(e, CTL(vectors) + 64 * r, 0);
	}
}

/* mov ctl(%rip), %reg */
static void put_load(struct emit *e, unsigned reg, size_t off)
{
	PUT(e, (uint8_t)(0x48 | (reg & 8 ? 4 : 0)), 0x8b, (uint8_t)((reg & 7) << 3 | 5));
	put_ctl(e, off, 0);
}

static void put_registers(struct emit *e, unsigned vector_bytes)
{
	PUT(e, 0xfc); /* cld */
	put_vectors(e, vector_bytes);
	PUT(e, 0x31, 0xc0); /* xor %eax, %eax: the flags */
	for (unsigned r = 0; r < N_GPRS; r++)
		put_load(e, r, CTL(gpr) + 8 * r);
}

/* Operands named by their distance keep naming the same place, wherever the copy is. */
static void mend_distance(uint8_t *disp, uint8_t *end, uint32_t slot)
{
	uint32_t value = (uint32_t)(AREA_RIP + slot - (uint64_t)(uintptr_t)end);

	memcpy(disp, &value, sizeof(value));
}

static void put_copy(struct emit *e, const struct block_request *b)
{
	uint8_t *copy = e->at;

	put(e, b->code, b->n_bytes);
	for (unsigned i = 0; i < b->n_patches && !e->overflow; i++) {
		const struct block_patch *p = &b->patches[i];

		mend_distance(copy + p->disp_off, copy + p->end_off, p->slot);
	}
}

/* lea of the access to %rax, which is kept and brought back; the flags stay as they are. */
static void put_watch(struct emit *e, const struct block_access *x, size_t seen_off)
{
	unsigned base = x->base == BLOCK_NO_REG ? 5 : x->base,
	         index = x->index == BLOCK_NO_REG ? 4 : x->index;
	unsigned mod = x->base == BLOCK_NO_REG ? 0 : 0x80,
	         shift = (unsigned)__builtin_ctz(x->scale | 16u) & 3;

	PUT(e, 0x48, 0x89, 0x05);
	put_ctl(e, CTL(saved_rax), 0);
	PUT(e, (uint8_t)(0x48 | (index & 8 ? 2 : 0) | (base & 8 ? 1 : 0)), 0x8d, (uint8_t)(mod | 4),
	    (uint8_t)(shift << 6 | (index & 7) << 3 | (base & 7)));
	put_le32(e, (uint32_t)x->disp);
	PUT(e, 0x48, 0x89, 0x05);
	put_ctl(e, seen_off, 0);
	put_load(e, 0, CTL(saved_rax));
}

/* A copy that tells the addresses of its accesses, each before its instruction. */
static void put_watched(struct emit *e, const struct block_request *b, uint32_t copy)
{
	uint8_t *at[BLOCK_MAX_BYTES + 1];
	unsigned k = 0;

	for (unsigned off = 0; off < b->n_bytes && !e->overflow; off++) {
		for (; k < b->n_accesses && b->accesses[k].insn_off == off; k++)
			put_watch(e, &b->accesses[k], CTL(seen) + 8 * ((size_t)copy * b->n_accesses + k));
		at[off] = e->at;
		put(e, &b->code[off], 1);
	}
	for (unsigned i = 0; i < b->n_patches && !e->overflow; i++) {
		const struct block_patch *p = &b->patches[i];

		mend_distance(at[p->disp_off], at[p->end_off - 1] + 1, p->slot);
	}
}

/* Addresses that differ from those of the turns before. */
static void put_anew(struct emit *e, const struct block_request *b, uint32_t group)
{
	uint8_t code[BLOCK_ANEW_BYTES];
	uint32_t value[N_GPRS];

	for (unsigned r = 0; r < N_GPRS; r++)
		value[r] = (uint32_t)CONTROL->gpr[r] + group % N_GROUPS * LINE_BYTES;
	put(e, code, block_anew(b, value, __builtin_cpu_supports("avx") != 0, code));
}

static void put_entry(struct emit *e)
{
	PUT(e, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx, rbp, r12-r15 */
	PUT(e, 0x48, 0x89, 0x25);                                           /* mov %rsp, saved_rsp */
	put_ctl(e, CTL(saved_rsp), 0);
	PUT(e, 0xd9, 0x3d); /* fnstcw */
	put_ctl(e, CTL(saved_fcw), 0);
	PUT(e, 0x0f, 0xae, 0x1d); /* stmxcsr */
	put_ctl(e, CTL(saved_mxcsr), 0);
	PUT(e, 0xdb, 0xe3, 0x0f, 0xae, 0x15); /* fninit; ldmxcsr */
	put_ctl(e, CTL(mxcsr), 0);
}

static void put_exit(struct emit *e, const uint8_t *top)
{
	PUT(e, 0x0f, 0xae, 0xe8); /* lfence */
	PUT(e, 0x48, 0x83, 0x2d); /* subq $1, counter */
	put_ctl(e, CTL(counter), 1);
	PUT(e, 0x01, 0x0f, 0x85); /* jnz top */
	put_le32(e, (uint32_t)(top - (e->at + 4)));
	put_load(e, 4, CTL(saved_rsp));
	PUT(e, 0x0f, 0xae, 0x15); /* ldmxcsr */
	put_ctl(e, CTL(saved_mxcsr), 0);
	PUT(e, 0xdb, 0xe2, 0xdb, 0xe3, 0xd9, 0x2d); /* fnclex; fninit; fldcw */
	put_ctl(e, CTL(saved_fcw), 0);
	PUT(e, 0xfc); /* cld */
	if (__builtin_cpu_supports("avx"))
		PUT(e, 0xc5, 0xf8, 0x77);                                         /* vzeroupper */
	PUT(e, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3); /* pop them; ret */
}

static int emit_run(enum run run, const struct block_request *b, uint32_t n_copies)
{
	uint8_t *code = (uint8_t *)AREA_CODE + CODE_BYTES * (size_t)run; // NOLINT(performance-no-int-to-ptr)
	struct emit e = { code, code + CODE_BYTES, 0 };
	uint8_t *top;

	put_entry(&e);
	while ((uintptr_t)e.at & 63)
		PUT(&e, 0x90);
	top = e.at;
	put_registers(&e, b->vector_bytes);
	for (uint32_t i = 0; i < n_copies && !e.overflow; i++) {
		if (b->n_turns && i && i % b->n_turns == 0)
			put_anew(&e, b, i / b->n_turns);
		if (run == RUN_WATCHED)
			put_watched(&e, b, i);
		else
			put_copy(&e, b);
	}
	put_exit(&e, top);
	return e.overflow ? -1 : 0;
}

/*
 * Registers that look like pointers to places of their own: below 2^31, so
 * that halves of them do too, apart by more than any block walks, at the
 * start of a line, and none at the same distance from a page's start as
 * another, because a load near a store at such an address waits for it.
 */
static uint64_t start_of(unsigned reg)
{
	return 0x10000000u + 0x06000000u * (uint64_t)reg + 0x240u * reg % PAGE / 64 * 64;
}

static void set_registers(const struct attempt *a)
{
	static const uint64_t word = 0x3f8000003f800000u; /* two floats of 1; as a double 0.0078 */

	for (unsigned r = 0; r < N_GPRS; r++)
		CONTROL->gpr[r] = start_of(r);
	if (a->block->small_rcx)
		CONTROL->gpr[1] = 32;
	if (a->small_rdx)
		CONTROL->gpr[2] = 0;
	for (unsigned v = 0; v < N_VECTORS; v++)
		for (unsigned i = 0; i < 64; i += 8)
			memcpy((void *)&CONTROL->vectors[v][i], &word, sizeof(word));
	CONTROL->mxcsr = 0x9fc0; /* all exceptions masked, denormals are zero */
}

/* As many copies as there is room for what they see. */
static uint32_t watched_copies(const struct attempt *a)
{
	uint32_t fit = a->block->n_accesses ? MAX_SEEN / a->block->n_accesses : 0;

	return fit < 2 * a->n_copies ? fit : 2 * a->n_copies;
}

int emit_runs(struct attempt *a)
{
	set_registers(a);
	a->n_watched = watched_copies(a);
	if (emit_run(RUN_SHORTER, a->block, a->n_copies) < 0 ||
	    emit_run(RUN_LONGER, a->block, 2 * a->n_copies) < 0)
		return -1;
	return emit_run(RUN_WATCHED, a->block, a->n_watched);
}
