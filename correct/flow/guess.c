/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/build.h"

/* The first branch record of a node, in->n_seen if none. */
static size_t first_seen(const struct flow_build *b, const struct flow_node *n, size_t at)
{
	for (; at < b->in->n_seen; at++)
		if (b->in->seen[at].from_module == n->module && b->in->seen[at].from_vaddr == n->insn.vaddr)
			break;
	return at;
}

int flow_seen_follow(struct flow_build *b, uint32_t node, bool *found)
{
	struct flow_link link = { .from = node,
		                  .kind = flow_is_call(&b->nodes.v[node].insn) ? FLOW_CALL : FLOW_IND };
	int err;

	*found = false;
	for (size_t i = first_seen(b, &b->nodes.v[node], 0); i < b->in->n_seen;
	     i = first_seen(b, &b->nodes.v[node], i + 1)) {
		link.to_module = b->in->seen[i].to_module;
		link.to_vaddr = b->in->seen[i].to_vaddr;
		if (!flow_is_code(b, link.to_module, link.to_vaddr))
			continue;
		*found = true;
		if ((err = flow_link_add(b, &link)) < 0)
			return err;
	}
	return 0;
}

int flow_guess(struct flow_build *b, bool *more)
{
	(void)b;
	*more = false;
	return 0;
}
