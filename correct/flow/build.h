/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_BUILD_H
#define SKIDPROF_CORRECT_FLOW_BUILD_H

/*
 * Inside flow_build: what is known while code is being explored.  First instructions are found by following control flow
 * (explore.c), indirect targets by reading jump tables (table.c) or by guessing (guess.c); then they are cut into blocks
 * (cut.c), and the calls get their returns (returns.c).  Only this folder includes it.
 */
#include "correct/flow/graph.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "profiler/binary/insn_form.h"

#define FLOW_NONE UINT32_MAX

enum {
	FLOW_MAX_DEPTH = 8,           /* calls from a hot function down into cold ones */
	FLOW_MAX_COLD_INSNS = 400000, /* decoded in functions without samples */
	FLOW_SMALL_COLD_INSNS = 256,  /* with all it calls; larger cold callees are skipped */
	FLOW_MAX_EDGES = 8000000,
};

struct flow_node { /* an instruction that was reached */
	struct insn insn;
	uint32_t module;
	uint32_t fn;                   /* that first reached it */
	uint32_t fall_prev, jump_prev; /* an instruction before it, FLOW_NONE if none */
	uint32_t link0;                /* head of its list of links, FLOW_NONE if none */
	bool leader : 1;
	bool falls : 1;      /* after a call: what follows is the same function */
	bool unresolved : 1; /* indirect, and neither code nor branch records tell a target */
	bool unknown : 1;    /* the same, and not even a guess */
	bool noreturn : 1;   /* a call or jump to a function known by name not to return */
	bool away : 1;       /* all its links are */
};

struct flow_link {     /* a jump or call to an address */
	uint32_t from; /* node */
	uint32_t next; /* link of the same node */
	uint64_t to_vaddr;
	uint32_t to_module;
	uint8_t kind; /* TAKEN, IND, CALL */
	bool guessed;
	bool away; /* into the middle of another function, as longjmp(3) and a caught exception are: it returns nowhere */
};

struct flow_fn {                   /* a function to decode: the target of a call, or hot */
	uint64_t vaddr, end_vaddr; /* end by its symbol; vaddr if there is none */
	uint32_t module;
	uint32_t depth; /* calls away from a hot function */
	/* returns.c: */
	uint32_t entry;        /* block, FLOW_NONE if not decoded */
	uint32_t ret0, n_rets; /* rets[ret0..]: returning blocks */
	bool hot : 1;
	bool ran : 1; /* it has no samples, but branch records show that it was entered */
	bool started : 1;
	bool returns : 1, cut : 1, reached : 1; /* returns.c */
};

struct flow_ifunc {    /* a call or jump that an IFUNC resolver directs */
	uint32_t from; /* node */
	uint32_t module;
	uint64_t resolver_vaddr;
	bool done;
};

struct flow_work { /* an address to go on decoding at */
	uint64_t vaddr;
	uint32_t from; /* node that jumps there */
};

struct flow_cut { /* a block being built: nodes order[node0 .. + n] */
	uint32_t node0, n;
	uint32_t fall;   /* block that follows, FLOW_NONE */
	uint32_t id;     /* in the graph */
	bool site : 1;   /* ends in a call */
	bool leaves : 1; /* ends in a jump out of what was decoded: it returns for us */
	bool ret : 1;
	bool alive : 1, warm : 1;
	bool seen : 1;   /* a sample or a branch of it was */
	bool landed : 1; /* a jump away was seen to lead to it */
};

/* Instructions by address: nodes follow one another as addresses do, and so do look-ups. */
enum { FLOW_PAGE = 256 };

struct flow_page {
	uint32_t node[FLOW_PAGE]; /* 1 + node, 0 = none */
};

