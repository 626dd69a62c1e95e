/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64.  Branches and memory accesses are read from the encoding, whose
 * groups are regular; capstone says what is floating-point arithmetic and
 * whether the word is an instruction at all.
 */
#include "profiler/binary/insn_impl.h"

#include <string.h>

enum { KIND_FP = 1, KIND_FMA = 2, KIND_CONVERT = 4, KIND_ADD = 8, KIND_MUL = 16, KIND_DIV = 32 };

#define N_WORDS(words) (sizeof(words) / sizeof((words)[0]))

static const char *const fp_arithmetic[] = {
	"fabd",   "fadd",   "faddp",   "fdiv",    "fmax",    "fmaxnm", "fmaxnmp", "fmaxnmv", "fmaxp",
	"fmaxv",  "fmin",   "fminnm",  "fminnmp", "fminnmv", "fminp",  "fminv",   "fmul",    "fmulx",
	"fnmul",  "frecpe", "frecps",  "frecpx",  "frinta",  "frinti", "frintm",  "frintn",  "frintp",
	"frintx", "frintz", "frsqrte", "frsqrts", "fsqrt",   "fsub",
};

static const char *const fp_fused[] = { "fcmla", "fmadd", "fmla", "fmls", "fmsub", "fnmadd", "fnmsub" };

static const char *const fp_convert[] = {
	"facge",  "facgt",  "fccmp",  "fccmpe", "fcmeq",  "fcmge",   "fcmgt",  "fcmle",  "fcmlt", "fcmp",
	"fcmpe",  "fcvt",   "fcvtas", "fcvtau", "fcvtl",  "fcvtl2",  "fcvtms", "fcvtmu", "fcvtn", "fcvtn2",
	"fcvtns", "fcvtnu", "fcvtps", "fcvtpu", "fcvtxn", "fcvtxn2", "fcvtzs", "fcvtzu", "scvtf", "ucvtf",
};

/* What else they are to events that count by operation. */
static const struct {
	const char *name;
	uint16_t kind;
} fp_operations[] = {
	{ "fadd", KIND_ADD },  { "faddp", KIND_ADD }, { "fsub", KIND_ADD },
	{ "fabd", KIND_ADD },  { "fmul", KIND_MUL },  { "fmulx", KIND_MUL },
	{ "fnmul", KIND_MUL }, { "fdiv", KIND_DIV },  { "fsqrt", KIND_DIV },
};

void insn_a64_learn(struct insn_decoder *d)
{
	for (unsigned id = 1; id < INSN_MAX_IDS && id < ARM64_INS_ENDING; id++) {
		const char *name = cs_insn_name(d->detail, id);

		if (!name)
			continue;
		if (insn_word_in(name, fp_arithmetic, N_WORDS(fp_arithmetic)))
			d->kind[id] = KIND_FP;
		if (insn_word_in(name, fp_fused, N_WORDS(fp_fused)))
			d->kind[id] = KIND_FP | KIND_FMA;
		if (insn_word_in(name, fp_convert, N_WORDS(fp_convert)))
			d->kind[id] = KIND_FP | KIND_CONVERT;
		for (size_t i = 0; i < N_WORDS(fp_operations); i++)
			if (!strcmp(name, fp_operations[i].name))
				d->kind[id] |= fp_operations[i].kind;
	}
}

/* A word distance of n_bits at bit `at`, in bytes. */
static uint64_t distance(uint32_t word, unsigned at, unsigned n_bits)
{
	uint64_t bits = (uint64_t)word << (64 - n_bits - at);

	return (uint64_t)((int64_t)bits >> (64 - n_bits)) * 4;
}

static void branch_to(struct insn *out, enum insn_flow flow, uint64_t by)
{
	out->flow = (uint8_t)flow;
	out->target = out->vaddr + by;
}

/* br, blr, ret, eret and their variants that check a signature. */
static void register_branch(uint32_t word, struct insn *out)
{
	static const uint8_t flows[16] = {
		[0] = INSN_JUMP_IND, [1] = INSN_CALL_IND, [2] = INSN_RET,      [4] = INSN_RET,
		[5] = INSN_RET,      [8] = INSN_JUMP_IND, [9] = INSN_CALL_IND,
	};

	out->flow = flows[word >> 21 & 15];
}

static void exception(uint32_t word, struct insn *out)
{
	unsigned op = word >> 21 & 7;

	if (op == 0 && word & 3)
		out->flow = INSN_SYSCALL; /* svc, hvc, smc */
	else if (op == 1 || op == 2)
		out->flow = INSN_STOP; /* brk, hlt */
}

/* Returns true where the word is a branch, an exception or a hint. */
static bool find_flow(uint32_t word, struct insn *out)
{
	if ((word & 0x7c000000) == 0x14000000) {
		branch_to(out, word >> 31 ? INSN_CALL : INSN_JUMP, distance(word, 0, 26));
	} else if ((word & 0xff000000) == 0x54000000) {
		/* Conditions 14 and 15 always hold. */
		branch_to(out, (word & 14) == 14 ? INSN_JUMP : INSN_COND, distance(word, 5, 19));
	} else if ((word & 0x7e000000) == 0x34000000) {
		branch_to(out, INSN_COND, distance(word, 5, 19));
	} else if ((word & 0x7e000000) == 0x36000000) {
		branch_to(out, INSN_COND, distance(word, 5, 14));
	} else if ((word & 0xfe1f0000) == 0xd61f0000) {
		register_branch(word, out);
	} else if ((word & 0xff000000) == 0xd4000000) {
		exception(word, out);
	} else if ((word & 0xffff0000) == 0) {
		out->flow = INSN_STOP; /* udf */
	} else if ((word & 0xfffff01f) == 0xd503201f) {
		out->flags |= INSN_NOP;
	} else {
		return false;
	}
	return true;
}

