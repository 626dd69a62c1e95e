/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/context_walk.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

#include <stdlib.h>
#include <string.h>

/*
 * A burst's first branches lead away from its moment (path.c), and the newest of a record may follow one that is missing: what ran
 * there is not counted.
 */
enum { UNTRUE = 1, MOST_BYTES = 1 << 14 };

static const uint32_t none = UINT32_MAX;

void context_walk_begin(struct context_walk *w, struct assembly *a)
{
	*w = (struct context_walk){ .a = a };
	w->has_callers = callers_of_bursts(a->w->rec);
	w->func_of = mem_calloc(a->w->graph->n_blocks + 1, sizeof(*w->func_of));
}

void context_walk_end(struct context_walk *w)
{
	free(w->func_of);
	callers_fini(&w->callers);
	pairs_fini(&w->place_index);
	vec_fini(&w->places);
	pairs_fini(&w->jumped_index);
	vec_fini(&w->jumped);
	vec_fini(&w->jumped_funcs);
	vec_fini(&w->hidden);
	pairs_fini(&w->node_index);
	pairs_fini(&w->cell_index);
	pairs_fini(&w->edge_index);
	vec_fini(&w->nodes);
	vec_fini(&w->cells);
	vec_fini(&w->edges);
	vec_fini(&w->calls);
	vec_fini(&w->steps);
	vec_fini(&w->visits);
}

static void push_call(struct context_walk *w, uint32_t func, uint32_t parent, bool entered, uint32_t *at)
{
	*at = (uint32_t)w->calls.n;
	vec_add(&w->calls, (struct context_call){ func, parent, none, entered });
}

static long func_of(struct context_walk *w, uint32_t block)
{
	const struct flow_block *b = &w->a->w->graph->blocks[block];
	uint32_t func, phys;

	if (w->func_of[block])
		return w->func_of[block] - 1;
	func_index_find(w->a->funcs, b->module, w->a->w->rec->modules[b->module], b->vaddr, &func, &phys);
	w->func_of[block] = phys + 1;
	return phys;
}

long context_find_call(const struct profile *p, uint32_t caller, uint32_t callee)
{
	size_t lo = sorted_count(p->n_calls, k,
	                         order_pairs(p->calls[k].callee, p->calls[k].caller, callee, caller) < 0);

	return lo < p->n_calls && p->calls[lo].callee == callee && p->calls[lo].caller == caller ? (long)lo
	                                                                                         : -1;
}

static bool is_entry(const struct flow_graph *g, uint32_t block)
{
	return g->funcs[g->blocks[block].func].entry == block;
}

/* ---- jumps from function to function, which no return shows ---- */

struct jumps {
	const struct flow_graph *g;
	uint32_t to; /* function of the graph */
	uint32_t at[EFFORT_JUMPS], found[EFFORT_JUMPS + 1], n_found;
	uint32_t n_ways, n_same, n_steps; /* n_same: of found, those that are on all ways, from the first */
	VEC(uint32_t) others;             /* that are on some ways, and not on all */
	struct pairs dead;                /* functions from which no way leads there */
};

static void note_way(struct jumps *j, uint32_t n)
{
	uint32_t same = 0;

	if (!j->n_ways) {
		memcpy(j->found, j->at, n * sizeof(*j->at));
		j->n_found = j->n_same = n;
		j->n_ways = 1;
		return;
	}
	while (same < j->n_same && same < n && j->found[same] == j->at[same])
		same++;
	/* Several jumps may go from one to the other. */
	if (same == n && n == j->n_found)
		return;
	for (uint32_t i = same; i < n; i++)
		vec_add(&j->others, j->at[i]);
	for (uint32_t i = same; i < j->n_same; i++)
		vec_add(&j->others, j->found[i]);
	j->n_same = same;
	j->n_ways++;
}

/* All ways from a function to jumps.to, of so many jumps at most. */
static bool find_jumps(struct jumps *j, uint32_t func, uint32_t n)
{
	const struct flow_func *f = &j->g->funcs[func];
	bool found = func == j->to;

	if (found)
		note_way(j, n);
	if (found || n == EFFORT_JUMPS || j->n_steps > EFFORT_JUMP_FUNCTIONS ||
	    pairs_find(&j->dead, func, 0) >= 0)
		return found;
	for (uint32_t i = 0; i < n; i++)
		if (j->at[i] == func)
			return false;
	j->n_steps++;
	j->at[n] = func;
	for (uint32_t i = f->block0; i < f->block0 + f->n_blocks; i++) {
		const struct flow_block *b = &j->g->blocks[j->g->func_blocks[i]];

		for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++) {
			const struct flow_edge *edge = &j->g->edges[e];
			uint32_t next = j->g->blocks[edge->to].func;

			if (edge->kind <= FLOW_IND && next != func && is_entry(j->g, edge->to))
				found |= find_jumps(j, next, n + 1);
		}
	}
	if (!found)
		pairs_must(&j->dead, func, 0);
	return found;
}

