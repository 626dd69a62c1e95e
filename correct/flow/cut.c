/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions that were reached, cut into basic blocks. */
#include "correct/flow/build.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

static int compare_nodes(const void *x, const void *y, void *ctx)
{
	const struct flow_build *b = ctx;
	const struct flow_node *m = &b->nodes.v[*(const uint32_t *)x], *n = &b->nodes.v[*(const uint32_t *)y];

	return order_pairs(m->module, m->insn.vaddr, n->module, n->insn.vaddr);
}

static bool ends_block(const struct insn *i)
{
	return i->flow != INSN_PLAIN && i->flow != INSN_SYSCALL;
}

static uint32_t next_node(const struct flow_build *b, uint32_t node)
{
	const struct flow_node *n = &b->nodes.v[node];

	return flow_node_at(b, n->module, n->insn.vaddr + n->insn.size_bytes);
}

/*
 * Nodes of one block stand one behind the other in `order` but where
 * instructions overlap; there every instruction is a block of its own.
 */
static void cut_one(struct flow_build *b, uint32_t at)
{
	struct flow_cut cut = { .node0 = at, .n = 1, .fall = FLOW_NONE };
	uint32_t id = (uint32_t)b->cuts.n;

	b->cut_of_node[b->order.v[at]] = id;
	while (at + cut.n < b->order.n) {
		uint32_t last = b->order.v[at + cut.n - 1], next = b->order.v[at + cut.n];

		if (ends_block(&b->nodes.v[last].insn) || b->nodes.v[next].leader ||
		    next_node(b, last) != next)
			break;
		b->cut_of_node[next] = id;
		cut.n++;
	}
	vec_add(&b->cuts, cut);
}

static bool falls(const struct flow_node *n)
{
	switch ((enum insn_flow)n->insn.flow) {
	case INSN_PLAIN:
	case INSN_SYSCALL:
	case INSN_COND:
		return true;
	case INSN_CALL:
	case INSN_CALL_IND:
		return n->falls;
	default:
		return false;
	}
}

/* The jumps of a block, and what its last instruction makes of it. */
static void link_cut(struct flow_build *b, uint32_t id)
{
	struct flow_cut *cut = &b->cuts.v[id];
	uint32_t last = b->order.v[cut->node0 + cut->n - 1], next;
	const struct flow_node *n = &b->nodes.v[last];
	bool jumps = false;

	b->succ0[id] = (uint32_t)b->succ.n;
	cut->site = flow_is_call(&n->insn);
	cut->ret = n->insn.flow == INSN_RET;
	next = falls(n) ? next_node(b, last) : (uint32_t)FLOW_NONE;
	if (next != FLOW_NONE)
		cut->fall = b->cut_of_node[next];
	if (cut->site)
		return;
	for (uint32_t l = n->link0; l != FLOW_NONE; l = b->links.v[l].next) {
		uint32_t to = flow_node_at(b, b->links.v[l].to_module, b->links.v[l].to_vaddr);

		jumps = true;
		if (to == FLOW_NONE)
			cut->leaves |= !n->noreturn;
		else
			vec_add(&b->succ, b->cut_of_node[to]);
	}
	if (n->insn.flow == INSN_JUMP_IND && !jumps)
		cut->leaves = !n->noreturn;
	if (cut->fall != FLOW_NONE)
		vec_add(&b->succ, cut->fall);
}

void flow_cut_blocks(struct flow_build *b)
{
	vec_room(&b->order, b->nodes.n);
	for (uint32_t i = 0; i < b->nodes.n; i++)
		b->order.v[b->order.n++] = i;
	if (b->order.n)
		qsort_r(b->order.v, b->order.n, sizeof(*b->order.v), compare_nodes, b);
	b->cut_of_node = mem_calloc(b->nodes.n + 1, sizeof(*b->cut_of_node));
	for (uint32_t at = 0; at < b->order.n; at += b->cuts.v[b->cuts.n - 1].n)
		cut_one(b, at);
	b->succ0 = mem_calloc(b->cuts.n + 1, sizeof(*b->succ0));
	b->stamp = mem_calloc(b->cuts.n + 1, sizeof(*b->stamp));
	for (uint32_t id = 0; id < b->cuts.n; id++)
		link_cut(b, id);
	b->succ0[b->cuts.n] = (uint32_t)b->succ.n;
}
