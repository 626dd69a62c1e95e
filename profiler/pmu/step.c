/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/step.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/replay/x86/decode.h"

struct step_insn step_decode_a64(uint32_t word)
{
	struct step_insn insn = { STEP_PLAIN, 4 };
	uint32_t top = word & 0xfc000000, exclusive = word & 0x3f800000;

	if (top == 0x14000000 || top == 0x94000000 || /* b, bl */
	    (word & 0xfe000000) == 0xd6000000)        /* br, blr, ret, and those that authenticate */
		insn.kind = STEP_JUMP;
	else if ((word & 0xff000000) == 0x54000000 || /* b.cond, bc.cond */
	         (word & 0x7c000000) == 0x34000000)   /* cbz, cbnz, tbz, tbnz */
		insn.kind = STEP_BRANCH;
	else if ((word & 0xff000000) == 0xd4000000 || /* svc, brk, hlt */
	         (word & 0xffff0000) == 0 ||          /* udf */
	         exclusive == 0x08000000)             /* ldxr, stxr: a trap between them clears the monitor */
		insn.kind = STEP_NEVER;
	return insn;
}

enum step_seen step_judge(struct step_insn insn, uint64_t ip, uint64_t next)
{
	if (insn.kind == STEP_JUMP)
		return STEP_SEEN_TAKEN;
	if (next == ip + insn.size_bytes)
		return STEP_SEEN_ON;
	if (insn.kind == STEP_BRANCH)
		return STEP_SEEN_TAKEN;
	/* One turn of a string instruction. */
	return next == ip ? STEP_SEEN_ON : STEP_SEEN_LOST;
}

#if defined(__x86_64__)

enum { CACHE_SIZE = 1 << 12 };

/* Programs go round in loops; code that has changed in the meantime is decoded again. */
struct cached {
	uint64_t ip;
	uint8_t code[STEP_MAX_INSN_BYTES];
	struct step_insn insn; /* size 0 = empty */
};

struct step_decoder {
	struct cached cache[CACHE_SIZE];
};

int step_decoder_new(struct step_decoder **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : sp_fail(SP_ENOMEM, "out of memory");
}

void step_decoder_free(struct step_decoder *d)
{
	free(d);
}

static enum step_kind kind_of(const struct rp_insn *i)
{
	switch (i->kind) {
	case RP_JCC:
	case RP_LOOP:
		return STEP_BRANCH;
	case RP_JMP:
	case RP_CALL:
	case RP_JMP_AT:
	case RP_CALL_AT:
	case RP_RET:
		return STEP_JUMP;
	case RP_PUSHF:
	case RP_POPF:
	case RP_SYSCALL:
	case RP_TRAP:
	case RP_FAR:
	case RP_TRANSACTION:
		return STEP_NEVER;
	case RP_UNKNOWN:
		/* Of the one-byte map these do not exist; others may, and need not be known to be stepped over. */
		return i->encoding == RP_LEGACY && i->map == 0 && i->opcode != 0xc8 &&
		                       (i->opcode & 0xfc) != 0xa0
		               ? STEP_NEVER
		               : STEP_PLAIN;
	default:
		return STEP_PLAIN;
	}
}

static struct step_insn decode(const uint8_t *code, size_t n)
{
	struct rp_insn i;

	if (!rp_decode(code, n, &i))
		return (struct step_insn){ STEP_NEVER, 0 };
	return (struct step_insn){ (uint8_t)kind_of(&i), i.len };
}

struct step_insn step_decode(struct step_decoder *d, const uint8_t *code, size_t n, uint64_t ip)
{
	struct cached *c = &d->cache[(ip ^ ip >> 12) % CACHE_SIZE];
	struct step_insn insn;

	if (c->insn.size_bytes && c->ip == ip && c->insn.size_bytes <= n &&
	    memcmp(c->code, code, c->insn.size_bytes) == 0)
		return c->insn;
	insn = decode(code, n < STEP_MAX_INSN_BYTES ? n : STEP_MAX_INSN_BYTES);
	c->ip = ip;
	c->insn = insn;
	memcpy(c->code, code, insn.size_bytes);
	return insn;
}

#elif defined(__aarch64__)

struct step_decoder {
	char nothing;
};

int step_decoder_new(struct step_decoder **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : sp_fail(SP_ENOMEM, "out of memory");
}

void step_decoder_free(struct step_decoder *d)
{
	free(d);
}

struct step_insn step_decode(struct step_decoder *d, const uint8_t *code, size_t n, uint64_t ip)
{
	uint32_t word;

	(void)d;
	(void)ip;
	if (n < sizeof(word))
		return (struct step_insn){ STEP_NEVER, 0 };
	memcpy(&word, code, sizeof(word));
	return step_decode_a64(word);
}

#else

int step_decoder_new(struct step_decoder **out)
{
	(void)out;
	return sp_fail(SP_ENOTSUP, "threads can be stepped on x86-64 and aarch64 only");
}

void step_decoder_free(struct step_decoder *d)
{
	(void)d;
}

struct step_insn step_decode(struct step_decoder *d, const uint8_t *code, size_t n, uint64_t ip)
{
	(void)d;
	(void)code;
	(void)n;
	(void)ip;
	return (struct step_insn){ STEP_NEVER, 0 };
}

#endif
