/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph that is handed out, from the blocks that are alive. */
#include "correct/flow/build.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

struct assembly {
	struct flow_build *b;
	struct flow_graph *g;
	VEC(struct flow_edge) edges;
	uint32_t *func_of_fn; /* [fns.n], FLOW_NONE */
};

/* One more than may be says that they are too many. */
static void add_edge(struct assembly *a, struct flow_edge e)
{
	if (a->edges.n <= FLOW_MAX_EDGES)
		vec_add(&a->edges, e);
}

/* Alive block that is jumped or called to, FLOW_NONE. */
static uint32_t target_id(const struct flow_build *b, const struct flow_link *l)
{
	uint32_t node = flow_node_at(b, l->to_module, l->to_vaddr);
	const struct flow_cut *cut = node == FLOW_NONE ? NULL : &b->cuts.v[b->cut_of_node[node]];

	return cut && cut->alive ? cut->id : (uint32_t)FLOW_NONE;
}

/* Every returning block of the callee goes back to the block after the call. */
static void add_returns(struct assembly *a, const struct flow_fn *f, const struct flow_cut *call)
{
	const struct flow_build *b = a->b;

	for (uint32_t i = 0; i < f->n_rets; i++) {
		const struct flow_cut *from = &b->cuts.v[b->rets.v[f->ret0 + i]];
		struct flow_edge ret = { .from = from->id,
			                 .to = b->cuts.v[call->fall].id,
			                 .kind = FLOW_RET,
			                 .guessed = flow_last_node(b, from)->unknown,
			                 .call = call->id };

		if (from->alive)
			add_edge(a, ret);
	}
}

static void add_call(struct assembly *a, const struct flow_cut *cut)
{
	const struct flow_build *b = a->b;
	bool returns = cut->fall != FLOW_NONE && b->cuts.v[cut->fall].alive && flow_call_returns(b, cut);
	uint32_t cut_insn = 0;

	for (uint32_t l = flow_last_node(b, cut)->link0; l != FLOW_NONE; l = b->links.v[l].next) {
		const struct flow_fn *f = flow_callee(b, &b->links.v[l]);
		struct flow_edge call = {
			.from = cut->id, .kind = FLOW_CALL, .guessed = b->links.v[l].guessed, .call = cut->id
		};

		if (f && f->cut && (!cut_insn || b->cuts.v[f->entry].n < cut_insn))
			cut_insn = b->cuts.v[f->entry].n;
		if (!f || f->cut || !b->cuts.v[f->entry].alive)
			continue;
		call.to = b->cuts.v[f->entry].id;
		add_edge(a, call);
		if (returns)
			add_returns(a, f, cut);
	}
	if (returns)
		add_edge(a, (struct flow_edge){ .from = cut->id,
		                                .to = b->cuts.v[cut->fall].id,
		                                .kind = FLOW_SKIP,
		                                .call = cut->id,
		                                .cut_insn = cut_insn });
}

static void add_jumps(struct assembly *a, const struct flow_cut *cut)
{
	const struct flow_build *b = a->b;

	for (uint32_t l = flow_last_node(b, cut)->link0; l != FLOW_NONE; l = b->links.v[l].next) {
		uint32_t to = target_id(b, &b->links.v[l]);
		struct flow_edge e = { .from = cut->id,
			               .to = to,
			               .kind = b->links.v[l].kind,
			               .guessed = b->links.v[l].guessed,
			               .away = b->links.v[l].away };

		if (to != FLOW_NONE)
			add_edge(a, e);
	}
	if (cut->fall != FLOW_NONE)
		add_edge(a, (struct flow_edge){
		                    .from = cut->id, .to = b->cuts.v[cut->fall].id, .kind = FLOW_FALL });
}

static void number_blocks(struct assembly *a)
{
	struct flow_build *b = a->b;

	for (size_t i = 0; i < b->cuts.n; i++) {
		if (!b->cuts.v[i].alive)
			continue;
		b->cuts.v[i].id = (uint32_t)a->g->n_blocks++;
		a->g->n_insns += b->cuts.v[i].n;
	}
}

