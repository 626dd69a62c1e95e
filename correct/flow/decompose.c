/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A circulation, taken apart into loops: walk along the largest flows until a
 * block comes up again under the same calls, take the loop's smallest flow
 * away, and so on.  Every loop empties an edge, so there are at most E.
 */
#include "correct/flow/expand.h"
#include "correct/flow/loops.h"

enum {
	MAX_DEPTH = 256,   /* calls; deeper walks are taken without matching returns */
	MAX_WALK = 200000, /* edges of one walk */
};

/* Flows under this share of the total are rounding. */
#define TINY 1e-9

struct walk_vertex {
	uint32_t stamp, at; /* position in the walk of that stamp */
};

struct decomposition {
	const struct flow_graph *g;
	const struct flow_region *r;
	double *flow;    /* [n_edges of r] what is left */
	uint32_t *out0;  /* [graph n_blocks + 1] region edges of a block */
	uint32_t *times; /* [n_edges] in the loop being taken */
	double tiny;
	struct contexts contexts;
	struct addr_map vertex_at; /* (context, block) */
	VEC(struct walk_vertex) vertices;
	VEC(uint32_t) walk; /* region edges */
	uint32_t stamp;
	VEC(struct flow_loop) loops;
	VEC(double) counts;
};

static const struct flow_edge *edge_of(const struct decomposition *d, uint32_t i)
{
	return &d->g->edges[d->r->edges[i]];
}

static int vertex(struct decomposition *d, uint32_t block, uint32_t context, struct walk_vertex **out)
{
	uint32_t v = addr_map_get(&d->vertex_at, context, block);
	int err;

	if (v == ADDR_NONE) {
		v = (uint32_t)d->vertices.n;
		if ((err = addr_map_add(&d->vertex_at, context, block, v)) < 0 ||
		    (err = vec_push(&d->vertices, (struct walk_vertex){ 0 })) < 0)
			return err;
	}
	*out = &d->vertices.v[v];
	return 0;
}

/* The largest flow out of a block that goes back to the right caller; UINT32_MAX: none. */
static uint32_t largest_out(const struct decomposition *d, uint32_t block, uint32_t context, bool matched)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = d->out0[block]; i < d->out0[block + 1]; i++) {
		const struct flow_edge *e = edge_of(d, i);

		if (matched && e->kind == FLOW_RET && context != CONTEXT_ROOT &&
		    d->contexts.v.v[context].call != e->call)
			continue;
		if (d->flow[i] > d->tiny && (best == UINT32_MAX || d->flow[i] > d->flow[best]))
			best = i;
	}
	return best;
}

/*
 * Walk on from the edge `first`.  *loop0 is where in d->walk the loop begins,
 * or its length where the walk ends without one.
 */
static int walk(struct decomposition *d, uint32_t first, bool matched, size_t *loop0)
{
	uint32_t block = edge_of(d, first)->from, context = CONTEXT_ROOT, next = first;
	struct walk_vertex *v;
	int err;

	d->walk.n = 0;
	d->stamp++;
	/* Steps are counted, not what is left of the walk: returns into callers can follow each other for ever. */
	for (size_t step = 0;
	     next != UINT32_MAX && step < MAX_WALK && d->contexts.v.v[context].depth < MAX_DEPTH; step++) {
		const struct flow_edge *e = edge_of(d, next);

		if ((err = vertex(d, block, context, &v)) < 0)
			return err;
		if (v->stamp == d->stamp) {
			*loop0 = v->at;
			return 0;
		}
		*v = (struct walk_vertex){ d->stamp, (uint32_t)d->walk.n };
		if ((err = vec_push(&d->walk, next)) < 0)
			return err;
		if (matched && e->kind == FLOW_CALL &&
		    (err = contexts_enter(&d->contexts, context, e->call, &context)) < 0)
			return err;
		if (matched && e->kind == FLOW_RET && context == CONTEXT_ROOT) {
			/* The walk began in a callee: what came before can't be part of a loop here. */
			d->walk.n = 0;
			d->stamp++;
		} else if (matched && e->kind == FLOW_RET) {
			context = d->contexts.v.v[context].parent;
		}
		block = e->to;
		next = largest_out(d, block, context, matched);
	}
	*loop0 = d->walk.n;
	return 0;
}

/* Keep the walk from loop0 on as a loop that ran `count` times. */
static int keep_loop(struct decomposition *d, size_t loop0, double count)
{
	size_t n = d->walk.n - loop0;
	uint32_t *edges;
	int err;

	if ((err = vec_push(&d->counts, count)) < 0)
		return err;
	edges = calloc(n + 1, sizeof(*edges));
	if (!edges)
		return sp_fail(SP_ENOMEM, "out of memory for loops");
	for (size_t i = 0; i < n; i++)
		edges[i] = d->r->edges[d->walk.v[loop0 + i]];
	err = vec_push(&d->loops, (struct flow_loop){ .edges = edges, .n = n });
	if (err < 0)
		free(edges);
	return err;
}

