/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/johnson.h"

#include "correct/flow/scc.h"
#include "correct/model/effort.h"
#include "profiler/base/mem.h"

#define NONE UINT32_MAX

struct frame {
	uint32_t vertex, next; /* next edge to look at */
	bool found;            /* a circuit was closed through here */
};

struct wait { /* vertex is unblocked with the one whose list this is on */
	uint32_t vertex, next;
};

struct johnson {
	const struct expanded *x;
	struct loop_list *out;
	uint32_t n;
	uint32_t *comp;    /* [n] component among the vertices from `start` on */
	uint32_t *waiting; /* [n] heads of lists in waits */
	uint8_t *blocked;  /* [n] */
	VEC(struct wait) waits;
	VEC(struct frame) path;
	VEC(uint32_t) stack;
	uint32_t start;
	bool stop;
};

static void keep_loop(struct johnson *j)
{
	struct flow_loop loop = { .n = j->path.n };

	if (j->out->v.n >= j->out->cap) {
		j->out->capped = j->stop = true;
		return;
	}
	loop.edges = mem_malloc(loop.n * sizeof(*loop.edges));
	for (size_t i = 0; i < loop.n; i++)
		loop.edges[i] = j->x->edges.v[j->path.v[i].next - 1].edge;
	vec_add(&j->out->v, loop);
}

static void unblock(struct johnson *j, uint32_t vertex)
{
	j->stack.n = 0;
	vec_add(&j->stack, vertex);
	while (j->stack.n) {
		uint32_t v = j->stack.v[--j->stack.n];

		if (!j->blocked[v])
			continue;
		j->blocked[v] = 0;
		for (uint32_t w = j->waiting[v]; w != NONE; w = j->waits.v[w].next)
			vec_add(&j->stack, j->waits.v[w].vertex);
		j->waiting[v] = NONE;
	}
}

static bool waits_for(const struct johnson *j, uint32_t vertex, uint32_t on)
{
	for (uint32_t w = j->waiting[on]; w != NONE; w = j->waits.v[w].next)
		if (j->waits.v[w].vertex == vertex)
			return true;
	return false;
}

/* No circuit through vertex on this path: none until one of its successors is free again. */
static void wait_for_succs(struct johnson *j, uint32_t vertex)
{
	for (uint32_t e = j->x->off[vertex]; e < j->x->off[vertex + 1]; e++) {
		uint32_t to = j->x->edges.v[e].to;

		j->out->n_steps++;
		if (to < j->start || j->comp[to] != j->comp[j->start] || waits_for(j, vertex, to))
			continue;
		vec_add(&j->waits, (struct wait){ vertex, j->waiting[to] });
		j->waiting[to] = (uint32_t)j->waits.n - 1;
	}
}

static void enter(struct johnson *j, uint32_t vertex)
{
	j->blocked[vertex] = 1;
	vec_add(&j->path, (struct frame){ .vertex = vertex, .next = j->x->off[vertex] });
}

static void leave(struct johnson *j)
{
	struct frame f = j->path.v[--j->path.n];

	if (j->path.n)
		j->path.v[j->path.n - 1].found |= f.found;
	if (f.found)
		unblock(j, f.vertex);
	else
		wait_for_succs(j, f.vertex);
}

/* All circuits through j->start among the later vertices of its component. */
static void circuits_from(struct johnson *j)
{
	enter(j, j->start);
	while (j->path.n && !j->stop) {
		struct frame *f = &j->path.v[j->path.n - 1];
		uint32_t to;

		if (++j->out->n_steps > EFFORT_CIRCUIT_STEPS)
			j->out->capped = j->stop = true;
		if (f->next == j->x->off[f->vertex + 1]) {
			leave(j);
			continue;
		}
		to = j->x->edges.v[f->next++].to;
		if (to == j->start) {
			f->found = true;
			keep_loop(j);
		} else if (to > j->start && j->comp[to] == j->comp[j->start] && !j->blocked[to]) {
			enter(j, to);
		}
	}
}

/* Components of the subgraph of the vertices from j->start on. */
static void find_components(struct johnson *j, uint32_t *off, uint32_t *to)
{
	uint32_t at = 0, n_comps;
	struct scc_graph g = { .n = j->n, .off = off, .to = to };

	for (uint32_t v = 0; v < j->n; v++) {
		off[v] = at;
		for (uint32_t e = j->x->off[v]; v >= j->start && e < j->x->off[v + 1]; e++)
			if (j->x->edges.v[e].to >= j->start)
				to[at++] = j->x->edges.v[e].to;
	}
	off[j->n] = at;
	j->out->n_steps += at;
	scc_find(&g, j->comp, &n_comps);
}

static void search(struct johnson *j, uint32_t *off, uint32_t *to)
{
	for (j->start = 0; j->start < j->x->n_own && !j->stop; j->start++) {
		find_components(j, off, to);
		for (uint32_t v = 0; v < j->n; v++) {
			j->blocked[v] = 0;
			j->waiting[v] = NONE;
		}
		j->waits.n = j->path.n = 0;
		circuits_from(j);
	}
}

void johnson_find(const struct expanded *x, struct loop_list *out)
{
	struct johnson j = { .x = x, .out = out, .n = (uint32_t)x->vertices.n };
	uint32_t *off = mem_calloc((size_t)j.n + 1, sizeof(*off)),
	         *to = mem_calloc(x->edges.n + 1, sizeof(*to));

	j.comp = mem_calloc((size_t)j.n + 1, sizeof(*j.comp));
	j.waiting = mem_calloc((size_t)j.n + 1, sizeof(*j.waiting));
	j.blocked = mem_calloc((size_t)j.n + 1, 1);
	out->capped |= x->truncated;
	search(&j, off, to);
	free(off);
	free(to);
	free(j.comp);
	free(j.waiting);
	free(j.blocked);
	vec_fini(&j.waits);
	vec_fini(&j.path);
	vec_fini(&j.stack);
}
