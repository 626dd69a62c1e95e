/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/hook.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/binary/insn.h"

/* Code being put together, for the place it will run at. */
struct code {
	uint8_t *bytes;
	size_t n;
	const struct hook *h;
};

/* Where in an instruction its displacement from %rip is, by its value; 0 when that can't be told. */
static uint8_t find_disp(const uint8_t *code, const struct insn *insn, const char *rip)
{
	const char *digits = rip;
	int32_t value, found;
	uint8_t at = 0;

	/* "0x2eb9(%rip)", "-0x10(%rip)", "(%rip)" */
	while (digits[-1] != ' ' && digits[-1] != ',')
		digits--;
	value = (int32_t)strtol(digits, NULL, 0);
	for (uint8_t i = 2; i + 4 <= insn->size_bytes; i++) {
		memcpy(&found, code + i, sizeof(found));
		if (found == value && at)
			return 0;
		if (found == value)
			at = i;
	}
	return at;
}

/* 70 to 7f with a byte, 0f 80 to 0f 8f with four: jumps on flags. */
static bool plan_cond(const uint8_t *code, const struct insn *insn, uint64_t entry, struct hook_insn *out)
{
	out->cond = true;
	out->target = (int64_t)(insn->target - entry);
	if (insn->size_bytes == 2 && code[0] >> 4 == 7)
		out->cc = code[0] & 15;
	else if (insn->size_bytes == 6 && code[0] == 0x0f && code[1] >> 4 == 8)
		out->cc = code[1] & 15;
	else
		return false;
	return true;
}

static const char *plan_insn(struct insn_decoder *d, const uint8_t *code, size_t n, uint64_t entry,
                             struct hook_insn *out)
{
	struct insn insn;
	char text[160] = " ", *rip;

	if (insn_decode(d, code, n, entry + out->at, &insn) < 0 || insn.flags & INSN_UNKNOWN ||
	    insn_text(d, code, n, entry + out->at, text + 1, sizeof(text) - 1) < 0)
		return "its first instructions can't be decoded";
	out->n_bytes = insn.size_bytes;
	if (insn.flow == INSN_COND)
		return plan_cond(code, &insn, entry, out) ? NULL : "it jumps within its first bytes";
	if (insn.flow != INSN_PLAIN)
		return "it ends or jumps within its first bytes";
	rip = strstr(text, "(%rip)");
	if (rip)
		out->disp_at = find_disp(code, &insn, rip);
	return rip && !out->disp_at ? "its first instructions depend on where they are" : NULL;
}

const char *hook_plan(const uint8_t *code, size_t n, uint64_t vaddr, struct hook *h)
{
	struct insn_decoder *d;
	const char *why = NULL;

	if (insn_decoder_new(ISA_X86_64, &d) < 0)
		return sp_error_text();
	h->n_moved = h->n_insns = 0;
	while (!why && h->n_moved < HOOK_JUMP_BYTES) {
		struct hook_insn *insn = &h->insns[h->n_insns++];

		*insn = (struct hook_insn){ .at = (uint8_t)h->n_moved };
		why = plan_insn(d, code + h->n_moved, n - h->n_moved, vaddr, insn);
		h->n_moved += insn->n_bytes;
	}
	insn_decoder_free(d);
	if (!why)
		memcpy(h->moved, code, h->n_moved);
	return why;
}

static void put(struct code *c, const void *bytes, size_t n)
{
	assert(c->n + n <= HOOK_CODE_BYTES);
	memcpy(c->bytes + c->n, bytes, n);
	c->n += n;
}

#define PUT(c, ...) put(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* An instruction whose last four bytes are a place in the area, counted from its end. */
static void put_place(struct code *c, const void *opcode, size_t n, size_t place)
{
	int32_t rel = (int32_t)((int64_t)place - (int64_t)(offsetof(struct hook_area, code) + c->n + n + 4));

	put(c, opcode, n);
	put(c, &rel, sizeof(rel));
}

#define PUT_PLACE(c, field, ...)                                                                 \
	put_place(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), \
	          offsetof(struct hook_area, field))

static void put_save(struct code *c)
{
	PUT_PLACE(c, rax, 0x48, 0x89, 0x05); /* mov %rax, rax(%rip) */
	PUT_PLACE(c, rdx, 0x48, 0x89, 0x15);
	PUT_PLACE(c, rcx, 0x48, 0x89, 0x0d);
}

static void put_restore(struct code *c)
{
	PUT_PLACE(c, rcx, 0x48, 0x8b, 0x0d); /* mov rcx(%rip), %rcx */
	PUT_PLACE(c, rdx, 0x48, 0x8b, 0x15);
	PUT_PLACE(c, rax, 0x48, 0x8b, 0x05);
}

/* The counter in rax.  Nothing begins before it is read, and it is not read before all is done. */
static void put_read_ticks(struct code *c)
{
	PUT(c, 0x0f, 0xae, 0xe8);       /* lfence */
	PUT(c, 0x0f, 0x31);             /* rdtsc */
	PUT(c, 0x0f, 0xae, 0xe8);       /* lfence */
	PUT(c, 0x48, 0xc1, 0xe2, 0x20); /* shl $32, %rdx */
	PUT(c, 0x48, 0x09, 0xd0);       /* or %rdx, %rax */
}

