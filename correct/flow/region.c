/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/region.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/nest.h"
#include "correct/flow/shape.h"
#include "profiler/base/log.h"
#include "profiler/base/order.h"
#include "profiler/base/vec.h"

#define NONE UINT32_MAX

/*
 * Calls of code that a hotter loop has claimed, on record and of all its calls, from which on a loop of no heat counts: without
 * it that code's flow is off by about their share.
 */
enum { MIN_CALLS_SEEN = 50 };
/* Blocks that are passed over in an array, while one is looked at with its edges. */
enum { LOOKED_OVER = 16 };
static const double min_call_share = 0.001;

struct seed { /* an outermost loop */
	uint32_t comp;
	uint32_t block0, n_blocks; /* finder.reached[block0 ..]: it and all that is called in it */
	double heat, own;          /* own: not in code claimed by a hotter loop */
	uint32_t group;            /* seed it was merged into, itself if none */
	/* The latest seed that has nothing to do with this group, though they share code. */
	uint32_t apart_from;
	bool kept;
};

/* Room as large as the graph, for all searches of one call from outside. */
struct room {
	struct nest_room nest;
	struct shape_room shape;
	uint32_t *stamp;   /* [n_blocks] number of the latest loop whose reach it is in */
	uint32_t *covered; /* [n_blocks] number of the latest search that found it inside an outermost loop */
	uint32_t *claimed; /* [n_blocks] seed; NONE, and for all between searches */
	double *called;    /* [n_blocks] calls of it on record */
	uint8_t *mark;     /* [n_blocks] 0 */
	uint32_t n_stamps, n_searches;
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
	VEC(struct seed) seeds;
	VEC(uint32_t) reached;
	VEC(uint32_t) stack;
};

/* ---- room ---- */

static void room_fini(struct room *room)
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

/* taken: of the searches that are told of records, NULL for none. */
static int room_init(struct room *room, const struct flow_graph *g, const double *taken)
{
	size_t n = g->n_blocks;
	int err;

	*room = (struct room){ .stamp = calloc(n + 1, sizeof(*room->stamp)),
		               .covered = calloc(n + 1, sizeof(*room->covered)),
		               .claimed = malloc((n + 1) * sizeof(*room->claimed)),
		               .called = calloc(n + 1, sizeof(*room->called)),
		               .mark = calloc(n + 1, 1) };
	if (!room->stamp || !room->covered || !room->claimed || !room->called || !room->mark)
		return sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", n);
	memset(room->claimed, 0xff, (n + 1) * sizeof(*room->claimed));
	for (size_t e = 0; taken && e < g->n_edges; e++)
		if (enters(g, &g->edges[e]))
			room->called[g->edges[e].to] += taken[e];
	err = nest_room_init(&room->nest, n);
	return err < 0 ? err : shape_room_init(&room->shape, g);
}

/* A part of the work was done, in blocks and edges that were looked at. */
static void spend(struct flow_effort *effort, size_t n)
{
	if (!effort)
		return;
	effort->used += n;
	sp_progress("finding regions: blocks looked at", effort->used, 0);
}

/* ---- what leads to heat ---- */

struct blocks {
	uint32_t *v;
	size_t n, cap;
};

static int mark_block(struct room *room, uint32_t block, struct blocks *list)
{
	if (room->mark[block])
		return 0;
	room->mark[block] = 1;
	return vec_push(list, block);
}

/*
 * The blocks of a view from which some heat is reached: a loop has all of its blocks among them or none, and only those
 * with all can be regions.  Nothing where all heat together is less than a region needs.
 */
static int lead_to_heat(const struct nest_view *view, const double *heat, double min_heat, struct room *room,
                        struct flow_effort *effort, struct blocks *out)
{
	const struct flow_graph *g = view->g;
	size_t n_blocks = view->blocks ? view->n_listed : g->n_blocks;
	double sum = 0;
	int err = 0;

