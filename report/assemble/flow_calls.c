/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often each function was called, and by whom: sums over the flow's blocks and ways. */
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/pairs.h"
#include "profiler/binary/module.h"
#include "report/assemble/flow_impl.h"

/* A part of a function that the compiler split off, with a symbol of its own: its entry is not the function's. */
static bool is_split(const struct module *m, uint64_t vaddr)
{
	long f = module_func_at(m, vaddr);
	const char *name = f < 0 ? "" : module_func(m, (size_t)f)->linkage;

	return strstr(name, ".part.") || strstr(name, ".cold");
}

/* Executions of the entry, less what leads back to it from inside. */
static void add_calls(struct flow_part *x, uint32_t graph_func, struct flow_terms *of_func)
{
	struct profile *p = x->a->p;
	const struct flow_func *fn = &x->g->funcs[graph_func];
	uint32_t entry = x->number[fn->entry];
	const struct profile_block *b = &p->blocks[entry];
	struct flow_terms t = { .n = 0 };

	if (b->insn == UINT32_MAX || is_split(x->a->w->rec->modules[fn->module], fn->vaddr))
		return;
	flow_add_term(&t, entry, 1);
	for (uint32_t i = x->in0[entry]; i < x->in0[entry + 1]; i++) {
		if (!p->ways[x->to[i]].known)
			return;
		flow_add_way(p, &p->ways[x->to[i]], -1, &t);
	}
	for (uint32_t i = 0; i < t.n; i++)
		flow_add_term(&of_func[b->func], t.v[i].block, t.v[i].weight);
}

void flow_find_calls(struct flow_part *x)
{
	struct profile *p = x->a->p;
	struct flow_terms *of_func = mem_calloc(p->n_funcs + 1, sizeof(*of_func));

	for (uint32_t f = 0; f < x->g->n_funcs; f++)
		if (x->in_part[f])
			add_calls(x, f, of_func);
	for (size_t f = 0; f < p->n_funcs; f++)
		if (of_func[f].n && !of_func[f].too_many)
			flow_keep(x, of_func[f].v, of_func[f].n, &p->funcs[f].calls.term0,
			          &p->funcs[f].calls.n_terms);
	free(of_func);
}

/* ---- who calls whom ---- */

/* Of one caller's calls of one function, at all the places it calls it from. */
struct call_terms {
	VEC(struct profile_term) v;
	bool unknown; /* the flow has one of them, and does not tell how often */
};

struct call_list {
	struct pairs index;           /* (callee, caller) */
	VEC(struct call_terms) terms; /* as p->calls, before they are sorted */
	size_t cap;
};

/* The physical one. */
static uint32_t func_at(struct flow_part *x, uint32_t module, uint64_t vaddr)
{
	uint32_t func, phys;

	func_index_find(x->a->funcs, module, x->a->w->rec->modules[module], vaddr, &func, &phys);
	return phys;
}

static uint32_t func_of_block(struct flow_part *x, uint32_t graph_block)
{
	const struct flow_block *b = &x->g->blocks[graph_block];

	return func_at(x, b->module, b->vaddr);
}

/* Over one edge to another function goes all that its block's own ways leave of it, where it is the only such edge. */
static void sum_edge(struct flow_part *x, uint32_t edge, struct call_terms *sum)
{
	const struct profile *p = x->a->p;
	const struct flow_edge *e = &x->g->edges[edge];
	const struct flow_block *b = &x->g->blocks[e->from];
	uint32_t from = x->number[e->from], others = 0;
	struct flow_terms t = { .n = 0 };

	if (!flow_is_kept(x, edge) || from == UINT32_MAX)
		return;
	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++)
		others += i != edge && flow_is_kept(x, i) && !flow_is_way(x, &x->g->edges[i]);
	flow_add_term(&t, from, 1);
	for (uint32_t i = p->blocks[from].out0;
	     e->kind != FLOW_CALL && i < p->blocks[from].out0 + p->blocks[from].n_out; i++) {
		sum->unknown = sum->unknown || !p->ways[i].known;
		flow_add_way(p, &p->ways[i], -1, &t);
	}
	sum->unknown = sum->unknown || others || t.too_many;
	for (uint32_t i = 0; i < t.n; i++)
		vec_add(&sum->v, t.v[i]);
}

static size_t number_call(struct profile *p, struct call_list *l, uint32_t caller, uint32_t callee)
{
	size_t at = pairs_must(&l->index, callee, caller);

	if (at == p->n_calls) {
		vec_room_raw((void **)&p->calls, &l->cap, p->n_calls + 1, sizeof(*p->calls));
		vec_add(&l->terms, (struct call_terms){ .unknown = false });
		p->calls[p->n_calls++] = (struct profile_call){ .caller = caller, .callee = callee };
	}
	return at;
}

