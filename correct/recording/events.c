/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/events.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A kind with its mask. */
#define FP_ARITH(mask) (MIX_FP_ARITH | (mask) << 8)
#define FLOPS(mask)    (MIX_FLOPS | (mask) << 8)

/*
 * Names are compared without case, PMU prefix and modifiers; '.', '_', ':' and '-' are the same.  Only events that count
 * retired instructions exactly stand here: on AMD ex_ret_*, on Arm the *_RETIRED ones.  Left out on purpose are those that
 * count speculative ones (Arm's *_SPEC and BR_PRED, AMD's ls_dispatch), micro-operations (UOPS_RETIRED, ex_ret_ops,
 * fp_ops_retired_by_type), and those of which it isn't written whether they count returns (AMD's ex_ret_ind_brch_instr).
 */
static const struct {
	const char *name;
	int kind;
} names[] = {
	/* perf's generic names and the simulated PMU's */
	{ "instructions", MIX_INSN },
	{ "cycles", MIX_CYCLES },
	{ "cpu-cycles", MIX_CYCLES },
	{ "branches", MIX_BRANCH },
	{ "branch-instructions", MIX_BRANCH },
	{ "taken-branches", MIX_TAKEN },
	{ "cond-branches", MIX_COND },
	{ "calls", MIX_CALL },
	{ "returns", MIX_RETURN },
	{ "loads", MIX_LOAD },
	{ "stores", MIX_STORE },
	{ "fp-scalar", MIX_FP_SCALAR },
	{ "fp-vector", MIX_FP_VECTOR },
	{ "indirect-branches", MIX_INDIRECT },
	{ "fp-add", MIX_FP_ADD },
	{ "fp-mul", MIX_FP_MUL },
	{ "fp-div", MIX_FP_DIV },
	{ "fp-fma", MIX_FP_FMA },
	{ "simd-int", MIX_SIMD_INT },
	/* Intel */
	{ "inst-retired.any", MIX_INSN },
	{ "inst-retired.any-p", MIX_INSN },
	{ "inst-retired.prec-dist", MIX_INSN },
	{ "inst-retired.nop", MIX_NOP },
	{ "instruction-retired", MIX_INSN },
	{ "cpu-clk-unhalted.thread", MIX_CYCLES },
	{ "cpu-clk-unhalted.thread-p", MIX_CYCLES },
	{ "br-inst-retired.all-branches", MIX_BRANCH },
	{ "branch-instructions-retired", MIX_BRANCH },
	{ "br-inst-retired.near-taken", MIX_TAKEN },
	{ "br-inst-retired.not-taken", MIX_NOT_TAKEN },
	{ "br-inst-retired.cond-ntaken", MIX_NOT_TAKEN },
	{ "br-inst-retired.conditional", MIX_COND },
	{ "br-inst-retired.cond", MIX_COND },
	{ "br-inst-retired.cond-taken", MIX_COND_TAKEN },
	{ "br-inst-retired.near-call", MIX_CALL },
	{ "br-inst-retired.near-return", MIX_RETURN },
	{ "br-inst-retired.indirect", MIX_INDIRECT },
	{ "mem-inst-retired.all-loads", MIX_LOAD },
	{ "mem-inst-retired.all-stores", MIX_STORE },
	{ "mem-inst-retired.any", MIX_MEMORY },
	{ "mem-inst-retired.lock-loads", MIX_LOCK },
	{ "fp-arith-inst-retired.scalar-double", FP_ARITH(0x01) },
	{ "fp-arith-inst-retired.scalar-single", FP_ARITH(0x02) },
	{ "fp-arith-inst-retired.scalar", FP_ARITH(0x03) },
	{ "fp-arith-inst-retired.128b-packed-double", FP_ARITH(0x04) },
	{ "fp-arith-inst-retired.128b-packed-single", FP_ARITH(0x08) },
	{ "fp-arith-inst-retired.256b-packed-double", FP_ARITH(0x10) },
	{ "fp-arith-inst-retired.256b-packed-single", FP_ARITH(0x20) },
	{ "fp-arith-inst-retired.512b-packed-double", FP_ARITH(0x40) },
	{ "fp-arith-inst-retired.512b-packed-single", FP_ARITH(0x80) },
	{ "fp-arith-inst-retired.4-flops", FP_ARITH(0x18) },
	{ "fp-arith-inst-retired.8-flops", FP_ARITH(0x60) },
	{ "fp-arith-inst-retired.vector", FP_ARITH(0xfc) },
	/* AMD */
	{ "retired-instructions", MIX_INSN },
	{ "ex-ret-instr", MIX_INSN },
	{ "cycles-not-in-halt", MIX_CYCLES },
	{ "ls-not-halted-cyc", MIX_CYCLES },
	{ "retired-branch-instructions", MIX_BRANCH },
	{ "ex-ret-brn", MIX_BRANCH },
	{ "retired-taken-branch-instructions", MIX_TAKEN },
	{ "ex-ret-brn-tkn", MIX_TAKEN },
	{ "retired-conditional-branch-instructions", MIX_COND },
	{ "ex-ret-cond", MIX_COND },
	{ "retired-near-returns", MIX_RETURN },
	{ "ex-ret-near-ret", MIX_RETURN },
	{ "fp-ret-sse-avx-ops.all", FLOPS(0xf) },
	{ "fp-ret-sse-avx-ops.add-sub-flops", FLOPS(0x1) },
	{ "fp-ret-sse-avx-ops.mult-flops", FLOPS(0x2) },
	{ "fp-ret-sse-avx-ops.div-flops", FLOPS(0x4) },
	{ "fp-ret-sse-avx-ops.mac-flops", FLOPS(0x8) },
	{ "retired-sse-avx-flops.any", FLOPS(0xf) },
	{ "retired-sse-avx-flops.add-sub-flops", FLOPS(0x1) },
	{ "retired-sse-avx-flops.mult-flops", FLOPS(0x2) },
	{ "retired-sse-avx-flops.div-flops", FLOPS(0x4) },
	{ "retired-sse-avx-flops.mac-flops", FLOPS(0x8) },
	/* Arm */
	{ "inst-retired", MIX_INSN },
	{ "br-retired", MIX_BRANCH },
	{ "br-return-retired", MIX_RETURN },
	{ "pc-write-retired", MIX_TAKEN },
	{ "ld-retired", MIX_LOAD },
	{ "st-retired", MIX_STORE },
	{ "br-immed-retired", MIX_DIRECT },
	{ "br-immed-taken-retired", MIX_DIRECT_TAKEN },
	{ "br-indnr-taken-retired", MIX_INDIRECT },
	{ "br-skip-retired", MIX_NOT_TAKEN },
};

