/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_EVENTS_H
#define SKIDPROF_CORRECT_EVIDENCE_EVENTS_H

/*
 * What a counted event says about instructions: for events whose count is
 * architectural, which retired instructions they count (a_ki of eq. 8).
 * One table, from event names and generic perf events.
 */
#include "correct/binary/insn.h"
#include "correct/flow/graph.h"

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
	MIX_LOAD,
	MIX_STORE,
	MIX_FP_SCALAR,
	MIX_FP_VECTOR,
};

/*
 * The kind of an event.  name as perf prints it ("branches:u",
 * "cpu_core/BR_INST_RETIRED.NEAR_TAKEN/u", "r0141"); cpuid tells whose codes
 * a raw event has; NULL if not recorded.
 */
enum mix_kind mix_kind_of(const char *name, uint32_t type, uint64_t config, const char *cpuid);

/* Executions of an instruction count this often, wherever it goes next. */
double mix_of_insn(enum mix_kind kind, const struct insn *insn);

/*
 * What depends on where a block's last instruction goes: counted once for
 * each traversal of an edge of that kind.
 */
double mix_of_edge(enum mix_kind kind, const struct insn *last, enum flow_edge_kind edge);

#endif
