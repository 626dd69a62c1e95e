/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/region.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/nest.h"
#include "correct/flow/shape.h"
#include "profiler/base/vec.h"

#define NONE UINT32_MAX

/*
 * Calls of code that a hotter loop has claimed, on record and of all its calls, from which on a loop of no heat counts: without
 * it that code's flow is off by about their share.
 */
enum { MIN_CALLS_SEEN = 50 };
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

struct finder {
	const struct nest_view *view;
	const double *heat;  /* [n_blocks] */
	bool apart;          /* every loop for itself: code called by several is in each */
	const double *taken; /* [n_edges] on record; NULL = no records */
	double *called;      /* [n_blocks] calls of it on record */
	uint8_t *empty;      /* [n_blocks] out, may be NULL: headers of loops of which nothing repeats */
	bool found_empty;
	struct nest nest;
	VEC(struct seed) seeds;
	VEC(uint32_t) reached;
	uint32_t *stamp;   /* [n_blocks] */
	uint8_t *covered;  /* [n_blocks] inside an outermost loop */
	uint32_t *claimed; /* [n_blocks] seed, NONE */
	VEC(uint32_t) stack;
};

static int reach(struct finder *f, uint32_t block, uint32_t mark)
{
	int err;

	if (f->stamp[block] == mark)
		return 0;
	f->stamp[block] = mark;
	if ((err = vec_push(&f->reached, block)) < 0)
		return err;
	return vec_push(&f->stack, block);
}

/* From a loop's own blocks only calls lead on inside; from called code (and all of a recursion) everything. */
static bool leads_inside(const struct finder *f, const struct seed *s, uint32_t block, uint32_t k)
{
	const struct nest *n = &f->nest;

	return n->comp[block] != s->comp || n->recursive[s->comp] ||
	       f->view->g->edges[n->edge[k]].kind == FLOW_CALL;
}

static int close_seed(struct finder *f, struct seed *s, uint32_t mark)
{
	const struct nest *n = &f->nest;
	int err = 0;

	s->block0 = (uint32_t)f->reached.n;
	for (uint32_t i = n->first[s->comp]; i < n->first[s->comp + 1] && err == 0; i++)
		err = reach(f, n->member[i], mark);
	while (err == 0 && f->stack.n) {
		uint32_t block = f->stack.v[--f->stack.n];

		for (uint32_t k = n->off[block]; k < n->off[block + 1] && err == 0; k++)
			if (leads_inside(f, s, block, k))
				err = reach(f, n->to[k], mark);
	}
	s->n_blocks = (uint32_t)f->reached.n - s->block0;
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		s->heat += f->heat[f->reached.v[s->block0 + i]];
		f->covered[f->reached.v[s->block0 + i]] = 1;
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

		if (!n->loop[c] || f->covered[n->member[n->first[c]]])
			continue;
		err = close_seed(f, &s, c + 1);
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

		if (f->claimed[block] == NONE)
			continue;
		shared[group_of(f, f->claimed[block])] += f->heat[block];
		s->own -= f->heat[block];
	}
}

/* A call, or the jump of one through a PLT. */
static bool enters(const struct flow_graph *g, const struct flow_edge *e)
{
	uint32_t func = g->blocks[e->to].func;

	return e->kind == FLOW_CALL ||
	       (e->kind == FLOW_IND && func < g->n_funcs && g->funcs[func].entry == e->to);
}

