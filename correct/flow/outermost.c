/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/outermost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/flow/reach.h"
#include "correct/model/model.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

#define NONE UINT32_MAX

struct seed { /* an outermost loop */
	uint32_t comp;
	uint32_t loop; /* of the finder's reach */
	uint32_t block0,
	        n_blocks; /* finder.reached[block0 ..]: its own, in code that no hotter loop claimed */
	double heat, own; /* all that it reaches; in those */
	uint32_t group;   /* seed it was merged into, itself if none */
	/* The latest seed that has nothing to do with this group, though they share code. */
	uint32_t apart_from;
	bool kept;
};

struct finder {
	const struct nest_view *view; /* its list: what leads to heat */
	struct room *room;
	const double *heat; /* [n_blocks] */
	bool apart;         /* every loop for itself: code called by several is in each */
	struct flow_effort *effort;
	const double *taken; /* [n_edges] on record; NULL = no records */
	uint8_t *empty;      /* [n_blocks] out, may be NULL: headers of loops of which nothing repeats */
	bool found_empty;
	struct nest nest;
	struct reach reach;
	VEC(struct seed) seeds;
	VEC(uint32_t) reached;
	VEC(uint32_t) stack;
};

void room_fini(struct room *room)
{
	nest_room_fini(&room->nest);
	shape_room_fini(&room->shape);
	free(room->stamp);
	free(room->covered);
	free(room->claimed);
	free(room->called);
	free(room->mark);
}

/* A call, or the jump of one through a PLT. */
static bool enters(const struct flow_graph *g, const struct flow_edge *e)
{
	uint32_t func = g->blocks[e->to].func;

	return e->kind == FLOW_CALL ||
	       (e->kind == FLOW_IND && func < g->n_funcs && g->funcs[func].entry == e->to);
}

void room_init(struct room *room, const struct flow_graph *g, const double *taken)
{
	size_t n = g->n_blocks;

	*room = (struct room){ .stamp = mem_calloc(n + 1, sizeof(*room->stamp)),
		               .covered = mem_calloc(n + 1, sizeof(*room->covered)),
		               .claimed = mem_malloc((n + 1) * sizeof(*room->claimed)),
		               .called = mem_calloc(n + 1, sizeof(*room->called)),
		               .mark = mem_calloc(n + 1, 1) };
	memset(room->claimed, 0xff, (n + 1) * sizeof(*room->claimed));
	for (size_t e = 0; taken && e < g->n_edges; e++)
		if (enters(g, &g->edges[e]))
			room->called[g->edges[e].to] += taken[e];
	nest_room_init(&room->nest, n);
	shape_room_init(&room->shape, g);
}

void outermost_spend(struct flow_effort *effort, size_t n)
{
	if (!effort)
		return;
	effort->used += n;
	sp_progress("finding regions: blocks looked at", effort->used, 0);
}

/* ---- loops ---- */

static void reach(struct finder *f, uint32_t block, uint32_t *seen, uint32_t mark)
{
	if (seen[block] == mark || f->room->claimed[block] != NONE)
		return;
	seen[block] = mark;
	vec_add(&f->reached, block);
	vec_add(&f->stack, block);
}

/* From a loop's own blocks only calls lead on inside; from called code (and all of a recursion) everything. */
static bool leads_inside(const struct finder *f, uint32_t comp, uint32_t block, uint32_t edge)
{
	const struct nest *n = &f->nest;

	return nest_downward(f->view, edge) && (nest_comp(n, block) != comp || n->recursive[comp] ||
	                                        f->view->g->edges[edge].kind == FLOW_CALL);
}

/* Blocks of a loop and of its callees go to `reached`, but for those seen, and those claimed with all they call.  Returns how many. */
static uint32_t walk(struct finder *f, uint32_t comp, uint32_t *seen, uint32_t mark)
{
	const struct nest *n = &f->nest;
	const size_t before = f->reached.n;

	for (uint32_t i = n->first[comp]; i < n->first[comp + 1]; i++)
		reach(f, n->member[i], seen, mark);
	while (f->stack.n) {
		uint32_t block = f->stack.v[--f->stack.n];
		const struct flow_block *b = &f->view->g->blocks[block];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++)
			if (leads_inside(f, comp, block, e))
				reach(f, f->view->g->edges[e].to, seen, mark);
	}
	outermost_spend(f->effort, f->reached.n - before);
	return (uint32_t)(f->reached.n - before);
}

/* Outermost loops: components in the order of calls, those inside an earlier one left out. */
static void find_loops(struct finder *f, uint32_t *comps, size_t *n_loops)
{
	const struct nest *n = &f->nest;
	size_t before;

	for (uint32_t c = n->n_comps; c-- > 0 && !flow_effort_spent(f->effort);) {
		if (!n->loop[c] || f->room->covered[n->member[n->first[c]]] == f->room->n_searches)
			continue;
		before = f->reached.n;
		walk(f, c, f->room->covered, f->room->n_searches);
		f->reached.n = before;
		comps[(*n_loops)++] = c;
	}
}

