/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code's flow in a profile: blocks, the ways between them, natural loops,
 * and how often each way was taken as a sum of executions of blocks.
 *
 * As much flow leaves a block as it ran, and as much leads to it.  Where all
 * ways of a block but one are known, that one is: so sums are found one from
 * another, beginning with blocks that have a single way.  Few codes leave a
 * way that no such chain reaches; it stays unknown.
 */
#include <stdlib.h>
#include <string.h>

#include "correct/flow/dominators.h"
#include "correct/model/effort.h"
#include "profiler/base/groups.h"
#include "profiler/base/mem.h"
#include "report/assemble/calls.h"
#include "report/assemble/flow_impl.h"

/* How short sums are looked for first: a short one is better known than a long one. */
static const uint32_t lengths[] = { 1, 2, 3, 4, 6, 8, 12, 16, EFFORT_TERMS };

static int32_t region_of(const struct flow_part *x, uint32_t graph_block)
{
	return x->a->w->regions->of_block[graph_block];
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

bool flow_is_kept(const struct flow_part *x, uint32_t edge)
{
	const struct flow_edge *e = &x->g->edges[edge];
	int32_t r = region_of(x, e->from);
	const struct flow_region *region;

	if (r < 0 || region_of(x, e->to) != r)
		return false;
	region = &x->a->w->regions->v[r];
	return bsearch(&edge, region->edges, region->n_edges, sizeof(edge), compare_u32);
}

bool flow_is_way(const struct flow_part *x, const struct flow_edge *e)
{
	return e->kind != FLOW_CALL && e->kind != FLOW_RET && !e->away &&
	       x->g->blocks[e->from].func == x->g->blocks[e->to].func;
}

/* A call that is stepped over carries what is called, and comes back from it, in the same region. */
static bool carries(const struct flow_part *x, uint32_t edge)
{
	const struct flow_edge *e = &x->g->edges[edge];
	int32_t r = region_of(x, e->from);

	return e->kind == FLOW_SKIP ? r >= 0 && region_of(x, e->to) == r : flow_is_kept(x, edge);
}

static void choose_blocks(struct flow_part *x)
{
	struct profile *p = x->a->p;
	size_t n = 0;

	x->number = mem_malloc((x->g->n_blocks + 1) * sizeof(*x->number));
	x->in_part = mem_calloc(x->g->n_funcs + 1, 1);
	for (size_t b = 0; b < x->g->n_blocks; b++)
		if (region_of(x, (uint32_t)b) >= 0)
			x->in_part[x->g->blocks[b].func] = 1;
	for (size_t b = 0; b < x->g->n_blocks; b++)
		x->number[b] = x->in_part[x->g->blocks[b].func] ? (uint32_t)n++ : UINT32_MAX;
	p->blocks = mem_calloc(n + 1, sizeof(*p->blocks));
	x->out = mem_calloc(2 * n + 2, 1);
	x->in = x->out + n + 1;
	p->n_blocks = n;
	for (size_t b = 0; b < x->g->n_blocks; b++) {
		const struct flow_block *from = &x->g->blocks[b];
		long insn;

		if (x->number[b] == UINT32_MAX)
			continue;
		insn = profile_insn_at(p, from->module, from->vaddr);
		p->blocks[x->number[b]] = (struct profile_block){
			.vaddr = from->vaddr,
			.end_vaddr = from->end_vaddr,
			.module = from->module,
			.func = insn < 0 ? UINT32_MAX : p->insns[insn].phys_func,
			.insn = insn < 0 || p->insns[insn].block == UINT32_MAX ? UINT32_MAX : (uint32_t)insn,
			.trips = UINT32_MAX,
		};
	}
}

static void add_ways(struct flow_part *x, uint32_t graph_block)
{
	struct profile *p = x->a->p;
	const struct flow_block *b = &x->g->blocks[graph_block];
	struct profile_block *at = &p->blocks[x->number[graph_block]];

	at->out0 = (uint32_t)p->n_ways;
	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++) {
		const struct flow_edge *e = &x->g->edges[i];

		if (!flow_is_way(x, e))
			continue;
		vec_room_raw((void **)&p->ways, &x->way_cap, p->n_ways + 1, sizeof(*p->ways));
		/* What no region's flow takes was not taken, where the flow at either end is known. */
		p->ways[p->n_ways++] = (struct profile_way){
			.from = x->number[graph_block],
			.to = x->number[e->to],
			.taken = e->kind == FLOW_TAKEN || e->kind == FLOW_IND,
			.known = !carries(x, i) &&
			         (at->insn != UINT32_MAX || p->blocks[x->number[e->to]].insn != UINT32_MAX),
		};
	}
	at->n_out = (uint32_t)p->n_ways - at->out0;
}

/* The way over a call from one block to another. */
static bool steps_over(const struct profile *p, uint32_t from, uint32_t to)
{
	const struct profile_block *b = &p->blocks[from];

	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++)
		if (p->ways[i].to == to)
			return true;
	return false;
}

