/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frame pointers, as the call frame information of .eh_frame tells them. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "profiler/binary/module_impl.h"

enum { X86_RBP = 6, A64_FP = 29, A64_LR = 30 };

/* x86: the frame is found from rbp, behind a stack that was aligned, too. */
static enum module_frame by_cfa(Dwarf_Frame *frame)
{
	Dwarf_Op *ops = NULL;
	size_t n = 0;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || !n)
		return MODULE_FRAME_UNKNOWN;
	if (ops[0].atom == DW_OP_breg0 + X86_RBP || (ops[0].atom == DW_OP_bregx && ops[0].number == X86_RBP))
		return MODULE_FRAME_SET;
	return MODULE_FRAME_NONE;
}

/* aarch64: the caller's frame pointer and the return address were stored; what follows is one move. */
static enum module_frame by_stores(Dwarf_Frame *frame)
{
	static const int regs[] = { A64_FP, A64_LR };

	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++) {
		Dwarf_Op mem[3], *ops = NULL;
		size_t n = 0;

		if (dwarf_frame_register(frame, regs[i], mem, &ops, &n) != 0)
			return MODULE_FRAME_UNKNOWN;
		if (!n)
			return MODULE_FRAME_NONE;
	}
	return MODULE_FRAME_SET;
}

enum module_frame module_frame_at(struct module *m, uint64_t vaddr)
{
	enum module_frame is = MODULE_FRAME_UNKNOWN;
	Dwarf_Frame *frame = NULL;

	if (m->state != MODULE_OK || !m->elf || m->read)
		return is;
	if (!m->cfi)
		m->cfi = dwarf_getcfi_elf(m->elf);
	if (m->cfi && dwarf_cfi_addrframe(m->cfi, vaddr, &frame) == 0)
		is = m->isa == ISA_AARCH64 ? by_stores(frame) : by_cfa(frame);
	free(frame);
	return is;
}