static uint32_t load_or_store(bool load)
{
	return load ? INSN_LOAD : INSN_STORE;
}

/* Exclusive, ordered, and compare-and-swap: size 001000 o2 L o1 ... */
static uint32_t exclusive_memory(uint32_t word)
{
	bool o1 = word >> 21 & 1, o2 = word >> 23 & 1;

	if (o1 && (o2 || !(word >> 31))) /* cas, casp */
		return INSN_LOAD | INSN_STORE | INSN_LOCK;
	return load_or_store(word >> 22 & 1);
}

/* LSE: ldadd and its like, swp; ldapr and the 64-byte ones only load or store. */
static uint32_t atomic_memory(uint32_t word)
{
	unsigned o3_opc = word >> 12 & 15;

	if (o3_opc == 12 || o3_opc == 13) /* ldapr, ld64b */
		return INSN_LOAD;
	if (o3_opc > 8) /* st64b */
		return INSN_STORE;
	return INSN_LOAD | INSN_STORE | INSN_LOCK;
}

/* One register: size 111 V 0 ... opc (23:22). */
static uint32_t single_memory(uint32_t word)
{
	bool vector = word >> 26 & 1;
	unsigned size = word >> 30, opc = word >> 22 & 3;

	if (!(word >> 24 & 1) && word >> 21 & 1) {
		unsigned kind = word >> 10 & 3;

		if (kind == 0)
			return vector ? 0 : atomic_memory(word);
		if (kind != 2)
			return INSN_LOAD; /* ldraa, ldrab */
	}
	if (vector)
		return load_or_store(opc & 1);
	if (size == 3 && opc == 2)
		return INSN_PREFETCH;
	return load_or_store(opc != 0);
}

static uint32_t find_memory(uint32_t word)
{
	unsigned group = word >> 27 & 7; /* 29:27 */
	bool vector = word >> 26 & 1;

	if ((word & 0x0a000000) != 0x08000000)
		return 0;
	if (group == 1 && vector) /* ld1 to st4 */
		return word >> 31 ? 0 : load_or_store(word >> 22 & 1);
	if (group == 1)
		return exclusive_memory(word);
	if (group == 3 && !(word >> 24 & 1)) /* literal */
		return !vector && word >> 30 == 3 ? INSN_PREFETCH : INSN_LOAD;
	if (group == 3 && word >> 21 & 1) /* memory tags: tags are no data, but stzg's zeros are */
		return word >> 22 & 1 && !(word >> 10 & 3) ? INSN_LOAD : INSN_STORE;
	if (group == 3) /* ldapur, stlur */
		return load_or_store(word >> 22 & 3);
	if (group == 5)
		return load_or_store(word >> 22 & 1);
	return group == 7 ? single_memory(word) : 0;
}

/* Scalar if it works on single numbers: no operand is arranged as a vector. */
static bool is_vector(const cs_arm64 *a64)
{
	for (uint8_t i = 0; i < a64->op_count; i++)
		if (a64->operands[i].vas)
			return true;
	return false;
}

static bool uses_vectors(const cs_arm64 *a64)
{
	for (uint8_t i = 0; i < a64->op_count; i++) {
		unsigned reg = a64->operands[i].type == ARM64_OP_REG ? a64->operands[i].reg : 0;

		if ((reg >= ARM64_REG_B0 && reg <= ARM64_REG_B31) ||
		    (reg >= ARM64_REG_D0 && reg <= ARM64_REG_D31) ||
		    (reg >= ARM64_REG_H0 && reg <= ARM64_REG_H31) ||
		    (reg >= ARM64_REG_Q0 && reg <= ARM64_REG_Q31) ||
		    (reg >= ARM64_REG_S0 && reg <= ARM64_REG_S31) ||
		    (reg >= ARM64_REG_V0 && reg <= ARM64_REG_V31))
			return true;
	}
	return false;
}

static void find_arithmetic(struct insn_decoder *d, const cs_insn *detail, struct insn *out)
{
	uint16_t kind = d->kind[detail->id];

	/* sdiv, udiv */
	if (detail->id == ARM64_INS_SDIV || detail->id == ARM64_INS_UDIV)
		out->flags |= INSN_DIV;
	if (kind & KIND_FP)
		out->flags |= (is_vector(&detail->detail->arm64) ? INSN_FP_VECTOR : INSN_FP_SCALAR) |
		              (kind & KIND_FMA ? INSN_FMA : 0) | (kind & KIND_CONVERT ? INSN_FP_CONVERT : 0);
	else if (uses_vectors(&detail->detail->arm64))
		out->flags |= INSN_SIMD_INT;
	if (kind & KIND_FP && !(kind & KIND_CONVERT))
		out->fp = INSN_FP_KNOWN | (kind & KIND_ADD ? INSN_FP_ADD : 0) |
		          (kind & KIND_MUL ? INSN_FP_MUL : 0) | (kind & KIND_DIV ? INSN_FP_DIV : 0);
}

int insn_a64_decode(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, struct insn *out)
{
	const cs_insn *detail;
	uint32_t word;

	if (n_bytes < 4)
		return -1;
	word = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
	out->size_bytes = 4;
	if (find_flow(word, out))
		return 0;
	out->flags |= find_memory(word);
	detail = insn_detail(d, code, 4, out->vaddr);
	if (detail && detail->id < INSN_MAX_IDS)
		find_arithmetic(d, detail, out);
	else if (!(out->flags & (INSN_LOAD | INSN_STORE | INSN_PREFETCH)))
		out->flags |= INSN_UNKNOWN;
	return 0;
}