	for (uint32_t i = 0; i < n_blocks && err == 0; i++) {
		uint32_t b = view->blocks ? view->blocks[i] : i;

		if (!view->block_in[b] || !(heat[b] > 0))
			continue;
		sum += heat[b];
		err = mark_block(room, b, out);
	}
	/* Sums in another order may differ by rounding. */
	if (sum < min_heat * (1 - 1e-9))
		sum = 0;
	for (size_t i = 0; i < out->n && err == 0 && sum > 0; i++) {
		const struct flow_block *b = &g->blocks[out->v[i]];

		for (uint32_t k = b->in0; k < b->in0 + b->n_in && err == 0; k++) {
			const struct flow_edge *e = &g->edges[g->in[k]];

			if (e->kind != FLOW_RET && view->block_in[e->from] &&
			    (e->kind == FLOW_SKIP || view->edge_in[g->in[k]]))
				err = mark_block(room, e->from, out);
		}
	}
	spend(effort, n_blocks / LOOKED_OVER + out->n);
	for (size_t i = 0; i < out->n; i++)
		room->mark[out->v[i]] = 0;
	if (!(sum > 0))
		out->n = 0;
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), order_u32);
	return err;
}

/* ---- loops ---- */

static int reach(struct finder *f, uint32_t block, uint32_t mark)
{
	int err;

	if (f->room->stamp[block] == mark)
		return 0;
	f->room->stamp[block] = mark;
	if ((err = vec_push(&f->reached, block)) < 0)
		return err;
	return vec_push(&f->stack, block);
}

/* From a loop's own blocks only calls lead on inside; from called code (and all of a recursion) everything. */
static bool leads_inside(const struct finder *f, const struct seed *s, uint32_t block, uint32_t edge)
{
	const struct nest *n = &f->nest;

	return nest_comp(n, block) != s->comp || n->recursive[s->comp] ||
	       f->view->g->edges[edge].kind == FLOW_CALL;
}

static int close_seed(struct finder *f, struct seed *s)
{
	const struct nest *n = &f->nest;
	const uint32_t mark = ++f->room->n_stamps;
	int err = 0;

	s->block0 = (uint32_t)f->reached.n;
	for (uint32_t i = n->first[s->comp]; i < n->first[s->comp + 1] && err == 0; i++)
		err = reach(f, n->member[i], mark);
	while (err == 0 && f->stack.n) {
		uint32_t block = f->stack.v[--f->stack.n];
		const struct flow_block *b = &f->view->g->blocks[block];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out && err == 0; e++)
			if (nest_downward(f->view, e) && leads_inside(f, s, block, e))
				err = reach(f, f->view->g->edges[e].to, mark);
	}
	s->n_blocks = (uint32_t)f->reached.n - s->block0;
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		s->heat += f->heat[f->reached.v[s->block0 + i]];
		f->room->covered[f->reached.v[s->block0 + i]] = f->room->n_searches;
	}
	return err;
}

