/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/peel.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/scc.h"
#include "profiler/base/groups.h"
#include "profiler/base/mem.h"

#define NONE UINT32_MAX
#define GONE UINT32_MAX /* component of a block that is not in the region any more */

struct list {
	uint32_t *v;
	size_t n, cap;
};

/* From a block to another of its component. */
struct way {
	uint32_t from, to;
};

struct peel {
	struct shape *s;
	const struct flow_graph *g;
	uint32_t n, m;         /* blocks and edges, numbered among themselves */
	const uint32_t *block; /* [n] of the graph */
	uint32_t *edge;        /* [m] of the graph: those in the region, then SKIP edges that may come in */
	uint32_t *from, *to;   /* [m] */
	uint32_t *call; /* [m] the block of the call that it belongs to; NONE: none, or not in the region */
	uint8_t *on;    /* [m] */
	struct groups in, out;     /* edges by where they lead to, and by where they come from */
	struct groups calls;       /* edges by call */
	uint32_t *comp;            /* [n] the root of its component: one of its blocks */
	uint32_t *local;           /* [n] in part_graph() */
	uint8_t *hit;              /* [n] a root whose component is to be taken apart in this round */
	uint8_t *header, *touched; /* [n] */
	struct list calls_touched; /* that lost an edge since they were looked at */
	VEC(struct way) lost;      /* edges of calls that went in this round, and what they led to */
	uint32_t stamp, *seen[2];  /* [n] the search that last came to a block, forward and backward */
	size_t room;               /* work that may be done for them */
	struct list parts;         /* blocks of the components that are looked at */
	size_t n_away;             /* edges by which callees may be left for good */
	bool away;                 /* there were some in the last round */
};

static const struct flow_edge *graph_edge(const struct peel *p, uint32_t e)
{
	return &p->g->edges[p->edge[e]];
}

static bool is_skip(const struct peel *p, uint32_t e)
{
	return graph_edge(p, e)->kind == FLOW_SKIP;
}

static bool is_of_call(const struct peel *p, uint32_t e)
{
	return graph_edge(p, e)->kind == FLOW_CALL || graph_edge(p, e)->kind == FLOW_RET;
}

/* Does an edge lie within a component? */
static bool is_inside(const struct peel *p, uint32_t e)
{
	return p->on[e] && p->comp[p->from[e]] != GONE && p->comp[p->from[e]] == p->comp[p->to[e]];
}

/* A call that is to be looked at in the next round; NONE is none. */
static void touch(struct peel *p, uint32_t call)
{
	if (call == NONE || p->touched[call])
		return;
	p->touched[call] = 1;
	vec_add(&p->calls_touched, call);
}

/* An edge goes for good, and its call will be looked at. */
static void take_away(struct peel *p, uint32_t e)
{
	p->on[e] = 0;
	p->s->room->edge_in[p->edge[e]] = 0;
	p->n_away -= graph_edge(p, e)->away;
	if (is_of_call(p, e))
		touch(p, p->call[e]);
}

/* ---- calls ---- */

/* Edges over calls that lost a callee come in; *crossed: from one component to another, which may make them one. */
static void choose_skips(struct peel *p, const struct list *calls, bool *crossed)
{
	for (size_t i = 0; i < calls->n; i++) {
		uint32_t c = calls->v[i];

		for (uint32_t k = p->calls.first[c]; k < p->calls.first[c + 1]; k++) {
			uint32_t e = p->calls.of[k];

			if (p->on[e] || !is_skip(p, e) || p->comp[p->from[e]] == GONE ||
			    p->comp[p->to[e]] == GONE || !shape_lacks_callee(p->s, p->block[c]))
				continue;
			p->on[e] = 1;
			p->s->room->edge_in[p->edge[e]] = is_inside(p, e);
			*crossed |= !is_inside(p, e);
		}
	}
}

/* A loop of one block may be all that its component is. */
static void lose(struct peel *p, uint32_t e)
{
	if (p->from[e] == p->to[e])
		p->hit[p->comp[p->from[e]]] = 1;
	else
		vec_add(&p->lost, ((struct way){ p->from[e], p->to[e] }));
}