/*
 * Raw codes: event | mask << 8 on x86, event numbers on Arm.  cpuid is how the file's begins, as perf writes it:
 * vendor, family, model, stepping; on Arm the MIDR, "0x...".
 */
static const struct {
	const char *cpuid;
	uint64_t config;
	int kind;
} codes[] = {
	{ "GenuineIntel", 0x00c0, MIX_INSN },
	{ "GenuineIntel", 0x003c, MIX_CYCLES },
	{ "GenuineIntel", 0x00c4, MIX_BRANCH },
	{ "GenuineIntel", 0x02c4, MIX_CALL },
	{ "GenuineIntel", 0x08c4, MIX_RETURN },
	{ "GenuineIntel", 0x10c4, MIX_NOT_TAKEN },
	{ "GenuineIntel", 0x20c4, MIX_TAKEN },
	{ "GenuineIntel", 0x81d0, MIX_LOAD },
	{ "GenuineIntel", 0x82d0, MIX_STORE },
	{ "GenuineIntel", 0x83d0, MIX_MEMORY },
	{ "GenuineIntel", 0x21d0, MIX_LOCK },
	{ "AuthenticAMD", 0x00c0, MIX_INSN },
	{ "AuthenticAMD", 0x0076, MIX_CYCLES },
	{ "AuthenticAMD", 0x00c2, MIX_BRANCH },
	{ "AuthenticAMD", 0x00c4, MIX_TAKEN },
	{ "AuthenticAMD", 0x00d1, MIX_COND },
	{ "AuthenticAMD", 0x00c8, MIX_RETURN },
	{ "0x", 0x08, MIX_INSN },
	{ "0x", 0x11, MIX_CYCLES },
	{ "0x", 0x21, MIX_BRANCH },
	{ "0x", 0x0c, MIX_TAKEN },
	{ "0x", 0x0d, MIX_DIRECT },
	{ "0x", 0x0e, MIX_RETURN },
	{ "0x", 0x06, MIX_LOAD },
	{ "0x", 0x07, MIX_STORE },
	{ "0x", 0x8107, MIX_NOT_TAKEN },
	{ "0x", 0x8108, MIX_DIRECT_TAKEN },
	{ "0x", 0x810c, MIX_INDIRECT },
};

/* Big cores by model: Haswell; Broadwell to Comet Lake; from Ice Lake on. */
static const uint16_t haswell[] = { 0x3c, 0x3f, 0x45, 0x46 };
static const uint16_t skylake[] = { 0x3d, 0x47, 0x4e, 0x4f, 0x55, 0x56, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6 };
static const uint16_t icelake[] = { 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0x8f, 0x97, 0x9a, 0xa7, 0xaa,
	                            0xac, 0xad, 0xae, 0xb5, 0xb7, 0xba, 0xbd, 0xbf, 0xc5, 0xc6, 0xcf };

