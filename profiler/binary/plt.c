/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linker's stubs: code of a PLT section that jumps through a slot is called after the slot's symbol. */
#include "profiler/binary/module_impl.h"

#include <string.h>

/* The entry size that linkers use, 0 if the section is no PLT. */
static uint64_t stub_bytes(const struct code_range *range)
{
	if (strncmp(range->section, ".plt", 4) != 0 && strcmp(range->section, ".iplt") != 0)
		return 0;
	return range->entry_bytes >= 8 && range->entry_bytes <= 32 ? range->entry_bytes : 16;
}

/* The slot that an x86-64 stub jumps through, 0 if it doesn't. */
static uint64_t x86_slot(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr)
{
	struct insn insn;

	for (size_t at = 0; at < n_bytes && !insn_decode(d, code + at, n_bytes - at, vaddr + at, &insn);
	     at += insn.size_bytes) {
		if (insn.flow == INSN_JUMP_IND)
			return insn.flags & INSN_MEM_TARGET ? insn.target : 0;
		if (insn.flow != INSN_PLAIN)
			return 0;
	}
	return 0;
}

static int walk_x86(const struct module *m, const struct code_range *range, plt_seen *seen, void *data)
{
	uint64_t stub = stub_bytes(range);
	struct insn_decoder *d;
	int err = insn_decoder_new(m->isa, &d);
	size_t n_bytes;
	const uint8_t *code = module_code(m, range->vaddr, &n_bytes);

	if (err)
		return err;
	for (uint64_t at = 0; at + stub <= range->size_bytes && !err; at += stub) {
		const struct slot *slot = slots_at(m, x86_slot(d, code + at, stub, range->vaddr + at));

		if (slot)
			err = seen(data, range->vaddr + at, stub, slot);
	}
	insn_decoder_free(d);
	return err;
}

static uint32_t word_at(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
}

/* adrp x16, page; ldr x17, [x16, #off]: the slot's address, 0 if it isn't that pair. */
static uint64_t a64_slot(const uint8_t *code, uint64_t vaddr)
{
	uint32_t adrp = word_at(code), ldr = word_at(code + 4);
	uint64_t page;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	page = (adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2;
	page = (uint64_t)((int64_t)(page << 43) >> 31); /* 21 bits, sign-extended, times 4096 */
	return (vaddr & ~0xfffULL) + page + (ldr >> 10 & 0xfff) * 8;
}

static int walk_a64(const struct module *m, const struct code_range *range, plt_seen *seen, void *data)
{
	enum { BTI_C = 0xd503245f, STUB_BYTES = 16 };
	size_t n_bytes;
	const uint8_t *code = module_code(m, range->vaddr, &n_bytes);
	int err = 0;

	for (uint64_t at = 0; at + STUB_BYTES <= range->size_bytes && !err; at += 4) {
		const struct slot *slot = slots_at(m, a64_slot(code + at, range->vaddr + at));
		uint64_t lead = at >= 4 && word_at(code + at - 4) == BTI_C ? 4 : 0;

		if (slot)
			err = seen(data, range->vaddr + at - lead, STUB_BYTES + lead, slot);
	}
	return err;
}

int plt_walk(const struct module *m, plt_seen *seen, void *data)
{
	int err = 0;

	for (size_t i = 0; i < m->code.n && !err; i++)
		if (stub_bytes(&m->code.v[i]))
			err = m->isa == ISA_X86_64 ? walk_x86(m, &m->code.v[i], seen, data)
			                           : walk_a64(m, &m->code.v[i], seen, data);
	return err;
}