/* Outermost loops: components in the order of calls, those inside an earlier one left out. */
static int find_seeds(struct finder *f, double min_heat)
{
	const struct nest *n = &f->nest;
	int err = 0;

	for (uint32_t c = n->n_comps; c-- > 0 && err == 0;) {
		struct seed s = { .comp = c };

		if (!n->loop[c] || f->room->covered[n->member[n->first[c]]] == f->room->n_searches)
			continue;
		err = close_seed(f, &s);
		if (err == 0 && s.heat >= min_heat && s.heat > 0)
			err = vec_push(&f->seeds, s);
		else
			f->reached.n = s.block0;
	}
	return err;
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

/* Heat of seed i in what each group has claimed already: shared[group]. */
static void share_out(struct finder *f, uint32_t i, double *shared)
{
	struct seed *s = &f->seeds.v[i];

	s->own = s->heat;
	for (uint32_t k = 0; k < s->n_blocks; k++) {
		uint32_t block = f->reached.v[s->block0 + k];

		if (f->room->claimed[block] == NONE)
			continue;
		shared[group_of(f, f->room->claimed[block])] += f->heat[block];
		s->own -= f->heat[block];
	}
}

/* Is a loop seen to call code of a group often, of which it reaches that much heat?  group: NONE = any. */
static bool calls_often(struct finder *f, uint32_t i, uint32_t group, const double *shared, double min_heat)
{
	const struct flow_graph *g = f->view->g;
	const struct seed *s = &f->seeds.v[i];

	for (uint32_t k = 0; k < s->n_blocks && f->taken; k++) {
		const uint32_t block = f->reached.v[s->block0 + k], owner = f->room->claimed[block];
		const struct flow_block *b = &g->blocks[block];

		if (owner != NONE && owner != i)
			continue;
		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			uint32_t to = g->edges[e].to, of;

			if (!enters(g, &g->edges[e]) || f->room->claimed[to] == NONE ||
			    f->taken[e] < MIN_CALLS_SEEN ||
			    f->taken[e] < min_call_share * f->room->called[to])
				continue;
			of = group_of(f, f->room->claimed[to]);
			if ((group == NONE || of == group) && shared[of] >= min_heat)
				return true;
		}
	}
	return false;
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
	for (uint32_t k = 0; k < s->n_blocks; k++) {
		uint32_t *owner = &f->room->claimed[f->reached.v[s->block0 + k]], group;

		if (*owner == NONE) {
			if (s->kept)
				*owner = i;
			continue;
		}
		group = group_of(f, *owner);
		if (!s->kept || group == group_of(f, i) || f->seeds.v[group].apart_from == i)
			continue;
		if (shared[group] > REGION_SHARED_COLD * s->own || calls_often(f, i, group, shared, 0))
			f->seeds.v[group_of(f, i)].group = group;
		else
			f->seeds.v[group].apart_from = i;
	}
}

static int claim_all(struct finder *f, double min_heat)
{
	double *shared = calloc(f->seeds.n + 1, sizeof(*shared));

	if (!shared)
		return sp_fail(SP_ENOMEM, "out of memory for %zu loops", f->seeds.n);
	if (f->seeds.n)
		qsort(f->seeds.v, f->seeds.n, sizeof(*f->seeds.v), hotter_first);
	for (uint32_t i = 0; i < f->seeds.n; i++) {
		f->seeds.v[i].group = i;
		f->seeds.v[i].apart_from = NONE;
		f->seeds.v[i].kept = f->apart;
	}
	for (uint32_t i = 0; i < f->seeds.n && !f->apart; i++) {
		memset(shared, 0, f->seeds.n * sizeof(*shared));
		claim(f, i, shared, min_heat);
	}
	free(shared);
	return 0;
}

/* The seeds of one group become a region. */
static int make_region(struct finder *f, uint32_t group, struct flow_region *r)
{
	struct shape shape = { .view = f->view, .nest = &f->nest, .heat = f->heat, .room = &f->room->shape };
	int err = 0;

	for (uint32_t i = 0; i < f->seeds.n && err == 0; i++) {
		const struct seed *s = &f->seeds.v[i];

		if (!s->kept || group_of(f, i) != group)
			continue;
		for (uint32_t k = 0; k < s->n_blocks && err == 0; k++) {
			uint32_t block = f->reached.v[s->block0 + k], owner = f->room->claimed[block];

			if (f->apart || (owner != NONE && group_of(f, owner) == group))
				err = shape_add_block(&shape, block);
		}
		if (err == 0)
			err = shape_add_loop(&shape, s->comp);
	}
	if (err == 0)
		err = shape_finish(&shape, r);
	spend(f->effort, shape.all.n + shape.n_edges);
	shape_fini(&shape);
	return err;
}

static void finder_fini(struct finder *f)
{
	for (size_t i = 0; i < f->reached.n; i++)
		f->room->claimed[f->reached.v[i]] = NONE;
	nest_fini(&f->nest);
	vec_fini(&f->seeds);
	vec_fini(&f->reached);
	vec_fini(&f->stack);
}

static int hotter_region_first(const void *x, const void *y)
{
	const struct flow_region *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->header < b->header ? -1 : a->header > b->header;
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

static void sort_regions(struct flow_regions *out, size_t n_blocks)
{
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), hotter_region_first);
	memset(out->of_block, 0xff, (n_blocks + 1) * sizeof(*out->of_block));
	for (size_t i = 0; i < out->n; i++)
		for (size_t k = 0; k < out->v[i].n_blocks; k++) {
			int32_t *of = &out->of_block[out->v[i].blocks[k]];

			*of = *of == -1 ? (int32_t)i : FLOW_SHARED;
		}
}