static int take_loop(struct decomposition *d, size_t loop0)
{
	const uint32_t *e = d->walk.v + loop0;
	size_t n = d->walk.n - loop0;
	uint32_t least = e[0];
	double count;

	for (size_t i = 0; i < n; i++)
		d->times[e[i]]++;
	for (size_t i = 0; i < n; i++)
		if (d->flow[e[i]] / d->times[e[i]] < d->flow[least] / d->times[least])
			least = e[i];
	count = d->flow[least] / d->times[least];
	for (size_t i = 0; i < n; i++) {
		d->flow[e[i]] -= count;
		d->times[e[i]] = 0;
	}
	d->flow[least] = 0;
	return keep_loop(d, loop0, count);
}

/* Take one loop that `first` leads to; or empty an edge that leads to none. */
static int take_from(struct decomposition *d, uint32_t first)
{
	size_t loop0;
	int err = 0;

	if (!d->r->recursive) {
		err = walk(d, first, true, &loop0);
		if (err < 0 || loop0 < d->walk.n)
			return err < 0 ? err : take_loop(d, loop0);
	}
	if ((err = walk(d, first, false, &loop0)) < 0)
		return err;
	if (loop0 < d->walk.n)
		return take_loop(d, loop0);
	d->flow[d->walk.n ? d->walk.v[d->walk.n - 1] : first] = 0;
	return 0;
}

static int take_all(struct decomposition *d)
{
	int err = 0;

	while (err == 0) {
		uint32_t first = 0;

		for (uint32_t i = 1; i < d->r->n_edges; i++)
			if (d->flow[i] > d->flow[first])
				first = i;
		if (d->r->n_edges == 0 || d->flow[first] <= d->tiny)
			break;
		err = take_from(d, first);
	}
	return err;
}

static int decomposition_init(struct decomposition *d, const double *edge_flow)
{
	size_t n = d->r->n_edges;
	double total = 0;

	d->flow = calloc(n + 1, sizeof(*d->flow));
	d->times = calloc(n + 1, sizeof(*d->times));
	d->out0 = calloc(d->g->n_blocks + 2, sizeof(*d->out0));
	if (!d->flow || !d->times || !d->out0)
		return sp_fail(SP_ENOMEM, "out of memory for %zu edges", n);
	for (size_t i = 0; i < n; i++) {
		d->flow[i] = edge_flow[i] > 0 ? edge_flow[i] : 0;
		total += d->flow[i];
		d->out0[d->g->edges[d->r->edges[i]].from + 1]++;
	}
	for (size_t b = 0; b < d->g->n_blocks; b++)
		d->out0[b + 1] += d->out0[b];
	d->tiny = TINY * total;
	return contexts_init(&d->contexts);
}

struct counted {
	struct flow_loop loop;
	double count;
};

static int more_first(const void *x, const void *y)
{
	const struct counted *a = x, *b = y;

	return a->count > b->count ? -1 : a->count < b->count;
}

static int hand_over(struct decomposition *d, struct flow_loops **out, double **count)
{
	struct counted *all = calloc(d->loops.n + 1, sizeof(*all));
	struct flow_loops *loops = calloc(1, sizeof(*loops));
	double *counts = calloc(d->loops.n + 1, sizeof(*counts));

	if (!all || !loops || !counts) {
		free(all);
		free(loops);
		free(counts);
		return sp_fail(SP_ENOMEM, "out of memory for %zu loops", d->loops.n);
	}
	for (size_t i = 0; i < d->loops.n; i++)
		all[i] = (struct counted){ d->loops.v[i], d->counts.v[i] };
	qsort(all, d->loops.n, sizeof(*all), more_first);
	for (size_t i = 0; i < d->loops.n; i++) {
		d->loops.v[i] = all[i].loop;
		counts[i] = all[i].count;
	}
	free(all);
	*loops = (struct flow_loops){ .v = d->loops.v, .n = d->loops.n };
	d->loops.v = NULL;
	d->loops.n = d->loops.cap = 0;
	*out = loops;
	*count = counts;
	return 0;
}

int flow_decompose(const struct flow_graph *g, const struct flow_region *r, const double *edge_flow,
                   struct flow_loops **out, double **count)
{
	struct decomposition d = { .g = g, .r = r };
	int err;

	if ((err = decomposition_init(&d, edge_flow)) == 0 && (err = take_all(&d)) == 0)
		err = hand_over(&d, out, count);
	for (size_t i = 0; i < d.loops.n; i++)
		free(d.loops.v[i].edges);
	free(d.flow);
	free(d.times);
	free(d.out0);
	contexts_fini(&d.contexts);
	addr_map_fini(&d.vertex_at);
	vec_fini(&d.vertices);
	vec_fini(&d.walk);
	vec_fini(&d.loops);
	vec_fini(&d.counts);
	return err;
}
