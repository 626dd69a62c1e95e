/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The strongly connected components of a region that is peeled, and their trees. */
#include <stdlib.h>
#include <string.h>

#include "correct/flow/peel_impl.h"
#include "correct/flow/scc.h"
#include "profiler/base/mem.h"

#define ROOT (UINT32_MAX - 1)

void peel_touch(struct peel *p, uint32_t call)
{
	if (call == NONE || p->touched[call])
		return;
	p->touched[call] = 1;
	vec_add(&p->calls_touched, call);
}

void peel_take_away(struct peel *p, uint32_t e)
{
	p->on[e] = 0;
	p->s->room->edge_in[p->edge[e]] = 0;
	p->n_away -= graph_edge(p, e)->away;
	if (is_of_call(p, e))
		peel_touch(p, p->call[e]);
}

/* ---- trees ---- */

/* The end of an edge that hangs below the other one in a tree, and that one. */
static uint32_t lower(const struct peel *p, int tree, uint32_t e)
{
	return tree == TO_BLOCK ? p->to[e] : p->from[e];
}

static uint32_t upper(const struct peel *p, int tree, uint32_t e)
{
	return tree == TO_BLOCK ? p->from[e] : p->to[e];
}

/* Edges by which a block could hang in a tree; and those by which others could hang below it. */
static const struct by_block *above(const struct peel *p, int tree)
{
	return &p->ends[tree];
}

static const struct by_block *below(const struct peel *p, int tree)
{
	return &p->ends[1 - tree];
}

/* All of a component that is not in the tree yet, from its queued blocks on: marks are taken off. */
static void hang_marked(struct peel *p, int tree)
{
	for (size_t i = 0; i < p->queue.n; i++) {
		uint32_t b = p->queue.v[i];

		for (uint32_t k = below(p, tree)->first[b]; k < below(p, tree)->first[b + 1]; k++) {
			uint32_t e = below(p, tree)->item[k], child = lower(p, tree, e);

			if (!is_inside(p, e) || !p->mark[child])
				continue;
			p->mark[child] = 0;
			p->parent[tree][child] = e;
			vec_add(&p->queue, child);
		}
	}
	p->queue.n = 0;
}

/* Both trees of the component of these blocks, which is strongly connected. */
static void grow_trees(struct peel *p, const uint32_t *blocks, size_t n, uint32_t root)
{
	for (int tree = 0; tree < N_TREES; tree++) {
		for (size_t i = 0; i < n; i++)
			p->mark[blocks[i]] = 1;
		p->mark[root] = 0;
		p->parent[tree][root] = ROOT;
		vec_add(&p->queue, root);
		hang_marked(p, tree);
	}
}

/* Mark what hung by edges that are gone, and all below it. */
static void cut_below(struct peel *p, int tree)
{
	struct list *cut = &p->cut;

	cut->n = 0;
	for (size_t i = 0; i < p->gone.n; i++) {
		uint32_t e = p->gone.v[i], b = lower(p, tree, e);

		if (p->parent[tree][b] != e || p->mark[b])
			continue;
		p->mark[b] = 1;
		vec_add(cut, b);
	}
	for (size_t i = 0; i < cut->n; i++)
		for (uint32_t k = below(p, tree)->first[cut->v[i]]; k < below(p, tree)->first[cut->v[i] + 1];
		     k++) {
			uint32_t e = below(p, tree)->item[k], child = lower(p, tree, e);

			/* Of a block that is gone the parent means nothing any more. */
			if (!is_inside(p, e) || p->parent[tree][child] != e || p->mark[child])
				continue;
			p->mark[child] = 1;
			vec_add(cut, child);
		}
}

