/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jump tables.  The instructions that lead to an indirect jump are evaluated along one path to it; where that gives "a table,
 * indexed by an unknown below so much", the table is read.
 */
#include <string.h>

#include "correct/flow/build.h"
#include "correct/flow/symbolic.h"
#include "correct/model/effort.h"

struct table_reader {
	struct flow_build *b;
	uint32_t node; /* the jump */
	struct module *module;
	struct sym_state state;
};

static bool is_data(void *ctx, uint64_t vaddr)
{
	size_t n_bytes;

	return module_data(((struct table_reader *)ctx)->module, vaddr, &n_bytes) != NULL;
}

/*
 * The way by which the jump was first reached, newest first.  A node is found
 * after the one that led to it, so this never runs in a circle.
 */
static size_t path_to(const struct flow_build *b, uint32_t node, uint32_t *path, size_t max)
{
	size_t n = 0;

	while (node != FLOW_NONE && n < max) {
		const struct flow_node *at = &b->nodes.v[node];

		if (at->module != b->nodes.v[n ? path[0] : node].module)
			break;
		path[n++] = node;
		if (at->fall_prev != FLOW_NONE && at->fall_prev < node)
			node = at->fall_prev;
		else
			node = at->jump_prev != FLOW_NONE && at->jump_prev < node ? at->jump_prev : FLOW_NONE;
	}
	return n;
}

/* The condition in "ja" or "b.hi". */
static void pass_branch(struct sym_state *s, const char *name, bool taken)
{
	if (name[0] == 'j')
		sym_branch(s, name + 1, taken);
	else if (name[0] == 'b' && name[1] == '.')
		sym_branch(s, name + 2, taken);
}

static void evaluate(struct table_reader *r, size_t max, struct sym_value *jump)
{
	uint32_t path[EFFORT_LONG_PATH];
	size_t n = path_to(r->b, r->node, path, max);

	while (n-- > 0) {
		const struct insn *i = &r->b->nodes.v[path[n]].insn;
		struct insn_form form;

		flow_node_form(r->b, path[n], &form);
		if (i->flow == INSN_COND)
			pass_branch(&r->state, form.name,
			            n && r->b->nodes.v[path[n - 1]].insn.vaddr != i->vaddr + i->size_bytes);
		else
			sym_eval(&r->state, i, &form, jump);
	}
}

/* Entry `at` of a table: where it leads to, and whether the loader writes it, as it does addresses of functions. */
struct entry {
	uint64_t target;
	bool written;
};

static bool read_entry(struct table_reader *r, const struct sym_value *v, uint64_t at, struct entry *out)
{
	const char *name = NULL;
	uint64_t raw = 0, address = 0;
	size_t n_bytes;
	const uint8_t *data = module_data(r->module, at, &n_bytes);
	bool ifunc;

	if (!data || n_bytes < v->size_bytes)
		return false;
	memcpy(&raw, data, v->size_bytes);
	out->written = v->size_bytes == 8 && module_slot(r->module, at, &name, &address, &ifunc) && !name;
	if (out->written)
		raw = address;
	if (v->sign && v->size_bytes < 8) {
		unsigned up = 64 - 8 * v->size_bytes;

		raw = (uint64_t)((int64_t)(raw << up) >> up);
	}
	out->target = v->add + (raw << v->shift);
	return true;
}

/* A switch stays in its function; a table of functions goes to entries. */
static bool plausible(const struct table_reader *r, const struct entry *e, bool bounded)
{
	const struct flow_node *n = &r->b->nodes.v[r->node];
	const struct module_func *own = flow_symbol_at(r->b, n->module, n->insn.vaddr), *to;

	if (!flow_is_code(r->b, n->module, e->target) ||
	    (module_isa(r->module) == ISA_AARCH64 && e->target % 4))
		return false;
	to = flow_symbol_at(r->b, n->module, e->target);
	return to == own || ((bounded || e->written) && to && to->vaddr == e->target);
}

static bool is_other_table(const struct flow_build *b, uint64_t at)
{
	for (size_t i = 0; i < b->tables.n; i++)
		if (b->tables.v[i] == at)
			return true;
	return false;
}

struct table {
	const struct sym_value *jump;
	uint64_t first, most; /* address of the first entry, entries at most */
	bool sure;            /* so many it has */
};

