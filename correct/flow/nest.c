/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/nest.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/scc.h"
#include "profiler/base/err.h"

static bool downward(const struct nest_view *v, uint32_t edge)
{
	const struct flow_edge *e = &v->g->edges[edge];

	return e->kind != FLOW_RET && v->block_in[e->from] && v->block_in[e->to] && !v->closed[e->to] &&
	       (e->kind == FLOW_SKIP || v->edge_in[edge]);
}

static int allocate(const struct nest_view *v, struct nest *n)
{
	size_t n_blocks = v->g->n_blocks, n_edges = v->g->n_edges;

	n->off = calloc(n_blocks + 2, sizeof(*n->off));
	n->to = calloc(n_edges + 1, sizeof(*n->to));
	n->edge = calloc(n_edges + 1, sizeof(*n->edge));
	n->comp = calloc(n_blocks + 1, sizeof(*n->comp));
	n->first = calloc(n_blocks + 2, sizeof(*n->first));
	n->member = calloc(n_blocks + 1, sizeof(*n->member));
	n->loop = calloc(n_blocks + 1, 1);
	n->recursive = calloc(n_blocks + 1, 1);
	n->queue = calloc(n_blocks + 1, sizeof(*n->queue));
	n->queued = calloc(n_blocks + 1, 1);
	if (n->off && n->to && n->edge && n->comp && n->first && n->member && n->loop && n->recursive &&
	    n->queue && n->queued)
		return 0;
	return sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", n_blocks);
}

static void list_members(const struct flow_graph *g, struct nest *n)
{
	for (uint32_t i = 0; i < g->n_blocks; i++)
		n->first[n->comp[i] + 1]++;
	for (uint32_t c = 0; c < n->n_comps; c++)
		n->first[c + 1] += n->first[c];
	for (uint32_t i = (uint32_t)g->n_blocks; i-- > 0;)
		n->member[n->first[n->comp[i]]++] = i;
	for (uint32_t c = n->n_comps; c > 0; c--)
		n->first[c] = n->first[c - 1];
	if (n->n_comps)
		n->first[0] = 0;
}

static void judge_comps(const struct flow_graph *g, struct nest *n)
{
	for (uint32_t i = 0; i < g->n_blocks; i++) {
		for (uint32_t k = n->off[i]; k < n->off[i + 1]; k++) {
			if (n->comp[n->to[k]] != n->comp[i])
				continue;
			n->loop[n->comp[i]] = 1;
			if (g->edges[n->edge[k]].kind == FLOW_CALL)
				n->recursive[n->comp[i]] = 1;
		}
	}
}

int nest_find(const struct nest_view *v, struct nest *out)
{
	const struct flow_graph *g = v->g;
	struct nest n = { 0 };
	struct scc_graph graph;
	uint32_t at = 0;
	int err = allocate(v, &n);

	if (err == 0) {
		for (uint32_t i = 0; i < g->n_blocks; i++) {
			n.off[i] = at;
			for (uint32_t e = g->blocks[i].out0; e < g->blocks[i].out0 + g->blocks[i].n_out;
			     e++) {
				if (!downward(v, e))
					continue;
				n.edge[at] = e;
				n.to[at++] = g->edges[e].to;
			}
		}
		n.off[g->n_blocks] = at;
		graph = (struct scc_graph){ .n = (uint32_t)g->n_blocks, .off = n.off, .to = n.to };
		err = scc_find(&graph, n.comp, &n.n_comps);
	}
	if (err < 0) {
		nest_fini(&n);
		return err;
	}
	list_members(g, &n);
	judge_comps(g, &n);
	*out = n;
	return 0;
}

void nest_fini(struct nest *n)
{
	free(n->off);
	free(n->to);
	free(n->edge);
	free(n->comp);
	free(n->first);
	free(n->member);
	free(n->loop);
	free(n->recursive);
	free(n->queue);
	free(n->queued);
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

		if (downward(v, e) && n->comp[g->edges[e].from] != n->comp[block])
			return true;
	}
	return false;
}

/* The first block of the loop that the code leads to from the function's entry, whether in the view or not; or `header`. */
static uint32_t entered_first(const struct nest_view *v, const struct nest *n, uint32_t comp, uint32_t header)
{
	const struct flow_graph *g = v->g;
	uint32_t func = g->blocks[header].func, n_queued = 0;
	bool found = false;

	if (func >= g->n_funcs)
		return header;
	n->queue[n_queued++] = g->funcs[func].entry;
	n->queued[g->funcs[func].entry] = 1;
	for (uint32_t i = 0; i < n_queued && !found; i++) {
		const struct flow_block *b = &g->blocks[n->queue[i]];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out && !found; e++) {
			uint32_t to = g->edges[e].to;

			if (g->edges[e].kind == FLOW_CALL || g->edges[e].kind == FLOW_RET ||
			    g->blocks[to].func != func || n->queued[to])
				continue;
			n->queue[n_queued++] = to;
			n->queued[to] = 1;
			found = n->comp[to] == comp;
		}
	}
	if (found)
		header = n->queue[n_queued - 1];
	for (uint32_t i = 0; i < n_queued; i++)
		n->queued[n->queue[i]] = 0;
	return header;
}

uint32_t nest_header(const struct nest_view *v, const struct nest *n, uint32_t comp, bool *several)
{
	uint32_t header = n->member[n->first[comp]], n_entries = 0;

	for (uint32_t i = n->first[comp]; i < n->first[comp + 1]; i++) {
		if (v->closed[n->member[i]] || !is_entry(v, n, n->member[i]))
			continue;
		if (n_entries++ == 0)
			header = n->member[i];
	}
	*several = n_entries > 1;
	/* A loop that was come to once may be on record, and the way to it not. */
	return n_entries ? header : entered_first(v, n, comp, header);
}

/* One level: close the headers of all loops. Returns 1 when some loop has several entries. */
static int close_level(const struct nest_view *v, uint8_t *closed, uint32_t *n_loops)
{
	struct nest n;
	bool several = false;
	int err = nest_find(v, &n);

	*n_loops = 0;
	if (err < 0)
		return err;
	for (uint32_t c = 0; c < n.n_comps && err == 0; c++) {
		bool more = false;

		if (!n.loop[c])
			continue;
		++*n_loops;
		closed[nest_header(v, &n, c, &more)] = 1;
		several |= more && !n.recursive[c];
	}
	nest_fini(&n);
	return several;
}

enum { MAX_LEVELS = 64 };

int nest_irreducible(const struct nest_view *view)
{
	size_t n_blocks = view->g->n_blocks;
	uint8_t *closed = malloc(n_blocks + 1);
	struct nest_view v = *view;
	uint32_t n_loops = 1;
	int found = 0;

	if (!closed)
		return sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", n_blocks);
	memcpy(closed, view->closed, n_blocks);
	v.closed = closed;
	for (unsigned level = 0; level < MAX_LEVELS && n_loops && found == 0; level++)
		found = close_level(&v, closed, &n_loops);
	free(closed);
	return found;
}