static char folded(char c)
{
	return c == '_' || c == '.' || c == ':' ? '-' : (char)tolower((unsigned char)c);
}

/* Is the text from s to end this name? */
static bool same_name(const char *s, const char *end, const char *name)
{
	for (; s < end && *name; s++, name++)
		if (folded(*s) != folded(*name))
			return false;
	return s == end && !*name;
}

/* Is it perf's "u" or "ppp", or libpfm4's "u=1"? */
static bool is_modifier(const char *s, const char *end)
{
	size_t n = strspn(s, "ukhpPGHSDeIWbcimt");

	return end > s && (s + n == end || (end - s > 2 && memchr(s, '=', (size_t)(end - s))));
}

/* The bare event name inside "cpu_core/NAME/ppu", "NAME:u" or "skl::NAME:MASK:u=1:k=0". */
static void bare_name(const char *name, const char **begin, const char **end)
{
	const char *slash = strchr(name, '/'), *pmu;

	if (slash && slash[1]) {
		*begin = slash + 1;
		*end = strpbrk(*begin, "/,");
		if (!*end)
			*end = *begin + strlen(*begin);
		return;
	}
	pmu = strstr(name, "::");
	*begin = pmu ? pmu + 2 : name;
	*end = name + strlen(name);
	/* libpfm4 writes masks after ':' too: only a tail of modifiers is cut. */
	for (const char *colon = *end; colon > *begin; colon--)
		if (*colon == ':' && is_modifier(colon + 1, *end))
			*end = colon;
}

static int kind_of_generic(uint64_t config)
{
	switch (config & 0xffffffff) {
	case PERF_COUNT_HW_CPU_CYCLES:
		return MIX_CYCLES;
	case PERF_COUNT_HW_INSTRUCTIONS:
		return MIX_INSN;
	case PERF_COUNT_HW_BRANCH_INSTRUCTIONS:
		return MIX_BRANCH;
	default:
		return MIX_NONE;
	}
}

#define IS_ONE_OF(model, models) model_in(model, models, sizeof(models) / sizeof((models)[0]))

static bool model_in(unsigned model, const uint16_t *models, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (models[i] == model)
			return true;
	return false;
}

static int kind_of_intel(uint64_t config, unsigned model)
{
	bool is_new = IS_ONE_OF(model, icelake);
	bool has_fp_arith = is_new || IS_ONE_OF(model, skylake);

	if (config == 0x01c4 && is_new)
		return MIX_COND_TAKEN;
	if (config == 0x01c4 && (has_fp_arith || IS_ONE_OF(model, haswell)))
		return MIX_COND;
	if (config == 0x11c4 && is_new)
		return MIX_COND;
	if (config == 0x80c4 && is_new)
		return MIX_INDIRECT;
	if (config == 0x02c0 && is_new)
		return MIX_NOP;
	if ((config & 0xff) == 0xc7 && config >> 16 == 0 && has_fp_arith)
		return FP_ARITH((int)(config >> 8));
	return MIX_NONE;
}

/* Codes that mean different things on different models. */
static int kind_by_model(uint64_t config, const char *cpuid)
{
	unsigned family = 0, model = 0;

	if (sscanf(cpuid, "GenuineIntel,%u,%u", &family, &model) == 2 && family == 6)
		return kind_of_intel(config, model);
	/* From Zen 3 on: on the first the masks tell precisions, too. */
	if (sscanf(cpuid, "AuthenticAMD,%u,%u", &family, &model) == 2 && family >= 25 &&
	    (config & 0xff) == 0x03 && config >> 12 == 0)
		return FLOPS((int)(config >> 8));
	return MIX_NONE;
}

static int kind_of_code(uint64_t config, const char *cpuid)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strncmp(cpuid, codes[i].cpuid, strlen(codes[i].cpuid)) == 0 && config == codes[i].config)
			return codes[i].kind;
	return kind_by_model(config, cpuid);
}

int mix_kind_of(const char *name, uint32_t type, uint64_t config, const char *cpuid)
{
	const char *begin, *end;

	if (type == PERF_TYPE_HARDWARE)
		return kind_of_generic(config);
	if (type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT || type == PERF_TYPE_BREAKPOINT)
		return MIX_NONE;
	bare_name(name, &begin, &end);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (same_name(begin, end, names[i].name))
			return names[i].kind;
	return cpuid && type == PERF_TYPE_RAW ? kind_of_code(config, cpuid) : MIX_NONE;
}

static bool is_branch(const struct insn *insn)
{
	switch (insn->flow) {
	case INSN_JUMP:
	case INSN_COND:
	case INSN_JUMP_IND:
	case INSN_CALL:
	case INSN_CALL_IND:
	case INSN_RET:
		return true;
	default:
		return false;
	}
}

