/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions return, from which blocks, and which code is alive.  A jump to another function's entry is followed like any
 * jump: so the returns of a function called last are returns of the one that jumped to it.
 */
#include "correct/flow/build.h"

#include "profiler/base/mem.h"

struct flow_fn *flow_callee(const struct flow_build *b, const struct flow_link *l)
{
	uint32_t fn = flow_fn_at(b, l->to_module, l->to_vaddr);

	return fn == FLOW_NONE || b->fns.v[fn].entry == FLOW_NONE ? NULL : &b->fns.v[fn];
}

const struct flow_node *flow_last_node(const struct flow_build *b, const struct flow_cut *cut)
{
	return &b->nodes.v[b->order.v[cut->node0 + cut->n - 1]];
}

/* By what is known so far: a call returns if a callee does, or is none we have. */
bool flow_call_returns(const struct flow_build *b, const struct flow_cut *cut)
{
	const struct flow_node *n = flow_last_node(b, cut);

	if (n->noreturn)
		return false;
	if (n->link0 == FLOW_NONE)
		return true;
	for (uint32_t l = n->link0; l != FLOW_NONE; l = b->links.v[l].next) {
		const struct flow_fn *f = flow_callee(b, &b->links.v[l]);

		if (!f || f->returns)
			return true;
	}
	return false;
}

static void visit(struct flow_build *b, uint32_t cut)
{
	if (b->stamp[cut] == b->stamp_now)
		return;
	b->stamp[cut] = b->stamp_now;
	vec_add(&b->stack, cut);
}

static void visit_succs(struct flow_build *b, uint32_t id)
{
	const struct flow_cut *cut = &b->cuts.v[id];

	if (cut->site) {
		/* A function that hands over to another coroutine goes on where it is jumped back into. */
		if (cut->fall != FLOW_NONE && (flow_call_returns(b, cut) || b->cuts.v[cut->fall].landed))
			visit(b, cut->fall);
		return;
	}
	for (uint32_t s = b->succ0[id]; s < b->succ0[id + 1]; s++)
		visit(b, b->succ.v[s]);
}

/* The returning blocks of a function are appended to rets. */
static void collect_returns(struct flow_build *b, struct flow_fn *f)
{
	b->stamp_now++;
	b->stack.n = 0;
	f->ret0 = (uint32_t)b->rets.n;
	visit(b, f->entry);
	while (b->stack.n) {
		uint32_t id = b->stack.v[--b->stack.n];
		const struct flow_cut *cut = &b->cuts.v[id];

		if (cut->ret || cut->leaves)
			vec_add(&b->rets, id);
		if (!flow_last_node(b, cut)->away)
			visit_succs(b, id);
	}
	f->n_rets = (uint32_t)b->rets.n - f->ret0;
}

static void find_entries(struct flow_build *b)
{
	for (size_t i = 0; i < b->fns.n; i++) {
		uint32_t node = flow_node_at(b, b->fns.v[i].module, b->fns.v[i].vaddr);

		b->fns.v[i].entry = node == FLOW_NONE ? (uint32_t)FLOW_NONE : b->cut_of_node[node];
	}
}

static void find_landed(struct flow_build *b)
{
	for (size_t i = 0; i < b->links.n; i++) {
		const struct flow_link *l = &b->links.v[i];
		uint32_t node = l->away ? flow_node_at(b, l->to_module, l->to_vaddr) : (uint32_t)FLOW_NONE;

		if (node != FLOW_NONE)
			b->cuts.v[b->cut_of_node[node]].landed = true;
	}
}

/* The least fixed point: recursion alone makes no function return. */
static void find_returning(struct flow_build *b)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = b->fns.n; i-- > 0;) {
			struct flow_fn *f = &b->fns.v[i];

			if (f->returns || f->entry == FLOW_NONE)
				continue;
			b->rets.n = 0;
			collect_returns(b, f);
			f->returns = f->n_rets > 0;
			changed |= f->returns;
		}
	}
	b->rets.n = 0;
	for (size_t i = 0; i < b->fns.n; i++)
		if (b->fns.v[i].returns)
			collect_returns(b, &b->fns.v[i]);
}

/* Visit what a block leads to, callees included. */
static void visit_down(struct flow_build *b, uint32_t id)
{
	const struct flow_cut *cut = &b->cuts.v[id];

	if (cut->site) {
		for (uint32_t l = flow_last_node(b, cut)->link0; l != FLOW_NONE; l = b->links.v[l].next) {
			const struct flow_fn *f = flow_callee(b, &b->links.v[l]);

			if (f && !f->cut)
				visit(b, f->entry);
		}
	}
	visit_succs(b, id);
}

static struct flow_fn *fn_of(const struct flow_build *b, const struct flow_cut *cut)
{
	return &b->fns.v[b->nodes.v[b->order.v[cut->node0]].fn];
}

/* A function without samples that leads, among such, to more code than is worth it, is left out. */
static void judge_cold(struct flow_build *b, struct flow_fn *f)
{
	size_t n_insns = 0;

	b->stamp_now++;
	b->stack.n = 0;
	visit(b, f->entry);
	while (b->stack.n && n_insns <= FLOW_SMALL_COLD_INSNS) {
		uint32_t id = b->stack.v[--b->stack.n];

		if (fn_of(b, &b->cuts.v[id])->hot || fn_of(b, &b->cuts.v[id])->ran)
			continue;
		n_insns += b->cuts.v[id].n;
		visit_down(b, id);
	}
	f->cut = n_insns > FLOW_SMALL_COLD_INSNS;
}