struct flow_build {
	const struct flow_input *in;
	struct insn_decoder *decoders[ISA_AARCH64 + 1];
	VEC(struct flow_node) nodes;
	VEC(struct flow_link) links;
	VEC(struct flow_fn) fns;
	VEC(struct flow_ifunc) ifuncs;
	struct flow_seen *seen;    /* a copy, sorted by from */
	struct flow_seen *seen_to; /* and one sorted by to */
	VEC(struct flow_work) work;
	VEC(uint32_t) pending;    /* indirect jumps not looked at yet */
	VEC(uint32_t) unresolved; /* those of which nothing tells a target, ascending */
	VEC(uint64_t) tables;     /* addresses of jump tables found, any module */
	struct pairs fn_at;       /* (module, vaddr) */
	struct pairs page_at;     /* (module, vaddr / FLOW_PAGE) */
	VEC(struct flow_page) pages;
	uint32_t next_fn;
	size_t n_cold_insns;
	/* cut.c, returns.c: */
	VEC(uint32_t) order; /* nodes by (module, vaddr) */
	VEC(struct flow_cut) cuts;
	uint32_t *cut_of_node; /* [nodes.n] */
	VEC(uint32_t) succ;    /* jumps and falls of block i: succ[succ0[i] .. succ0[i + 1]] */
	uint32_t *succ0;       /* [cuts.n + 1] */
	uint32_t *stamp;       /* [cuts.n] for searches */
	uint32_t stamp_now;
	VEC(uint32_t) stack;
	VEC(uint32_t) rets;
};

/* explore.c */
void flow_explore(struct flow_build *b); /* until nothing is left to follow */
void flow_fn_add(struct flow_build *b, uint32_t module, uint64_t vaddr, uint32_t depth);
void flow_link_add(struct flow_build *b, const struct flow_link *link); /* and follow it */
bool flow_is_code(const struct flow_build *b, uint32_t module, uint64_t vaddr);
/* The slot's symbol or address becomes a target of the node.  False: there is no such slot. */
bool flow_slot_follow(struct flow_build *b, uint32_t node, uint64_t slot);
/* Function symbol that an address is in: .cold parts count as their function. NULL if none. */
const struct module_func *flow_symbol_at(const struct flow_build *b, uint32_t module, uint64_t vaddr);
void flow_node_form(struct flow_build *b, uint32_t node, struct insn_form *out);
size_t flow_hot_from(const struct flow_build *b, uint32_t module,
                     uint64_t vaddr); /* the first of b->in->hot from there on */
bool flow_hot_within(const struct flow_build *b, uint32_t module, uint64_t vaddr, uint64_t end_vaddr);

/* table.c: targets of an indirect jump, by reading code and tables.  Whether there are any. */
bool flow_table_follow(struct flow_build *b, uint32_t node);

/* guess.c: targets from branch records (at once), and from samples (when all else is followed). */
void flow_seen_index(struct flow_build *b);                                     /* before all else */
bool flow_seen_follow(struct flow_build *b, uint32_t node);                     /* whether there are any */
bool flow_seen_to(const struct flow_build *b, uint32_t module, uint64_t vaddr); /* it was branched to */
/* A branch in [vaddr, end_vaddr) was seen. */
bool flow_seen_within(const struct flow_build *b, uint32_t module, uint64_t vaddr, uint64_t end_vaddr);
bool flow_guess(struct flow_build *b); /* whether there is more to follow */
void flow_guess_calls(struct flow_build *b);

/* cut.c, returns.c, assemble.c */
void flow_cut_blocks(struct flow_build *b);
void flow_find_returns(struct flow_build *b);
/* Sort a graph's edges, each once, and fill in out0, in0 and `in`. */
void flow_index_edges(struct flow_graph *g);
/* Once the returns are found. */
struct flow_fn *flow_callee(const struct flow_build *b, const struct flow_link *l); /* NULL: not decoded */
const struct flow_node *flow_last_node(const struct flow_build *b, const struct flow_cut *cut);
bool flow_call_returns(const struct flow_build *b, const struct flow_cut *cut);
/* All but the order of the edges; b is only to be freed then. */
int flow_assemble(struct flow_build *b, struct flow_graph *g);
/* cold_calls.c, once it is known what is alive */
void flow_find_cold_calls(const struct flow_build *b, struct flow_graph *g);
/* The instruction decoded at an address, and the function that begins there; FLOW_NONE: none. */
static inline uint32_t flow_node_at(const struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	long page = pairs_find(&b->page_at, module, vaddr / FLOW_PAGE);

	return page < 0 ? FLOW_NONE : b->pages.v[page].node[vaddr % FLOW_PAGE] - 1;
}

static inline uint32_t flow_fn_at(const struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	return (uint32_t)pairs_find(&b->fn_at, module, vaddr);
}

static inline bool flow_is_call(const struct insn *i)
{
	return i->flow == INSN_CALL || i->flow == INSN_CALL_IND;
}

#endif
