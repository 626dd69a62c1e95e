/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_GRAPH_H
#define SKIDPROF_CORRECT_FLOW_GRAPH_H

/*
 * The control flow of all code that matters for a recording: basic blocks of several modules, and edges between them, calls and
 * returns included. Ids are indices; blocks are sorted by (module, vaddr).
 */
#include "profiler/binary/module.h"

enum flow_edge_kind {
	FLOW_FALL, /* to the next block in memory: behind a branch that is not taken, or because a jump leads there */
	FLOW_TAKEN, /* a direct jump or a taken conditional branch */
	FLOW_IND,   /* an indirect jump: jump table, PLT, tail call through a pointer */
	FLOW_CALL,  /* call block -> entry of the callee */
	FLOW_RET,   /* returning block of the callee -> block after the call */
	FLOW_SKIP,  /* call block -> block after the call, over a callee whose instructions are not
			counted: unknown, not decoded, or outside the region.  Every call that can
			return has one; a region holds it only when some callee is not in the region */
};

struct flow_edge {
	uint32_t from, to; /* blocks */
	uint8_t kind;      /* enum flow_edge_kind */
	bool guessed;      /* target not proven: from samples, an ifunc, a name */
	bool away; /* IND: into the middle of another function, as by longjmp(3): calls between the two never return */
	uint32_t call; /* CALL, RET, SKIP: the call block the edge belongs to */
	/* SKIP: the fewest instructions that a call runs in a callee that was left out, as it is large and has no samples; 0 if none was. */
	uint32_t cut_insn;
};

struct flow_block {
	uint64_t vaddr, end_vaddr; /* [vaddr, end) */
	uint32_t module;
	uint32_t func;        /* index into the graph's functions */
	uint32_t insn0;       /* graph->insns[insn0 .. + n_insn] */
	uint32_t out0, n_out; /* graph->edges[out0 ..], the block's own */
	uint32_t in0, n_in;   /* graph->in[in0 ..] are edge ids that end here */
	uint32_t n_insn : 30;
	bool unknown_target : 1; /* ends in an indirect jump or call with targets we could not tell */
	bool undecoded : 1;      /* holds an instruction capstone does not know */
};

struct flow_func { /* a function that was decoded */
	uint32_t module;
	uint32_t entry; /* block */
	uint64_t vaddr;
	uint32_t block0, n_blocks; /* of this function's own blocks: graph->func_blocks[block0 ..] */
	bool returns;              /* has a reachable return */
};

/* A call of a function, from code or to code that is not in the graph: from what instruction, to what entry. */
struct flow_cold_call {
	uint32_t from_module, to_module;
	uint64_t from_vaddr, to_vaddr;
	/* The caller, or the callee, is not known to have run, and calls through a pointer to anywhere. */
	bool from_points, to_points;
};

struct flow_graph {
	struct insn *insns;
	size_t n_insns;
	struct flow_block *blocks;
	size_t n_blocks;
	struct flow_edge *edges; /* sorted by from */
	size_t n_edges;
	uint32_t *in; /* [n_edges] edge ids sorted by to */
	struct flow_func *funcs;
	size_t n_funcs;
	uint32_t *func_blocks;             /* [n_blocks] */
	struct flow_cold_call *cold_calls; /* from which code that ran may be come to */
	size_t n_cold_calls;
};

/* An address with samples.  Arrays of them are sorted by (module, vaddr) and have each address once. */
struct flow_hot {
	uint32_t module;
	uint64_t vaddr;
	double weight; /* any measure of heat: samples */
};

/* A control transfer that was seen (branch records): targets of indirect branches come from here. */
struct flow_seen {
	uint32_t from_module, to_module;
	uint64_t from_vaddr, to_vaddr;
	uint64_t n;
};

struct flow_input {
	struct module *const *modules; /* [n_modules]; only MODULE_OK ones are decoded */
	size_t n_modules;
	const struct flow_hot *hot;
	size_t n_hot;
	const struct flow_seen *seen; /* may be NULL */
	size_t n_seen;
};

/*
 * Decode every function that holds a sample or a branch of `seen` and, from there, what it calls (direct calls, PLT slots through
 * the dynamic symbols of the other modules) and what calls it among functions already decoded.  Indirect jumps take targets from
 * jump tables that can be read, then from `seen`, then from the samples (an entry or a block that is hot and reached by nothing
 * else: guessed). Returns 0, or what a decoder can't be made by.
 */
int flow_build(const struct flow_input *in, struct flow_graph **out);
void flow_free(struct flow_graph *g);

/* The block that holds an address, -1 if none. */
long flow_block_at(const struct flow_graph *g, uint32_t module, uint64_t vaddr);

#endif
