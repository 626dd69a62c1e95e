/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/peel.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/peel_impl.h"
#include "profiler/base/mem.h"

/* Edges over calls that lost a callee come in; *crossed: from one component to another, which may make them one. */
static void choose_skips(struct peel *p, const struct list *calls, bool *crossed)
{
	for (size_t i = 0; i < calls->n; i++) {
		uint32_t c = calls->v[i];

		for (uint32_t k = p->calls.first[c]; k < p->calls.first[c + 1]; k++) {
			uint32_t e = p->calls.item[k];

			if (p->on[e] || !is_skip(p, e) || p->comp[p->from[e]] == GONE ||
			    p->comp[p->to[e]] == GONE || !shape_lacks_callee(p->s, p->block[c]))
				continue;
			p->on[e] = 1;
			p->s->room->edge_in[p->edge[e]] = is_inside(p, e);
			*crossed |= !is_inside(p, e);
		}
	}
}

/* A call that has only ways in, or back, loses them. */
static void match_call(struct peel *p, uint32_t call, bool away)
{
	enum { IN = 1, BACK = 2 };
	const uint32_t *item = p->calls.item + p->calls.first[call];
	uint32_t n = p->calls.first[call + 1] - p->calls.first[call];
	unsigned has = 0;

	for (uint32_t k = 0; k < n; k++)
		if (p->on[item[k]] && is_of_call(p, item[k]))
			has |= graph_edge(p, item[k])->kind == FLOW_CALL ? IN : BACK;
	if (has == (IN | BACK) || (away && has == IN))
		return;
	for (uint32_t k = 0; k < n; k++)
		if (p->on[item[k]] && is_of_call(p, item[k])) {
			peel_take_away(p, item[k]);
			vec_add(&p->gone, item[k]);
		}
}

static void match_calls(struct peel *p, const struct list *calls)
{
	bool away = p->n_away > 0, all = p->away && !away;

	p->away = away;
	for (uint32_t c = 0; all && c < p->n; c++)
		match_call(p, c, away);
	for (size_t i = 0; i < calls->n; i++)
		match_call(p, calls->v[i], away);
}

/* All that is left may be in other components than before. */
static void take_all_apart(struct peel *p)
{
	uint32_t some = NONE;

	for (uint32_t b = 0; b < p->n; b++) {
		if (p->comp[b] == GONE)
			continue;
		some = some == NONE ? b : some;
		p->comp[b] = some;
		p->in_parts[b] = 1;
		vec_add(&p->parts, b);
	}
}

/* whole: all of the region is looked at, as at first. */
static void peel_once(struct peel *p, bool whole)
{
	struct list calls = p->calls_touched;

	p->calls_touched = (struct list){ 0 };
	for (size_t i = 0; i < calls.n; i++)
		p->touched[calls.v[i]] = 0;
	p->parts.n = 0;
	choose_skips(p, &calls, &whole);
	match_calls(p, &calls);
	if (whole)
		take_all_apart(p);
	else
		peel_cut(p);
	p->gone.n = 0;
	if (p->parts.n)
		peel_settle(p);
	free(calls.v);
}

/* ---- from the shape, and back ---- */

static void number_edges(struct peel *p)
{
	const struct shape *s = p->s;

	for (size_t i = 0; i < s->edges.n + s->skips.n; i++) {
		uint32_t edge = i < s->edges.n ? s->edges.v[i] : s->skips.v[i - s->edges.n];
		const struct flow_edge *e = &p->g->edges[edge];
		bool of_call = e->kind == FLOW_CALL || e->kind == FLOW_RET || e->kind == FLOW_SKIP;

		if (!s->room->block_in[e->from] || !s->room->block_in[e->to])
			continue;
		p->edge[p->m] = edge;
		p->from[p->m] = s->room->local[e->from];
		p->to[p->m] = s->room->local[e->to];
		p->call[p->m] = of_call && s->room->block_in[e->call] ? s->room->local[e->call] : NONE;
		p->on[p->m] = s->room->edge_in[edge];
		p->n_away += e->away;
		p->m++;
	}
}

/* Counting sort of edges by key[m]; NONE has none. */
static void list_by(const struct peel *p, const uint32_t *key, struct by_block *out)
{
	out->first = mem_calloc((size_t)p->n + 2, sizeof(*out->first));
	out->item = mem_malloc(((size_t)p->m + 1) * sizeof(*out->item));
	for (uint32_t e = 0; e < p->m; e++)
		if (key[e] != NONE)
			out->first[key[e] + 1]++;
	for (uint32_t b = 0; b < p->n; b++)
		out->first[b + 1] += out->first[b];
	out->first[p->n + 1] = out->first[p->n];
	for (uint32_t e = p->m; e-- > 0;)
		if (key[e] != NONE)
			out->item[--out->first[key[e] + 1]] = e;
	/* Each first is where the one before ends, one place on. */
	memmove(out->first, out->first + 1, (p->n + (size_t)1) * sizeof(*out->first));
}

/* Blocks and edges numbered among themselves. */
static void peel_init(struct peel *p, struct shape *s)
{
	const size_t n = s->blocks.n, most = s->edges.n + s->skips.n;

	*p = (struct peel){ .s = s, .g = s->view->g, .n = (uint32_t)n, .block = s->blocks.v };
	p->edge = mem_malloc((4 * most + 1) * sizeof(uint32_t));
	p->comp = mem_calloc(5 * n + 1, sizeof(uint32_t));
	p->on = mem_malloc(most + 1);
	p->mark = mem_calloc(4 * n + 1, 1);
	p->from = p->edge + most;
	p->to = p->from + most;
	p->call = p->to + most;
	p->size = p->comp + n;
	p->local = p->size + n;
	p->parent[TO_BLOCK] = p->local + n;
	p->parent[TO_ROOT] = p->parent[TO_BLOCK] + n;
	p->in_parts = p->mark + n;
	p->header = p->in_parts + n;
	p->touched = p->header + n;
	for (uint32_t i = 0; i < n; i++)
		s->room->local[p->block[i]] = i;
	number_edges(p);
	for (size_t i = 0; i < s->headers.n; i++)
		if (s->room->block_in[s->headers.v[i]])
			p->header[s->room->local[s->headers.v[i]]] = 1;
	p->away = p->n_away > 0;
	list_by(p, p->to, &p->ends[TO_BLOCK]);
	list_by(p, p->from, &p->ends[TO_ROOT]);
	list_by(p, p->call, &p->calls);
}

/* All calls are looked at in the first round. */
static void touch_all(struct peel *p)
{
	for (uint32_t e = 0; e < p->m; e++)
		peel_touch(p, p->call[e]);
}

static void peel_fini(struct peel *p)
{
	free(p->edge);
	free(p->comp);
	free(p->on);
	free(p->mark);
	for (int end = 0; end < N_TREES; end++) {
		free(p->ends[end].first);
		free(p->ends[end].item);
	}
	free(p->calls.first);
	free(p->calls.item);
	free(p->calls_touched.v);
	free(p->gone.v);
	free(p->parts.v);
	free(p->cut.v);
	free(p->queue.v);
	free(p->roots.v);
}

void peel(struct shape *s)
{
	struct peel p;

	peel_init(&p, s);
	touch_all(&p);
	for (bool first = true; first || peel_goes_on(&p); first = false)
		peel_once(&p, first);
	peel_fini(&p);
}