/* The block whose call returns to block `to`, -1 = none. */
static long find_call(const struct flow_graph *g, uint32_t to)
{
	const struct flow_block *b = &g->blocks[to];

	for (uint32_t i = b->in0; i < b->in0 + b->n_in; i++) {
		const struct flow_edge *e = &g->edges[g->in[i]];

		if (e->kind == FLOW_RET || e->kind == FLOW_SKIP)
			return e->call;
	}
	return -1;
}

/*
 * In the function of block `from`, which the call that ends block `call` (-1 = not known) led to: what was called jumped to that by
 * found[n_found], where there is one way only.
 */
static bool find_called(const struct flow_graph *g, uint32_t from, long call, struct jumps *j)
{
	const struct flow_block *b = call < 0 ? NULL : &g->blocks[call];

	*j = (struct jumps){ .g = g, .to = g->blocks[from].func };
	for (uint32_t e = b ? b->out0 : 0; b && e < b->out0 + b->n_out; e++)
		if (g->edges[e].kind == FLOW_CALL)
			find_jumps(j, g->blocks[g->edges[e].to].func, 0);
	pairs_fini(&j->dead);
	return j->n_ways == 1 && j->n_steps <= EFFORT_JUMP_FUNCTIONS;
}

/* What is known to be called from `caller` is set below it, with all that jumped to it. */
static void set_caller(struct context_walk *w, uint32_t caller, uint32_t called, const struct jumps *j)
{
	for (uint32_t i = 0; i < j->n_found; i++) {
		long func = func_of(w, j->g->funcs[j->found[i]].entry);

		push_call(w, (uint32_t)func, caller, false, &caller);
	}
	w->calls.v[called].parent = caller;
}

/* The call of a function that is nearest among `from` and its callers, UINT32_MAX if none is; *last: the one below it, or of all. */
static uint32_t find_caller(const struct context_walk *w, uint32_t func, uint32_t from, uint32_t *last)
{
	for (; from != none && w->calls.v[from].func != func; from = w->calls.v[from].parent)
		*last = from;
	return from;
}

/* A jump to a function that is on the stack, and not to where it begins. */
static void jump_to(struct context_walk *w, uint32_t func, uint32_t *at)
{
	uint32_t last, found = find_caller(w, func, *at, &last);

	if (found == none) {
		push_call(w, func, none, false, at);
		return;
	}
	*at = found;
}

/* A return from one block to another, of a function: where its call is not on the stack, it is new, above all. */
static void return_to(struct context_walk *w, uint32_t func, uint32_t from, uint32_t to, uint32_t *at)
{
	uint32_t last = *at, start = w->calls.v[*at].parent, found = find_caller(w, func, start, &last);
	struct jumps j;

	if (found == none)
		push_call(w, func, none, false, &found);
	*at = found;
	/* What is known of what returns ends below another caller, or none: the code may tell the way there. */
	if (last < w->n_given || w->calls.v[last].parent != none)
		return;
	if (find_called(w->a->w->graph, from, find_call(w->a->w->graph, to), &j))
		set_caller(w, found, last, &j);
	vec_fini(&j.others);
}

/* Where a path is. */
struct walker {
	uint32_t at; /* a call, none = not known */
	bool counts; /* what it runs from here on does */
};

static uint8_t flow_of(const struct flow_graph *g, uint32_t block)
{
	const struct flow_block *b = &g->blocks[block];

	return b->n_insn ? g->insns[b->insn0 + b->n_insn - 1].flow : INSN_PLAIN;
}

/* Into a block, from another (-1: from code in no graph). */
static int enter(struct context_walk *w, struct walker *x, long from, uint32_t to)
{
	const struct flow_graph *g = w->a->w->graph;
	uint8_t flow = from < 0 ? INSN_PLAIN : flow_of(g, (uint32_t)from);
	long func = func_of(w, to);
	bool call = flow == INSN_CALL || flow == INSN_CALL_IND;

	if (func < 0)
		return (int)func;
	if (x->at == none) {
		push_call(w, (uint32_t)func, none, false, &x->at);
		return 0;
	}
	if (flow == INSN_RET) {
		return_to(w, (uint32_t)func, (uint32_t)from, to, &x->at);
		return 0;
	}
	/* To where a function begins is a call, and so is a jump there from another. */
	if (is_entry(g, to) && (call || from < 0 || w->calls.v[x->at].func != (uint32_t)func)) {
		push_call(w, (uint32_t)func, x->at, x->counts, &x->at);
		return 0;
	}
	if (w->calls.v[x->at].func == (uint32_t)func)
		return 0;
	jump_to(w, (uint32_t)func, &x->at);
	return 0;
}

