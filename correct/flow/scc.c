/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/scc.h"

#include <stdlib.h>

#include "profiler/base/mem.h"

#define NEW UINT32_MAX

struct search {
	const struct scc_graph *g;
	uint32_t *comp;
	uint32_t *index, *low, *next; /* [n]; next: edge to look at next */
	uint32_t *open, n_open;       /* vertices whose component isn't closed yet */
	uint32_t *path, n_path;       /* the depth-first path */
	uint32_t n_index, n_comps;
};

static void enter(struct search *s, uint32_t v)
{
	s->index[v] = s->low[v] = s->n_index++;
	s->next[v] = s->g->off[v];
	s->open[s->n_open++] = v;
	s->path[s->n_path++] = v;
}

static void leave(struct search *s, uint32_t v)
{
	uint32_t w;

	s->n_path--;
	if (s->n_path && s->low[v] < s->low[s->path[s->n_path - 1]])
		s->low[s->path[s->n_path - 1]] = s->low[v];
	if (s->low[v] != s->index[v])
		return;
	do {
		w = s->open[--s->n_open];
		s->comp[w] = s->n_comps;
	} while (w != v);
	s->n_comps++;
}

static void search_from(struct search *s, uint32_t root)
{
	enter(s, root);
	while (s->n_path) {
		uint32_t v = s->path[s->n_path - 1], w;

		if (s->next[v] == s->g->off[v + 1]) {
			leave(s, v);
			continue;
		}
		w = s->g->to[s->next[v]++];
		if (s->index[w] == NEW)
			enter(s, w);
		else if (s->comp[w] == NEW && s->index[w] < s->low[v])
			s->low[v] = s->index[w];
	}
}

void scc_find(const struct scc_graph *g, uint32_t *comp, uint32_t *n_comps)
{
	uint32_t *work = mem_malloc(((size_t)g->n * 5 + 1) * sizeof(*work));
	struct search s = { .g = g, .comp = comp };

	s.index = work;
	s.low = work + g->n;
	s.next = work + 2 * (size_t)g->n;
	s.open = work + 3 * (size_t)g->n;
	s.path = work + 4 * (size_t)g->n;
	for (uint32_t v = 0; v < g->n; v++)
		s.index[v] = comp[v] = NEW;
	for (uint32_t v = 0; v < g->n; v++)
		if (s.index[v] == NEW)
			search_from(&s, v);
	*n_comps = s.n_comps;
	free(work);
}
