/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "profiler/sim/decode_isa.h"

static const uint16_t gpr[16][5] = {
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

enum { R_RSP = SIM_R_INT + 4 };

void sim_x86_registers(uint8_t *map)
{
	for (unsigned r = 0; r < 16; r++)
		for (unsigned k = 0; k < 5; k++)
			if (gpr[r][k])
				map[gpr[r][k]] = (uint8_t)(SIM_R_INT + r);
	for (unsigned r = 0; r < 32; r++)
		map[X86_REG_XMM0 + r] = map[X86_REG_YMM0 + r] = map[X86_REG_ZMM0 + r] =
		        (uint8_t)(SIM_R_VEC + r);
	/* The x87 stack as one register: its code runs one operation after the other. */
	for (unsigned r = 0; r < 8; r++)
		map[X86_REG_ST0 + r] = map[X86_REG_FP0 + r] = map[X86_REG_MM0 + r] = SIM_R_X87;
	map[X86_REG_EFLAGS] = SIM_R_FLAGS;
}

/* Mnemonics of vector and floating-point instructions, without the v of AVX. */
static const struct sim_prefix vector[] = {
	{ "movs", SIM_C_FMOVE },
	{ "mova", SIM_C_FMOVE },
	{ "movu", SIM_C_FMOVE },
	{ "movdq", SIM_C_FMOVE },
	{ "movnt", SIM_C_FMOVE },
	{ "lddqu", SIM_C_FMOVE },
	{ "movmsk", SIM_C_FCOMI },
	{ "pmovmskb", SIM_C_FCOMI },
	{ "movq", SIM_C_FMOVE },
	{ "movd", SIM_C_FCOMI },
	{ "movh", SIM_C_VSHUF },
	{ "movl", SIM_C_VSHUF },
	{ "fmadd", SIM_C_FMA },
	{ "fmsub", SIM_C_FMA },
	{ "fnmadd", SIM_C_FMA },
	{ "fnmsub", SIM_C_FMA },
	{ "divs", SIM_C_FDIV64 },
	{ "divp", SIM_C_FDIV64 },
	{ "sqrt", SIM_C_FSQRT64 },
	{ "rcp", SIM_C_FMUL },
	{ "rsqrt", SIM_C_FMUL },
	{ "muls", SIM_C_FMUL },
	{ "mulp", SIM_C_FMUL },
	{ "dpp", SIM_C_FMA },
	{ "comis", SIM_C_FCOMI },
	{ "ucomis", SIM_C_FCOMI },
	{ "cvt", SIM_C_FCONV },
	{ "round", SIM_C_FCONV },
	{ "adds", SIM_C_FADD },
	{ "addp", SIM_C_FADD },
	{ "subs", SIM_C_FADD },
	{ "subp", SIM_C_FADD },
	{ "hadd", SIM_C_FADD },
	{ "hsub", SIM_C_FADD },
	{ "min", SIM_C_FADD },
	{ "max", SIM_C_FADD },
	{ "cmp", SIM_C_FADD },
	{ "and", SIM_C_VLOGIC },
	{ "or", SIM_C_VLOGIC },
	{ "xor", SIM_C_VLOGIC },
	{ "pand", SIM_C_VLOGIC },
	{ "por", SIM_C_VLOGIC },
	{ "pxor", SIM_C_VLOGIC },
	{ "pmul", SIM_C_VMUL },
	{ "pmadd", SIM_C_VMUL },
	{ "psadbw", SIM_C_VMUL },
	{ "mpsadbw", SIM_C_VMUL },
	{ "pshuf", SIM_C_VSHUF },
	{ "ps", SIM_C_VSHUF },
	{ "punpck", SIM_C_VSHUF },
	{ "unpck", SIM_C_VSHUF },
	{ "shuf", SIM_C_VSHUF },
	{ "perm", SIM_C_VSHUF },
	{ "pack", SIM_C_VSHUF },
	{ "palign", SIM_C_VSHUF },
	{ "blend", SIM_C_VSHUF },
	{ "pblend", SIM_C_VSHUF },
	{ "insert", SIM_C_VSHUF },
	{ "extract", SIM_C_VSHUF },
	{ "pinsr", SIM_C_VSHUF },
	{ "pextr", SIM_C_FCOMI },
	{ "broadcast", SIM_C_VSHUF },
	{ "pbroadcast", SIM_C_VSHUF },
	{ "ptest", SIM_C_FCOMI },
	{ "pcmp", SIM_C_VINT },
	{ "aes", SIM_C_CRYPTO },
	{ "pclmul", SIM_C_CRYPTO },
	{ "sha", SIM_C_CRYPTO },
	{ "zeroupper", SIM_C_NOP },
	{ "p", SIM_C_VINT },
	{ NULL, 0 },
};

static const struct sim_prefix scalar[] = {
	{ "movs", SIM_C_ALU },      { "movz", SIM_C_ALU },      { "movbe", SIM_C_ALU },
	{ "movnt", SIM_C_MOVE },    { "mov", SIM_C_MOVE },      { "lea", SIM_C_LEA },
	{ "nop", SIM_C_NOP },       { "endbr", SIM_C_NOP },     { "prefetch", SIM_C_NOP },
	{ "pause", SIM_C_SLOW },    { "popcnt", SIM_C_BITS },   { "lzcnt", SIM_C_BITS },
	{ "tzcnt", SIM_C_BITS },    { "bsf", SIM_C_BITS },      { "bsr", SIM_C_BITS },
	{ "crc32", SIM_C_IMUL },    { "pdep", SIM_C_IMUL },     { "pext", SIM_C_IMUL },
	{ "bextr", SIM_C_SHIFT },   { "imul", SIM_C_IMUL },     { "mul", SIM_C_IMUL },
	{ "idiv", SIM_C_DIV64 },    { "div", SIM_C_DIV64 },     { "shl", SIM_C_SHIFT },
	{ "shr", SIM_C_SHIFT },     { "sar", SIM_C_SHIFT },     { "sal", SIM_C_SHIFT },
	{ "sh", SIM_C_SHIFT },      { "ro", SIM_C_SHIFT },      { "rc", SIM_C_SHIFT },
	{ "bt", SIM_C_SHIFT },      { "call", SIM_C_JUMP },     { "ret", SIM_C_JUMP },
	{ "jmp", SIM_C_JUMP },      { "j", SIM_C_BRANCH },      { "loop", SIM_C_BRANCH },
	{ "push", SIM_C_STORE },    { "pop", SIM_C_LOAD },      { "mfence", SIM_C_ATOMIC },
	{ "lfence", SIM_C_ATOMIC }, { "sfence", SIM_C_ATOMIC }, { "cpuid", SIM_C_SLOW },
	{ "rdtsc", SIM_C_SLOW },    { "syscall", SIM_C_SLOW },  { "xget", SIM_C_SLOW },
	{ "xsave", SIM_C_SLOW },    { "xrstor", SIM_C_SLOW },   { "rd", SIM_C_SLOW },
	{ "lods", SIM_C_LOAD },     { "stos", SIM_C_STORE },    { "scas", SIM_C_ALU },
	{ "cmps", SIM_C_ALU },      { "int", SIM_C_SLOW },      { "ud", SIM_C_SLOW },
	{ "hlt", SIM_C_SLOW },      { "fxsave", SIM_C_SLOW },   { "fxrstor", SIM_C_SLOW },
	{ "ldmxcsr", SIM_C_SLOW },  { "stmxcsr", SIM_C_SLOW },  { NULL, SIM_C_ALU },
};

static const struct sim_prefix x87[] = {
	{ "fld", SIM_C_FMOVE },     { "fst", SIM_C_FMOVE },   { "fild", SIM_C_FCONV },
	{ "fist", SIM_C_FCONV },    { "fxch", SIM_C_NOP },    { "fadd", SIM_C_FADD },
	{ "fsub", SIM_C_FADD },     { "fiadd", SIM_C_FADD },  { "fisub", SIM_C_FADD },
	{ "fchs", SIM_C_VLOGIC },   { "fabs", SIM_C_VLOGIC }, { "fmul", SIM_C_FMUL },
	{ "fimul", SIM_C_FMUL },    { "fdiv", SIM_C_FDIV64 }, { "fidiv", SIM_C_FDIV64 },
	{ "fsqrt", SIM_C_FSQRT64 }, { "fcom", SIM_C_FCOMI },  { "fucom", SIM_C_FCOMI },
	{ "ficom", SIM_C_FCOMI },   { "ftst", SIM_C_FCOMI },  { "fcmov", SIM_C_VLOGIC },
	{ "f", SIM_C_X87 },         { "emms", SIM_C_SLOW },   { NULL, 0 },
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

static bool is_fp_arithmetic(int cls)
{
	switch (cls) {
	case SIM_C_FADD:
	case SIM_C_FMUL:
	case SIM_C_FMA:
	case SIM_C_FDIV32:
	case SIM_C_FDIV64:
	case SIM_C_FSQRT32:
	case SIM_C_FSQRT64:
	case SIM_C_FCONV:
	case SIM_C_FCOMI:
		return true;
	default:
		return false;
	}
}

static bool is_one_of(const char *mnemonic, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (!strncmp(mnemonic, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

/* Arithmetic that x87 does by microcode. */
static const char *const x87_functions[] = { "f2xm1",   "fcos",   "fpatan", "fprem", "fptan",
	                                     "frndint", "fscale", "fsin",   "fyl2x", NULL };

/* Minimum, maximum and compare take the adder's way, reciprocals the multiplier's, and dot products FMA's. */
static unsigned operation_events(int cls, const char *m)
{
	switch (cls) {
	case SIM_C_FADD:
		return strstr(m, "add") || strstr(m, "sub") ? 1u << SIM_FP_ADD : 0;
	case SIM_C_FMUL:
		return !strncmp(m, "mul", 3) ? 1u << SIM_FP_MUL : 0;
	case SIM_C_FMA:
		return 1u << SIM_FP_FMA;
	case SIM_C_FDIV32:
	case SIM_C_FDIV64:
	case SIM_C_FSQRT32:
	case SIM_C_FSQRT64:
		return 1u << SIM_FP_DIV;
	default:
		return 0;
	}
}

/* Packed or scalar, single or double stands in the last two letters: addps, vmulsd. */
static void fp_kind(struct sim_insn *in, const char *m)
{
	bool single = ends_with(m, "ss") || ends_with(m, "ps");
	bool packed = ends_with(m, "ps") || ends_with(m, "pd") || strstr(m, "2p") || strstr(m, "p2") ||
	              !strncmp(m, "cvtdq", 5) || ends_with(m, "dq");

	if (single && in->cls == SIM_C_FDIV64)
		in->cls = SIM_C_FDIV32;
	if (single && in->cls == SIM_C_FSQRT64)
		in->cls = SIM_C_FSQRT32;
	if (!is_fp_arithmetic(in->cls) || strstr(m, "mov") || m[0] == 'p')
		return;
	in->events |= 1u << (packed ? SIM_FP_VECTOR : SIM_FP_SCALAR) | operation_events(in->cls, m);
}

static const cs_x86 *detail(const struct sim_decoder *d)
{
	return &d->insn->detail->x86;
}

static bool touches_vector(const struct sim_decoder *d)
{
	const cs_x86 *x = detail(d);

	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_REG && sim_is_vector(d->reg[x->operands[i].reg]))
			return true;
	return false;
}

static bool in_group(const struct sim_decoder *d, unsigned group)
{
	return cs_insn_group(d->cs, d->insn, group);
}

static void classify(struct sim_decoder *d, struct sim_insn *in)
{
	const char *m = d->insn->mnemonic;
	const cs_x86 *x = detail(d);
	int cls = -1;

	/* From memory to an integer register a conversion has no vector register. */
	if (touches_vector(d) || !strncmp(m, "vzero", 5) || !strncmp(m, "cvt", 3) || !strncmp(m, "vcvt", 4)) {
		if (*m == 'v')
			m++;
		cls = sim_class_by_prefix(vector, m);
		in->cls = (uint8_t)(cls < 0 ? SIM_C_VINT : cls);
		fp_kind(in, m);
		if (touches_vector(d) && !(in->events & (1u << SIM_FP_VECTOR | 1u << SIM_FP_SCALAR)))
			in->events |= 1u << SIM_SIMD_INT;
		return;
	}
	if (in_group(d, X86_GRP_FPU) || (*m == 'f' && strncmp(m, "fx", 2))) {
		cls = sim_class_by_prefix(x87, m);
		in->cls = (uint8_t)(cls < 0 ? SIM_C_X87 : cls);
		if (is_fp_arithmetic(in->cls) || is_one_of(m, x87_functions))
			in->events |= 1u << SIM_FP_SCALAR;
		return;
	}
	for (int i = 0; i < 2 && (cls = sim_class_by_prefix(scalar, m)) < 0; i++)
		cls = SIM_C_ALU;
	if (!strncmp(m, "lock ", 5) || !strncmp(m, "xchg", 4))
		cls = x->op_count && (x->operands[0].type == X86_OP_MEM || x->operands[1].type == X86_OP_MEM)
		              ? SIM_C_ATOMIC
		              : SIM_C_ALU;
	if (cls == SIM_C_DIV64 && x->op_count && x->operands[0].size < 8)
		cls = SIM_C_DIV32;
	in->cls = (uint8_t)cls;
}

/* cmp, test and the like only read what capstone 4 may call read and written. */
static bool only_reads(unsigned id)
{
	switch (id) {
	case X86_INS_CMP:
	case X86_INS_TEST:
	case X86_INS_BT:
	case X86_INS_UCOMISS:
	case X86_INS_UCOMISD:
	case X86_INS_COMISS:
	case X86_INS_COMISD:
	case X86_INS_PTEST:
	case X86_INS_PUSH:
	case X86_INS_JMP:
	case X86_INS_CALL:
		return true;
	default:
		return false;
	}
}

/* First operand written, not read: where capstone 4 has no access flags to tell, or wrong ones. */
static bool only_writes(unsigned id)
{
	switch (id) {
	case X86_INS_MOV:
	case X86_INS_MOVSD:
	case X86_INS_MOVSS:
	case X86_INS_MOVAPS:
	case X86_INS_MOVAPD:
	case X86_INS_MOVUPS:
	case X86_INS_MOVUPD:
	case X86_INS_MOVDQA:
	case X86_INS_MOVDQU:
	case X86_INS_MOVQ:
	case X86_INS_MOVD:
	case X86_INS_MOVHPS:
	case X86_INS_MOVHPD:
	case X86_INS_MOVLPS:
	case X86_INS_MOVLPD:
	case X86_INS_VMOVSD:
	case X86_INS_VMOVSS:
	case X86_INS_VMOVAPS:
	case X86_INS_VMOVAPD:
	case X86_INS_VMOVUPS:
	case X86_INS_VMOVUPD:
	case X86_INS_VMOVDQA:
	case X86_INS_VMOVDQU:
	case X86_INS_VMOVQ:
	case X86_INS_VMOVD:
	case X86_INS_MOVNTI:
	case X86_INS_MOVNTQ:
	case X86_INS_MOVNTDQ:
	case X86_INS_MOVNTPS:
	case X86_INS_MOVNTPD:
	case X86_INS_MOVBE:
	case X86_INS_KMOVB:
	case X86_INS_KMOVW:
	case X86_INS_KMOVD:
	case X86_INS_KMOVQ:
	case X86_INS_STMXCSR:
	case X86_INS_VSTMXCSR:
	case X86_INS_POP:
		return true;
	default:
		return false;
	}
}

/* Where capstone 4 has the rest wrong: what begins so writes memory, or updates it. */
static const char *const stores[] = { "fnst", "fst", "fist", NULL }, *const rotates[] = { "rol", "ror", "rcl",
	                                                                                  "rcr", NULL };

static void memory_operand(const struct sim_decoder *d, struct sim_insn *in, const cs_x86_op *op, bool first)
{
	unsigned id = d->insn->id;
	unsigned access = op->access;

	if (op->mem.base)
		sim_add_reg(in->addr, sizeof(in->addr), SIM_R_READY, d->reg[op->mem.base]);
	if (op->mem.index)
		sim_add_reg(in->addr, sizeof(in->addr), SIM_R_READY, d->reg[op->mem.index]);
	if (id == X86_INS_LEA || in->cls == SIM_C_NOP)
		return;
	if (first && only_reads(id))
		access = CS_AC_READ;
	else if (first && (only_writes(id) || touches_vector(d) || !strncmp(d->insn->mnemonic, "set", 3)))
		access = CS_AC_WRITE;
	else if (!first && !(access & CS_AC_WRITE))
		access = CS_AC_READ;
	else if (!access)
		access = CS_AC_READ | CS_AC_WRITE;
	if (first && !strncmp(d->insn->mnemonic, "lock ", 5))
		access = CS_AC_READ | CS_AC_WRITE;
	if (is_one_of(d->insn->mnemonic, stores))
		access = CS_AC_WRITE;
	if (first && is_one_of(d->insn->mnemonic, rotates))
		access = CS_AC_READ | CS_AC_WRITE;
	in->flags |= (access & CS_AC_READ ? SIM_F_LOAD : 0) | (access & CS_AC_WRITE ? SIM_F_STORE : 0);
}

/* What push, pop, call, ret and the string instructions do to memory without saying so in an operand. */
static void implicit_memory(struct sim_insn *in, unsigned id)
{
	const uint8_t rsi = SIM_R_INT + 6, rdi = SIM_R_INT + 7;

	switch (id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHFQ:
	case X86_INS_CALL:
		in->flags |= SIM_F_STORE;
		break;
	case X86_INS_POP:
	case X86_INS_POPFQ:
	case X86_INS_RET:
	case X86_INS_LEAVE:
		in->flags |= SIM_F_LOAD;
		break;
	case X86_INS_MOVSB:
	case X86_INS_MOVSW:
	case X86_INS_MOVSQ:
		in->flags |= SIM_F_LOAD | SIM_F_STORE;
		break;
	case X86_INS_STOSB:
	case X86_INS_STOSW:
	case X86_INS_STOSD:
	case X86_INS_STOSQ:
		in->flags |= SIM_F_STORE;
		break;
	case X86_INS_LODSB:
	case X86_INS_LODSW:
	case X86_INS_LODSD:
	case X86_INS_LODSQ:
	case X86_INS_SCASB:
	case X86_INS_SCASW:
	case X86_INS_SCASD:
	case X86_INS_SCASQ:
	case X86_INS_CMPSB:
	case X86_INS_CMPSW:
	case X86_INS_CMPSQ:
		in->flags |= SIM_F_LOAD;
		break;
	default:
		return;
	}
	if (id == X86_INS_LEAVE || id == X86_INS_POP || id == X86_INS_RET || id == X86_INS_PUSH ||
	    id == X86_INS_CALL)
		return;
	sim_add_reg(in->addr, sizeof(in->addr), SIM_R_READY, rsi);
	sim_add_reg(in->addr, sizeof(in->addr), SIM_R_READY, rdi);
}

/* The same for the same base and displacement, whatever is done there; 0 with an index. */
static uint16_t form_of(const struct sim_decoder *d, const x86_op_mem *m)
{
	uint64_t h = (uint64_t)m->disp * 0x9e3779b97f4a7c15u;

	if (m->index || m->segment || !m->base || m->base == X86_REG_RIP)
		return 0;
	if (d->reg[m->base] == R_RSP)
		return SIM_FORM_STACK;
	return (uint16_t)((h >> 48 ^ (uint64_t)d->reg[m->base] << 3) % (SIM_FORM_STACK - 1) + 1);
}

static void memory_operands(const struct sim_decoder *d, struct sim_insn *in)
{
	const cs_x86 *x = detail(d);

	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM) {
			memory_operand(d, in, &x->operands[i], i == 0);
			in->form = form_of(d, &x->operands[i].mem);
			if (x->operands[i].mem.index && x->operands[i].mem.scale > 1)
				in->flags |= SIM_F_SCALED;
		}
	implicit_memory(in, d->insn->id);
}

/* Registers that only make up the address; lea computes with them. */
static void address_only(const struct sim_decoder *d, const struct sim_insn *in, uint8_t *only)
{
	const cs_x86 *x = detail(d);

	if (d->insn->id == X86_INS_LEA || in->cls == SIM_C_NOP)
		return;
	for (size_t i = 0; i < sizeof(in->addr); i++)
		only[in->addr[i]] = 1;
	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_REG &&
		    (i > 0 || x->op_count == 1 || x->operands[0].access & CS_AC_READ))
			only[d->reg[x->operands[i].reg]] = 0;
}

/* What writes a byte or a word of an integer register waits for the rest of it. */
static void merge(const struct sim_decoder *d, struct sim_insn *in)
{
	const cs_x86_op *op = detail(d)->operands;
	uint8_t reg;

	if (!detail(d)->op_count || op->type != X86_OP_REG || op->size > 2)
		return;
	reg = d->reg[op->reg];
	if (sim_has_reg(in->dst, sizeof(in->dst), reg) && reg < SIM_R_FLAGS)
		sim_add_reg(in->src, sizeof(in->src), SIM_R_READY, reg);
}

static bool is_same_register_twice(const struct sim_decoder *d)
{
	const cs_x86 *x = detail(d);
	uint8_t n = x->op_count;

	return n >= 2 && x->operands[n - 1].type == X86_OP_REG && x->operands[n - 2].type == X86_OP_REG &&
	       x->operands[n - 1].reg == x->operands[n - 2].reg;
}

static bool is_zero_idiom(const struct sim_decoder *d)
{
	const char *m = d->insn->mnemonic;

	if (!is_same_register_twice(d))
		return false;
	m += *m == 'v';
	if (!strcmp(m, "xor") || !strcmp(m, "sub"))
		return detail(d)->operands[0].size >= 4;
	return !strncmp(m, "pxor", 4) || !strncmp(m, "xorp", 4) || !strncmp(m, "psub", 4) ||
	       !strncmp(m, "pcmpgt", 6);
}

/* movd and movq between the two kinds of register. */
static void refine_cross(const struct sim_decoder *d, struct sim_insn *in)
{
	const cs_x86 *x = detail(d);
	const char *m = d->insn->mnemonic + (*d->insn->mnemonic == 'v');
	bool to, from;

	if (x->op_count < 2 || x->operands[0].type != X86_OP_REG || x->operands[1].type != X86_OP_REG)
		return;
	to = sim_is_vector(d->reg[x->operands[0].reg]);
	from = sim_is_vector(d->reg[x->operands[1].reg]);
	if (to && !from && (!strcmp(m, "movd") || !strcmp(m, "movq")))
		in->cls = SIM_C_TOVEC;
	else if (!to && from && !strcmp(m, "movq"))
		in->cls = SIM_C_FCOMI;
}

/* A move between whole registers can be done by renaming; to or from memory it is the load or store itself. */
static void refine_move(const struct sim_decoder *d, struct sim_insn *in)
{
	const cs_x86 *x = detail(d);
	bool whole = x->op_count == 2 && x->operands[0].size >= 4 && x->operands[1].type == X86_OP_REG;

	if (in->flags & SIM_F_MEM) {
		if (in->cls == SIM_C_MOVE || in->cls == SIM_C_FMOVE)
			in->cls = in->flags & SIM_F_LOAD ? SIM_C_LOAD : SIM_C_STORE;
		/* movzx and movsx extend in the load port. */
		if (in->cls == SIM_C_ALU && in->flags & SIM_F_LOAD && !(in->flags & SIM_F_STORE) &&
		    !strncmp(d->insn->mnemonic, "mov", 3))
			in->cls = SIM_C_LOAD;
		if (in->cls == SIM_C_FCOMI &&
		    !strncmp(d->insn->mnemonic + (*d->insn->mnemonic == 'v'), "mov", 3))
			in->cls = in->flags & SIM_F_LOAD ? SIM_C_LOAD : SIM_C_STORE;
		return;
	}
	refine_cross(d, in);
	if (in->cls == SIM_C_MOVE && (!whole || !d->config || !d->config->move_elimination))
		in->cls = SIM_C_ALU;
	if (in->cls == SIM_C_FMOVE && whole && x->operands[0].size >= 16 && d->config &&
	    d->config->vmove_elimination && sim_is_vector(d->reg[x->operands[1].reg]) &&
	    d->insn->id != X86_INS_MOVSS && d->insn->id != X86_INS_MOVSD && d->insn->id != X86_INS_MOVQ)
		in->cls = SIM_C_MOVE;
}

static void refine_lea(const struct sim_decoder *d, struct sim_insn *in)
{
	const x86_op_mem *m = &detail(d)->operands[1].mem;

	if (d->insn->id != X86_INS_LEA)
		return;
	if (m->base && m->index && m->disp)
		in->cls = SIM_C_LEA3;
}

static bool is_direct(const struct sim_decoder *d)
{
	return detail(d)->op_count == 1 && detail(d)->operands[0].type == X86_OP_IMM;
}

static void exit_of(const struct sim_decoder *d, const struct sim_insn *in, struct sim_block *b)
{
	bool direct = is_direct(d);

	if (in_group(d, X86_GRP_CALL))
		b->exit = direct ? SIM_X_CALL : SIM_X_CALL_IND;
	else if (in_group(d, X86_GRP_RET))
		b->exit = SIM_X_RET;
	else if (d->insn->id == X86_INS_JMP)
		b->exit = direct ? SIM_X_JUMP : SIM_X_JUMP_IND;
	else if (in->cls == SIM_C_BRANCH)
		b->exit = SIM_X_COND;
	if (direct && b->exit != SIM_X_NONE)
		b->target = (uint64_t)detail(d)->operands[0].imm;
}

/* The stack engine follows rsp through push, pop, call and ret: no instruction waits for it. */
static void stack_engine(const struct sim_decoder *d, struct sim_insn *in)
{
	switch (d->insn->id) {
	case X86_INS_PUSH:
	case X86_INS_POP:
	case X86_INS_CALL:
	case X86_INS_RET:
		for (size_t i = 0; i < sizeof(in->dst); i++)
			if (in->dst[i] == R_RSP && !(d->insn->id == X86_INS_POP && i == 0 &&
			                             detail(d)->operands[0].reg == X86_REG_RSP))
				in->dst[i] = SIM_R_SINK;
		for (size_t i = 0; i < sizeof(in->src); i++)
			if (in->src[i] == R_RSP)
				in->src[i] = SIM_R_READY;
		sim_add_reg(in->addr, sizeof(in->addr), SIM_R_READY, R_RSP);
		break;
	default:
		break;
	}
}

/* A word or byte must be put into a register's rest, a vector has no place among the integers, and a lock goes to the cache. */
static bool can_rename(const struct sim_decoder *d, const struct sim_insn *in)
{
	const cs_x86 *x = detail(d);

	if (!(in->flags & SIM_F_MEM) || in->cls == SIM_C_ATOMIC || in->cls == SIM_C_SLOW ||
	    touches_vector(d) || in_group(d, X86_GRP_FPU))
		return false;
	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].size != 4 && x->operands[i].size != 8)
			return false;
	return true;
}