static int collect(struct finder *f, double min_heat, struct flow_regions *out)
{
	size_t n_blocks = f->view->g->n_blocks;
	int err = 0;

	out->v = calloc(f->seeds.n + 1, sizeof(*out->v));
	out->of_block = calloc(n_blocks + 1, sizeof(*out->of_block));
	if (!out->v || !out->of_block)
		return sp_fail(SP_ENOMEM, "out of memory for %zu regions", f->seeds.n);
	for (uint32_t i = 0; i < f->seeds.n && err == 0 && !flow_effort_spent(f->effort); i++) {
		struct flow_region *r = &out->v[out->n];

		if (!f->seeds.v[i].kept || group_of(f, i) != i)
			continue;
		err = make_region(f, i, r);
		out->n++;
		if (err == 0 && r->n_blocks == 0)
			note_empty(f, i);
		if (err == 0 && (r->n_blocks == 0 || r->weight < min_heat))
			flow_region_fini(&out->v[--out->n]);
	}
	sort_regions(out, n_blocks);
	return err;
}

/* A search: where regions are looked for, and by what they are judged. */
struct search {
	struct room *room;
	const double *heat;
	double min_heat;
	double least; /* heat that all regions together must hold, or the search is given up */
	bool apart;
	uint8_t *empty;
	const double *taken;
	struct flow_effort *effort;
};

/* Returns positive where loops were empty, and set empty[] (if not NULL).  The view has its list. */
static int find(const struct nest_view *view, const struct search *s, struct flow_regions **out)
{
	struct finder f = { .view = view,
		            .room = s->room,
		            .heat = s->heat,
		            .apart = s->apart,
		            .effort = s->effort,
		            .empty = s->empty,
		            .taken = s->taken };
	struct flow_regions *regions = calloc(1, sizeof(*regions));
	int err;

	if (!regions)
		return sp_fail(SP_ENOMEM, "out of memory for the regions");
	s->room->n_searches++;
	spend(s->effort, view->n_listed);
	if ((err = nest_find(view, &f.nest)) < 0 || (err = find_seeds(&f, s->min_heat)) < 0 ||
	    (err = claim_all(&f, s->min_heat)) < 0 || (err = collect(&f, s->min_heat, regions)) < 0)
		goto out;
	*out = regions;
	regions = NULL;
	err = f.found_empty;
out:
	flow_regions_free(regions);
	finder_fini(&f);
	return err;
}

/*
 * Where a loop's turn is not all on record, those inside it may be: as long as loops are empty they are closed.
 * s->empty: the view's `closed`, NULL to take loops as they are.
 */
static int find_turning(const struct nest_view *view, const struct search *s, struct flow_regions **out)
{
	struct nest_view hot = *view;
	struct blocks list = { 0 };
	/* Its own list, however short: without one it were all of the view. */
	int err = vec_reserve(&list, 1);

	*out = NULL;
	if (err == 0)
		err = lead_to_heat(view, s->heat, s->min_heat, s->room, s->effort, &list);
	hot.blocks = list.v;
	hot.n_listed = flow_effort_spent(s->effort) ? 0 : list.n;
	hot.room = &s->room->nest;
	if (err == 0)
		do {
			flow_regions_free(*out);
			*out = NULL;
			err = find(&hot, s, out);
		} while (err > 0 && !flow_effort_spent(s->effort));
	free(list.v);
	return err < 0 ? err : 0;
}

/* Add the regions of `more`, which are of other blocks, to out's. */
static int take_over(struct flow_regions *out, struct flow_regions *more, size_t n_blocks)
{
	struct flow_region *v = realloc(out->v, (out->n + more->n + 1) * sizeof(*v));

	if (!v)
		return sp_fail(SP_ENOMEM, "out of memory for %zu regions", out->n + more->n);
	out->v = v;
	if (more->n)
		memcpy(v + out->n, more->v, more->n * sizeof(*v));
	out->n += more->n;
	more->n = 0;
	sort_regions(out, n_blocks);
	return 0;
}

