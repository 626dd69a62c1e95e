/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/binary/insn_operands.h"

#include <string.h>

#include "correct/binary/insn_impl.h"
#include "correct/binary/x86_form.h"
#include "profiler/base/err.h"

static uint8_t general_register(x86_reg reg)
{
	static const x86_reg as_encoded[] = {
		X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX, X86_REG_RSP, X86_REG_RBP,
		X86_REG_RSI, X86_REG_RDI, X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
		X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15,
	};

	for (uint8_t i = 0; i < sizeof(as_encoded) / sizeof(as_encoded[0]); i++)
		if (as_encoded[i] == reg)
			return i;
	return INSN_NO_REG;
}

static uint8_t vector_register_bytes(x86_reg reg)
{
	if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM31)
		return 16;
	if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31)
		return 32;
	return reg >= X86_REG_ZMM0 && reg <= X86_REG_ZMM31 ? 64 : 0;
}

/* A gather's index is a vector: where it reaches, its registers don't tell. */
static bool is_flat(const x86_op_mem *m)
{
	return m->base != X86_REG_RIP && (!m->base || general_register(m->base) != INSN_NO_REG) &&
	       (!m->index || general_register(m->index) != INSN_NO_REG) && m->segment != X86_REG_FS &&
	       m->segment != X86_REG_GS;
}

static void add_memory(const cs_x86_op *op, struct insn_operands *out)
{
	if (!is_flat(&op->mem) || out->n_memory == INSN_MAX_MEMORY)
		return;
	out->memory[out->n_memory++] = (struct insn_memory){
		.base = op->mem.base ? general_register(op->mem.base) : INSN_NO_REG,
		.index = op->mem.index ? general_register(op->mem.index) : INSN_NO_REG,
		.scale = (uint8_t)op->mem.scale,
		.bytes = op->size,
		.disp = (int32_t)op->mem.disp,
	};
}

static void add_known(const cs_insn *in, struct insn_operands *out)
{
	const cs_x86 *x = &in->detail->x86;

	for (int i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];
		uint8_t bytes = op->type == X86_OP_REG ? vector_register_bytes(op->reg) : 0;

		if (op->type == X86_OP_MEM && in->id != X86_INS_LEA && in->id != X86_INS_NOP)
			add_memory(op, out);
		if (bytes > out->vector_bytes)
			out->vector_bytes = bytes;
	}
}

/* The displacement follows the operand byte at once: there is no SIB byte. */
static uint8_t find_displacement(const uint8_t *code, const struct x86_form *f)
{
	for (uint8_t i = 2; i + 4 <= f->size_bytes; i++)
		if (code[i - 1] == f->modrm && memcmp(code + i, &f->disp, 4) == 0)
			return i;
	return 0;
}

int insn_operands(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr,
                  struct insn_operands *out)
{
	const cs_insn *in;
	struct x86_form f;

	*out = (struct insn_operands){ 0 };
	if (d->isa != ISA_X86_64 || x86_form_parse(code, n_bytes, &f) <= 0)
		return -SP_EDOMAIN;
	in = insn_detail(d, code, n_bytes, vaddr);
	if (in)
		add_known(in, out);
	else if (f.vector != X86_LEGACY)
		out->vector_bytes = f.vector == X86_EVEX ? 64 : 32;
	if (f.rip_relative)
		out->disp_off = find_displacement(code, &f);
	return 0;
}