/* Those of them that reach some heat. */
static void find_seeds(struct finder *f, double min_heat)
{
	uint32_t *comps = mem_malloc(((size_t)f->nest.n_comps + 1) * sizeof(*comps));
	size_t n_loops = 0;

	find_loops(f, comps, &n_loops);
	reach_find(f->view, &f->nest, f->heat, comps, n_loops, &f->reach);
	outermost_spend(f->effort, f->reach.n_lines * f->nest.n);
	for (uint32_t i = 0; i < n_loops; i++) {
		struct seed s = { .comp = comps[i], .loop = i };

		for (size_t h = reach_next(&f->reach, i, 0); h < f->reach.n;
		     h = reach_next(&f->reach, i, h + 1))
			s.heat += f->reach.heat[h];
		if (s.heat >= min_heat && s.heat > 0)
			vec_add(&f->seeds, s);
	}
	free(comps);
}

static int hotter_first(const void *x, const void *y)
{
	const struct seed *a = x, *b = y;

	if (a->heat != b->heat)
		return a->heat > b->heat ? -1 : 1;
	return a->comp < b->comp ? -1 : a->comp > b->comp;
}

static uint32_t group_of(struct finder *f, uint32_t seed)
{
	while (f->seeds.v[seed].group != seed)
		seed = f->seeds.v[seed].group = f->seeds.v[f->seeds.v[seed].group].group;
	return seed;
}

/* Who has claimed a component that has heat, NONE if nobody: all of it or nothing is claimed. */
static uint32_t claimed_by(const struct finder *f, size_t hot)
{
	const struct nest *n = &f->nest;

	return f->room->claimed[n->member[n->first[f->reach.comp[hot]]]];
}

/* Heat of seed i in what each group has claimed already: shared[group]. */
static void share_out(struct finder *f, uint32_t i, double *shared)
{
	const struct reach *r = &f->reach;
	struct seed *s = &f->seeds.v[i];

	s->own = s->heat;
	for (size_t h = reach_next(r, s->loop, 0); h < r->n; h = reach_next(r, s->loop, h + 1)) {
		if (claimed_by(f, h) == NONE)
			continue;
		shared[group_of(f, claimed_by(f, h))] += r->heat[h];
		s->own -= r->heat[h];
	}
}

/* Is a loop seen to call code of a group often, of which it reaches that much heat?  group: NONE = any. */
static bool calls_often(struct finder *f, uint32_t i, uint32_t group, const double *shared, double min_heat)
{
	const struct flow_graph *g = f->view->g;
	const struct seed *s = &f->seeds.v[i];

	for (uint32_t k = 0; k < s->n_blocks && f->taken; k++) {
		const struct flow_block *b = &g->blocks[f->reached.v[s->block0 + k]];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			uint32_t to = g->edges[e].to, of;

			if (!enters(g, &g->edges[e]) || f->room->claimed[to] == NONE ||
			    f->taken[e] < model->some || f->taken[e] < model->least * f->room->called[to])
				continue;
			of = group_of(f, f->room->claimed[to]);
			if ((group == NONE || of == group) && shared[of] >= min_heat)
				return true;
		}
	}
	return false;
}

/* Seed i shares code with what `owner` claimed: are they of one group? */
static void meet(struct finder *f, uint32_t i, uint32_t owner, const double *shared)
{
	uint32_t group = group_of(f, owner);

	if (group == group_of(f, i) || f->seeds.v[group].apart_from == i)
		return;
	if (shared[group] > model->little * f->seeds.v[i].own || calls_often(f, i, group, shared, 0))
		f->seeds.v[group_of(f, i)].group = group;
	else
		f->seeds.v[group].apart_from = i;
}

/* With all whose code it shares, be it code without heat. */
static void meet_all(struct finder *f, uint32_t i, const double *shared)
{
	const struct seed *s = &f->seeds.v[i];
	const struct reach *r = &f->reach;

	for (size_t h = reach_next(r, s->loop, 0); h < r->n; h = reach_next(r, s->loop, h + 1))
		if (claimed_by(f, h) != NONE)
			meet(f, i, claimed_by(f, h), shared);
	for (uint32_t k = 0; k < s->n_blocks && f->taken; k++) {
		const uint32_t block = f->reached.v[s->block0 + k];
		const struct flow_block *b = &f->view->g->blocks[block];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			const uint32_t owner = f->room->claimed[f->view->g->edges[e].to];

			if (owner != NONE && leads_inside(f, s->comp, block, e))
				meet(f, i, owner, shared);
		}
	}
}