/* Hot functions that hot code, or small cold code, leads to need no other way in. */
static void mark_reached(struct flow_build *b)
{
	for (uint32_t id = 0; id < b->cuts.n; id++) {
		const struct flow_cut *cut = &b->cuts.v[id];
		const struct flow_node *last = flow_last_node(b, cut);

		if (!fn_of(b, cut)->hot && fn_of(b, cut)->cut)
			continue;
		for (uint32_t l = last->link0; l != FLOW_NONE; l = b->links.v[l].next) {
			struct flow_fn *f = flow_callee(b, &b->links.v[l]);

			if (f && f != fn_of(b, cut))
				f->reached = true;
		}
	}
}

/*
 * Blocks that lead to a hot function nothing else leads to, by searching
 * backwards: a large cold function on the way is kept after all.
 */
struct backward {
	uint32_t *from0, *from;
};

static void count_back(struct backward *back, uint32_t to, uint32_t from, bool fill)
{
	if (fill)
		back->from[--back->from0[to]] = from;
	else
		back->from0[to]++;
}

static void list_back(const struct flow_build *b, struct backward *back, bool fill)
{
	for (uint32_t id = 0; id < b->cuts.n; id++) {
		const struct flow_cut *cut = &b->cuts.v[id];

		for (uint32_t s = b->succ0[id]; s < b->succ0[id + 1]; s++)
			count_back(back, b->succ.v[s], id, fill);
		if (!cut->site)
			continue;
		if (cut->fall != FLOW_NONE && flow_call_returns(b, cut))
			count_back(back, cut->fall, id, fill);
		for (uint32_t l = flow_last_node(b, cut)->link0; l != FLOW_NONE; l = b->links.v[l].next) {
			const struct flow_fn *f = flow_callee(b, &b->links.v[l]);

			if (f)
				count_back(back, f->entry, id, fill);
		}
	}
}

static void spread_warmth(struct flow_build *b, const struct backward *back)
{
	b->stack.n = 0;
	for (size_t i = 0; i < b->fns.n; i++) {
		const struct flow_fn *f = &b->fns.v[i];

		if (!f->hot || f->reached || f->entry == FLOW_NONE || b->cuts.v[f->entry].warm)
			continue;
		b->cuts.v[f->entry].warm = true;
		vec_add(&b->stack, f->entry);
	}
	while (b->stack.n) {
		uint32_t id = b->stack.v[--b->stack.n];

		for (uint32_t s = back->from0[id]; s < back->from0[id + 1]; s++) {
			struct flow_cut *from = &b->cuts.v[back->from[s]];

			if (!from->warm)
				vec_add(&b->stack, back->from[s]);
			from->warm = true;
		}
	}
}

static void find_warm(struct flow_build *b)
{
	struct backward back = { .from0 = mem_calloc(b->cuts.n + 2, sizeof(uint32_t)) };
	size_t n = 0;

	list_back(b, &back, false);
	for (size_t i = 0; i <= b->cuts.n; i++) {
		n += back.from0[i];
		back.from0[i] = (uint32_t)n;
	}
	back.from = mem_calloc(n + 1, sizeof(uint32_t));
	list_back(b, &back, true);
	spread_warmth(b, &back);
	free(back.from0);
	free(back.from);
}

/* A sample of no weight still shows that the code runs, and so does a branch. */
static void note_seen(struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	uint32_t node = flow_node_at(b, module, vaddr);

	if (node != FLOW_NONE)
		b->cuts.v[b->cut_of_node[node]].seen = true;
}

static void find_seen(struct flow_build *b)
{
	for (size_t i = 0; i < b->in->n_hot; i++)
		note_seen(b, b->in->hot[i].module, b->in->hot[i].vaddr);
	for (size_t i = 0; i < b->in->n_seen; i++)
		note_seen(b, b->in->seen[i].from_module, b->in->seen[i].from_vaddr);
}

/* Alive is what hot functions lead to, and what was seen to branch. */
static void find_alive(struct flow_build *b)
{
	b->stamp_now++;
	b->stack.n = 0;
	for (size_t i = 0; i < b->fns.n; i++)
		if (b->fns.v[i].hot && b->fns.v[i].entry != FLOW_NONE)
			visit(b, b->fns.v[i].entry);
	for (uint32_t id = 0; id < b->cuts.n; id++)
		if (b->cuts.v[id].seen)
			visit(b, id);
	while (b->stack.n) {
		uint32_t id = b->stack.v[--b->stack.n];

		b->cuts.v[id].alive = true;
		visit_down(b, id);
	}
}

void flow_find_returns(struct flow_build *b)
{
	find_entries(b);
	find_landed(b);
	find_returning(b);
	find_seen(b);
	/* Callees stand behind their callers mostly: a small caller of a large cold one stays. */
	for (size_t i = b->fns.n; i-- > 0;)
		if (b->fns.v[i].entry != FLOW_NONE && !b->fns.v[i].hot && !b->fns.v[i].ran)
			judge_cold(b, &b->fns.v[i]);
	mark_reached(b);
	find_warm(b);
	for (size_t i = 0; i < b->fns.n; i++)
		if (b->fns.v[i].entry != FLOW_NONE && b->cuts.v[b->fns.v[i].entry].warm)
			b->fns.v[i].cut = false;
	find_alive(b);
}
