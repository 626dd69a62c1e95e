/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/reach.h"

#include <stdlib.h>

#include "profiler/base/mem.h"

enum { WORDS = 8, LINE_BITS = WORDS * 64 }; /* as long as a line of the cache */

struct reach_line {
	uint64_t w[WORDS];
};

struct walk {
	const struct nest_view *view;
	const struct nest *nest;
	uint32_t *number;      /* [n_comps] 1 + that among those with heat, 0 for others */
	struct reach_line *of; /* [n_comps] */
	size_t line;
};

static void list_hot(struct walk *w, const double *heat, struct reach *r)
{
	const struct nest *n = w->nest;

	r->comp = mem_malloc(((size_t)n->n_comps + 1) * sizeof(*r->comp));
	r->heat = mem_malloc(((size_t)n->n_comps + 1) * sizeof(*r->heat));
	for (uint32_t c = 0; c < n->n_comps; c++) {
		double sum = 0;

		for (uint32_t i = n->first[c]; i < n->first[c + 1]; i++)
			sum += heat[n->member[i]];
		w->number[c] = 0;
		if (!(sum > 0))
			continue;
		r->comp[r->n] = c;
		r->heat[r->n++] = sum;
		w->number[c] = (uint32_t)r->n;
	}
}

static void join(struct reach_line *to, const struct reach_line *from)
{
	for (int i = 0; i < WORDS; i++)
		to->w[i] |= from->w[i];
}

/* Itself and what it leads to; `calls`: by calls alone. */
static struct reach_line line_of(const struct walk *w, uint32_t comp, bool calls)
{
	const struct nest *n = w->nest;
	const size_t hot = w->number[comp] - (size_t)1;
	struct reach_line out = { { 0 } };

	if (w->number[comp] && hot / LINE_BITS == w->line)
		out.w[hot % LINE_BITS / 64] = (uint64_t)1 << hot % 64;
	for (uint32_t i = n->first[comp]; i < n->first[comp + 1]; i++) {
		const uint32_t v = n->room->vertex[n->member[i]] - 1;

		for (uint32_t k = n->off[v]; k < n->off[v + 1]; k++)
			if (n->comp[n->to[k]] != comp &&
			    (!calls || w->view->g->edges[n->edge[k]].kind == FLOW_CALL))
				join(&out, &w->of[n->comp[n->to[k]]]);
	}
	return out;
}

void reach_find(const struct nest_view *view, const struct nest *n, const double *heat, const uint32_t *comps,
                size_t n_loops, struct reach *out)
{
	struct walk w = { .view = view, .nest = n };

	*out = (struct reach){ 0 };
	w.number = mem_malloc(((size_t)n->n_comps + 1) * sizeof(*w.number));
	w.of = mem_malloc(((size_t)n->n_comps + 1) * sizeof(*w.of));
	list_hot(&w, heat, out);
	out->n_lines = (out->n + LINE_BITS - 1) / LINE_BITS;
	out->lines = mem_malloc((n_loops * out->n_lines + 1) * sizeof(*out->lines));
	for (; w.line < out->n_lines; w.line++) {
		/* Edges lead to components of smaller numbers. */
		for (uint32_t c = 0; c < n->n_comps; c++)
			w.of[c] = line_of(&w, c, false);
		/* A loop that is left is not repeated; a recursion is left by returns. */
		for (size_t i = 0; i < n_loops; i++)
			out->lines[i * out->n_lines + w.line] =
			        line_of(&w, comps[i], !n->recursive[comps[i]]);
	}
	free(w.number);
	free(w.of);
}

void reach_fini(struct reach *r)
{
	free(r->comp);
	free(r->heat);
	free(r->lines);
	*r = (struct reach){ 0 };
}

size_t reach_next(const struct reach *r, size_t loop, size_t from)
{
	while (from < r->n) {
		const struct reach_line *line = &r->lines[loop * r->n_lines + from / LINE_BITS];
		const uint64_t rest = line->w[from % LINE_BITS / 64] >> from % 64;

		if (rest)
			return from + (size_t)__builtin_ctzll(rest);
		from = (from / 64 + 1) * 64;
	}
	return r->n;
}
