/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_EVENTS_H
#define SKIDPROF_CORRECT_RECORDING_EVENTS_H

/*
 * What a counted event says about instructions: for events whose count is architectural, which retired instructions they count
 * (a_ki of eq. 6). One table, from event names and generic perf events.
 */
#include "correct/flow/graph.h"
#include "profiler/binary/insn.h"

enum mix_kind {
	MIX_NONE, /* speculative, microarchitectural or unknown: says nothing exact */
	MIX_INSN,
	MIX_CYCLES,
	MIX_BRANCH,    /* every branch, call and return */
	MIX_TAKEN,     /* those taken */
	MIX_NOT_TAKEN, /* conditional, not taken */
	MIX_COND,      /* conditional branches */
	MIX_COND_TAKEN,
	MIX_CALL,
	MIX_RETURN,
	MIX_INDIRECT, /* indirect jumps and calls, returns not included */
	MIX_DIRECT,   /* branches whose target stands in them, taken or not */
	MIX_DIRECT_TAKEN,
	MIX_LOAD,
	MIX_STORE,
	MIX_MEMORY, /* loads or stores; what does both counts once */
	MIX_LOCK,   /* atomic read-modify-write */
	MIX_NOP,
	MIX_FP_SCALAR,
	MIX_FP_VECTOR,
	MIX_FP_ADD, /* instructions, of whatever width, x87 not included */
	MIX_FP_MUL,
	MIX_FP_DIV, /* square roots, too */
	MIX_FP_FMA,
	MIX_SIMD_INT, /* any other work on vector registers */
	/*
	 * Intel's FP_ARITH_INST_RETIRED: instructions by precision and width, those that do two operations an
	 * element twice.  Bits 8 to 15 are the event's mask.
	 */
	MIX_FP_ARITH = 0x40,
	/* AMD's retired floating-point operations of SSE and AVX.  Bits 8 to 11 are the event's mask. */
	MIX_FLOPS = 0x41,
	MIX_KIND_BITS = 0xff,
};

/*
 * The kind of an event, with its mask where it has one.  name as perf or libpfm4 prints it ("branches:u",
 * "cpu_core/BR_INST_RETIRED.NEAR_TAKEN/u", "skl::BR_INST_RETIRED:NEAR_TAKEN:u=1", "r0141"); cpuid tells whose codes a raw event
 * has; NULL if not recorded.
 */
int mix_kind_of(const char *name, uint32_t type, uint64_t config, const char *cpuid);

/* Executions of an instruction count this often, wherever it goes next. */
double mix_of_insn(int kind, const struct insn *insn);

/* What depends on where a block's last instruction goes: counted once for each traversal of an edge of that kind. */
double mix_of_edge(int kind, const struct insn *last, enum flow_edge_kind edge);

#endif