/* Does code on record lead straight into the region, and the region into such code? */
static bool between(const struct nest_view *seen, const struct flow_region *r)
{
	const struct flow_graph *g = seen->g;
	bool in = false, out = false;

	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct flow_block *b = &g->blocks[r->blocks[i]];

		for (uint32_t k = b->out0; k < b->out0 + b->n_out; k++)
			out |= seen->block_in[g->edges[k].to];
		for (uint32_t k = b->in0; k < b->in0 + b->n_in; k++)
			in |= seen->block_in[g->edges[g->in[k]].from];
	}
	return in && out;
}

/* Takes the headers of such regions from left, so that those inside are found; returns whether there were any. */
static bool open_between(const struct nest_view *seen, const struct flow_regions *regions, uint8_t *left)
{
	bool opened = false;

	for (size_t i = 0; i < regions->n; i++) {
		const struct flow_region *r = &regions->v[i];

		if (!between(seen, r))
			continue;
		for (size_t h = 0; h < r->n_headers; h++)
			left[r->headers[h]] = 0;
		for (size_t b = 0; b < r->n_blocks && !r->n_headers; b++)
			left[r->blocks[b]] = 0;
		opened = true;
	}
	return opened;
}

/* Heat of the blocks that are marked, or of the regions. */
static double heat_of(const double *heat, const uint8_t *marked, size_t n_blocks)
{
	double sum = 0;

	for (size_t b = 0; b < n_blocks; b++)
		sum += marked[b] ? heat[b] : 0;
	return sum;
}

static double heat_in(const struct flow_regions *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->v[i].weight;
	return sum;
}

/*
 * Regions in what is left of a view.  A loop may turn on record while something that it calls now and then was not seen to
 * return: that is no part of its region, but the loops inside are.
 *
 * seen: what is on record, NULL where the view is that.  Stacks that are few miss loops that samples do not: a loop of which
 * nothing is on record is a region, too, but not where it is one only because the way through what is on record was left out.
 */
static int add_left(const struct nest_view *view, const struct nest_view *seen, const struct search *s,
                    struct flow_regions *out)
{
	size_t n_blocks = view->g->n_blocks;
	uint8_t *left = malloc(n_blocks + 1);
	struct nest_view rest = *view;
	struct flow_regions *more = NULL;
	int err = 0;

	if (!left)
		return sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", n_blocks);
	for (size_t b = 0; b < n_blocks; b++)
		left[b] = view->block_in[b] && out->of_block[b] == -1 && !(seen && seen->block_in[b]);
	rest.block_in = left;
	do {
		flow_regions_free(more);
		more = NULL;
		/* Were all that is left in regions, and too little still: this may take long, and is for nothing. */
		if (heat_in(out) + heat_of(s->heat, left, n_blocks) < s->least * (1 - 1e-9))
			break;
		err = find_turning(&rest, s, &more);
	} while (err == 0 && seen && !flow_effort_spent(s->effort) && open_between(seen, more, left));
	if (err == 0 && more)
		err = take_over(out, more, n_blocks);
	flow_regions_free(more);
	free(left);
	return err;
}

/* The same with room for it. */
static int find_regions(const struct flow_graph *g, const struct flow_ran *ran, uint8_t *all, uint8_t *closed,
                        struct search *s, struct flow_regions **out)
{
	struct nest_view view = {
		.g = g, .block_in = ran ? ran->block : all, .edge_in = ran ? ran->edge : all, .closed = closed
	};
	const struct nest_view whole = { .g = g, .block_in = all, .edge_in = all, .closed = closed };
	int err;

	memset(all, 1, g->n_blocks + g->n_edges + 1);
	s->empty = ran ? closed : NULL;
	s->taken = ran ? ran->taken : NULL;
	err = find_turning(&view, s, out);
	if (err == 0 && ran)
		err = add_left(&view, NULL, s, *out);
	s->taken = NULL;
	if (err == 0 && ran)
		err = add_left(&whole, &view, s, *out);
	return err;
}