/* A short forward jump, whose target is set later; returns where. */
static size_t put_skip(struct code *c, uint8_t opcode)
{
	PUT(c, opcode, 0);
	return c->n - 1;
}

static void set_skip(struct code *c, size_t at)
{
	c->bytes[at] = (uint8_t)(c->n - at - 1);
}

/* In place of the return: the end of the time, and back to the caller. */
static void put_exit(struct code *c)
{
	size_t skip;

	put_save(c);
	put_read_ticks(c);
	PUT_PLACE(c, depth, 0x48, 0x8b, 0x0d); /* mov depth(%rip), %rcx */
	PUT(c, 0x48, 0xff, 0xc9);              /* dec %rcx */
	PUT_PLACE(c, depth, 0x48, 0x89, 0x0d);
	skip = put_skip(c, 0x75);              /* jne: an inner call */
	PUT_PLACE(c, begin, 0x48, 0x2b, 0x05); /* sub begin(%rip), %rax */
	PUT_PLACE(c, ticks, 0x48, 0x01, 0x05); /* add %rax, ticks(%rip) */
	PUT_PLACE(c, calls, 0x48, 0xff, 0x05); /* incq calls(%rip) */
	set_skip(c, skip);
	PUT_PLACE(c, returns, 0x48, 0x8d, 0x15); /* lea returns(%rip), %rdx */
	PUT(c, 0x48, 0x8b, 0x04, 0xca);          /* mov (%rdx,%rcx,8), %rax */
	PUT(c, 0x50);                            /* push %rax */
	put_restore(c);
	PUT(c, 0xc3); /* ret */
}

/* The address that is put next. */
static uint64_t here(const struct code *c)
{
	return c->h->area + offsetof(struct hook_area, code) + c->n;
}

/* An instruction of the function, at its new place. */
static void put_moved(struct code *c, const struct hook_insn *insn)
{
	uint8_t copy[HOOK_MOVED_BYTES];
	int32_t rel;

	if (insn->cond) {
		rel = (int32_t)(c->h->entry + (uint64_t)insn->target - (here(c) + 6));
		PUT(c, 0x0f, (uint8_t)(0x80 | insn->cc));
		put(c, &rel, sizeof(rel));
		return;
	}
	memcpy(copy, c->h->moved + insn->at, insn->n_bytes);
	if (insn->disp_at) {
		memcpy(&rel, copy + insn->disp_at, sizeof(rel));
		rel += (int32_t)(c->h->entry + insn->at - here(c));
		memcpy(copy + insn->disp_at, &rel, sizeof(rel));
	}
	put(c, copy, insn->n_bytes);
}

/* Flags are the callee's to spoil; all else is kept. */
static void put_entry(struct code *c, size_t exit_at)
{
	static const uint32_t max = HOOK_DEPTH;
	uint64_t back = c->h->entry + c->h->n_moved;
	size_t skip;

	put_save(c);
	PUT_PLACE(c, depth, 0x48, 0x8b, 0x0d);
	PUT(c, 0x48, 0x81, 0xf9); /* cmp $max, %rcx */
	put(c, &max, sizeof(max));
	PUT(c, 0x72, 0x02);                      /* jb over */
	PUT(c, 0x0f, 0x0b);                      /* ud2 */
	PUT(c, 0x58);                            /* pop %rax */
	PUT_PLACE(c, returns, 0x48, 0x8d, 0x15); /* lea returns(%rip), %rdx */
	PUT(c, 0x48, 0x89, 0x04, 0xca);          /* mov %rax, (%rdx,%rcx,8) */
	put_place(c, (const uint8_t[]){ 0x48, 0x8d, 0x05 }, 3, offsetof(struct hook_area, code) + exit_at);
	PUT(c, 0x50);             /* push %rax */
	PUT(c, 0x48, 0xff, 0xc1); /* inc %rcx */
	PUT_PLACE(c, depth, 0x48, 0x89, 0x0d);
	PUT(c, 0x48, 0x83, 0xf9, 0x01); /* cmp $1, %rcx */
	skip = put_skip(c, 0x75);
	put_read_ticks(c);
	PUT_PLACE(c, begin, 0x48, 0x89, 0x05);
	set_skip(c, skip);
	put_restore(c);
	for (size_t i = 0; i < c->h->n_insns; i++)
		put_moved(c, &c->h->insns[i]);
	PUT(c, 0xff, 0x25, 0, 0, 0, 0); /* jmp *0(%rip) */
	put(c, &back, sizeof(back));
}

void hook_build(const struct hook *h, uint8_t code[HOOK_CODE_BYTES], uint8_t jump[HOOK_JUMP_BYTES])
{
	struct code c = { code, 0, h };
	int32_t rel;
	size_t entry_at;

	memset(code, 0xcc, HOOK_CODE_BYTES);
	put_exit(&c);
	entry_at = c.n;
	put_entry(&c, 0);
	rel = (int32_t)(h->area + offsetof(struct hook_area, code) + entry_at - (h->entry + HOOK_JUMP_BYTES));
	jump[0] = 0xe9;
	memcpy(jump + 1, &rel, sizeof(rel));
}

bool hook_reaches(uint64_t entry, uint64_t area)
{
	int64_t apart = (int64_t)(area - entry);

	/* With room for the area's own size on either side. */
	return apart > INT32_MIN + 65536 && apart < INT32_MAX - 65536;
}