static void add_call(struct flow_part *x, struct call_list *l, uint32_t edge)
{
	const struct flow_edge *e = &x->g->edges[edge];
	size_t at = number_call(x->a->p, l, func_of_block(x, e->from), func_of_block(x, e->to));

	sum_edge(x, edge, &l->terms.v[at]);
}

/* How often nothing tells.  What is one function here may be two symbols: that is no call of itself. */
static void add_cold_calls(struct flow_part *x, struct call_list *l)
{
	struct profile *p = x->a->p;

	for (size_t i = 0; i < x->g->n_cold_calls; i++) {
		const struct flow_cold_call *c = &x->g->cold_calls[i];
		uint32_t caller = func_at(x, c->from_module, c->from_vaddr);
		uint32_t callee = func_at(x, c->to_module, c->to_vaddr);
		size_t had = p->n_calls;

		p->funcs[caller].opens |= c->from_points;
		p->funcs[callee].opens |= c->to_points;
		if (caller != callee && !profile_begins_thread(&p->funcs[callee]) &&
		    number_call(p, l, caller, callee) == had)
			p->calls[had].unseen = true;
	}
}

static void keep_calls(struct flow_part *x, struct call_list *l)
{
	struct profile *p = x->a->p;

	for (size_t i = 0; i < l->terms.n; i++) {
		const struct call_terms *t = &l->terms.v[i];
		struct profile_call *c = &p->calls[i];

		c->taken = t->v.n > 0;
		c->known = c->taken && !t->unknown;
		if (c->known)
			flow_keep(x, t->v.v, (uint32_t)t->v.n, &c->term0, &c->n_terms);
	}
}

/* A call, or a jump to where another function begins. */
static bool is_call(const struct flow_part *x, const struct flow_edge *e)
{
	const struct flow_block *from = &x->g->blocks[e->from], *to = &x->g->blocks[e->to];

	if (e->kind == FLOW_RET || e->kind == FLOW_SKIP)
		return false;
	return e->kind == FLOW_CALL || (from->func != to->func && x->g->funcs[to->func].entry == e->to);
}

/* What of a block's end leads elsewhere is all in the graph. */
static bool is_told(const struct flow_part *x, const struct flow_block *b)
{
	const struct insn *last = b->n_insn ? &x->g->insns[b->insn0 + b->n_insn - 1] : NULL;
	bool calls = false, inside = false;

	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++) {
		const struct flow_edge *e = &x->g->edges[i];

		calls |= e->kind == FLOW_CALL;
		inside |= e->kind == FLOW_IND && x->g->blocks[e->to].func == b->func;
	}
	if (!last || b->unknown_target)
		return !last;
	/* A pointer's targets are those that branch records happened to show; a slot of the linker's has one, a table all. */
	if (last->flow == INSN_CALL_IND || last->flow == INSN_JUMP_IND)
		return inside || last->flags & INSN_MEM_TARGET;
	return last->flow != INSN_CALL || calls;
}

/* Functions that may call what the graph does not have.  Of exact counts some are not in it: what those call is not told either. */
static void find_open(struct flow_part *x)
{
	struct profile *p = x->a->p;

	for (size_t f = 0; f < p->n_funcs; f++)
		p->funcs[f].opens = p->meta.truth;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t b = 0; b < x->g->n_blocks; b++) {
			uint32_t func = func_of_block(x, b);

			if (pass == 0 || !is_told(x, &x->g->blocks[b]))
				p->funcs[func].opens = pass > 0;
		}
}

static int by_callee(const void *a, const void *b)
{
	const struct profile_call *x = a, *y = b;

	return order_pairs(x->callee, x->caller, y->callee, y->caller);
}

void flow_find_callers(struct flow_part *x)
{
	struct profile *p = x->a->p;
	struct call_list l = { .cap = 0 };

	if (!x->a->w->opts->stacks)
		return;
	find_open(x);
	for (uint32_t i = 0; i < x->g->n_edges; i++)
		if (is_call(x, &x->g->edges[i]) &&
		    !profile_begins_thread(&p->funcs[func_of_block(x, x->g->edges[i].to)]))
			add_call(x, &l, i);
	add_cold_calls(x, &l);
	keep_calls(x, &l);
	if (p->n_calls)
		qsort(p->calls, p->n_calls, sizeof(*p->calls), by_callee);
	for (size_t i = 0; i < l.terms.n; i++)
		vec_fini(&l.terms.v[i].v);
	vec_fini(&l.terms);
	pairs_fini(&l.index);
}