static bool table_entry(struct table_reader *r, const struct table *t, uint64_t i, struct entry *out)
{
	uint64_t at = t->first + i * (uint64_t)t->jump->scale;

	return i < t->most && (t->sure || !i || !is_other_table(r->b, at)) &&
	       read_entry(r, t->jump, at, out) && plausible(r, out, t->sure);
}

struct targets {
	VEC(uint64_t) v;
};

/*
 * Is every target that branch records show in the table?  Without a bound what is read may be something else, or run on into what
 * lies behind it, another's entries perhaps: *end is past the last one on record, 0 where there is none.
 */
static bool holds_seen(const struct table_reader *r, const struct targets *targets, size_t *end)
{
	const struct flow_build *b = r->b;

	*end = 0;
	for (uint32_t l = b->nodes.v[r->node].link0; l != FLOW_NONE; l = b->links.v[l].next) {
		size_t past = targets->v.n;

		while (past && targets->v.v[past - 1] != b->links.v[l].to_vaddr)
			past--;
		if (!past)
			return false;
		*end = past > *end ? past : *end;
	}
	return true;
}

static void link_targets(struct table_reader *r, const struct targets *targets, bool guessed)
{
	struct flow_link link = { .from = r->node,
		                  .to_module = r->b->nodes.v[r->node].module,
		                  .kind = FLOW_IND,
		                  .guessed = guessed };

	for (size_t i = 0; i < targets->v.n; i++) {
		link.to_vaddr = targets->v.v[i];
		flow_link_add(r->b, &link);
	}
}

static bool read_table(struct table_reader *r, const struct sym_value *v)
{
	const struct sym_bound *bound = sym_bound_of(&r->state, v->unknown);
	bool bounded = bound && bound->max < EFFORT_ENTRIES;
	const struct table t = { .jump = v,
		                 .first = bounded ? v->table - bound->add * (uint64_t)v->scale : v->table,
		                 .most = bounded ? bound->max + 1 : EFFORT_UNBOUND,
		                 .sure = bounded && !bound->weak };
	struct targets targets = { .v.n = 0 };
	struct entry e;
	size_t end = 0;
	bool found;

	for (uint64_t i = 0; table_entry(r, &t, i, &e); i++)
		vec_add(&targets.v, e.target);
	/* One entry alone, of which the table's end is not known, is none: a switch has more ways. */
	found = targets.v.n && (t.sure || (targets.v.n > 1 && holds_seen(r, &targets, &end)));
	if (found && end)
		targets.v.n = end;
	if (found) {
		link_targets(r, &targets, !t.sure);
		vec_add(&r->b->tables, t.first);
	}
	vec_fini(&targets.v);
	return found;
}

/* A table without a bound: a longer look back may find one. */
static bool needs_more(const struct table_reader *r, const struct sym_value *jump)
{
	const struct sym_bound *bound = sym_bound_of(&r->state, jump->unknown);

	return jump->kind == SYM_LOAD && (!bound || bound->weak);
}

/* What the jump's value tells, if anything. */
static bool follow_value(struct table_reader *r, const struct sym_value *jump)
{
	struct flow_link link = { .from = r->node,
		                  .to_module = r->b->nodes.v[r->node].module,
		                  .to_vaddr = jump->add,
		                  .kind = FLOW_IND };

	if (jump->kind == SYM_LOAD)
		return read_table(r, jump);
	if (jump->kind == SYM_SLOT)
		return flow_slot_follow(r->b, r->node, jump->add);
	if (!sym_is_const(jump) || !flow_is_code(r->b, link.to_module, jump->add))
		return false;
	flow_link_add(r->b, &link);
	return true;
}

bool flow_table_follow(struct flow_build *b, uint32_t node)
{
	static const size_t paths[] = { EFFORT_SHORT_PATH, EFFORT_LONG_PATH };
	struct table_reader r = { .b = b, .node = node };
	struct sym_value jump;
	bool found = false;

	r.module = b->in->modules[b->nodes.v[node].module];
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && !found; i++) {
		r.state = (struct sym_state){ .is_data = is_data, .ctx = &r };
		sym_init(&r.state);
		jump = sym_fresh(&r.state);
		evaluate(&r, paths[i], &jump);
		if (i || !needs_more(&r, &jump))
			found = follow_value(&r, &jump);
	}
	return found;
}
