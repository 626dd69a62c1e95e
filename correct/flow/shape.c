/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/shape.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/scc.h"

int shape_init(struct shape *s)
{
	const struct flow_graph *g = s->view->g;

	s->block_in = calloc(g->n_blocks + 1, 1);
	s->edge_in = calloc(g->n_edges + 1, 1);
	s->own = calloc(g->n_blocks + 1, 1);
	s->local = calloc(g->n_blocks + 1, sizeof(*s->local));
	if (s->block_in && s->edge_in && s->own && s->local)
		return 0;
	return sp_fail(SP_ENOMEM, "out of memory for a region of %zu blocks", g->n_blocks);
}

void shape_fini(struct shape *s)
{
	free(s->block_in);
	free(s->edge_in);
	free(s->own);
	free(s->local);
	vec_fini(&s->headers);
}

int shape_add_loop(struct shape *s, uint32_t comp)
{
	const struct nest *n = s->nest;
	bool several;
	uint32_t header = nest_header(s->view, n, comp, &several);

	s->several |= several && !n->recursive[comp];
	s->recursive |= n->recursive[comp];
	for (uint32_t i = n->first[comp]; i < n->first[comp + 1]; i++)
		s->own[n->member[i]] = !n->recursive[comp];
	return vec_push(&s->headers, header);
}

/* Whether some callee of the call is missing (or all are): it may be stepped over. */
static bool lacks_callee(const struct shape *s, uint32_t call)
{
	const struct flow_graph *g = s->view->g;
	const struct flow_block *b = &g->blocks[call];
	bool any = false;

	for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
		if (g->edges[e].kind != FLOW_CALL)
			continue;
		if (!s->edge_in[e])
			return true;
		any = true;
	}
	return !any;
}

static bool may_carry(const struct shape *s, uint32_t edge)
{
	const struct flow_graph *g = s->view->g;
	const struct flow_edge *e = &g->edges[edge];

	if (!s->block_in[e->from] || !s->block_in[e->to])
		return false;
	switch ((enum flow_edge_kind)e->kind) {
	case FLOW_SKIP: /* decided by the callees, later */
		return false;
	case FLOW_RET:
		return s->view->edge_in[edge] && s->block_in[e->call];
	case FLOW_CALL:
		return s->view->edge_in[edge];
	default: /* where a loop is left it is not repeated */
		return s->view->edge_in[edge] &&
		       (!s->own[e->from] || s->nest->comp[e->from] == s->nest->comp[e->to]);
	}
}

static void choose_edges(struct shape *s)
{
	const struct flow_graph *g = s->view->g;

	for (uint32_t e = 0; e < g->n_edges; e++)
		s->edge_in[e] = may_carry(s, e);
}

static void choose_skips(struct shape *s)
{
	const struct flow_graph *g = s->view->g;

	for (uint32_t i = 0; i < g->n_edges; i++) {
		const struct flow_edge *e = &g->edges[i];

		if (e->kind == FLOW_SKIP)
			s->edge_in[i] =
			        s->block_in[e->from] && s->block_in[e->to] &&
			        (!s->own[e->from] || s->nest->comp[e->from] == s->nest->comp[e->to]) &&
			        lacks_callee(s, e->from);
	}
}

/*
 * Calls need at least one edge in and one edge back, else they have neither; but where jumps lead away, as longjmp(3) and
 * an exception that is caught do, a callee may never be seen to return.  Returns what changed.
 */
static bool match_calls(struct shape *s)
{
	const struct flow_graph *g = s->view->g;
	uint8_t *has = (uint8_t *)s->local; /* bit 0: a CALL, bit 1: a RET of the call block */
	bool changed = false, away = false;

	memset(has, 0, g->n_blocks);
	for (uint32_t i = 0; i < g->n_edges; i++) {
		const struct flow_edge *e = &g->edges[i];

		if (s->edge_in[i] && (e->kind == FLOW_CALL || e->kind == FLOW_RET))
			has[e->call] |= e->kind == FLOW_CALL ? 1 : 2;
		away |= s->edge_in[i] && e->away;
	}
	for (uint32_t i = 0; i < g->n_edges; i++) {
		const struct flow_edge *e = &g->edges[i];

		if (!s->edge_in[i] || (e->kind != FLOW_CALL && e->kind != FLOW_RET) || has[e->call] == 3 ||
		    (away && has[e->call] == 1))
			continue;
		s->edge_in[i] = 0;
		changed = true;
	}
	return changed;
}