static void make_blocks(struct assembly *a)
{
	const struct flow_build *b = a->b;
	struct insn *insn = a->g->insns = mem_calloc(a->g->n_insns + 1, sizeof(*insn));

	a->g->blocks = mem_calloc(a->g->n_blocks + 1, sizeof(*a->g->blocks));
	for (size_t i = 0; i < b->cuts.n; i++) {
		const struct flow_cut *cut = &b->cuts.v[i];
		const struct flow_node *last = flow_last_node(b, cut);
		struct flow_block *block = &a->g->blocks[cut->id];

		if (!cut->alive)
			continue;
		*block = (struct flow_block){ .module = last->module,
			                      .end_vaddr = last->insn.vaddr + last->insn.size_bytes,
			                      .insn0 = (uint32_t)(insn - a->g->insns),
			                      .n_insn = cut->n,
			                      .unknown_target = last->unknown };
		for (uint32_t k = 0; k < cut->n; k++) {
			*insn = b->nodes.v[b->order.v[cut->node0 + k]].insn;
			block->undecoded |= (insn++->flags & INSN_UNKNOWN) != 0;
		}
		block->vaddr = a->g->insns[block->insn0].vaddr;
	}
}

/* The function by whose symbol the block stands, else the one that reached it first. */
static uint32_t owner(const struct flow_build *b, const struct flow_cut *cut)
{
	const struct flow_node *n = &b->nodes.v[b->order.v[cut->node0]];
	const struct module_func *symbol = flow_symbol_at(b, n->module, n->insn.vaddr);
	uint32_t fn = symbol ? flow_fn_at(b, n->module, symbol->vaddr) : (uint32_t)FLOW_NONE;

	return fn != FLOW_NONE && b->fns.v[fn].entry != FLOW_NONE && b->cuts.v[b->fns.v[fn].entry].alive
	               ? fn
	               : n->fn;
}

static int compare_funcs(const void *x, const void *y)
{
	const struct flow_func *f = x, *h = y;

	return order_pairs(f->module, f->vaddr, h->module, h->vaddr);
}

/* Functions that own a block, by address; `of[fn]` becomes the index. */
static void make_funcs(struct assembly *a)
{
	struct flow_build *b = a->b;
	struct flow_graph *g = a->g;

	a->func_of_fn = mem_malloc((b->fns.n + 1) * sizeof(*a->func_of_fn));
	g->funcs = mem_calloc(b->fns.n + 1, sizeof(*g->funcs));
	g->func_blocks = mem_calloc(g->n_blocks + 1, sizeof(*g->func_blocks));
	for (size_t i = 0; i < b->fns.n; i++)
		a->func_of_fn[i] = FLOW_NONE;
	for (size_t i = 0; i < b->cuts.n; i++) {
		uint32_t fn = b->cuts.v[i].alive ? owner(b, &b->cuts.v[i]) : (uint32_t)FLOW_NONE;

		if (fn == FLOW_NONE || a->func_of_fn[fn] != FLOW_NONE)
			continue;
		a->func_of_fn[fn] = 0;
		g->funcs[g->n_funcs++] = (struct flow_func){ .module = b->fns.v[fn].module,
			                                     .vaddr = b->fns.v[fn].vaddr,
			                                     .returns = b->fns.v[fn].returns };
	}
	qsort(g->funcs, g->n_funcs, sizeof(*g->funcs), compare_funcs);
	for (uint32_t i = 0; i < g->n_funcs; i++)
		a->func_of_fn[flow_fn_at(b, g->funcs[i].module, g->funcs[i].vaddr)] = i;
}

