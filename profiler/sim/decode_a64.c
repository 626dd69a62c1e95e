/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "profiler/sim/decode_isa.h"

void sim_a64_registers(uint8_t *map)
{
	for (unsigned r = 0; r < 31; r++)
		map[ARM64_REG_W0 + r] = (uint8_t)(SIM_R_INT + r);
	for (unsigned r = 0; r < 29; r++)
		map[ARM64_REG_X0 + r] = (uint8_t)(SIM_R_INT + r);
	map[ARM64_REG_X29] = SIM_R_INT + 29;
	map[ARM64_REG_X30] = SIM_R_INT + 30;
	map[ARM64_REG_SP] = map[ARM64_REG_WSP] = SIM_R_INT + 31;
	map[ARM64_REG_NZCV] = SIM_R_FLAGS;
	for (unsigned r = 0; r < 32; r++)
		map[ARM64_REG_B0 + r] = map[ARM64_REG_H0 + r] = map[ARM64_REG_S0 + r] =
		        map[ARM64_REG_D0 + r] = map[ARM64_REG_Q0 + r] = map[ARM64_REG_V0 + r] =
		                (uint8_t)(SIM_R_VEC + r);
}

static const struct sim_prefix scalar[] = {
	{ "nop", SIM_C_NOP },     { "hint", SIM_C_NOP },   { "bti", SIM_C_NOP },
	{ "prfm", SIM_C_NOP },    { "pac", SIM_C_NOP },    { "aut", SIM_C_NOP },
	{ "xpac", SIM_C_NOP },    { "prfum", SIM_C_NOP },  { "ldx", SIM_C_LOAD },
	{ "lda", SIM_C_LOAD },    { "ld", SIM_C_LOAD },    { "stx", SIM_C_STORE },
	{ "stl", SIM_C_STORE },   { "st", SIM_C_STORE },   { "cas", SIM_C_ATOMIC },
	{ "swp", SIM_C_ATOMIC },  { "dmb", SIM_C_ATOMIC }, { "dsb", SIM_C_ATOMIC },
	{ "isb", SIM_C_ATOMIC },  { "madd", SIM_C_IMUL },  { "msub", SIM_C_IMUL },
	{ "mul", SIM_C_IMUL },    { "mneg", SIM_C_IMUL },  { "smull", SIM_C_IMUL },
	{ "umull", SIM_C_IMUL },  { "smadd", SIM_C_IMUL }, { "umadd", SIM_C_IMUL },
	{ "smsub", SIM_C_IMUL },  { "umsub", SIM_C_IMUL }, { "smulh", SIM_C_IMUL },
	{ "umulh", SIM_C_IMUL },  { "smneg", SIM_C_IMUL }, { "umneg", SIM_C_IMUL },
	{ "crc32", SIM_C_BITS },  { "clz", SIM_C_BITS },   { "cls", SIM_C_BITS },
	{ "rbit", SIM_C_BITS },   { "udiv", SIM_C_DIV64 }, { "sdiv", SIM_C_DIV64 },
	{ "lsl", SIM_C_SHIFT },   { "lsr", SIM_C_SHIFT },  { "asr", SIM_C_SHIFT },
	{ "ror", SIM_C_SHIFT },   { "extr", SIM_C_SHIFT }, { "bfi", SIM_C_SHIFT },
	{ "bfxil", SIM_C_SHIFT }, { "bfm", SIM_C_SHIFT },  { "ubf", SIM_C_SHIFT },
	{ "sbf", SIM_C_SHIFT },   { "bl", SIM_C_JUMP },    { "br", SIM_C_JUMP },
	{ "ret", SIM_C_JUMP },    { "b.", SIM_C_BRANCH },  { "cb", SIM_C_BRANCH },
	{ "tb", SIM_C_BRANCH },   { "svc", SIM_C_SLOW },   { "brk", SIM_C_SLOW },
	{ "mrs", SIM_C_SLOW },    { "msr", SIM_C_SLOW },   { "dc", SIM_C_SLOW },
	{ "ic", SIM_C_SLOW },     { "sys", SIM_C_SLOW },   { NULL, 0 },
};