/* Do the ways of a block tell all of its region's flow that leaves it, and all that leads to it? */
static void find_balanced(struct flow_part *x, uint32_t graph_block)
{
	const struct profile *p = x->a->p;
	const struct flow_block *b = &x->g->blocks[graph_block];
	uint32_t self = x->number[graph_block];
	bool calls = false, over = false;

	x->out[self] = x->in[self] = p->blocks[self].insn != UINT32_MAX;
	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++) {
		const struct flow_edge *e = &x->g->edges[i];

		calls = calls || (e->kind == FLOW_CALL && flow_is_kept(x, i));
		over = over || (e->kind == FLOW_SKIP && carries(x, i));
		if (e->kind != FLOW_CALL && !flow_is_way(x, e) && flow_is_kept(x, i))
			x->out[self] = 0;
	}
	if (calls && !over)
		x->out[self] = 0;
	for (uint32_t i = b->in0; i < b->in0 + b->n_in; i++) {
		const struct flow_edge *e = &x->g->edges[x->g->in[i]];
		bool beside = e->kind == FLOW_RET ? x->number[e->call] == UINT32_MAX ||
		                                            !steps_over(p, x->number[e->call], self)
		                                  : !flow_is_way(x, e);

		if (beside && flow_is_kept(x, x->g->in[i]))
			x->in[self] = 0;
	}
}

static void list_by_target(struct flow_part *x)
{
	const struct profile *p = x->a->p;
	struct groups by_target;

	groups_make(&by_target, p->n_ways, p->n_blocks, i, p->ways[i].to);
	x->in0 = by_target.first;
	x->to = by_target.of;
}

/* ---- sums ---- */

void flow_add_term(struct flow_terms *t, uint32_t block, float weight)
{
	uint32_t i = 0;

	while (i < t->n && t->v[i].block != block)
		i++;
	if (i == t->n) {
		if (t->n == EFFORT_TERMS) {
			t->too_many = true;
			return;
		}
		t->v[t->n++] = (struct profile_term){ block, 0 };
	}
	t->v[i].weight += weight;
	if (t->v[i].weight == 0)
		t->v[i] = t->v[--t->n];
}

void flow_add_way(const struct profile *p, const struct profile_way *way, float weight, struct flow_terms *t)
{
	for (uint32_t i = way->term0; i < way->term0 + way->n_terms; i++)
		flow_add_term(t, p->terms[i].block, weight * p->terms[i].weight);
}

void flow_keep(struct flow_part *x, const struct profile_term *terms, uint32_t n, uint32_t *term0,
               uint32_t *n_terms)
{
	struct profile *p = x->a->p;

	vec_room_raw((void **)&p->terms, &x->term_cap, p->n_terms + n, sizeof(*p->terms));
	if (n)
		memcpy(p->terms + p->n_terms, terms, n * sizeof(*terms));
	*term0 = (uint32_t)p->n_terms;
	*n_terms = n;
	p->n_terms += n;
}

/* One side of a block: ways[n], or those numbers of p->ways that list[n] has. */
struct side {
	uint32_t block, first, n;
	const uint32_t *list; /* NULL: first, first + 1, ... */
};

static struct profile_way *way_at(const struct profile *p, const struct side *s, uint32_t i)
{
	return &p->ways[s->list ? s->list[s->first + i] : s->first + i];
}

/* The one way that is not known is what the others leave of the block.  1 when it became known. */
static int solve_side(struct flow_part *x, const struct side *s, uint32_t length)
{
	struct profile *p = x->a->p;
	struct profile_way *open = NULL;
	struct flow_terms t = { .n = 0 };

	for (uint32_t i = 0; i < s->n; i++) {
		struct profile_way *way = way_at(p, s, i);

		if (way->known)
			continue;
		if (open)
			return 0;
		open = way;
	}
	if (!open)
		return 0;
	flow_add_term(&t, s->block, 1);
	for (uint32_t i = 0; i < s->n; i++)
		if (way_at(p, s, i)->known)
			flow_add_way(p, way_at(p, s, i), -1, &t);
	if (t.too_many || t.n > length)
		return 0;
	flow_keep(x, t.v, t.n, &open->term0, &open->n_terms);
	open->known = true;
	return 1;
}

/* All blocks once: how many ways became known. */
static int solve_once(struct flow_part *x, uint32_t length)
{
	const struct profile *p = x->a->p;
	int found = 0;

	for (uint32_t b = 0; b < p->n_blocks; b++) {
		struct side out = { b, p->blocks[b].out0, p->blocks[b].n_out, NULL },
		            in = { b, x->in0[b], x->in0[b + 1] - x->in0[b], x->to };

		if (x->out[b])
			found += solve_side(x, &out, length);
		if (x->in[b])
			found += solve_side(x, &in, length);
	}
	return found;
}

static void solve_ways(struct flow_part *x)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		while (solve_once(x, lengths[i]) > 0)
			;
}

/* ---- loops ---- */