/* The edges of the region, blocks numbered among themselves. */
static int local_graph(struct shape *s, uint32_t **off, uint32_t **to, uint32_t *n_local)
{
	const struct flow_graph *g = s->view->g;
	uint32_t n = 0, at = 0, n_edges = 0;

	for (uint32_t i = 0; i < g->n_blocks; i++) {
		s->local[i] = n;
		n += s->block_in[i];
	}
	for (uint32_t e = 0; e < g->n_edges; e++)
		n_edges += s->edge_in[e];
	*off = calloc((size_t)n + 1, sizeof(**off));
	*to = calloc((size_t)n_edges + 1, sizeof(**to));
	if (!*off || !*to)
		return sp_fail(SP_ENOMEM, "out of memory for a region of %u blocks", n);
	for (uint32_t i = 0; i < g->n_blocks; i++) {
		const struct flow_block *b = &g->blocks[i];

		if (!s->block_in[i])
			continue;
		(*off)[s->local[i]] = at;
		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++)
			if (s->edge_in[e])
				(*to)[at++] = s->local[g->edges[e].to];
	}
	(*off)[n] = at;
	*n_local = n;
	return 0;
}

/*
 * Going down in a recursion and coming back up can be two circulations that
 * meet only where it turns round: all components are wanted.
 */
static void want_components(const struct shape *s, const uint32_t *comp, uint8_t *wanted)
{
	const struct flow_graph *g = s->view->g;

	for (size_t i = 0; i < s->headers.n; i++)
		if (s->block_in[s->headers.v[i]])
			wanted[comp[s->local[s->headers.v[i]]]] = 1;
	for (uint32_t e = 0; s->recursive && e < g->n_edges; e++)
		if (s->edge_in[e] && comp[s->local[g->edges[e].from]] == comp[s->local[g->edges[e].to]])
			wanted[comp[s->local[g->edges[e].from]]] = 1;
}

/* Keep the wanted components.  Returns whether that changed something. */
static bool keep_components(struct shape *s, const uint32_t *comp, uint8_t *wanted)
{
	const struct flow_graph *g = s->view->g;
	bool changed = false;

	want_components(s, comp, wanted);
	for (uint32_t e = 0; e < g->n_edges; e++) {
		uint32_t from, to;

		if (!s->edge_in[e])
			continue;
		from = comp[s->local[g->edges[e].from]];
		to = comp[s->local[g->edges[e].to]];
		s->edge_in[e] = from == to && wanted[from];
		/* SKIP edges are chosen anew each time: they must not keep the pruning going. */
		changed |= !s->edge_in[e] && g->edges[e].kind != FLOW_SKIP;
	}
	for (uint32_t i = 0; i < g->n_blocks; i++)
		if (s->block_in[i] && !wanted[comp[s->local[i]]]) {
			s->block_in[i] = 0;
			changed = true;
		}
	return changed;
}

static int prune_once(struct shape *s, bool *changed)
{
	struct scc_graph graph = { 0 };
	uint32_t *off = NULL, *to = NULL, *comp = NULL, n_comps;
	uint8_t *wanted = NULL;
	int err;

	choose_skips(s);
	*changed = match_calls(s);
	if ((err = local_graph(s, &off, &to, &graph.n)) < 0)
		goto out;
	comp = calloc((size_t)graph.n + 1, sizeof(*comp));
	wanted = calloc((size_t)graph.n + 1, 1);
	if (!comp || !wanted) {
		err = sp_fail(SP_ENOMEM, "out of memory for a region of %u blocks", graph.n);
		goto out;
	}
	graph.off = off;
	graph.to = to;
	if ((err = scc_find(&graph, comp, &n_comps)) == 0)
		*changed |= keep_components(s, comp, wanted);
out:
	free(off);
	free(to);
	free(comp);
	free(wanted);
	return err;
}