void sim_x86_decode(struct sim_decoder *d, struct sim_insn *in, struct sim_block *b)
{
	uint8_t only[SIM_N_REGS] = { 0 };
	const cs_x86 *x = detail(d);
	bool string;

	classify(d, in);
	memory_operands(d, in);
	refine_move(d, in);
	refine_lea(d, in);
	address_only(d, in, only);
	sim_registers(d, in, only);
	merge(d, in);
	stack_engine(d, in);
	if (d->config && d->config->zero_idioms && is_zero_idiom(d))
		in->flags |= SIM_F_BREAK;
	if (d->insn->id == X86_INS_PUSH || d->insn->id == X86_INS_POP || d->insn->id == X86_INS_CALL ||
	    d->insn->id == X86_INS_RET)
		in->form = SIM_FORM_STACK;
	if (can_rename(d, in))
		in->flags |= SIM_F_RENAMES;
	if (d->insn->id == X86_INS_CMP || d->insn->id == X86_INS_TEST)
		in->flags |= SIM_F_FUSES;
	exit_of(d, in, b);
	string = !(in->cls == SIM_C_JUMP || in->cls == SIM_C_BRANCH) && d->insn->size <= 4 &&
	         (in->addr[0] == SIM_R_INT + 6 || in->addr[0] == SIM_R_INT + 7) &&
	         (strchr("msclo", d->insn->mnemonic[0]) || !strncmp(d->insn->mnemonic, "rep", 3));
	if (string && (x->prefix[0] == X86_PREFIX_REP || x->prefix[0] == X86_PREFIX_REPNE) &&
	    !strncmp(d->insn->mnemonic, "rep", 3))
		in->flags |= SIM_F_REP;
	if (in->flags & SIM_F_LOAD)
		in->events |= 1u << SIM_LOADS;
	if (in->flags & SIM_F_STORE)
		in->events |= 1u << SIM_STORES;
	if (in->cls == SIM_C_SLOW && !strncmp(d->insn->mnemonic, "rep", 3))
		in->cls = SIM_C_ALU;
}
