/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/divide/regions.h"

#include "correct/flow/ran.h"
#include "correct/model/effort.h"

bool trim_is_hopeless(const struct flow_region *r)
{
	return r->n_edges > EFFORT_EDGES;
}

static void mark_samples(const struct work *w, uint8_t *keep)
{
	for (size_t i = 0; i < w->sums.n; i++) {
		long b = flow_block_at(w->graph, w->sums.v[i].module, w->sums.v[i].vaddr);

		if (b >= 0)
			keep[b] = 1;
	}
}

static void mark_small_scopes(const struct work *w, uint8_t *keep)
{
	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct flow_region *r = w->scopes.v[s].region;

		for (size_t b = 0; !trim_is_hopeless(r) && b < r->n_blocks; b++)
			keep[r->blocks[b]] = 1;
	}
}

static void trim(const struct flow_graph *g, const uint8_t *keep, struct flow_region *r)
{
	size_t n_blocks = 0, n_edges = 0;

	r->n_untrimmed = r->n_blocks;
	for (size_t i = 0; i < r->n_blocks; i++)
		if (keep[r->blocks[i]])
			r->blocks[n_blocks++] = r->blocks[i];
	for (size_t i = 0; i < r->n_edges; i++) {
		const struct flow_edge *e = &g->edges[r->edges[i]];

		/* An edge of a call belongs to the call's block, too. */
		if (keep[e->from] && keep[e->to] &&
		    ((e->kind != FLOW_CALL && e->kind != FLOW_RET && e->kind != FLOW_SKIP) || keep[e->call]))
			r->edges[n_edges++] = r->edges[i];
	}
	r->n_blocks = n_blocks;
	r->n_edges = n_edges;
}

static bool any_hopeless(const struct work *w)
{
	bool any = false;

	for (size_t r = 0; r < w->regions->n; r++)
		any |= trim_is_hopeless(&w->regions->v[r]);
	return any;
}

void trim_hopeless(struct work *w)
{
	struct flow_ran ran;

	if (!any_hopeless(w))
		return;
	flow_ran_find(w->graph, w->sums.seen, w->sums.n_seen, w->sums.runs, w->sums.n_runs, &ran);
	mark_samples(w, ran.block);
	mark_small_scopes(w, ran.block);
	for (size_t s = 0; s < w->scopes.n; s++)
		if (w->scopes.v[s].owned && trim_is_hopeless(w->scopes.v[s].region))
			trim(w->graph, ran.block, w->scopes.v[s].region);
	for (size_t r = 0; r < w->regions->n; r++)
		if (trim_is_hopeless(&w->regions->v[r]))
			trim(w->graph, ran.block, &w->regions->v[r]);
	for (size_t b = 0; b < w->graph->n_blocks; b++)
		if (!ran.block[b])
			w->regions->of_block[b] = -1;
	flow_ran_fini(&ran);
}
