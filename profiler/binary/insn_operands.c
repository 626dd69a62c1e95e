/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/insn_operands.h"

#include <string.h>

#include "profiler/base/err.h"
#include "profiler/binary/insn_impl.h"
#include "profiler/binary/x86_form.h"

enum { N_GENERAL = 16, N_NAMES = 5 };

/* As encoded: of 64, 32, 16 and 8 bits. */
static const x86_reg general[N_GENERAL][N_NAMES] = {
	{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
	{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
	{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
	{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
	{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
	{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
	{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
	{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
	{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
	{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
	{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
	{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
	{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
	{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
	{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
	{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
};

static uint8_t general_register(x86_reg reg)
{
	for (unsigned i = 0; i < N_GENERAL; i++)
		if (general[i][0] == reg)
			return (uint8_t)i;
	return INSN_NO_REG;
}

uint8_t insn_x86_register(x86_reg reg, unsigned *bytes)
{
	static const uint8_t sizes[N_NAMES] = { 8, 4, 2, 1, 0 };

	for (unsigned i = 0; i < N_GENERAL; i++)
		for (unsigned k = 0; k < N_NAMES; k++)
			if (reg != X86_REG_INVALID && general[i][k] == reg) {
				*bytes = sizes[k];
				return (uint8_t)i;
			}
	return INSN_NO_REG;
}

static uint16_t general_bit(x86_reg reg)
{
	unsigned bytes;
	uint8_t i = insn_x86_register(reg, &bytes);

	return i == INSN_NO_REG ? 0 : (uint16_t)(1u << i);
}

static uint32_t vector_bit(x86_reg reg)
{
	if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM31)
		return 1u << (reg - X86_REG_XMM0);
	if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31)
		return 1u << (reg - X86_REG_YMM0);
	return reg >= X86_REG_ZMM0 && reg <= X86_REG_ZMM31 ? 1u << (reg - X86_REG_ZMM0) : 0;
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

/* A fused multiply-add reads its destination, which this capstone does not say of all of them. */
static bool adds_to_destination(const cs_insn *in)
{
	return strncmp(in->mnemonic, "vfm", 3) == 0 || strncmp(in->mnemonic, "vfnm", 4) == 0;
}

static void add_registers(struct insn_decoder *d, const cs_insn *in, struct insn_operands *out)
{
	cs_regs reads, writes;
	uint8_t n_reads, n_writes;

	if (cs_regs_access(d->detail, in, reads, &n_reads, writes, &n_writes) != CS_ERR_OK)
		return;
	for (unsigned i = 0; i < n_reads; i++) {
		out->reads |= general_bit(reads[i]);
		out->vector_reads |= vector_bit(reads[i]);
	}
	for (unsigned i = 0; i < n_writes; i++) {
		out->writes |= general_bit(writes[i]);
		out->vector_writes |= vector_bit(writes[i]);
	}
	if (adds_to_destination(in))
		out->vector_reads |= out->vector_writes;
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
	if (in) {
		add_known(in, out);
		add_registers(d, in, out);
	} else if (f.vector != X86_LEGACY) {
		out->vector_bytes = f.vector == X86_EVEX ? 64 : 32;
	}
	if (f.rip_relative)
		out->disp_off = find_displacement(code, &f);
	return 0;
}
