/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_PEEL_IMPL_H
#define SKIDPROF_CORRECT_FLOW_PEEL_IMPL_H

/* What the rounds (peel.c) and the components (peel_comps.c) of a region that is peeled share. */
#include "correct/flow/peel.h"

#define NONE UINT32_MAX
#define GONE UINT32_MAX /* component of a block that is not in the region any more */

/* The two trees of a component: ways from its root, and to it. */
enum { TO_BLOCK, TO_ROOT, N_TREES };

struct list {
	uint32_t *v;
	size_t n, cap;
};

/* Lists of edges by a block: item[first[b] .. first[b + 1]). */
struct by_block {
	uint32_t *first, *item;
};

struct peel {
	struct shape *s;
	const struct flow_graph *g;
	uint32_t n, m;         /* blocks and edges, numbered among themselves */
	const uint32_t *block; /* [n] of the graph */
	uint32_t *edge;        /* [m] of the graph: those in the region, then SKIP edges that may come in */
	uint32_t *from, *to;   /* [m] */
	uint32_t *call; /* [m] the block of the call that it belongs to; NONE: none, or not in the region */
	uint8_t *on;    /* [m] */
	struct by_block ends[N_TREES]; /* edges by where they lead to, and by where they come from */
	struct by_block calls;         /* by call */
	uint32_t *comp;                /* [n] the root of its component */
	uint32_t *size;                /* [n] of a root's component */
	uint32_t *parent[N_TREES];     /* [n] edge by which a block hangs in the tree, ROOT */
	uint32_t *local;               /* [n] in part_graph() */
	uint8_t *mark, *in_parts;      /* [n] 0 between searches */
	uint8_t *header, *touched;     /* [n] */
	struct list calls_touched;     /* that lost an edge since they were looked at */
	struct list gone;              /* edges taken away in this round, before what follows from that */
	struct list parts;             /* blocks that are cut off in it */
	struct list cut, queue, roots;
	size_t n_away; /* edges by which callees may be left for good */
	bool away;     /* there were some in the last round */
};

static inline const struct flow_edge *graph_edge(const struct peel *p, uint32_t e)
{
	return &p->g->edges[p->edge[e]];
}

static inline bool is_skip(const struct peel *p, uint32_t e)
{
	return graph_edge(p, e)->kind == FLOW_SKIP;
}

static inline bool is_of_call(const struct peel *p, uint32_t e)
{
	return graph_edge(p, e)->kind == FLOW_CALL || graph_edge(p, e)->kind == FLOW_RET;
}

/* Does an edge lie within a component? */
static inline bool is_inside(const struct peel *p, uint32_t e)
{
	return p->on[e] && p->comp[p->from[e]] != GONE && p->comp[p->from[e]] == p->comp[p->to[e]];
}

/* Is there anything that may take more away? */
static inline bool peel_goes_on(const struct peel *p)
{
	return p->calls_touched.n || (p->away && !p->n_away);
}

/* A call that is to be looked at in the next round; NONE is none. */
void peel_touch(struct peel *p, uint32_t call);
/* An edge goes for good, and its call will be looked at. */
void peel_take_away(struct peel *p, uint32_t e);

/* Blocks that edges in p->gone cut off from their component become p->parts. */
void peel_cut(struct peel *p);
/* Each component of p->parts stands for itself from now on, or goes, and with it what leads there. */
void peel_settle(struct peel *p);

#endif