/* Hang up what was cut off wherever the tree is still near; what can't be is added to parts. */
static void hang_again(struct peel *p, int tree)
{
	const struct list *cut = &p->cut;

	for (size_t i = 0; i < cut->n; i++) {
		uint32_t b = cut->v[i];

		for (uint32_t k = above(p, tree)->first[b]; k < above(p, tree)->first[b + 1]; k++) {
			uint32_t e = above(p, tree)->item[k];

			if (!is_inside(p, e) || p->mark[upper(p, tree, e)])
				continue;
			p->mark[b] = 0;
			p->parent[tree][b] = e;
			vec_add(&p->queue, b);
			break;
		}
	}
	hang_marked(p, tree);
	for (size_t i = 0; i < cut->n; i++) {
		uint32_t b = cut->v[i];

		if (p->mark[b] && !p->in_parts[b]) {
			p->in_parts[b] = 1;
			vec_add(&p->parts, b);
		}
		p->mark[b] = 0;
	}
}

void peel_cut(struct peel *p)
{
	for (int tree = 0; tree < N_TREES; tree++) {
		cut_below(p, tree);
		hang_again(p, tree);
	}
}

/* ---- what is cut off ---- */

static bool has_loop(const struct peel *p, uint32_t b)
{
	const struct by_block *out = &p->ends[TO_ROOT];

	for (uint32_t k = out->first[b]; k < out->first[b + 1]; k++)
		if (p->on[out->item[k]] && p->to[out->item[k]] == b)
			return true;
	return false;
}

/* A component that is kept: it holds a header, or is one of a recursion's circulations. */
static bool is_wanted(const struct peel *p, const uint32_t *blocks, size_t n, uint32_t *root)
{
	*root = blocks[0];
	for (size_t i = 0; i < n; i++)
		if (p->header[blocks[i]]) {
			*root = blocks[i];
			return true;
		}
	return p->s->recursive && (n > 1 || has_loop(p, blocks[0]));
}

/* The edges among the blocks that are cut off, blocks numbered among themselves by p->local. */
static void part_graph(struct peel *p, struct scc_graph *graph, uint32_t **off, uint32_t **to)
{
	const struct by_block *out = &p->ends[TO_ROOT];
	uint32_t at = 0;
	size_t n_edges = 0;

	for (uint32_t i = 0; i < p->parts.n; i++) {
		p->local[p->parts.v[i]] = i;
		n_edges += out->first[p->parts.v[i] + 1] - out->first[p->parts.v[i]];
	}
	*off = mem_calloc(p->parts.n + 1, sizeof(**off));
	*to = mem_calloc(n_edges + 1, sizeof(**to));
	for (size_t i = 0; i < p->parts.n; i++) {
		uint32_t b = p->parts.v[i];

		(*off)[i] = at;
		for (uint32_t k = out->first[b]; k < out->first[b + 1]; k++) {
			uint32_t e = out->item[k], other = p->to[e];

			if (is_inside(p, e) && p->in_parts[other])
				(*to)[at++] = p->local[other];
		}
	}
	(*off)[p->parts.n] = at;
	*graph = (struct scc_graph){ .n = (uint32_t)p->parts.n, .off = *off, .to = *to };
}

/* parts.v in the order of their components; first[n_comps + 1] where each begins. */
static void sort_parts(struct peel *p, const uint32_t *comp, uint32_t n_comps, uint32_t **first)
{
	uint32_t *sorted = mem_malloc((p->parts.n + 1) * sizeof(*sorted));

	*first = mem_calloc((size_t)n_comps + 2, sizeof(**first));
	for (size_t i = 0; i < p->parts.n; i++)
		(*first)[comp[i] + 2]++;
	for (uint32_t c = 0; c < n_comps; c++)
		(*first)[c + 2] += (*first)[c + 1];
	for (size_t i = 0; i < p->parts.n; i++)
		sorted[(*first)[comp[i] + 1]++] = p->parts.v[i];
	memcpy(p->parts.v, sorted, p->parts.n * sizeof(*sorted));
	free(sorted);
}