static void claim(struct finder *f, uint32_t i, double *shared, double min_heat)
{
	struct seed *s = &f->seeds.v[i];

	share_out(f, i, shared);
	/*
	 * A loop with next to no heat of its own may still be where much of the heat in code it shares comes from: that
	 * code's flow does not add up without it.
	 */
	s->kept = (s->own > 0 && s->own >= min_heat) || calls_often(f, i, NONE, shared, min_heat);
	if (!s->kept) {
		f->reached.n = s->block0;
		return;
	}
	meet_all(f, i, shared);
	for (uint32_t k = 0; k < s->n_blocks; k++)
		f->room->claimed[f->reached.v[s->block0 + k]] = i;
}

static void claim_all(struct finder *f, double min_heat)
{
	double *shared = mem_calloc(f->seeds.n + 1, sizeof(*shared));

	if (f->seeds.n)
		qsort(f->seeds.v, f->seeds.n, sizeof(*f->seeds.v), hotter_first);
	for (uint32_t i = 0; i < f->seeds.n && !flow_effort_spent(f->effort); i++) {
		struct seed *s = &f->seeds.v[i];

		s->group = i;
		s->apart_from = NONE;
		s->kept = f->apart;
		s->block0 = (uint32_t)f->reached.n;
		s->n_blocks = walk(f, s->comp, f->room->stamp, ++f->room->n_stamps);
		memset(shared, 0, f->seeds.n * sizeof(*shared));
		if (!f->apart)
			claim(f, i, shared, min_heat);
	}
	free(shared);
}

/* The seeds of one group become a region. */
static void make_region(struct finder *f, uint32_t group, struct flow_region *r)
{
	struct shape shape = { .view = f->view, .nest = &f->nest, .heat = f->heat, .room = &f->room->shape };
	double hottest = 0;

	for (uint32_t i = 0; i < f->seeds.n; i++) {
		const struct seed *s = &f->seeds.v[i];

		if (!s->kept || group_of(f, i) != group)
			continue;
		for (uint32_t k = 0; k < s->n_blocks; k++)
			shape_add_block(&shape, f->reached.v[s->block0 + k]);
		hottest = fmax(hottest, s->heat);
		shape_add_loop(&shape, s->comp, s->heat >= hottest / 2);
	}
	shape_finish(&shape, r);
	outermost_spend(f->effort, shape.all.n + shape.n_edges);
	shape_fini(&shape);
}

static void finder_fini(struct finder *f)
{
	for (size_t i = 0; i < f->reached.n; i++)
		f->room->claimed[f->reached.v[i]] = NONE;
	nest_fini(&f->nest);
	reach_fini(&f->reach);
	vec_fini(&f->seeds);
	vec_fini(&f->reached);
}

/* A loop that a call leads out of for good, as far as the view goes: nothing is left of it. */
static void note_empty(struct finder *f, uint32_t group)
{
	for (uint32_t i = 0; i < f->seeds.n && f->empty; i++) {
		if (!f->seeds.v[i].kept || group_of(f, i) != group)
			continue;
		f->empty[nest_header(f->view, &f->nest, f->seeds.v[i].comp)] = 1;
		f->found_empty = true;
	}
}

static void collect(struct finder *f, double min_heat, struct flow_regions *out)
{
	out->v = mem_calloc(f->seeds.n + 1, sizeof(*out->v));
	for (uint32_t i = 0; i < f->seeds.n && !flow_effort_spent(f->effort); i++) {
		struct flow_region *r = &out->v[out->n];

		if (!f->seeds.v[i].kept || group_of(f, i) != i)
			continue;
		make_region(f, i, r);
		out->n++;
		if (r->n_blocks == 0)
			note_empty(f, i);
		if (r->n_blocks == 0 || r->weight < min_heat)
			flow_region_fini(&out->v[--out->n]);
	}
}

bool outermost_find(const struct nest_view *view, const struct search *s, struct flow_regions **out)
{
	struct finder f = { .view = view,
		            .room = s->room,
		            .heat = s->heat,
		            .apart = s->apart,
		            .effort = s->effort,
		            .empty = s->empty,
		            .taken = s->taken };
	struct flow_regions *regions = mem_calloc(1, sizeof(*regions));

	s->room->n_searches++;
	outermost_spend(s->effort, view->n_listed);
	nest_find(view, &f.nest);
	find_seeds(&f, s->min_heat);
	nest_drop_edges(&f.nest);
	claim_all(&f, s->min_heat);
	vec_fini(&f.stack);
	collect(&f, s->min_heat, regions);
	*out = regions;
	finder_fini(&f);
	return f.found_empty;
}