static const struct sim_prefix vector[] = {
	{ "ld", SIM_C_LOAD },       { "st", SIM_C_STORE },     { "fmov", SIM_C_FMOVE },
	{ "fmadd", SIM_C_FMA },     { "fmsub", SIM_C_FMA },    { "fnmadd", SIM_C_FMA },
	{ "fnmsub", SIM_C_FMA },    { "fmla", SIM_C_FMA },     { "fmls", SIM_C_FMA },
	{ "fmul", SIM_C_FMUL },     { "fnmul", SIM_C_FMUL },   { "fdiv", SIM_C_FDIV64 },
	{ "fsqrt", SIM_C_FSQRT64 }, { "fcmp", SIM_C_FCOMI },   { "fccmp", SIM_C_FCOMI },
	{ "fcmpe", SIM_C_FCOMI },   { "fcvt", SIM_C_FCONV },   { "scvtf", SIM_C_FCONV },
	{ "ucvtf", SIM_C_FCONV },   { "frint", SIM_C_FCONV },  { "fre", SIM_C_FCONV },
	{ "frs", SIM_C_FMA },       { "fcsel", SIM_C_VLOGIC }, { "fabs", SIM_C_VLOGIC },
	{ "fneg", SIM_C_VLOGIC },   { "f", SIM_C_FADD },       { "umov", SIM_C_FCOMI },
	{ "smov", SIM_C_FCOMI },    { "mov", SIM_C_FMOVE },    { "and", SIM_C_VLOGIC },
	{ "orr", SIM_C_VLOGIC },    { "eor", SIM_C_VLOGIC },   { "bic", SIM_C_VLOGIC },
	{ "bif", SIM_C_VLOGIC },    { "bit", SIM_C_VLOGIC },   { "bsl", SIM_C_VLOGIC },
	{ "mul", SIM_C_VMUL },      { "mla", SIM_C_VMUL },     { "mls", SIM_C_VMUL },
	{ "umull", SIM_C_VMUL },    { "smull", SIM_C_VMUL },   { "umlal", SIM_C_VMUL },
	{ "smlal", SIM_C_VMUL },    { "sqdmul", SIM_C_VMUL },  { "pmull", SIM_C_CRYPTO },
	{ "aes", SIM_C_CRYPTO },    { "sha", SIM_C_CRYPTO },   { "dup", SIM_C_VSHUF },
	{ "ins", SIM_C_VSHUF },     { "ext", SIM_C_VSHUF },    { "zip", SIM_C_VSHUF },
	{ "uzp", SIM_C_VSHUF },     { "trn", SIM_C_VSHUF },    { "tbl", SIM_C_VSHUF },
	{ "tbx", SIM_C_VSHUF },     { "rev", SIM_C_VSHUF },    { "sh", SIM_C_VSHUF },
	{ "ush", SIM_C_VSHUF },     { "ssh", SIM_C_VSHUF },    { NULL, 0 },
};

static const cs_arm64 *detail(const struct sim_decoder *d)
{
	return &d->insn->detail->arm64;
}

static bool touches_vector(const struct sim_decoder *d)
{
	const cs_arm64 *a = detail(d);

	for (uint8_t i = 0; i < a->op_count; i++) {
		uint8_t r = a->operands[i].type == ARM64_OP_REG ? d->reg[a->operands[i].reg] : 0;

		if (r >= SIM_R_VEC && r < SIM_R_X87)
			return true;
	}
	return false;
}

static bool is_packed(const struct sim_decoder *d)
{
	const cs_arm64 *a = detail(d);

	for (uint8_t i = 0; i < a->op_count; i++)
		if (a->operands[i].type == ARM64_OP_REG && a->operands[i].vas != ARM64_VAS_INVALID)
			return true;
	return false;
}

static unsigned operation_events(int cls, const char *m)
{
	if (!strcmp(m, "fadd") || !strcmp(m, "fsub") || !strcmp(m, "faddp") || !strcmp(m, "fabd"))
		return 1u << SIM_FP_ADD;
	if (!strcmp(m, "fmul") || !strcmp(m, "fnmul") || !strcmp(m, "fmulx"))
		return 1u << SIM_FP_MUL;
	if (!strcmp(m, "fdiv") || !strcmp(m, "fsqrt"))
		return 1u << SIM_FP_DIV;
	/* Steps of a reciprocal square root go to the same unit. */
	return cls == SIM_C_FMA && strncmp(m, "frs", 3) ? 1u << SIM_FP_FMA : 0;
}

static void classify(struct sim_decoder *d, struct sim_insn *in)
{
	const char *m = d->insn->mnemonic;
	const cs_arm64 *a = detail(d);
	int cls;

	if (touches_vector(d)) {
		cls = sim_class_by_prefix(vector, m);
		in->cls = (uint8_t)(cls < 0 ? SIM_C_VINT : cls);
		if (in->cls >= SIM_C_FADD && in->cls <= SIM_C_FCOMI && strcmp(m, "umov") && strcmp(m, "smov"))
			in->events |= 1u << (is_packed(d) ? SIM_FP_VECTOR : SIM_FP_SCALAR) |
			              operation_events(in->cls, m);
		else
			in->events |= 1u << SIM_SIMD_INT;
		return;
	}
	cls = sim_class_by_prefix(scalar, m);
	if (!strcmp(m, "b"))
		cls = a->cc != ARM64_CC_INVALID && a->cc != ARM64_CC_AL && a->cc != ARM64_CC_NV ? SIM_C_BRANCH
		                                                                                : SIM_C_JUMP;
	else if (!strcmp(m, "mov"))
		cls = a->op_count == 2 && a->operands[1].type == ARM64_OP_REG ? SIM_C_MOVE : SIM_C_ALU;
	if (cls == SIM_C_DIV64 && a->op_count && a->operands[0].reg >= ARM64_REG_W0 &&
	    a->operands[0].reg <= ARM64_REG_W30)
		cls = SIM_C_DIV32;
	if (cls == SIM_C_MOVE && !(d->config && d->config->move_elimination))
		cls = SIM_C_ALU;
	in->cls = (uint8_t)(cls < 0 ? SIM_C_ALU : cls);
}