/* Each component of what was cut off stands for itself from now on, or goes. */
static void settle_comps(struct peel *p, const uint32_t *first, uint32_t n_comps)
{
	for (uint32_t c = 0; c < n_comps; c++) {
		const uint32_t *blocks = p->parts.v + first[c];
		uint32_t n = first[c + 1] - first[c], root = NONE;
		bool wanted = n && is_wanted(p, blocks, n, &root);

		for (uint32_t i = 0; i < n; i++) {
			p->comp[blocks[i]] = wanted ? root : GONE;
			if (!wanted)
				p->s->room->block_in[p->block[blocks[i]]] = 0;
		}
		if (wanted)
			p->size[root] = n;
	}
}

/* Trees of those that stay, as long as more may go. */
static void plant_comps(struct peel *p, const uint32_t *first, uint32_t n_comps)
{
	for (uint32_t c = 0; c < n_comps && peel_goes_on(p); c++) {
		const uint32_t *blocks = p->parts.v + first[c];

		if (first[c + 1] > first[c] && p->comp[*blocks] != GONE)
			grow_trees(p, blocks, first[c + 1] - first[c], p->comp[*blocks]);
	}
}

/* An edge that does not lie within a component any more goes; a SKIP edge is chosen anew in each round. */
static void drop_outside(struct peel *p, uint32_t e)
{
	if (!p->on[e])
		return;
	if (is_skip(p, e))
		p->s->room->edge_in[p->edge[e]] = is_inside(p, e);
	else if (!is_inside(p, e))
		peel_take_away(p, e);
}

static void drop_edges_of(struct peel *p, uint32_t b)
{
	for (int end = 0; end < N_TREES; end++)
		for (uint32_t k = p->ends[end].first[b]; k < p->ends[end].first[b + 1]; k++)
			drop_outside(p, p->ends[end].item[k]);
}

static void drop_edges_of_parts(struct peel *p)
{
	if (p->parts.n == p->n)
		for (uint32_t e = 0; e < p->m; e++)
			drop_outside(p, e);
	else
		for (size_t i = 0; i < p->parts.n; i++)
			drop_edges_of(p, p->parts.v[i]);
}

/* What others were cut off from may be no more than its root: is that to be kept? */
static void settle_root(struct peel *p, uint32_t root)
{
	uint32_t ignored;

	if (p->size[root] > 1 || is_wanted(p, &root, 1, &ignored))
		return;
	p->comp[root] = GONE;
	p->s->room->block_in[p->block[root]] = 0;
	drop_edges_of(p, root);
}

/* The roots of what parts are cut off from, each once. */
static void list_roots(struct peel *p)
{
	p->roots.n = 0;
	for (size_t i = 0; i < p->parts.n; i++) {
		uint32_t root = p->comp[p->parts.v[i]];

		p->size[root]--;
		if (p->in_parts[root] || p->mark[root])
			continue;
		p->mark[root] = 1;
		vec_add(&p->roots, root);
	}
	for (size_t i = 0; i < p->roots.n; i++)
		p->mark[p->roots.v[i]] = 0;
}

void peel_settle(struct peel *p)
{
	struct scc_graph graph;
	uint32_t *off = NULL, *to = NULL, *comp = mem_calloc(p->parts.n + 1, sizeof(*comp)), *first = NULL,
	         n_comps;

	list_roots(p);
	part_graph(p, &graph, &off, &to);
	scc_find(&graph, comp, &n_comps);
	sort_parts(p, comp, n_comps, &first);
	settle_comps(p, first, n_comps);
	for (size_t i = 0; i < p->parts.n; i++)
		p->in_parts[p->parts.v[i]] = 0;
	drop_edges_of_parts(p);
	for (size_t i = 0; i < p->roots.n; i++)
		settle_root(p, p->roots.v[i]);
	plant_comps(p, first, n_comps);
	free(off);
	free(to);
	free(comp);
	free(first);
}
