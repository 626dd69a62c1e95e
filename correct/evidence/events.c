/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/events.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

/*
 * Names are compared without case, PMU prefix and modifiers; '.', '_' and
 * '-' are the same.  Only events that count retired instructions exactly
 * stand here: on AMD ex_ret_*, on Arm the *_RETIRED ones (BR_PRED, LD_SPEC
 * and their like are speculative and left out on purpose).
 */
static const struct {
	const char *name;
	enum mix_kind kind;
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
	/* Intel */
	{ "inst-retired.any", MIX_INSN },
	{ "inst-retired.any-p", MIX_INSN },
	{ "inst-retired.prec-dist", MIX_INSN },
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
	{ "mem-uops-retired.all-loads", MIX_LOAD },
	{ "mem-uops-retired.all-stores", MIX_STORE },
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
	/* Arm */
	{ "inst-retired", MIX_INSN },
	{ "br-retired", MIX_BRANCH },
	{ "br-return-retired", MIX_RETURN },
	{ "pc-write-retired", MIX_TAKEN },
	{ "ld-retired", MIX_LOAD },
	{ "st-retired", MIX_STORE },
};

/* Raw codes by vendor: event | umask << 8 on x86, event numbers on Arm (whose cpuid is the MIDR, "0x..."). */
static const struct {
	const char *cpuid;
	uint64_t config;
	enum mix_kind kind;
} codes[] = {
	{ "GenuineIntel", 0x00c0, MIX_INSN },
	{ "GenuineIntel", 0x003c, MIX_CYCLES },
	{ "GenuineIntel", 0x00c4, MIX_BRANCH },
	{ "GenuineIntel", 0x20c4, MIX_TAKEN },
	{ "GenuineIntel", 0x81d0, MIX_LOAD },
	{ "GenuineIntel", 0x82d0, MIX_STORE },
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
	{ "0x", 0x0e, MIX_RETURN },
	{ "0x", 0x06, MIX_LOAD },
	{ "0x", 0x07, MIX_STORE },
};

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

/* The bare event name inside "cpu_core/NAME/ppu" or "NAME:u". */
static void bare_name(const char *name, const char **begin, const char **end)
{
	const char *slash = strchr(name, '/'), *colon;

	if (slash && slash[1]) {
		*begin = slash + 1;
		*end = strpbrk(*begin, "/,");
		if (!*end)
			*end = *begin + strlen(*begin);
		return;
	}
	*begin = name;
	*end = name + strlen(name);
	/* libpfm4 writes umasks after ':' too: only a tail of modifiers is cut. */
	colon = strrchr(name, ':');
	if (colon && strspn(colon + 1, "ukhpPGHSDeIWb") == strlen(colon + 1))
		*end = colon;
}

static enum mix_kind kind_of_generic(uint64_t config)
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

enum mix_kind mix_kind_of(const char *name, uint32_t type, uint64_t config, const char *cpuid)
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
	for (size_t i = 0; cpuid && type == PERF_TYPE_RAW && i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strncmp(cpuid, codes[i].cpuid, strlen(codes[i].cpuid)) == 0 && config == codes[i].config)
			return codes[i].kind;
	return MIX_NONE;
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

double mix_of_insn(enum mix_kind kind, const struct insn *insn)
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
	case MIX_LOAD:
		return (insn->flags & INSN_LOAD) != 0;
	case MIX_STORE:
		return (insn->flags & INSN_STORE) != 0;
	case MIX_FP_SCALAR:
		return (insn->flags & INSN_FP_SCALAR) != 0;
	case MIX_FP_VECTOR:
		return (insn->flags & INSN_FP_VECTOR) != 0;
	default:
		return 0;
	}
}

double mix_of_edge(enum mix_kind kind, const struct insn *last, enum flow_edge_kind edge)
{
	if (last->flow != INSN_COND)
		return 0;
	switch (kind) {
	case MIX_TAKEN:
	case MIX_COND_TAKEN:
		return edge == FLOW_TAKEN;
	case MIX_NOT_TAKEN:
		return edge == FLOW_FALL;
	default:
		return 0;
	}
}
