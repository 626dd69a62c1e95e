/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/ran.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"

/* A run's blocks are neighbours: blocks are in address order. */
static void mark_run(const struct flow_graph *g, long first, long last, uint8_t *block, uint8_t *edge)
{
	for (long b = first; b <= last; b++) {
		const struct flow_block *at = &g->blocks[b];

		block[b] = 1;
		for (uint32_t i = at->out0; i < at->out0 + at->n_out && b < last; i++)
			if (g->edges[i].to == (uint32_t)b + 1 &&
			    (g->edges[i].kind == FLOW_FALL || g->edges[i].kind == FLOW_SKIP))
				edge[i] = 1;
	}
}

static void mark_branch(const struct flow_graph *g, long from, long to, double n, struct flow_ran *ran)
{
	const struct flow_block *at = &g->blocks[from];

	ran->block[from] = ran->block[to] = 1;
	for (uint32_t i = at->out0; i < at->out0 + at->n_out; i++)
		if (g->edges[i].to == (uint32_t)to) {
			ran->edge[i] = 1;
			ran->taken[i] += n;
		}
}

void flow_ran_find(const struct flow_graph *g, const struct flow_seen *seen, size_t n_seen,
                   const struct flow_seen *runs, size_t n_runs, struct flow_ran *out)
{
	uint8_t *block = mem_calloc(g->n_blocks + 1, 1), *edge = mem_calloc(g->n_edges + 1, 1);

	*out = (struct flow_ran){ block, edge, mem_calloc(g->n_edges + 1, sizeof(*out->taken)) };
	for (size_t i = 0; i < n_seen; i++) {
		long from = flow_block_at(g, seen[i].from_module, seen[i].from_vaddr);
		long to = flow_block_at(g, seen[i].to_module, seen[i].to_vaddr);

		if (from >= 0 && to >= 0)
			mark_branch(g, from, to, (double)seen[i].n, out);
	}
	for (size_t i = 0; i < n_runs; i++) {
		long first = flow_block_at(g, runs[i].from_module, runs[i].from_vaddr);
		long last = flow_block_at(g, runs[i].to_module, runs[i].to_vaddr);

		if (first >= 0 && last >= first && runs[i].from_module == runs[i].to_module)
			mark_run(g, first, last, block, edge);
	}
	/* A call that no target is known for is passed over: it ran if its block did. */
	for (size_t b = 0; b < g->n_blocks; b++)
		for (uint32_t i = g->blocks[b].out0; block[b] && i < g->blocks[b].out0 + g->blocks[b].n_out;
		     i++)
			if (g->edges[i].kind == FLOW_SKIP && block[g->edges[i].to])
				edge[i] = 1;
}

void flow_ran_fini(struct flow_ran *ran)
{
	free(ran->block);
	free(ran->edge);
	free(ran->taken);
	*ran = (struct flow_ran){ 0 };
}
