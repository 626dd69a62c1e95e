/* SPDX-License-Identifier: GPL-3.0-or-later */
/* movs, stos, lods, cmps and scas, repeated or not. */
#include <string.h>

#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"
#include "profiler/replay/x86/ops.h"

#define GPR (RP_CONTEXT->gpr)

struct string {
	unsigned bytes; /* of an element */
	bool loads, stores, compares, repeats;
	bool while_equal;
	uint64_t mask; /* of addresses and of the count */
	uint64_t source_base;
	int64_t step;
};

static struct string look(const struct rp_insn *i)
{
	uint8_t op = i->opcode & 0xfe;

	return (struct string){
		.bytes = i->opcode & 1 ? rp_operand_bytes(i) : 1,
		.loads = op == 0xa4 || op == 0xa6 || op == 0xac,
		.stores = op == 0xa4 || op == 0xaa,
		.compares = op == 0xa6 || op == 0xae,
		.repeats = i->rep != 0,
		.while_equal = i->rep == 0xf3,
		.mask = i->addrsize ? 0xffffffffu : ~(uint64_t)0,
		.source_base = i->segment == 0x64   ? RP_CONTEXT->fs_base
		               : i->segment == 0x65 ? RP_CONTEXT->gs_base
		                                    : 0,
		.step = (RP_CONTEXT->flags & 0x400 ? -1 : 1) *
		        (int64_t)(i->opcode & 1 ? rp_operand_bytes(i) : 1),
	};
}

static void compare(uint64_t a, uint64_t b, unsigned bytes)
{
	unsigned up = 64 - 8 * bytes;
	uint64_t flags;

	/* The auxiliary carry is the lowest four bits', whatever stands above them. */
	__asm__("cmp %2, %1\n\tpushf\n\tpop %0" : "=&r"(flags) : "r"(a << up), "r"(b << up) : "cc");
	flags = (flags & ~0x14ull) | (((a & 15) < (b & 15)) ? 0x10 : 0);
	flags |= __builtin_parity((unsigned)(a - b) & 0xff) ? 0 : 4;
	RP_CONTEXT->flags = (RP_CONTEXT->flags & ~0x8d5ull) | (flags & 0x8d5);
}

static void advance(const struct string *s, unsigned reg)
{
	uint64_t v = GPR[reg] + (uint64_t)s->step;

	GPR[reg] = s->mask == ~(uint64_t)0 ? v : (v & s->mask);
}

static void set_accumulator(const struct string *s, uint64_t v)
{
	uint64_t keep = s->bytes < 4 ? ~(uint64_t)0 << 8 * s->bytes : 0;

	GPR[RP_RAX] = (GPR[RP_RAX] & keep) | v;
}

/* One element.  False: a page can't be had. */
static bool turn(const struct string *s)
{
	uint64_t cut = s->bytes == 8 ? ~(uint64_t)0 : (1ull << 8 * s->bytes) - 1;
	uint64_t a = GPR[RP_RAX] & cut, b = 0;

	if (s->loads) {
		a = 0;
		if (!rp_read((GPR[RP_RSI] & s->mask) + s->source_base, &a, s->bytes))
			return false;
	}
	if (s->compares && !rp_read(GPR[RP_RDI] & s->mask, &b, s->bytes))
		return false;
	if (s->stores && !rp_write(GPR[RP_RDI] & s->mask, &a, s->bytes))
		return false;
	if (s->compares)
		compare(a, b, s->bytes);
	if (!s->compares && !s->stores)
		set_accumulator(s, a);
	if (s->loads)
		advance(s, RP_RSI);
	if (s->compares || s->stores)
		advance(s, RP_RDI);
	return true;
}

/*
 * Many elements of a copy or a filling at once: as many as lie in their pages, upwards.  One by one,
 * for a copy onto its own next elements repeats them.
 */
static uint64_t turn_many(const struct string *s, uint64_t count)
{
	uint64_t to = GPR[RP_RDI], from = GPR[RP_RSI] + s->source_base,
	         n = (RP_PAGE - to % RP_PAGE) / s->bytes;
	uint8_t *t;
	const uint8_t *f;
	uint8_t element[8];

	if (s->loads && (RP_PAGE - from % RP_PAGE) / s->bytes < n)
		n = (RP_PAGE - from % RP_PAGE) / s->bytes;
	n = count < n ? count : n;
	if (n < 2 || s->step < 0 || !s->stores || s->mask != ~(uint64_t)0)
		return 0;
	t = rp_page(to & ~(uint64_t)(RP_PAGE - 1), RP_WRITE);
	f = s->loads ? rp_page(from & ~(uint64_t)(RP_PAGE - 1), RP_READ) : NULL;
	if (!t || (s->loads && !f))
		return 0;
	t += to % RP_PAGE;
	memcpy(element, &GPR[RP_RAX], sizeof(element));
	for (uint64_t k = 0; k < n; k++, t += s->bytes)
		memcpy(t, f ? f + from % RP_PAGE + k * s->bytes : element, s->bytes);
	GPR[RP_RDI] += n * s->bytes;
	if (s->loads)
		GPR[RP_RSI] += n * s->bytes;
	return n;
}

int rp_op_string(const struct rp_insn *i, uint64_t ip)
{
	const struct string s = look(i);
	uint64_t left = s.repeats ? GPR[RP_RCX] & s.mask : 1, done, why_at;

	(void)ip;
	for (; left; left -= done) {
		done = s.repeats ? turn_many(&s, left) : 0;
		if (!done) {
			if (!turn(&s))
				break;
			done = 1;
		}
		if (s.repeats)
			GPR[RP_RCX] = (s.mask == ~(uint64_t)0 ? GPR[RP_RCX] - done : left - done);
		if (s.repeats && s.compares && !(RP_CONTEXT->flags & 0x40) == s.while_equal)
			return RP_GOES_ON;
		if (rp_is_late())
			return RP_END_TIME;
	}
	return left ? (int)rp_pages_why(&why_at) : RP_GOES_ON;
}
