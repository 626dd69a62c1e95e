/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/step.h"

#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"

struct step_insn step_decode_a64(uint32_t word)
{
	struct step_insn insn = { STEP_PLAIN, 4 };
	uint32_t top = word & 0xfc000000, exclusive = word & 0x3f800000;

	if (top == 0x14000000 || top == 0x94000000 || /* b, bl */
	    (word & 0xff000000) == 0x54000000 ||      /* b.cond, bc.cond */
	    (word & 0x7c000000) == 0x34000000 ||      /* cbz, cbnz, tbz, tbnz */
	    (word & 0xfe000000) == 0xd6000000)        /* br, blr, ret, and those that authenticate */
		insn.kind = STEP_BRANCH;
	else if ((word & 0xff000000) == 0xd4000000 || /* svc, brk, hlt */
	         (word & 0xffff0000) == 0 ||          /* udf */
	         exclusive == 0x08000000)             /* ldxr, stxr: a trap between them clears the monitor */
		insn.kind = STEP_NEVER;
	return insn;
}

enum step_seen step_judge(struct step_insn insn, uint64_t ip, uint64_t next)
{
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
	csh handle;
	cs_insn *insn;
	struct cached cache[CACHE_SIZE];
};

int step_decoder_new(struct step_decoder **out)
{
	struct step_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return sp_fail(SP_ENOMEM, "out of memory");
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK) {
		free(d);
		return sp_fail(SP_ENOTSUP, "capstone can't decode x86-64");
	}
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	if (!d->insn) {
		step_decoder_free(d);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	*out = d;
	return 0;
}

void step_decoder_free(struct step_decoder *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
}

static bool is_forbidden(unsigned id)
{
	switch (id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_SYSEXIT:
	case X86_INS_SYSRET:
	case X86_INS_INT:
	case X86_INS_INT1:
	case X86_INS_INT3:
	case X86_INS_INTO:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_LCALL:
	case X86_INS_LJMP:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_PUSHF:
	case X86_INS_PUSHFD:
	case X86_INS_PUSHFQ:
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
	case X86_INS_XBEGIN:
	case X86_INS_XEND:
	case X86_INS_HLT:
	case X86_INS_UD2:
		return true;
	default:
		return false;
	}
}

static struct step_insn decode(struct step_decoder *d, const uint8_t *code, size_t n, uint64_t ip)
{
	struct step_insn insn = { STEP_NEVER, 0 };

	if (!cs_disasm_iter(d->handle, &code, &n, &ip, d->insn))
		return insn;
	insn.size_bytes = (uint8_t)d->insn->size;
	if (is_forbidden(d->insn->id))
		return insn;
	insn.kind = STEP_PLAIN;
	if (cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) ||
	    cs_insn_group(d->handle, d->insn, CS_GRP_CALL) || cs_insn_group(d->handle, d->insn, CS_GRP_RET) ||
	    cs_insn_group(d->handle, d->insn, CS_GRP_BRANCH_RELATIVE))
		insn.kind = STEP_BRANCH;
	return insn;
}

struct step_insn step_decode(struct step_decoder *d, const uint8_t *code, size_t n, uint64_t ip)
{
	struct cached *c = &d->cache[(ip ^ ip >> 12) % CACHE_SIZE];
	struct step_insn insn;

	if (c->insn.size_bytes && c->ip == ip && c->insn.size_bytes <= n &&
	    memcmp(c->code, code, c->insn.size_bytes) == 0)
		return c->insn;
	insn = decode(d, code, n < STEP_MAX_INSN_BYTES ? n : STEP_MAX_INSN_BYTES, ip);
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