static bool is_direct(const struct insn *insn)
{
	return insn->flow == INSN_JUMP || insn->flow == INSN_COND || insn->flow == INSN_CALL;
}

static bool has(const struct insn *insn, uint32_t flags)
{
	return (insn->flags & flags) != 0;
}

/* The class of FP_ARITH_INST_RETIRED's mask: double and single, of one number, 128, 256, 512 bits. */
static double fp_arith(int mask, const struct insn *insn)
{
	int width = insn->fp & INSN_FP_512 ? 3 : insn->fp & INSN_FP_256 ? 2 : 1;
	int bit = 2 * (has(insn, INSN_FP_SCALAR) ? 0 : width) + (insn->fp & INSN_FP_SINGLE ? 1 : 0);

	if (!(insn->fp & INSN_FP_KNOWN) || insn->fp & INSN_FP_ROUND || !(mask >> bit & 1))
		return 0;
	return has(insn, INSN_FMA) ? 2 : 1;
}

/* One an element; a fused multiply-add is two. */
static double flops(int mask, const struct insn *insn)
{
	int bytes = insn->fp & INSN_FP_512 ? 64 : insn->fp & INSN_FP_256 ? 32 : 16;
	int elements = has(insn, INSN_FP_SCALAR) ? 1 : bytes / (insn->fp & INSN_FP_SINGLE ? 4 : 8);
	int bits = (insn->fp & INSN_FP_ADD ? 1 : 0) | (insn->fp & INSN_FP_MUL ? 2 : 0) |
	           (insn->fp & INSN_FP_DIV ? 4 : 0) | (has(insn, INSN_FMA) ? 8 : 0);

	if (!(insn->fp & INSN_FP_KNOWN) || !(mask & bits))
		return 0;
	return has(insn, INSN_FMA) ? 2 * elements : elements;
}

/* What is counted by its memory accesses and arithmetic. */
static double of_work(int kind, const struct insn *insn)
{
	switch (kind & MIX_KIND_BITS) {
	case MIX_LOAD:
		return has(insn, INSN_LOAD);
	case MIX_STORE:
		return has(insn, INSN_STORE);
	case MIX_MEMORY:
		return has(insn, INSN_LOAD | INSN_STORE);
	case MIX_LOCK:
		return has(insn, INSN_LOCK);
	case MIX_NOP:
		return has(insn, INSN_NOP);
	case MIX_FP_SCALAR:
		return has(insn, INSN_FP_SCALAR);
	case MIX_FP_VECTOR:
		return has(insn, INSN_FP_VECTOR);
	case MIX_FP_ADD:
		return (insn->fp & INSN_FP_ADD) != 0;
	case MIX_FP_MUL:
		return (insn->fp & INSN_FP_MUL) != 0;
	case MIX_FP_DIV:
		return (insn->fp & INSN_FP_DIV) != 0;
	case MIX_FP_FMA:
		return insn->fp && has(insn, INSN_FMA);
	case MIX_SIMD_INT:
		return has(insn, INSN_SIMD_INT);
	case MIX_FP_ARITH:
		return fp_arith(kind >> 8, insn);
	case MIX_FLOPS:
		return flops(kind >> 8, insn);
	default:
		return 0;
	}
}

double mix_of_insn(int kind, const struct insn *insn)
{
	switch (kind) {
	case MIX_INSN:
		return 1;
	case MIX_BRANCH:
		return is_branch(insn);
	case MIX_TAKEN: /* all that always jump; conditional ones by their edges */
		return is_branch(insn) && insn->flow != INSN_COND;
	case MIX_COND:
		return insn->flow == INSN_COND;
	case MIX_CALL:
		return insn->flow == INSN_CALL || insn->flow == INSN_CALL_IND;
	case MIX_RETURN:
		return insn->flow == INSN_RET;
	case MIX_INDIRECT:
		return insn->flow == INSN_JUMP_IND || insn->flow == INSN_CALL_IND;
	case MIX_DIRECT:
		return is_direct(insn);
	case MIX_DIRECT_TAKEN:
		return is_direct(insn) && insn->flow != INSN_COND;
	default:
		return of_work(kind, insn);
	}
}

double mix_of_edge(int kind, const struct insn *last, enum flow_edge_kind edge)
{
	/* What is called there is not known, but that it comes back. */
	if (edge == FLOW_SKIP)
		return kind == MIX_RETURN || kind == MIX_TAKEN || kind == MIX_BRANCH;
	if (last->flow != INSN_COND)
		return 0;
	switch (kind) {
	case MIX_TAKEN:
	case MIX_COND_TAKEN:
	case MIX_DIRECT_TAKEN:
		return edge == FLOW_TAKEN;
	case MIX_NOT_TAKEN:
		return edge == FLOW_FALL;
	default:
		return 0;
	}
}