static void fill_funcs(struct assembly *a)
{
	struct flow_build *b = a->b;
	struct flow_graph *g = a->g;
	uint32_t at = 0;

	for (size_t i = 0; i < b->cuts.n; i++) {
		const struct flow_cut *cut = &b->cuts.v[i];

		if (!cut->alive)
			continue;
		g->blocks[cut->id].func = a->func_of_fn[owner(b, cut)];
		g->funcs[g->blocks[cut->id].func].n_blocks++;
	}
	for (size_t i = 0; i < g->n_funcs; i++) {
		g->funcs[i].block0 = at;
		at += g->funcs[i].n_blocks;
		g->funcs[i].n_blocks = 0;
	}
	for (uint32_t i = 0; i < g->n_blocks; i++) {
		struct flow_func *f = &g->funcs[g->blocks[i].func];

		if (f->n_blocks == 0 || (g->blocks[i].module == f->module && g->blocks[i].vaddr == f->vaddr))
			f->entry = i;
		g->func_blocks[f->block0 + f->n_blocks++] = i;
	}
}

static int add_edges(struct assembly *a)
{
	const struct flow_build *b = a->b;

	for (size_t i = 0; i < b->cuts.n; i++)
		if (b->cuts.v[i].alive)
			(b->cuts.v[i].site ? add_call : add_jumps)(a, &b->cuts.v[i]);
	if (a->edges.n > FLOW_MAX_EDGES)
		return sp_fail(SP_ENOMEM,
		               "the control flow has more than %d edges: record less code at once, or raise "
		               "--min-share",
		               FLOW_MAX_EDGES);
	return 0;
}

/* The graph of a million functions takes as much again: what leads to edges alone goes before the blocks are made. */
static void drop_ways(struct flow_build *b)
{
	vec_fini(&b->links);
	vec_fini(&b->pages);
	vec_fini(&b->succ);
	vec_fini(&b->rets);
	free(b->cut_of_node);
	free(b->succ0);
	free(b->stamp);
	b->cut_of_node = b->succ0 = b->stamp = NULL;
}

static int compare_edges(const void *x, const void *y)
{
	const struct flow_edge *e = x, *f = y;

	if (e->from != f->from)
		return e->from < f->from ? -1 : 1;
	if (e->kind != f->kind)
		return e->kind < f->kind ? -1 : 1;
	return order_pairs(e->to, e->call, f->to, f->call);
}

static void sort_edges(struct flow_graph *g)
{
	struct flow_edge *e = g->edges;
	size_t n = 0;

	if (g->n_edges)
		qsort(e, g->n_edges, sizeof(*e), compare_edges);
	for (size_t i = 0; i < g->n_edges; i++)
		if (n == 0 || compare_edges(&e[n - 1], &e[i]) != 0)
			e[n++] = e[i];
	g->n_edges = n;
}

void flow_index_edges(struct flow_graph *g)
{
	uint32_t out = 0, in = 0;

	sort_edges(g);
	free(g->in);
	g->in = mem_calloc(g->n_edges + 1, sizeof(*g->in));
	for (size_t i = 0; i < g->n_blocks; i++)
		g->blocks[i].n_out = g->blocks[i].n_in = 0;
	for (size_t i = 0; i < g->n_edges; i++) {
		g->blocks[g->edges[i].from].n_out++;
		g->blocks[g->edges[i].to].n_in++;
	}
	for (size_t i = 0; i < g->n_blocks; i++) {
		struct flow_block *b = &g->blocks[i];

		b->out0 = out;
		b->in0 = in;
		out += b->n_out;
		in += b->n_in;
		b->n_in = 0;
	}
	for (uint32_t i = 0; i < g->n_edges; i++) {
		struct flow_block *to = &g->blocks[g->edges[i].to];

		g->in[to->in0 + to->n_in++] = i;
	}
}

int flow_assemble(struct flow_build *b, struct flow_graph *g)
{
	struct assembly a = { .b = b, .g = g };
	int err;

	number_blocks(&a);
	flow_find_cold_calls(b, g);
	err = add_edges(&a);
	g->edges = a.edges.v;
	g->n_edges = a.edges.n;
	if (err < 0)
		return err;
	drop_ways(b);
	make_blocks(&a);
	make_funcs(&a);
	fill_funcs(&a);
	free(a.func_of_fn);
	return 0;
}