int flow_regions_find(const struct flow_graph *g, const struct flow_ran *ran, const double *hot_weight,
                      double min_share, double least, struct flow_effort *effort, struct flow_regions **out)
{
	uint8_t *all = malloc(g->n_blocks + g->n_edges + 1), *closed = calloc(g->n_blocks + 1, 1);
	struct room room;
	struct search s = { .room = &room, .heat = hot_weight, .least = least, .effort = effort };
	int err = room_init(&room, g, ran ? ran->taken : NULL);

	*out = NULL;
	if (err == 0 && (!all || !closed))
		err = sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", g->n_blocks);
	for (size_t i = 0; i < g->n_blocks; i++)
		s.min_heat += hot_weight[i];
	s.min_heat *= min_share;
	if (err == 0)
		err = find_regions(g, ran, all, closed, &s, out);
	room_fini(&room);
	free(all);
	free(closed);
	return err;
}

/* Loops inside a region; its own headers closed or not. */
static int find_inside(const struct flow_graph *g, const struct flow_region *r, const double *hot_weight,
                       double min_share, bool close, bool apart, struct flow_effort *effort,
                       struct flow_regions **out)
{
	uint8_t *block_in = calloc(g->n_blocks + 1, 1), *edge_in = calloc(g->n_edges + 1, 1),
	        *closed = calloc(g->n_blocks + 1, 1);
	struct room room;
	struct search s = { .room = &room,
		            .heat = hot_weight,
		            .min_heat = min_share * r->weight,
		            .apart = apart,
		            .effort = effort };
	struct nest_view view = { .g = g,
		                  .block_in = block_in,
		                  .edge_in = edge_in,
		                  .closed = closed,
		                  .blocks = r->blocks,
		                  .n_listed = r->n_blocks };
	int err = room_init(&room, g, NULL);

	if (err == 0 && (!block_in || !edge_in || !closed))
		err = sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", g->n_blocks);
	if (err == 0) {
		for (size_t i = 0; i < r->n_blocks; i++)
			block_in[r->blocks[i]] = 1;
		for (size_t i = 0; i < r->n_edges; i++)
			edge_in[r->edges[i]] = 1;
		for (size_t i = 0; i < r->n_headers && close; i++)
			closed[r->headers[i]] = 1;
		err = find_turning(&view, &s, out);
	}
	room_fini(&room);
	free(block_in);
	free(edge_in);
	free(closed);
	return err;
}

int flow_region_children(const struct flow_graph *g, const struct flow_region *r, const double *hot_weight,
                         double min_share, struct flow_regions **out)
{
	return find_inside(g, r, hot_weight, min_share, true, false, NULL, out);
}

int flow_region_parts(const struct flow_graph *g, const struct flow_region *r, const double *hot_weight,
                      double min_share, struct flow_effort *effort, struct flow_regions **out)
{
	return find_inside(g, r, hot_weight, min_share, r->n_headers <= 1, true, effort, out);
}

void flow_region_fini(struct flow_region *r)
{
	free(r->blocks);
	free(r->edges);
	free(r->headers);
	*r = (struct flow_region){ 0 };
}

void flow_region_free(struct flow_region *r)
{
	if (r)
		flow_region_fini(r);
	free(r);
}

static uint32_t *copy_of(const uint32_t *v, size_t n)
{
	uint32_t *out = malloc((n + 1) * sizeof(*out));

	if (out)
		memcpy(out, v, n * sizeof(*out));
	return out;
}

struct flow_region *flow_region_copy(const struct flow_region *r)
{
	struct flow_region *out = malloc(sizeof(*out));

	if (out) {
		*out = *r;
		out->blocks = copy_of(r->blocks, r->n_blocks);
		out->edges = copy_of(r->edges, r->n_edges);
		out->headers = copy_of(r->headers, r->n_headers);
	}
	if (out && out->blocks && out->edges && out->headers)
		return out;
	flow_region_free(out);
	sp_fail(SP_ENOMEM, "out of memory for a region of %zu blocks", r->n_blocks);
	return NULL;
}

void flow_regions_free(struct flow_regions *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		flow_region_fini(&r->v[i]);
	free(r->v);
	free(r->of_block);
	free(r);
}