static void step(struct context_walk *w, const struct walker *x, uint32_t block)
{
	if (x->counts)
		vec_add(&w->steps, (struct context_step){ x->at, block });
}

static long block_at(const struct context_walk *w, struct place at)
{
	return recording_block(w->a->w->graph, at);
}

/* Straight on from `start` to the branch at `end`: *last: the block that holds that, then this; -1 = none of the graph. */
static void go_straight(struct context_walk *w, struct walker *x, struct place start, struct place end,
                        long *last)
{
	long b = *last;

	*last = block_at(w, end);
	if (b < 0 || *last < 0) {
		*last = -1;
		return;
	}
	if (start.module != end.module || *last < b || end.vaddr - start.vaddr > MOST_BYTES) {
		x->at = none;
		*last = -1;
		return;
	}
	for (; b <= *last; b++) {
		step(w, x, (uint32_t)b);
		if (b < *last)
			enter(w, x, b, (uint32_t)b + 1);
	}
}

/* The function of a place on a stack, -1 for what is in no file. */
static long func_at(struct context_walk *w, struct place at)
{
	uint32_t func, phys;
	size_t k;

	if (at.module < 0)
		return -1;
	k = pairs_must(&w->place_index, (uint32_t)at.module, at.vaddr);
	if (k == w->places.n) {
		func_index_find(w->a->funcs, (uint32_t)at.module, w->a->w->rec->modules[at.module], at.vaddr,
		                &func, &phys);
		vec_add(&w->places, phys);
	}
	return w->places.v[k];
}

/* Who may be between: more is known of nobody. */
static void note_hidden(struct context_walk *w, const struct jumps *j, uint32_t call)
{
	const struct flow_graph *g = j->g;
	long caller = func_of(w, call), callee = func_of(w, g->funcs[j->to].entry);

	for (size_t i = 0; i < j->others.n; i++)
		vec_add(&w->hidden,
		        (struct profile_hidden){ (uint32_t)func_of(w, g->funcs[j->others.v[i]].entry),
		                                 (uint32_t)caller, (uint32_t)callee });
}

/*
 * On a stack what ended in a jump has left its place to the function that it jumped to: it is put between that and what called it, if
 * the code tells who it was.  last: a block below the call that ends block `call`; both -1 = of none.  That call may be of what
 * never returns, as what throws: where it would is in no flow of it.
 */
static void push_jumped(struct context_walk *w, long last, long call, uint32_t *at)
{
	size_t k;

	if (last < 0 || call < 0)
		return;
	k = pairs_must(&w->jumped_index, (uint64_t)call, w->a->w->graph->blocks[last].func);
	if (k == w->jumped.n) {
		struct jumps j;

		find_called(w->a->w->graph, (uint32_t)last, call, &j);
		vec_add(&w->jumped, w->jumped_funcs.n);
		for (uint32_t i = 0; i < j.n_same; i++) {
			long func = func_of(w, j.g->funcs[j.found[i]].entry);

			vec_add(&w->jumped_funcs, (uint32_t)func);
		}
		vec_add(&w->jumped_funcs, none);
		note_hidden(w, &j, (uint32_t)call);
		vec_fini(&j.others);
	}
	for (k = w->jumped.v[k]; w->jumped_funcs.v[k] != none; k++)
		push_call(w, w->jumped_funcs.v[k], *at, false, at);
}

/* The calls that were not back where a burst begins, and the function that it begins in. */
static void push_callers(struct context_walk *w, const struct pd_record *r, uint32_t *at)
{
	struct recording *rec = w->a->w->rec;
	const uint32_t n_blocks = (uint32_t)w->a->w->graph->n_blocks;
	long call = -1;
	bool whole;

	callers_of(&w->callers, rec, r, &whole);
	for (size_t i = w->callers.ips.n + 1; i-- > 0;) {
		struct place place =
		        recording_place(rec, r->pid, i ? w->callers.ips.v[i - 1] - 1 : r->sample.ip);
		long func = func_at(w, place);

		if (func < 0)
			continue;
		push_jumped(w, block_at(w, place), call, at);
		push_call(w, (uint32_t)func, *at, false, at);
		if (!i && block_at(w, place) < 0)
			vec_add(&w->steps, (struct context_step){ *at, n_blocks + (uint32_t)func });
		call = block_at(w, place);
	}
	w->n_given = (uint32_t)w->calls.n;
	w->n_stacks += whole;
}