/* A call that has only ways in, or back, loses them. */
static void match_call(struct peel *p, uint32_t call, bool away)
{
	enum { IN = 1, BACK = 2 };
	const uint32_t *item = p->calls.of + p->calls.first[call];
	uint32_t n = p->calls.first[call + 1] - p->calls.first[call];
	unsigned has = 0;

	for (uint32_t k = 0; k < n; k++)
		if (p->on[item[k]] && is_of_call(p, item[k]))
			has |= graph_edge(p, item[k])->kind == FLOW_CALL ? IN : BACK;
	if (has == (IN | BACK) || (away && has == IN))
		return;
	for (uint32_t k = 0; k < n; k++)
		if (p->on[item[k]] && is_of_call(p, item[k])) {
			take_away(p, item[k]);
			lose(p, item[k]);
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

/* ---- components ---- */

/* A search from one end of a way that a component lost, for its other end. */
struct search {
	const struct groups *edges;
	const uint32_t *end; /* [m] where an edge leads to, in the search's direction */
	uint32_t *seen;
	struct list found;
	size_t next, work;
};

/* One block further.  False: there is none left. */
static bool search_on(const struct peel *p, struct search *s, const struct search *other, bool *met)
{
	uint32_t b;

	if (s->next == s->found.n)
		return false;
	b = s->found.v[s->next++];
	s->work++;
	for (uint32_t k = s->edges->first[b]; k < s->edges->first[b + 1] && !*met; k++) {
		uint32_t e = s->edges->of[k], to = s->end[e];

		s->work++;
		if (!is_inside(p, e))
			continue;
		*met = other->seen[to] == p->stamp;
		if (s->seen[to] != p->stamp) {
			s->seen[to] = p->stamp;
			vec_add(&s->found, to);
		}
	}
	return true;
}

/* In a search's direction; and back. */
static struct way turned(struct way w, bool forward)
{
	return forward ? w : (struct way){ .from = w.to, .to = w.from };
}

/*
 * What a search found leads nowhere else in its direction, but for lost ways.  By these, through what was found, went ways among the
 * blocks of the rest, which are lost as well: from where edges and lost ways lead into the found to where lost ways lead out of it.
 */
static void lose_ways_through(struct peel *p, const struct search *s, const struct search *other,
                              uint32_t rest, size_t *work)
{
	const uint32_t found = p->comp[s->found.v[0]];
	const bool forward = s->edges == &p->out;
	struct list in = { 0 }, out = { 0 };

	for (size_t i = 0; i < p->lost.n; i++) {
		struct way w = turned(p->lost.v[i], forward);

		if (p->comp[w.from] == rest && p->comp[w.to] == found)
			vec_add(&in, w.from);
		else if (p->comp[w.from] == found && p->comp[w.to] == rest)
			vec_add(&out, w.to);
	}
	for (size_t i = 0; i < s->found.n; i++)
		for (uint32_t k = other->edges->first[s->found.v[i]];
		     k < other->edges->first[s->found.v[i] + 1]; k++) {
			uint32_t e = other->edges->of[k];

			if (p->on[e] && p->comp[other->end[e]] == rest)
				vec_add(&in, other->end[e]);
		}
	*work += p->lost.n + in.n * out.n;
	for (size_t i = 0; i < out.n && *work < p->room; i++)
		for (size_t k = 0; k < in.n; k++)
			vec_add(&p->lost, turned((struct way){ in.v[k], out.v[i] }, forward));
	vec_fini(&in);
	vec_fini(&out);
}

/* Has a block an edge within its component? */
static bool goes_on(const struct peel *p, uint32_t b)
{
	for (uint32_t k = p->out.first[b]; k < p->out.first[b + 1]; k++)
		if (is_inside(p, p->out.of[k]))
			return true;
	return false;
}

/* What a search found, without the root of its component, is a component of its own, or several: that is seen later. */
static void split_off(struct peel *p, const struct search *s, const struct search *other, uint32_t root,
                      size_t *work)
{
	/* Without its header the rest may be no loop, and one block may be all of it. */
	for (size_t i = 0; i < s->found.n; i++) {
		p->comp[s->found.v[i]] = s->found.v[0];
		p->hit[root] |= p->header[s->found.v[i]];
	}
	p->hit[root] |= !goes_on(p, root);
	p->hit[s->found.v[0]] = 1;
	lose_ways_through(p, s, other, root, work);
	p->hit[root] |= *work >= p->room;
}

/*
 * Is the end of a lost way still come to from where it begins?  Else what one of two searches found, which is all that comes before the
 * end or behind the beginning, is apart.  They take turns, so that this costs what the smaller one has.
 */
static void part_at(struct peel *p, struct way w)
{
	const uint32_t root = p->comp[w.from];
	struct search way[] = { { .edges = &p->out, .end = p->to, .seen = p->seen[0] },
		                { .edges = &p->in, .end = p->from, .seen = p->seen[1] } };
	struct search *s, *other;
	size_t work;
	bool met = w.from == w.to;

	p->stamp++;
	way[0].seen[w.from] = way[1].seen[w.to] = p->stamp;
	vec_add(&way[0].found, w.from);
	vec_add(&way[1].found, w.to);
	do {
		s = &way[way[1].work < way[0].work];
		other = &way[s == way];
		work = way[0].work + way[1].work;
	} while (!met && work < p->room && search_on(p, s, other, &met));
	if (!met && (work >= p->room || s->seen[root] == p->stamp))
		p->hit[root] = 1;
	else if (!met)
		split_off(p, s, other, root, &work);
	p->room -= work < p->room ? work : p->room;
	vec_fini(&way[0].found);
	vec_fini(&way[1].found);
}

/*
 * What the edges of calls that went hold apart: components that they were all that held together.  Where finding that out comes to
 * more work than taking components apart, these are.
 */
static void part_at_cuts(struct peel *p)
{
	p->room = p->m;
	for (size_t i = 0; i < p->lost.n; i++) {
		struct way w = p->lost.v[i];
		uint32_t root = p->comp[w.from];

		if (root != GONE && root == p->comp[w.to] && !p->hit[root])
			part_at(p, w);
	}
}

/* Components that lost an edge that held them together are taken apart; all that is left, where they may be other ones than before. */
static void list_parts(struct peel *p, bool all)
{
	uint32_t some = NONE;

	p->parts.n = 0;
	for (uint32_t b = 0; b < p->n; b++) {
		if (p->comp[b] == GONE || !(all || p->hit[p->comp[b]]))
			continue;
		some = some == NONE ? b : some;
		p->comp[b] = all ? some : p->comp[b];
		vec_add(&p->parts, b);
	}
	memset(p->hit, 0, p->n);
}

static bool has_loop(const struct peel *p, uint32_t b)
{
	for (uint32_t k = p->out.first[b]; k < p->out.first[b + 1]; k++)
		if (p->on[p->out.of[k]] && p->to[p->out.of[k]] == b)
			return true;
	return false;
}

/* A component that is kept: it holds a header, or is one of a recursion's circulations. */
static bool is_wanted(const struct peel *p, const uint32_t *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p->header[blocks[i]])
			return true;
	return p->s->recursive && (n > 1 || (n && has_loop(p, blocks[0])));
}

/* The edges among the blocks of parts, numbered among themselves by p->local. */
static void part_graph(struct peel *p, struct scc_graph *graph, uint32_t **off, uint32_t **to)
{
	uint32_t at = 0;
	size_t n_edges = 0;

	for (uint32_t i = 0; i < p->parts.n; i++) {
		p->local[p->parts.v[i]] = i;
		n_edges += p->out.first[p->parts.v[i] + 1] - p->out.first[p->parts.v[i]];
	}
	*off = mem_calloc(p->parts.n + 1, sizeof(**off));
	*to = mem_calloc(n_edges + 1, sizeof(**to));
	for (size_t i = 0; i < p->parts.n; i++) {
		uint32_t b = p->parts.v[i];

		(*off)[i] = at;
		for (uint32_t k = p->out.first[b]; k < p->out.first[b + 1]; k++)
			if (is_inside(p, p->out.of[k]))
				(*to)[at++] = p->local[p->to[p->out.of[k]]];
	}
	(*off)[p->parts.n] = at;
	*graph = (struct scc_graph){ .n = (uint32_t)p->parts.n, .off = *off, .to = *to };
}

/* Each component stands for itself from now on, or goes. */
static void settle_comps(struct peel *p, const struct groups *comps, uint32_t n_comps)
{
	for (uint32_t c = 0; c < n_comps; c++) {
		const uint32_t *blocks = comps->of + comps->first[c];
		uint32_t n = comps->first[c + 1] - comps->first[c];
		bool wanted = is_wanted(p, blocks, n);

		for (uint32_t i = 0; i < n; i++) {
			p->comp[blocks[i]] = wanted ? blocks[0] : GONE;
			if (!wanted)
				p->s->room->block_in[p->block[blocks[i]]] = 0;
		}
	}
}

/* Edges that do not lie within a component any more go; a SKIP edge is chosen anew in each round. */
static void drop_outside(struct peel *p, const struct groups *edges, uint32_t b)
{
	for (uint32_t k = edges->first[b]; k < edges->first[b + 1]; k++) {
		uint32_t e = edges->of[k];

		if (!p->on[e])
			continue;
		if (is_skip(p, e))
			p->s->room->edge_in[p->edge[e]] = is_inside(p, e);
		else if (!is_inside(p, e))
			take_away(p, e);
	}
}

/* What the parts are made of, by the edges that they have left. */
static void settle(struct peel *p)
{
	struct scc_graph graph;
	struct groups comps;
	uint32_t *off = NULL, *to = NULL, *comp = mem_calloc(p->parts.n + 1, sizeof(*comp)), n_comps;

	part_graph(p, &graph, &off, &to);
	scc_find(&graph, comp, &n_comps);
	groups_make(&comps, p->parts.n, n_comps, i, comp[i]);
	for (size_t i = 0; i < p->parts.n; i++)
		comps.of[i] = p->parts.v[comps.of[i]];
	settle_comps(p, &comps, n_comps);
	for (size_t i = 0; i < p->parts.n; i++) {
		drop_outside(p, &p->in, p->parts.v[i]);
		drop_outside(p, &p->out, p->parts.v[i]);
	}
	free(off);
	free(to);
	free(comp);
	groups_fini(&comps);
}

/* whole: all of the region is looked at, as at first. */
static void peel_once(struct peel *p, bool whole)
{
	struct list calls = p->calls_touched;

	p->calls_touched = (struct list){ 0 };
	for (size_t i = 0; i < calls.n; i++)
		p->touched[calls.v[i]] = 0;
	choose_skips(p, &calls, &whole);
	match_calls(p, &calls);
	if (!whole)
		part_at_cuts(p);
	p->lost.n = 0;
	list_parts(p, whole);
	if (p->parts.n)
		settle(p);
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

/* Blocks and edges numbered among themselves. */
static void peel_init(struct peel *p, struct shape *s)
{
	const size_t n = s->blocks.n, most = s->edges.n + s->skips.n;

	*p = (struct peel){ .s = s, .g = s->view->g, .n = (uint32_t)n, .block = s->blocks.v };
	p->edge = mem_malloc((4 * most + 1) * sizeof(uint32_t));
	p->comp = mem_calloc(4 * n + 1, sizeof(uint32_t));
	p->on = mem_malloc(most + 1);
	p->hit = mem_calloc(3 * n + 1, 1);
	p->from = p->edge + most;
	p->to = p->from + most;
	p->call = p->to + most;
	p->local = p->comp + n;
	p->seen[0] = p->local + n;
	p->seen[1] = p->seen[0] + n;
	p->header = p->hit + n;
	p->touched = p->header + n;
	for (uint32_t i = 0; i < n; i++)
		s->room->local[p->block[i]] = i;
	number_edges(p);
	for (size_t i = 0; i < s->headers.n; i++)
		if (s->room->block_in[s->headers.v[i]])
			p->header[s->room->local[s->headers.v[i]]] = 1;
	p->away = p->n_away > 0;
	groups_make(&p->in, p->m, n, e, p->to[e]);
	groups_make(&p->out, p->m, n, e, p->from[e]);
	groups_make(&p->calls, p->m, n, e, p->call[e]);
}

/* All calls are looked at in the first round. */
static void touch_all(struct peel *p)
{
	for (uint32_t e = 0; e < p->m; e++)
		touch(p, p->call[e]);
}

static void peel_fini(struct peel *p)
{
	free(p->edge);
	free(p->comp);
	free(p->on);
	free(p->hit);
	groups_fini(&p->in);
	groups_fini(&p->out);
	groups_fini(&p->calls);
	free(p->calls_touched.v);
	vec_fini(&p->lost);
	free(p->parts.v);
}

void peel(struct shape *s)
{
	struct peel p;

	peel_init(&p, s);
	touch_all(&p);
	/* As long as there is anything that may take more away. */
	for (bool first = true; first || p.calls_touched.n || (p.away && !p.n_away); first = false)
		peel_once(&p, first);
	peel_fini(&p);
}