/* Arithmetic with a shifted or extended operand takes the shifter's path. */
static void refine_shifted(const struct sim_decoder *d, struct sim_insn *in)
{
	const cs_arm64 *a = detail(d);

	if (in->cls != SIM_C_ALU)
		return;
	for (uint8_t i = 0; i < a->op_count; i++)
		if (a->operands[i].type == ARM64_OP_REG && a->operands[i].shift.type != ARM64_SFT_INVALID &&
		    a->operands[i].shift.value)
			in->cls = SIM_C_LEA3;
}

static bool starts(const struct sim_decoder *d, const char *prefix)
{
	return !strncmp(d->insn->mnemonic, prefix, strlen(prefix));
}

static void memory(const struct sim_decoder *d, struct sim_insn *in)
{
	const cs_arm64 *a = detail(d);
	bool has = false;

	for (uint8_t i = 0; i < a->op_count; i++) {
		if (a->operands[i].type != ARM64_OP_MEM)
			continue;
		has = true;
		if (a->operands[i].mem.base)
			sim_add_reg(in->addr, sizeof(in->addr), SIM_R_READY, d->reg[a->operands[i].mem.base]);
		if (a->operands[i].mem.index)
			sim_add_reg(in->addr, sizeof(in->addr), SIM_R_READY,
			            d->reg[a->operands[i].mem.index]);
	}
	/* Loads of a literal have no memory operand. */
	if (starts(d, "ld") && in->cls != SIM_C_NOP)
		in->flags |= SIM_F_LOAD;
	else if (has && starts(d, "st"))
		in->flags |= SIM_F_STORE;
	else if (has && (starts(d, "cas") || starts(d, "swp")))
		in->flags |= SIM_F_LOAD | SIM_F_STORE;
	/* Atomic arithmetic: ldadd and its kind store as well. */
	if (has &&
	    (starts(d, "ldadd") || starts(d, "ldclr") || starts(d, "ldeor") || starts(d, "ldset") ||
	     starts(d, "ldsmax") || starts(d, "ldsmin") || starts(d, "ldumax") || starts(d, "ldumin"))) {
		in->flags |= SIM_F_LOAD | SIM_F_STORE;
		in->cls = SIM_C_ATOMIC;
	}
	if (starts(d, "dc"))
		in->flags |= SIM_F_STORE;
}

static void exit_of(const struct sim_decoder *d, const struct sim_insn *in, struct sim_block *b)
{
	const char *m = d->insn->mnemonic;
	const cs_arm64 *a = detail(d);

	if (!strcmp(m, "bl"))
		b->exit = SIM_X_CALL;
	else if (!strncmp(m, "blr", 3))
		b->exit = SIM_X_CALL_IND;
	else if (!strncmp(m, "ret", 3))
		b->exit = SIM_X_RET;
	else if (!strncmp(m, "br", 2) && strcmp(m, "brk"))
		b->exit = SIM_X_JUMP_IND;
	else if (in->cls == SIM_C_BRANCH)
		b->exit = SIM_X_COND;
	else if (!strcmp(m, "b"))
		b->exit = SIM_X_JUMP;
	if (b->exit != SIM_X_NONE && a->op_count && a->operands[a->op_count - 1].type == ARM64_OP_IMM)
		b->target = (uint64_t)a->operands[a->op_count - 1].imm;
}

/* A base that is updated is ready after the address, not after the data. */
static void writeback(const struct sim_decoder *d, struct sim_insn *in)
{
	if (!detail(d)->writeback || !(in->flags & SIM_F_MEM))
		return;
	for (size_t i = 0; i < sizeof(in->dst); i++)
		if (sim_has_reg(in->addr, sizeof(in->addr), in->dst[i]) && in->dst[i] != SIM_R_SINK)
			in->dst[i] = SIM_R_SINK;
}

void sim_a64_decode(struct sim_decoder *d, struct sim_insn *in, struct sim_block *b)
{
	uint8_t only[SIM_N_REGS] = { 0 };
	const cs_arm64 *a = detail(d);

	classify(d, in);
	memory(d, in);
	refine_shifted(d, in);
	for (size_t i = 0; i < sizeof(in->addr); i++)
		only[in->addr[i]] = 1;
	for (uint8_t i = 0; i < a->op_count; i++)
		if (a->operands[i].type == ARM64_OP_REG && a->operands[i].access & CS_AC_READ)
			only[d->reg[a->operands[i].reg]] = 0;
	sim_registers(d, in, only);
	writeback(d, in);
	exit_of(d, in, b);
	if (in->flags & SIM_F_LOAD)
		in->events |= 1u << SIM_LOADS;
	if (in->flags & SIM_F_STORE)
		in->events |= 1u << SIM_STORES;
}
