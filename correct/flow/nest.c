/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/nest.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/scc.h"
#include "profiler/base/mem.h"

void nest_room_init(struct nest_room *room, size_t n_blocks)
{
	room->vertex = mem_calloc(n_blocks + 1, sizeof(*room->vertex));
	room->queue = mem_calloc(n_blocks + 1, sizeof(*room->queue));
	room->queued = mem_calloc(n_blocks + 1, 1);
}

void nest_room_fini(struct nest_room *room)
{
	free(room->vertex);
	free(room->queue);
	free(room->queued);
	*room = (struct nest_room){ 0 };
}

/* Vertices are numbered, and their edges counted: room for these may be more than what leads downward among them. */
static void allocate(const struct nest_view *v, struct nest *n)
{
	size_t n_edges = 0;

	for (uint32_t i = 0; i < n->n; i++) {
		n->room->vertex[n->block[i]] = i + 1;
		n_edges += v->g->blocks[n->block[i]].n_out;
	}
	n->off = mem_calloc((size_t)n->n + 2, sizeof(*n->off));
	n->to = mem_calloc(n_edges + 1, sizeof(*n->to));
	n->edge = mem_calloc(n_edges + 1, sizeof(*n->edge));
	n->comp = mem_calloc((size_t)n->n + 1, sizeof(*n->comp));
	n->first = mem_calloc((size_t)n->n + 2, sizeof(*n->first));
	n->member = mem_calloc((size_t)n->n + 1, sizeof(*n->member));
	n->loop = mem_calloc((size_t)n->n + 1, 1);
	n->recursive = mem_calloc((size_t)n->n + 1, 1);
}

static void list_members(struct nest *n)
{
	for (uint32_t i = 0; i < n->n; i++)
		n->first[n->comp[i] + 1]++;
	for (uint32_t c = 0; c < n->n_comps; c++)
		n->first[c + 1] += n->first[c];
	for (uint32_t i = n->n; i-- > 0;)
		n->member[n->first[n->comp[i]]++] = n->block[i];
	for (uint32_t c = n->n_comps; c > 0; c--)
		n->first[c] = n->first[c - 1];
	if (n->n_comps)
		n->first[0] = 0;
}

static void judge_comps(const struct flow_graph *g, struct nest *n)
{
	for (uint32_t i = 0; i < n->n; i++) {
		for (uint32_t k = n->off[i]; k < n->off[i + 1]; k++) {
			if (n->comp[n->to[k]] != n->comp[i])
				continue;
			n->loop[n->comp[i]] = 1;
			if (g->edges[n->edge[k]].kind == FLOW_CALL)
				n->recursive[n->comp[i]] = 1;
		}
	}
}

static void list_edges(const struct nest_view *v, struct nest *n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n->n; i++) {
		const struct flow_block *b = &v->g->blocks[n->block[i]];

		n->off[i] = at;
		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			uint32_t to = n->room->vertex[v->g->edges[e].to];

			if (!to || !nest_downward(v, e))
				continue;
			n->edge[at] = e;
			n->to[at++] = to - 1;
		}
	}
	n->off[n->n] = at;
}

void nest_find(const struct nest_view *v, struct nest *out)
{
	struct nest n = { .block = v->blocks, .n = (uint32_t)v->n_listed, .room = v->room };

	allocate(v, &n);
	list_edges(v, &n);
	scc_find(&(struct scc_graph){ .n = n.n, .off = n.off, .to = n.to }, n.comp, &n.n_comps);
	list_members(&n);
	judge_comps(v->g, &n);
	*out = n;
}

void nest_drop_edges(struct nest *n)
{
	free(n->off);
	free(n->to);
	free(n->edge);
	n->off = n->to = n->edge = NULL;
}

void nest_fini(struct nest *n)
{
	for (uint32_t i = 0; i < n->n; i++)
		n->room->vertex[n->block[i]] = 0;
	nest_drop_edges(n);
	free(n->comp);
	free(n->first);
	free(n->member);
	free(n->loop);
	free(n->recursive);
	*n = (struct nest){ 0 };
}

static bool is_entry(const struct nest_view *v, const struct nest *n, uint32_t block)
{
	const struct flow_graph *g = v->g;
	const struct flow_block *b = &g->blocks[block];

	if (g->n_funcs && g->funcs[b->func].entry == block)
		return true;
	for (uint32_t i = b->in0; i < b->in0 + b->n_in; i++) {
		uint32_t e = g->in[i];

		if (nest_downward(v, e) && nest_comp(n, g->edges[e].from) != nest_comp(n, block))
			return true;
	}
	return false;
}

/* The first block of the loop that the code leads to from the function's entry, whether in the view or not; or `header`. */
static uint32_t entered_first(const struct nest_view *v, const struct nest *n, uint32_t comp, uint32_t header)
{
	const struct flow_graph *g = v->g;
	uint32_t func = g->blocks[header].func, n_queued = 0;
	uint32_t *queue = n->room->queue;
	uint8_t *queued = n->room->queued;
	bool found = false;

	if (func >= g->n_funcs)
		return header;
	queue[n_queued++] = g->funcs[func].entry;
	queued[g->funcs[func].entry] = 1;
	for (uint32_t i = 0; i < n_queued && !found; i++) {
		const struct flow_block *b = &g->blocks[queue[i]];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out && !found; e++) {
			uint32_t to = g->edges[e].to;

			if (g->edges[e].kind == FLOW_CALL || g->edges[e].kind == FLOW_RET ||
			    g->blocks[to].func != func || queued[to])
				continue;
			queue[n_queued++] = to;
			queued[to] = 1;
			found = nest_comp(n, to) == comp;
		}
	}
	if (found)
		header = queue[n_queued - 1];
	for (uint32_t i = 0; i < n_queued; i++)
		queued[queue[i]] = 0;
	return header;
}

uint32_t nest_header(const struct nest_view *v, const struct nest *n, uint32_t comp)
{
	for (uint32_t i = n->first[comp]; i < n->first[comp + 1]; i++)
		if (!v->closed[n->member[i]] && is_entry(v, n, n->member[i]))
			return n->member[i];
	/* A loop that was come to once may be on record, and the way to it not. */
	return entered_first(v, n, comp, n->member[n->first[comp]]);
}
