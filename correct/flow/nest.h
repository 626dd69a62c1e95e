/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_NEST_H
#define SKIDPROF_CORRECT_FLOW_NEST_H

/*
 * The graph seen "downwards": calls lead into callees, and over them to the
 * block after the call (SKIP), but no return leads back.  Its strongly
 * connected components are the outermost loops: within one function (with
 * what it jumps to), or through the CALL edges of a recursion.
 */
#include "correct/flow/graph.h"

struct nest_view { /* a part of the graph */
	const struct flow_graph *g;
	const uint8_t *block_in; /* [n_blocks] */
	const uint8_t *edge_in;  /* [n_edges] SKIP edges count always */
	const uint8_t *closed;   /* [n_blocks] edges to these blocks are taken away */
};

struct nest {
	uint32_t *off, *to; /* [n_blocks + 1], downward edges */
	uint32_t *edge;     /* graph edge of each */
	uint32_t *comp;     /* [n_blocks]; edges between components go to smaller numbers */
	uint32_t n_comps;
	uint32_t *first;    /* [n_comps + 1] members of a component: member[first[c] .. first[c + 1]] */
	uint32_t *member;   /* [n_blocks] */
	uint8_t *loop;      /* [n_comps] it can repeat */
	uint8_t *recursive; /* [n_comps] it holds a CALL edge */
	uint32_t *queue;    /* [n_blocks] for nest_header */
	uint8_t *queued;    /* [n_blocks] the same */
};

int nest_find(const struct nest_view *view, struct nest *out);
void nest_fini(struct nest *n);

/*
 * The block a loop is entered at; the first one where there are several
 * (*several out: the loop is irreducible, unless it is a recursion).  Where no
 * entry is in the view the code of its function tells it, which costs a walk.
 */
uint32_t nest_header(const struct nest_view *view, const struct nest *n, uint32_t comp, bool *several);

/* A loop of the view, or one inside it at any depth, has several entries. 0, 1 or -SP_ENOMEM. */
int nest_irreducible(const struct nest_view *view);

#endif
