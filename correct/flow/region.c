/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/region.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/nest.h"
#include "correct/flow/outermost.h"
#include "correct/model/effort.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/vec.h"

/* Blocks that are passed over in an array, while one is looked at with its edges. */
enum { LOOKED_OVER = 16 };

struct blocks {
	uint32_t *v;
	size_t n, cap;
};

static void mark_block(struct room *room, uint32_t block, struct blocks *list)
{
	if (room->mark[block])
		return;
	room->mark[block] = 1;
	vec_add(list, block);
}

/*
 * The blocks of a view from which some heat is reached: a loop has all of its blocks among them or none, and only those
 * with all can be regions.  Nothing where all heat together is less than a region needs.
 */
static void lead_to_heat(const struct nest_view *view, const struct search *s, struct blocks *out)
{
	const struct flow_graph *g = view->g;
	double sum = 0;

	for (size_t i = 0; i < s->n_hot; i++) {
		if (!view->block_in[s->hot[i]])
			continue;
		sum += s->heat[s->hot[i]];
		mark_block(s->room, s->hot[i], out);
	}
	/* Sums in another order may differ by rounding. */
	if (sum < s->min_heat * (1 - 1e-9))
		sum = 0;
	for (size_t i = 0; i < out->n && sum > 0; i++) {
		const struct flow_block *b = &g->blocks[out->v[i]];

		for (uint32_t k = b->in0; k < b->in0 + b->n_in; k++) {
			const struct flow_edge *e = &g->edges[g->in[k]];

			if (e->kind != FLOW_RET && view->block_in[e->from] &&
			    (e->kind == FLOW_SKIP || view->edge_in[g->in[k]]))
				mark_block(s->room, e->from, out);
		}
	}
	outermost_spend(s->effort, s->n_hot / LOOKED_OVER + out->n);
	for (size_t i = 0; i < out->n; i++)
		s->room->mark[out->v[i]] = 0;
	if (!(sum > 0))
		out->n = 0;
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), order_u32);
}

static int hotter_region_first(const void *x, const void *y)
{
	const struct flow_region *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->header < b->header ? -1 : a->header > b->header;
}

/* Hottest first, and which of them each block is in. */
static void index_regions(struct flow_regions *out, size_t n_blocks)
{
	int32_t *of_block = mem_realloc(out->of_block, (n_blocks + 1) * sizeof(*of_block));

	out->of_block = of_block;
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), hotter_region_first);
	memset(out->of_block, 0xff, (n_blocks + 1) * sizeof(*out->of_block));
	for (size_t i = 0; i < out->n; i++)
		for (size_t k = 0; k < out->v[i].n_blocks; k++) {
			int32_t *of = &out->of_block[out->v[i].blocks[k]];

			*of = *of == -1 ? (int32_t)i : FLOW_SHARED;
		}
}

/*
 * Where no whole iteration of a loop is on record, those inside it may be: as long as loops are empty they are closed.
 * s->empty: the view's `closed`, NULL to take loops as they are.
 */
static struct flow_regions *find_iterating(const struct nest_view *view, const struct search *s)
{
	struct nest_view hot = *view;
	struct blocks list = { 0 };
	struct flow_regions *out = NULL;
	bool empty;

	lead_to_heat(view, s, &list);
	hot.blocks = list.v;
	hot.n_listed = flow_effort_spent(s->effort) ? 0 : list.n;
	hot.room = &s->room->nest;
	do {
		flow_regions_free(out);
		empty = outermost_find(&hot, s, &out);
	} while (empty && !flow_effort_spent(s->effort));
	free(list.v);
	return out;
}