static void follow(struct context_walk *w, const struct pd_record *r, bool burst)
{
	const struct recording *rec = w->a->w->rec;
	const struct pd_sample *s = &r->sample;
	size_t lead = burst ? (s->n_branches / 2 < model->lead_in ? s->n_branches / 2 : model->lead_in) : 0;
	struct walker x = { .at = none };
	long from = -1;

	if (burst && w->has_callers) {
		push_callers(w, r, &x.at);
		from = block_at(w, recording_place(rec, r->pid, s->branches[s->n_branches - 1].from_ip));
	}
	for (size_t i = s->n_branches; i-- > 1;) {
		struct place start = recording_place(rec, r->pid, s->branches[i].to_ip);
		struct place end = recording_place(rec, r->pid, s->branches[i - 1].from_ip);
		long to = block_at(w, start);

		x.counts = i + lead < s->n_branches && (burst || i > UNTRUE);
		if (to >= 0)
			enter(w, &x, from, (uint32_t)to);
		from = to;
		go_straight(w, &x, start, end, &from);
	}
}

/* ---- of one path, to the tree ---- */

/*
 * A recursion's inner call is below another of its function.  Where none came between that isn't above that one, too, it is that
 * one's: so there are no more nodes than ways in which functions come one below the other.  *same: that one, or none.
 */
static bool is_inner(const struct context_walk *w, uint32_t node, uint32_t func, uint32_t *same)
{
	bool between = false;

	*same = none;
	for (; node != none; node = w->nodes.v[node].parent) {
		if (w->nodes.v[node].func == func) {
			*same = between ? none : node;
			return true;
		}
		between |= !w->nodes.v[node].inner;
	}
	return false;
}

static void number_edge(struct context_walk *w, uint32_t caller, uint32_t callee, uint32_t *edge)
{
	long at = pairs_must(&w->edge_index, caller, callee);

	if ((size_t)at == w->edges.n)
		vec_add(&w->edges, (struct context_edge){ caller, callee });
	*edge = (uint32_t)at;
}

/* The node of a call whose caller has one: one that is another's for what it runs is its own for the number of calls. */
static void number_node(struct context_walk *w, struct context_call *c)
{
	uint32_t parent = c->parent == none ? none : w->calls.v[c->parent].node, edge = none, same;
	bool inner = is_inner(w, parent, c->func, &same);
	long at = pairs_must(&w->node_index, (uint64_t)parent, c->func);

	if (parent != none)
		number_edge(w, w->nodes.v[parent].func, c->func, &edge);
	if ((size_t)at == w->nodes.n)
		vec_add(&w->nodes, (struct context_node){ parent, c->func, edge, inner, { 0 } });
	c->node = same != none ? same : (uint32_t)at;
	if (c->entered && edge != none)
		w->nodes.v[at].calls[w->n_paths % CONTEXT_PARTS]++;
}

/* Callers that were found later stand behind what they called. */
static void number_calls(struct context_walk *w)
{
	for (size_t i = 0; i < w->calls.n; i++)
		while (w->calls.v[i].node == none) {
			uint32_t c = (uint32_t)i;

			while (w->calls.v[c].parent != none && w->calls.v[w->calls.v[c].parent].node == none)
				c = w->calls.v[c].parent;
			number_node(w, &w->calls.v[c]);
		}
}

static void visit(struct context_walk *w, uint32_t cell)
{
	size_t *at = &w->cells.v[cell].visit;

	if (!*at || w->visits.v[*at - 1].path != w->n_paths) {
		vec_add(&w->visits, (struct context_visit){ (uint32_t)w->n_paths, cell, 0 });
		*at = w->visits.n;
	}
	w->visits.v[*at - 1].n++;
}

void context_walk_add(struct context_walk *w, const struct pd_record *r, bool burst)
{
	w->calls.n = w->steps.n = w->n_given = 0;
	follow(w, r, burst);
	number_calls(w);
	for (size_t i = 0; i < w->steps.n; i++) {
		const struct context_step *s = &w->steps.v[i];
		uint32_t node = w->calls.v[s->call].node;
		long at = pairs_must(&w->cell_index, node, s->block);

		if ((size_t)at == w->cells.n)
			vec_add(&w->cells, (struct context_cell){ .node = node, .block = s->block });
		w->cells.v[at].ran[w->n_paths % CONTEXT_PARTS]++;
		if (w->has_callers)
			visit(w, (uint32_t)at);
	}
	w->n_paths += w->steps.n > 0;
}
