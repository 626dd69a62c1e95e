/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/loops.h"

#include <string.h>

#include "correct/flow/johnson.h"
#include "correct/flow/nest.h"
#include "profiler/base/mem.h"

struct part { /* flags of a region's blocks and edges in its graph */
	uint8_t *block_in, *edge_in, *own, *closed;
};

static void part_fini(struct part *p)
{
	free(p->block_in);
	free(p->edge_in);
	free(p->own);
	free(p->closed);
}

static void part_init(struct part *p, const struct flow_graph *g, const struct flow_region *r)
{
	p->block_in = mem_calloc(g->n_blocks + 1, 1);
	p->edge_in = mem_calloc(g->n_edges + 1, 1);
	p->own = mem_calloc(g->n_blocks + 1, 1);
	p->closed = mem_calloc(g->n_blocks + 1, 1);
	for (size_t i = 0; i < r->n_blocks; i++)
		p->block_in[r->blocks[i]] = 1;
	for (size_t i = 0; i < r->n_edges; i++)
		p->edge_in[r->edges[i]] = 1;
}

static void find_through(const struct flow_graph *g, const struct part *p, bool matched,
                         struct loop_list *list)
{
	struct expanded x;

	expand(g, p->own, p->edge_in, matched, &x);
	johnson_find(&x, list);
	expanded_fini(&x);
}

/* Loops by the function they stay in at their highest: each is found once. */
static void find_matched(const struct flow_graph *g, struct part *p, struct loop_list *list)
{
	struct nest_view view = {
		.g = g, .block_in = p->block_in, .edge_in = p->edge_in, .closed = p->closed
	};
	struct nest n;

	nest_find(&view, &n);
	for (uint32_t c = n.n_comps; c-- > 0;) {
		if (!n.loop[c])
			continue;
		for (uint32_t i = n.first[c]; i < n.first[c + 1]; i++)
			p->own[n.member[i]] = 1;
		find_through(g, p, true, list);
		for (uint32_t i = n.first[c]; i < n.first[c + 1]; i++)
			p->own[n.member[i]] = 0;
	}
	nest_fini(&n);
}

void flow_loops_find(const struct flow_graph *g, const struct flow_region *r, size_t cap,
                     struct flow_loops **out)
{
	struct loop_list list = { .cap = cap };
	struct flow_loops *loops = mem_calloc(1, sizeof(*loops));
	struct part p = { 0 };

	part_init(&p, g, r);
	if (r->recursive) {
		memcpy(p.own, p.block_in, g->n_blocks);
		find_through(g, &p, false, &list);
	} else {
		find_matched(g, &p, &list);
	}
	*loops = (struct flow_loops){ .v = list.v.v, .n = list.v.n, .capped = list.capped };
	*out = loops;
	part_fini(&p);
}

void flow_loops_free(struct flow_loops *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].edges);
	free(l->v);
	free(l);
}
