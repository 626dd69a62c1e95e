/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row of the table and a pressure to machine code. */
#include "profiler/calibrate/asm_x86.h"
#include "profiler/calibrate/cliff.h"

#include "profiler/base/err.h"
#include <stdio.h>

/* Line of code, so that the loop begins in the same place of a fetch block for every cliff. */
enum { CODE_LINE = 64 };

/* What does not depend on the row; the counter is rdi, which no snippet may touch. */
static int emit_start(struct asm_buf *b, const struct cliff *c, uint32_t p)
{
	static const char start[] =
	        "push rbx; push rbp; push r12; push r13; push r14; push r15; push rsi; "
	        "mov r14,[rsi]; mov r15,[rsi+8]; mov r13,[rsi+16]; lea r12,[r13+4096]; mov r11,0";
	char text[64];
	int err = asm_text(b, start, 0);

	for (unsigned x = 0; x < 16 && err == 0; x++) {
		snprintf(text, sizeof(text), "movsd xmm%u,[rsi+%u]", x, x == 14 ? 32u : 24u);
		err = asm_text(b, text, 0);
	}
	/* rsi is the last to go: it is a stream as well. */
	for (uint32_t s = 0; s < ASM_INT_STREAMS && err == 0; s++)
		err = asm_text(b, "mov {r},1", s);
	if (err == 0 && c->setup)
		err = asm_text(b, c->setup, p);
	return err < 0 ? err : asm_align(b, CODE_LINE);
}

static int emit_end(struct asm_buf *b, const struct cliff *c)
{
	int err = 0;

	if (c->needs & (CLIFF_NEEDS_AVX | CLIFF_NEEDS_FMA))
		err = asm_text(b, "vzeroupper", 0);
	if (err < 0)
		return err;
	return asm_text(
	        b,
	        "pop rsi; mov [rsi],r14; mov [rsi+8],r15; pop r15; pop r14; pop r13; pop r12; pop rbp; "
	        "pop rbx; ret",
	        0);
}

static int repeat(struct asm_buf *b, const char *text, uint32_t n, bool next_stream)
{
	int err = 0;

	for (uint32_t i = 0; i < n && err == 0; i++)
		err = asm_text(b, text, next_stream ? i : 0);
	return err;
}

static int emit_streams(struct asm_buf *b, const struct cliff *c, uint32_t p)
{
	int err = 0;

	for (unsigned i = 0; i < CLIFF_GROUPS && err == 0; i++)
		err = repeat(b, c->snippet, p, true);
	return err;
}

static int emit_misses(struct asm_buf *b, const struct cliff *c, uint32_t p)
{
	const char *miss = c->miss ? c->miss : "mov {w},[{w}]";
	int err = 0;

	for (uint32_t w = 0; w < 2 && err == 0; w++) {
		err = asm_text(b, miss, w);
		if (err == 0)
			err = repeat(b, c->snippet, p, true);
	}
	return err;
}

/* The functions lie ahead of the loop's code: first[k] calls first[k - 1]. */
static int emit_functions(struct asm_buf *b, uint32_t depth, size_t *outermost)
{
	size_t before = 0;
	int err = 0;

	for (uint32_t k = 0; k < depth && err == 0; k++) {
		size_t at = b->n;

		if (k > 0)
			err = asm_branch(b, "call", before);
		if (err == 0)
			err = asm_text(b, "ret", 0);
		before = at;
	}
	*outermost = before;
	return err;
}

static int emit_body(struct asm_buf *b, const struct cliff *c, uint32_t p, size_t outermost)
{
	switch ((enum cliff_shape)c->shape) {
	case CLIFF_CHAIN:
		return repeat(b, c->snippet, p, false);
	case CLIFF_STREAMS:
		return emit_streams(b, c, p);
	case CLIFF_SERIES:
		return repeat(b, c->snippet, p, true);
	case CLIFF_MISSES:
		return emit_misses(b, c, p);
	case CLIFF_CHASE:
		return repeat(b, c->snippet, CLIFF_CHASE_LOADS, false);
	case CLIFF_PATTERN:
		return asm_text(b, c->snippet, 0);
	case CLIFF_CALLS:
		return asm_branch(b, "call", outermost);
	case CLIFF_PAIR:
		return repeat(b, p ? c->snippet : c->base, CLIFF_PAIRS, true);
	}
	return 0;
}

static double parts_of(const struct cliff *c)
{
	switch ((enum cliff_shape)c->shape) {
	case CLIFF_STREAMS:
		return CLIFF_GROUPS;
	case CLIFF_CHASE:
		return CLIFF_CHASE_LOADS;
	case CLIFF_PAIR:
		return CLIFF_PAIRS;
	default:
		return 1;
	}
}

/* A chase must have been everywhere once, a pattern is learnt in some repetitions; anything else only needs its predictors. */
static uint64_t warm_iterations(const struct cliff *c, uint32_t p)
{
	if (c->shape == CLIFF_PATTERN)
		return (uint64_t)p * CLIFF_LEARN;
	return c->shape == CLIFF_CHASE ? (uint64_t)p * 1024 / CODE_LINE / CLIFF_CHASE_LOADS + 1 : 40;
}

static int emit_jump_over(struct asm_buf *b, const struct cliff *c, uint32_t p, size_t *outermost)
{
	struct asm_buf jump;
	size_t at = b->n;
	int err;

	if (c->shape != CLIFF_CALLS)
		return 0;
	/* The distance is known once the functions are there: written twice. */
	if ((err = asm_branch(b, "jmp", at)) < 0 || (err = emit_functions(b, p, outermost)) < 0 ||
	    (err = asm_align(b, CODE_LINE)) < 0)
		return err;
	jump = (struct asm_buf){ b->code, at, b->cap, 0 };
	return asm_branch(&jump, "jmp", b->n);
}

int cliff_emit(const struct cliff *c, uint32_t pressure, struct cliff_code *out)
{
	struct asm_buf b = { .code = out->code, .cap = out->cap };
	size_t outermost = 0;
	uint32_t before;
	int err;

	if ((err = emit_start(&b, c, pressure)) < 0 ||
	    (err = emit_jump_over(&b, c, pressure, &outermost)) < 0)
		goto out;
	out->loop_off = b.n;
	before = b.n_insn;
	if ((err = emit_body(&b, c, pressure, outermost)) < 0 || (err = asm_text(&b, "dec rdi", 0)) < 0 ||
	    (err = asm_branch(&b, "jne", out->loop_off)) < 0)
		goto out;
	out->insns_in_loop = b.n_insn - before;
	err = emit_end(&b, c);
	out->n_bytes = b.n;
	out->parts = parts_of(c);
	out->warm_iterations = warm_iterations(c, pressure);
out:
	return err < 0 ? sp_fail_prefix(err, "cliff %s", c->name) : 0;
}