/* Blocks without an edge are no loop: a header alone, say. */
static void drop_lonely(struct shape *s)
{
	const struct flow_graph *g = s->view->g;
	size_t n = 0;

	memset(s->local, 0, g->n_blocks * sizeof(*s->local));
	for (uint32_t e = 0; e < g->n_edges; e++)
		if (s->edge_in[e])
			s->local[g->edges[e].from] = 1;
	for (uint32_t i = 0; i < g->n_blocks; i++)
		s->block_in[i] &= (uint8_t)s->local[i];
	for (size_t i = 0; i < s->headers.n; i++)
		if (s->block_in[s->headers.v[i]])
			s->headers.v[n++] = s->headers.v[i];
	s->headers.n = n;
}

static int copy_out(struct shape *s, struct flow_region *r)
{
	const struct flow_graph *g = s->view->g;

	r->blocks = malloc((g->n_blocks + 1) * sizeof(*r->blocks));
	r->edges = malloc((g->n_edges + 1) * sizeof(*r->edges));
	if (!r->blocks || !r->edges)
		return sp_fail(SP_ENOMEM, "out of memory for a region");
	for (uint32_t i = 0; i < g->n_blocks; i++) {
		if (!s->block_in[i])
			continue;
		r->blocks[r->n_blocks++] = i;
		r->weight += s->heat[i];
		r->unknown_target |= g->blocks[i].unknown_target;
		r->undecoded |= g->blocks[i].undecoded;
	}
	for (uint32_t e = 0; e < g->n_edges; e++) {
		if (!s->edge_in[e])
			continue;
		r->edges[r->n_edges++] = e;
		r->guessed |= g->edges[e].guessed;
	}
	r->headers = s->headers.v;
	r->n_headers = s->headers.n;
	r->header = s->headers.n ? s->headers.v[0] : 0;
	s->headers.v = NULL;
	s->headers.n = s->headers.cap = 0;
	return 0;
}

/* Heat of the functions that hold a block which may go where we don't know, or that could not be decoded. */
static int weigh_unknown(const struct shape *s, struct flow_region *r)
{
	enum { TARGET = 1, UNDECODED = 2 };
	const struct flow_graph *g = s->view->g;
	uint8_t *func = calloc(g->n_funcs + 1, 1);

	if (!func)
		return sp_fail(SP_ENOMEM, "out of memory for a region");
	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct flow_block *b = &g->blocks[r->blocks[i]];

		func[b->func] |= (b->unknown_target ? TARGET : 0) | (b->undecoded ? UNDECODED : 0);
	}
	for (size_t i = 0; i < r->n_blocks; i++) {
		uint8_t what = func[g->blocks[r->blocks[i]].func];

		if (what & TARGET)
			r->unknown_weight += s->heat[r->blocks[i]];
		if (what & UNDECODED)
			r->undecoded_weight += s->heat[r->blocks[i]];
	}
	free(func);
	return 0;
}

/* Recursion and irreducible loops anywhere inside. */
static int judge(struct shape *s, struct flow_region *r)
{
	struct nest_view inside = {
		.g = s->view->g, .block_in = s->block_in, .edge_in = s->edge_in, .closed = s->view->closed
	};
	struct nest n;
	int err = nest_find(&inside, &n);

	if (err < 0)
		return err;
	for (uint32_t c = 0; c < n.n_comps; c++)
		r->recursive |= n.recursive[c];
	nest_fini(&n);
	err = nest_irreducible(&inside);
	r->irreducible = s->several || err > 0;
	return err < 0 ? err : weigh_unknown(s, r);
}

int shape_finish(struct shape *s, struct flow_region *r)
{
	bool changed = true;
	int err;

	choose_edges(s);
	while (changed)
		if ((err = prune_once(s, &changed)) < 0)
			return err;
	drop_lonely(s);
	if ((err = copy_out(s, r)) < 0)
		return err;
	return r->n_blocks ? judge(s, r) : 0;
}