/* Is a loop seen to call code of a group often, of which it reaches that much heat?  group: NONE = any. */
static bool calls_often(struct finder *f, uint32_t i, uint32_t group, const double *shared, double min_heat)
{
	const struct flow_graph *g = f->view->g;
	const struct seed *s = &f->seeds.v[i];

	for (uint32_t k = 0; k < s->n_blocks && f->taken; k++) {
		const uint32_t block = f->reached.v[s->block0 + k], owner = f->claimed[block];
		const struct flow_block *b = &g->blocks[block];

		if (owner != NONE && owner != i)
			continue;
		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			uint32_t to = g->edges[e].to, of;

			if (!enters(g, &g->edges[e]) || f->claimed[to] == NONE ||
			    f->taken[e] < MIN_CALLS_SEEN || f->taken[e] < min_call_share * f->called[to])
				continue;
			of = group_of(f, f->claimed[to]);
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
		uint32_t *owner = &f->claimed[f->reached.v[s->block0 + k]], group;

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
	struct shape shape = { .view = f->view, .nest = &f->nest, .heat = f->heat };
	int err = shape_init(&shape);

	for (uint32_t i = 0; i < f->seeds.n && err == 0; i++) {
		const struct seed *s = &f->seeds.v[i];

		if (!s->kept || group_of(f, i) != group)
			continue;
		for (uint32_t k = 0; k < s->n_blocks; k++) {
			uint32_t block = f->reached.v[s->block0 + k];

			if (f->apart ||
			    (f->claimed[block] != NONE && group_of(f, f->claimed[block]) == group))
				shape.block_in[block] = 1;
		}
		err = shape_add_loop(&shape, s->comp);
	}
	if (err == 0)
		err = shape_finish(&shape, r);
	shape_fini(&shape);
	return err;
}

static int finder_init(struct finder *f)
{
	size_t n = f->view->g->n_blocks;

	f->stamp = calloc(n + 1, sizeof(*f->stamp));
	f->covered = calloc(n + 1, 1);
	f->claimed = malloc((n + 1) * sizeof(*f->claimed));
	f->called = calloc(n + 1, sizeof(*f->called));
	if (!f->stamp || !f->covered || !f->claimed || !f->called)
		return sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", n);
	for (size_t i = 0; i < n; i++)
		f->claimed[i] = NONE;
	for (size_t e = 0; f->taken && e < f->view->g->n_edges; e++)
		if (enters(f->view->g, &f->view->g->edges[e]))
			f->called[f->view->g->edges[e].to] += f->taken[e];
	return nest_find(f->view, &f->nest);
}

static void finder_fini(struct finder *f)
{
	nest_fini(&f->nest);
	vec_fini(&f->seeds);
	vec_fini(&f->reached);
	vec_fini(&f->stack);
	free(f->stamp);
	free(f->covered);
	free(f->claimed);
	free(f->called);
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
		bool several;

		if (!f->seeds.v[i].kept || group_of(f, i) != group)
			continue;
		f->empty[nest_header(f->view, &f->nest, f->seeds.v[i].comp, &several)] = 1;
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
	out->of_block = malloc((n_blocks + 1) * sizeof(*out->of_block));
	if (!out->v || !out->of_block)
		return sp_fail(SP_ENOMEM, "out of memory for %zu regions", f->seeds.n);
	for (uint32_t i = 0; i < f->seeds.n && err == 0; i++) {
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

/* Returns positive where loops were empty, and set empty[] (if not NULL). */
static int find(const struct nest_view *view, const double *heat, double min_heat, bool apart, uint8_t *empty,
                const double *taken, struct flow_regions **out)
{
	struct finder f = { .view = view, .heat = heat, .apart = apart, .empty = empty, .taken = taken };
	struct flow_regions *regions = calloc(1, sizeof(*regions));
	int err;

	if (!regions)
		return sp_fail(SP_ENOMEM, "out of memory for the regions");
	if ((err = finder_init(&f)) < 0 || (err = find_seeds(&f, min_heat)) < 0 ||
	    (err = claim_all(&f, min_heat)) < 0 || (err = collect(&f, min_heat, regions)) < 0)
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
 * closed: the view's, NULL to take loops as they are.
 */
static int find_turning(const struct nest_view *view, const double *heat, double min_heat, uint8_t *closed,
                        const double *taken, struct flow_regions **out)
{
	int err;

	*out = NULL;
	do {
		flow_regions_free(*out);
		*out = NULL;
		err = find(view, heat, min_heat, false, closed, taken, out);
	} while (err > 0);
	return err;
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

/*
 * Regions in what is left of a view.  A loop may turn on record while something that it calls now and then was not seen to
 * return: that is no part of its region, but the loops inside are.
 *
 * seen: what is on record, NULL where the view is that.  Stacks that are few miss loops that samples do not: a loop of which
 * nothing is on record is a region, too, but not where it is one only because the way through what is on record was left out.
 */
static int add_left(const struct nest_view *view, const struct nest_view *seen, const double *heat,
                    double min_heat, uint8_t *closed, const double *taken, struct flow_regions *out)
{
	size_t n_blocks = view->g->n_blocks;
	uint8_t *left = malloc(n_blocks + 1);
	struct nest_view rest = *view;
	struct flow_regions *more = NULL;
	int err;

	if (!left)
		return sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", n_blocks);
	for (size_t b = 0; b < n_blocks; b++)
		left[b] = view->block_in[b] && out->of_block[b] == -1 && !(seen && seen->block_in[b]);
	rest.block_in = left;
	do {
		flow_regions_free(more);
		err = find_turning(&rest, heat, min_heat, closed, taken, &more);
	} while (err == 0 && seen && open_between(seen, more, left));
	if (err == 0)
		err = take_over(out, more, n_blocks);
	flow_regions_free(more);
	free(left);
	return err;
}

int flow_regions_find(const struct flow_graph *g, const struct flow_ran *ran, const double *hot_weight,
                      double min_share, struct flow_regions **out)
{
	uint8_t *all = malloc(g->n_blocks + g->n_edges + 1), *closed = calloc(g->n_blocks + 1, 1);
	struct nest_view view = {
		.g = g, .block_in = ran ? ran->block : all, .edge_in = ran ? ran->edge : all, .closed = closed
	};
	const struct nest_view whole = { .g = g, .block_in = all, .edge_in = all, .closed = closed };
	const double *taken = ran ? ran->taken : NULL;
	double total = 0;
	int err;

	*out = NULL;
	if (all && closed) {
		memset(all, 1, g->n_blocks + g->n_edges + 1);
		for (size_t i = 0; i < g->n_blocks; i++)
			total += hot_weight[i];
		err = find_turning(&view, hot_weight, min_share * total, ran ? closed : NULL, taken, out);
		if (err == 0 && ran)
			err = add_left(&view, NULL, hot_weight, min_share * total, closed, taken, *out);
		if (err == 0 && ran)
			err = add_left(&whole, &view, hot_weight, min_share * total, closed, NULL, *out);
	} else {
		err = sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", g->n_blocks);
	}
	free(all);
	free(closed);
	return err;
}

/* Loops inside a region; its own headers closed or not. */
static int find_inside(const struct flow_graph *g, const struct flow_region *r, const double *hot_weight,
                       double min_share, bool close, bool apart, struct flow_regions **out)
{
	uint8_t *block_in = calloc(g->n_blocks + 1, 1), *edge_in = calloc(g->n_edges + 1, 1),
	        *closed = calloc(g->n_blocks + 1, 1);
	struct nest_view view = { .g = g, .block_in = block_in, .edge_in = edge_in, .closed = closed };
	int err;

	if (block_in && edge_in && closed) {
		for (size_t i = 0; i < r->n_blocks; i++)
			block_in[r->blocks[i]] = 1;
		for (size_t i = 0; i < r->n_edges; i++)
			edge_in[r->edges[i]] = 1;
		for (size_t i = 0; i < r->n_headers && close; i++)
			closed[r->headers[i]] = 1;
		err = find(&view, hot_weight, min_share * r->weight, apart, NULL, NULL, out);
	} else {
		err = sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", g->n_blocks);
	}
	free(block_in);
	free(edge_in);
	free(closed);
	return err;
}

int flow_region_children(const struct flow_graph *g, const struct flow_region *r, const double *hot_weight,
                         double min_share, struct flow_regions **out)
{
	return find_inside(g, r, hot_weight, min_share, true, false, out);
}

int flow_region_parts(const struct flow_graph *g, const struct flow_region *r, const double *hot_weight,
                      double min_share, struct flow_regions **out)
{
	return find_inside(g, r, hot_weight, min_share, r->n_headers <= 1, true, out);
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