/* Add the regions of `more`, which are of other blocks, to out's. */
static void take_over(struct flow_regions *out, struct flow_regions *more, size_t n_blocks)
{
	struct flow_region *v = mem_realloc(out->v, (out->n + more->n + 1) * sizeof(*v));

	out->v = v;
	if (more->n)
		memcpy(v + out->n, more->v, more->n * sizeof(*v));
	out->n += more->n;
	more->n = 0;
	index_regions(out, n_blocks);
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

/* Those that there was no time to open are not taken for what they aren't. */
static void drop_between(const struct nest_view *seen, struct flow_regions *regions)
{
	size_t n = 0;

	for (size_t i = 0; i < regions->n; i++)
		if (between(seen, &regions->v[i]))
			flow_region_fini(&regions->v[i]);
		else
			regions->v[n++] = regions->v[i];
	regions->n = n;
}

/* Heat of the blocks that are marked, or of the regions. */
static double heat_of(const struct search *s, const uint8_t *marked)
{
	double sum = 0;

	for (size_t i = 0; i < s->n_hot; i++)
		sum += marked[s->hot[i]] ? s->heat[s->hot[i]] : 0;
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
 * Regions in what is left of a view.  A loop may iterate on record while something that it calls now and then was not seen to
 * return: that is no part of its region, but the loops inside are.
 *
 * seen: what is on record, NULL where the view is that.  Stacks that are few miss loops that samples do not: a loop of which
 * nothing is on record is a region, too, but not where it is one only because the way through what is on record was left out.
 */
static void add_left(const struct nest_view *view, const struct nest_view *seen, const struct search *s,
                     struct flow_regions *out)
{
	size_t n_blocks = view->g->n_blocks;
	uint8_t *left = mem_malloc(n_blocks + 1);
	struct nest_view rest = *view;
	struct flow_regions *more = NULL;
	int n_opened = 0;

	for (size_t b = 0; b < n_blocks; b++)
		left[b] = view->block_in[b] && out->of_block[b] == -1 && !(seen && seen->block_in[b]);
	rest.block_in = left;
	do {
		flow_regions_free(more);
		more = NULL;
		/* Were all that is left in regions, and too little still: this may take long, and is for nothing. */
		if (heat_in(out) + heat_of(s, left) < s->least * (1 - 1e-9))
			break;
		more = find_iterating(&rest, s);
	} while (seen && !flow_effort_spent(s->effort) && n_opened++ < EFFORT_OPENED &&
	         open_between(seen, more, left));
	if (seen && more)
		drop_between(seen, more);
	if (more)
		take_over(out, more, n_blocks);
	flow_regions_free(more);
	free(left);
}

/* The same with room for it. */
static struct flow_regions *find_regions(const struct flow_graph *g, const struct flow_ran *ran, uint8_t *all,
                                         uint8_t *closed, struct search *s)
{
	struct nest_view view = {
		.g = g, .block_in = ran ? ran->block : all, .edge_in = ran ? ran->edge : all, .closed = closed
	};
	const struct nest_view whole = { .g = g, .block_in = all, .edge_in = all, .closed = closed };
	struct flow_regions *out;

	memset(all, 1, g->n_blocks + g->n_edges + 1);
	s->empty = ran ? closed : NULL;
	s->taken = ran ? ran->taken : NULL;
	out = find_iterating(&view, s);
	index_regions(out, g->n_blocks);
	if (ran)
		add_left(&view, NULL, s, out);
	s->taken = NULL;
	if (ran)
		add_left(&whole, &view, s, out);
	return out;
}

struct flow_regions *flow_regions_find(const struct flow_graph *g, const struct flow_ran *ran,
                                       const double *hot_weight, double min_share, double least,
                                       struct flow_effort *effort)
{
	uint8_t *all = mem_malloc(g->n_blocks + g->n_edges + 1), *closed = mem_calloc(g->n_blocks + 1, 1);
	uint32_t *hot = mem_malloc((g->n_blocks + 1) * sizeof(*hot));
	struct room room;
	struct search s = { .room = &room, .heat = hot_weight, .hot = hot, .least = least, .effort = effort };
	struct flow_regions *out;

	room_init(&room, g, ran ? ran->taken : NULL);
	for (uint32_t i = 0; i < g->n_blocks; i++) {
		s.min_heat += hot_weight[i];
		if (hot_weight[i] > 0)
			hot[s.n_hot++] = i;
	}
	s.min_heat *= min_share;
	out = find_regions(g, ran, all, closed, &s);
	room_fini(&room);
	free(hot);
	free(all);
	free(closed);
	return out;
}

/* Loops inside a region; its own headers closed or not. */
static struct flow_regions *find_inside(const struct flow_graph *g, const struct flow_region *r,
                                        const double *hot_weight, double min_share, bool close, bool apart,
                                        struct flow_effort *effort)
{
	uint8_t *block_in = mem_calloc(g->n_blocks + 1, 1), *edge_in = mem_calloc(g->n_edges + 1, 1),
	        *closed = mem_calloc(g->n_blocks + 1, 1);
	uint32_t *hot = mem_malloc((r->n_blocks + 1) * sizeof(*hot));
	struct room room;
	struct search s = { .room = &room,
		            .heat = hot_weight,
		            .hot = hot,
		            .min_heat = min_share * r->weight,
		            .apart = apart,
		            .effort = effort };
	struct nest_view view = { .g = g, .block_in = block_in, .edge_in = edge_in, .closed = closed };
	struct flow_regions *out;

	room_init(&room, g, NULL);
	for (size_t i = 0; i < r->n_blocks; i++) {
		block_in[r->blocks[i]] = 1;
		if (hot_weight[r->blocks[i]] > 0)
			hot[s.n_hot++] = r->blocks[i];
	}
	for (size_t i = 0; i < r->n_edges; i++)
		edge_in[r->edges[i]] = 1;
	for (size_t i = 0; i < r->n_headers && close; i++)
		closed[r->headers[i]] = 1;
	out = find_iterating(&view, &s);
	index_regions(out, g->n_blocks);
	room_fini(&room);
	free(hot);
	free(block_in);
	free(edge_in);
	free(closed);
	return out;
}

struct flow_regions *flow_region_children(const struct flow_graph *g, const struct flow_region *r,
                                          const double *hot_weight, double min_share)
{
	return find_inside(g, r, hot_weight, min_share, true, false, NULL);
}

struct flow_regions *flow_region_parts(const struct flow_graph *g, const struct flow_region *r,
                                       const double *hot_weight, double min_share, struct flow_effort *effort)
{
	return find_inside(g, r, hot_weight, min_share, r->n_headers <= 1, true, effort);
}

void flow_regions_replace(struct flow_regions *r, struct flow_regions *const *inside, size_t n_blocks)
{
	struct flow_region *v;
	size_t n = 0, n_all = r->n;

	for (size_t i = 0; i < r->n; i++)
		n_all += inside[i] ? inside[i]->n : 0;
	v = mem_malloc((n_all + 1) * sizeof(*v));
	for (size_t i = 0; i < r->n; i++) {
		if (!inside[i]) {
			v[n++] = r->v[i];
			continue;
		}
		flow_region_fini(&r->v[i]);
		for (size_t k = 0; k < inside[i]->n; k++)
			v[n++] = inside[i]->v[k];
		inside[i]->n = 0;
		flow_regions_free(inside[i]);
	}
	free(r->v);
	r->v = v;
	r->n = n;
	index_regions(r, n_blocks);
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
	uint32_t *out = mem_malloc((n + 1) * sizeof(*out));

	memcpy(out, v, n * sizeof(*out));
	return out;
}

struct flow_region *flow_region_copy(const struct flow_region *r)
{
	struct flow_region *out = mem_malloc(sizeof(*out));

	*out = *r;
	out->blocks = copy_of(r->blocks, r->n_blocks);
	out->edges = copy_of(r->edges, r->n_edges);
	out->headers = copy_of(r->headers, r->n_headers);
	return out;
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
