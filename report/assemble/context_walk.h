/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_CONTEXT_WALK_H
#define SKIDPROF_REPORT_ASSEMBLE_CONTEXT_WALK_H

/* Along paths, with a stack of the calls that they show, below those that a burst's own stack has. */
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "report/assemble/assemble_impl.h"
#include "report/assemble/callers.h"

/* A function below its caller, once whatever it calls itself through.  A tree: callers before callees. */
struct context_node {
	uint32_t parent;            /* UINT32_MAX = not known */
	uint32_t func;              /* profile->funcs: a physical one */
	uint32_t edge;              /* of the call that led here; UINT32_MAX = not known */
	bool inner;                 /* another of its function is above it */
	float calls[CONTEXT_PARTS]; /* that paths show */
};

/* Paths are numbered, and counted by the remainder: so each part is of all times. */
struct context_cell {
	uint32_t node,
	        block; /* the graph's; or n_blocks and the function, of code in none that a burst began in */
	float ran[CONTEXT_PARTS];
	size_t visit; /* 1 + of the path that is followed, or an earlier one */
};

/* How often one path, of number n_paths, went through a cell. */
struct context_visit {
	uint32_t path, cell, n;
};

struct context_edge {
	uint32_t caller, callee;
};

/* One call of a function on the path that is followed. */
struct context_call {
	uint32_t func, parent; /* parent: another call, UINT32_MAX = not known */
	uint32_t node;
	bool entered; /* the path shows the call, not only the return */
};

struct context_step {
	uint32_t call, block;
};

struct context_walk {
	struct assembly *a;
	uint32_t *func_of; /* [graph blocks] 1 + physical function, 0 = not asked for yet */
	struct pairs node_index, cell_index, edge_index;
	VEC(struct context_node) nodes;
	VEC(struct context_cell) cells;
	VEC(struct context_edge) edges;
	VEC(struct context_call) calls; /* these two of one path */
	VEC(struct context_step) steps;
	struct callers callers;
	bool has_callers; /* of bursts */
	struct pairs place_index;
	VEC(uint32_t) places;      /* by it: functions */
	struct pairs jumped_index; /* (block of the call, function of the graph) */
	VEC(size_t) jumped;        /* by it: first of jumped_funcs, up to UINT32_MAX */
	VEC(uint32_t) jumped_funcs;
	VEC(struct profile_hidden) hidden;
	uint32_t n_given;                 /* calls of this path that its stack has */
	uint64_t n_paths, n_stacks;       /* n_stacks: of bursts, whole ones */
	VEC(struct context_visit) visits; /* where bursts have callers; path by path */
};

/* The call in profile->calls, -1 if there is none. */
long context_find_call(const struct profile *p, uint32_t caller, uint32_t callee);

void context_walk_begin(struct context_walk *w, struct assembly *a);
/* Follow one sample's branches. */
void context_walk_add(struct context_walk *w, const struct pd_record *r, bool burst);
void context_walk_end(struct context_walk *w);

#endif