/* What enters a loop: ways to its header from outside, else what its ways back leave of the header. */
static void find_entries(struct flow_part *x, const uint8_t *inside, struct profile_trips *loop)
{
	struct profile *p = x->a->p;
	uint32_t header = loop->header;
	struct flow_terms entering = { .n = 0 }, rest = { .n = 0 };
	bool all = x->in[header], back_known = true, any = false;

	if (p->blocks[header].insn == UINT32_MAX)
		return;
	flow_add_term(&rest, header, 1);
	for (uint32_t i = x->in0[header]; i < x->in0[header + 1]; i++) {
		const struct profile_way *way = &p->ways[x->to[i]];

		if (inside[way->from]) {
			back_known = back_known && way->known;
			flow_add_way(p, way, -1, &rest);
			continue;
		}
		/* All that enters from outside its region is taken for nothing, and tells nothing. */
		any = any || (way->known && way->n_terms);
		all = all && way->known;
		flow_add_way(p, way, 1, &entering);
	}
	if (all && any && !entering.too_many) {
		flow_keep(x, entering.v, entering.n, &loop->term0, &loop->n_terms);
		return;
	}
	/*
	 * Called or jumped to from elsewhere, or by a way that is not known.  A region's own header only goes round in it:
	 * how often that is begun nothing tells.
	 */
	if ((!x->in[header] || any) && back_known && !rest.too_many)
		flow_keep(x, rest.v, rest.n, &loop->term0, &loop->n_terms);
}

static void add_trips(struct flow_part *x, const struct local_flow *l, const struct local_loop *loop,
                      uint32_t parent, uint8_t *inside)
{
	struct profile *p = x->a->p;
	struct profile_trips *t;

	vec_room_raw((void **)&p->trips, &x->trips_cap, p->n_trips + 1, sizeof(*p->trips));
	vec_room_raw((void **)&p->trips_blocks, &x->trips_blocks_cap, x->n_trips_blocks + loop->n_in,
	             sizeof(*p->trips_blocks));
	t = &p->trips[p->n_trips];
	*t = (struct profile_trips){ .header = x->number[l->block[loop->header]],
		                     .block0 = (uint32_t)x->n_trips_blocks,
		                     .n_in = loop->n_in,
		                     .parent = parent,
		                     .depth = parent == UINT32_MAX ? 1 : p->trips[parent].depth + 1 };
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t block = x->number[l->block[i]];

		if (!loop->in[i])
			continue;
		p->trips_blocks[x->n_trips_blocks++] = block;
		p->blocks[block].trips = (uint32_t)p->n_trips;
		inside[block] = 1;
	}
	find_entries(x, inside, t);
	for (uint32_t i = t->block0; i < t->block0 + t->n_in; i++)
		inside[p->trips_blocks[i]] = 0;
	p->n_trips++;
}

static int larger_first(const void *a, const void *b)
{
	const struct local_loop *x = a, *y = b;

	if (x->n_in != y->n_in)
		return x->n_in > y->n_in ? -1 : 1;
	return x->header < y->header ? -1 : x->header > y->header;
}

/* The natural loops of a function, those around before those inside. */
static int add_loops(struct flow_part *x, uint32_t func, uint8_t *inside)
{
	struct profile *p = x->a->p;
	struct local_flow l;
	int err = local_flow_new(x->g, func, &l);

	/* One that is too large has none. */
	if (err == -SP_EDOMAIN)
		return 0;
	if (err < 0)
		return err;
	if (l.n_loops)
		qsort(l.loops, l.n_loops, sizeof(*l.loops), larger_first);
	for (uint32_t i = 0; i < l.n_loops; i++)
		/* The blocks still say which loop around was entered last. */
		add_trips(x, &l, &l.loops[i], p->blocks[x->number[l.block[l.loops[i].header]]].trips, inside);
	local_flow_fini(&l);
	return 0;
}

static int find_flow(struct flow_part *x)
{
	const struct profile *p = x->a->p;
	uint8_t *inside;
	int err = 0;

	choose_blocks(x);
	for (uint32_t b = 0; b < x->g->n_blocks; b++)
		if (x->number[b] != UINT32_MAX)
			add_ways(x, b);
	for (uint32_t b = 0; b < x->g->n_blocks; b++)
		if (x->number[b] != UINT32_MAX)
			find_balanced(x, b);
	list_by_target(x);
	solve_ways(x);
	inside = mem_calloc(p->n_blocks + 1, 1);
	for (uint32_t f = 0; f < x->g->n_funcs && err == 0; f++)
		if (x->in_part[f])
			err = add_loops(x, f, inside);
	if (err == 0)
		err = flow_find_crossings(x);
	if (err == 0) {
		flow_find_calls(x);
		flow_find_callers(x);
	}
	free(inside);
	return err;
}

int assemble_flow(struct assembly *a)
{
	struct flow_part x = { .a = a, .g = a->w->graph };
	int err = a->w->graph && a->w->regions ? find_flow(&x) : 0;

	free(x.number);
	free(x.in_part);
	free(x.out);
	free(x.in0);
	free(x.to);
	if (err < 0)
		return err;
	calls_count(a->p);
	return 0;
}
