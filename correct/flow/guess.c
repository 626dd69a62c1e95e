/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Targets that the code doesn't tell: from branch records, which are sure; and
 * from where samples were seen, which is a guess and marked so.
 */
#include "correct/flow/build.h"
#include "correct/flow/symbolic.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

static int by_from(const void *x, const void *y)
{
	const struct flow_seen *a = x, *b = y;

	return order_pairs(a->from_module, a->from_vaddr, b->from_module, b->from_vaddr);
}

static int by_to(const void *x, const void *y)
{
	const struct flow_seen *a = x, *b = y;

	return order_pairs(a->to_module, a->to_vaddr, b->to_module, b->to_vaddr);
}

static struct flow_seen *sorted_copy(const struct flow_input *in, int (*compare)(const void *, const void *))
{
	struct flow_seen *copy = mem_malloc(in->n_seen * sizeof(*copy));

	memcpy(copy, in->seen, in->n_seen * sizeof(*copy));
	qsort(copy, in->n_seen, sizeof(*copy), compare);
	return copy;
}

void flow_seen_index(struct flow_build *b)
{
	if (b->in->n_seen == 0)
		return;
	b->seen = sorted_copy(b->in, by_from);
	b->seen_to = sorted_copy(b->in, by_to);
}

bool flow_seen_to(const struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	const struct flow_seen key = { .to_module = module, .to_vaddr = vaddr };

	return b->seen_to && bsearch(&key, b->seen_to, b->in->n_seen, sizeof(key), by_to);
}

bool flow_seen_within(const struct flow_build *b, uint32_t module, uint64_t vaddr, uint64_t end_vaddr)
{
	size_t lo =
	        sorted_count(b->seen ? b->in->n_seen : 0, k,
	                     order_pairs(b->seen[k].from_module, b->seen[k].from_vaddr, module, vaddr) < 0);

	return b->seen && lo < b->in->n_seen && b->seen[lo].from_module == module &&
	       b->seen[lo].from_vaddr < end_vaddr;
}

/* A jump, or an unwinder's return, into the middle of another function is no call of that: it leaves those between. */
static bool leads_away(const struct flow_build *b, const struct flow_node *from, uint32_t module,
                       uint64_t vaddr)
{
	const struct module_func *to = flow_symbol_at(b, module, vaddr),
	                         *own = flow_symbol_at(b, from->module, from->insn.vaddr);

	return !flow_is_call(&from->insn) && to && to != own && to->vaddr != vaddr;
}

bool flow_seen_follow(struct flow_build *b, uint32_t node)
{
	struct flow_link link = { .from = node,
		                  .kind = flow_is_call(&b->nodes.v[node].insn) ? FLOW_CALL : FLOW_IND };
	const struct flow_seen key = { .from_module = b->nodes.v[node].module,
		                       .from_vaddr = b->nodes.v[node].insn.vaddr };
	size_t lo = sorted_count(b->in->n_seen, k, by_from(&b->seen[k], &key) < 0);
	bool found = false, stays = false;

	for (; lo < b->in->n_seen && by_from(&b->seen[lo], &key) == 0; lo++) {
		link.to_module = b->seen[lo].to_module;
		link.to_vaddr = b->seen[lo].to_vaddr;
		if (!flow_is_code(b, link.to_module, link.to_vaddr))
			continue;
		link.away = leads_away(b, &b->nodes.v[node], link.to_module, link.to_vaddr);
		if (b->nodes.v[node].insn.flow == INSN_RET && !link.away)
			continue;
		found = true;
		stays |= !link.away;
		flow_link_add(b, &link);
	}
	b->nodes.v[node].away = found && !stays;
	return found;
}

/* An address that a resolver could return: the entry of a function that was hot. */
static bool is_variant(const struct flow_build *b, const struct flow_ifunc *f, uint64_t vaddr)
{
	const struct module_func *to = flow_symbol_at(b, f->module, vaddr);

	return to && to->vaddr == vaddr && !to->ifunc && vaddr != f->resolver_vaddr &&
	       flow_hot_within(b, f->module, vaddr, vaddr + to->size_bytes);
}

static bool no_data(void *ctx, uint64_t vaddr)
{
	(void)ctx;
	(void)vaddr;
	return false;
}

/* Every constant the resolver computes that is a hot function's entry is a target. */
static void read_resolver(struct flow_build *b, const struct flow_ifunc *f)
{
	struct module *m = b->in->modules[f->module];
	const struct module_func *own = flow_symbol_at(b, f->module, f->resolver_vaddr);
	uint64_t size =
	        own && own->size_bytes < EFFORT_RESOLVER_BYTES ? own->size_bytes : EFFORT_RESOLVER_BYTES;
	struct insn_decoder *d = b->decoders[module_isa(m)];
	struct flow_link link = { .from = f->from,
		                  .to_module = f->module,
		                  .kind = flow_is_call(&b->nodes.v[f->from].insn) ? FLOW_CALL : FLOW_IND,
		                  .guessed = true };
	struct sym_state s = { .is_data = no_data };
	struct sym_value unused;

	sym_init(&s);
	for (uint64_t at = f->resolver_vaddr; at < f->resolver_vaddr + size;) {
		size_t n_bytes;
		const uint8_t *code = module_code(m, at, &n_bytes);
		struct insn insn;
		struct insn_form form;

		if (!code || insn_decode(d, code, n_bytes, at, &insn) < 0)
			return;
		insn_form(d, code, n_bytes, &insn, &form);
		at += insn.size_bytes;
		sym_eval(&s, &insn, &form, &unused);
		for (unsigned r = 0; r < SYM_REGS; r++) {
			link.to_vaddr = s.reg[r].add;
			if (sym_is_const(&s.reg[r]) && is_variant(b, f, s.reg[r].add))
				flow_link_add(b, &link);
		}
	}
}

/* Whether any led on. */
static bool follow_ifuncs(struct flow_build *b)
{
	size_t before = b->links.n;

	for (size_t i = 0; i < b->ifuncs.n; i++) {
		struct flow_ifunc f = b->ifuncs.v[i];

		b->ifuncs.v[i].done = true;
		if (!f.done && !flow_seen_follow(b, f.from))
			read_resolver(b, &f);
	}
	return b->links.n > before;
}

static bool decode_at(struct flow_build *b, uint32_t module, uint64_t vaddr, struct insn *insn)
{
	struct module *m = b->in->modules[module];
	size_t n_bytes;
	const uint8_t *code = module_code(m, vaddr, &n_bytes);

	return code && module_isa(m) != ISA_NONE &&
	       insn_decode(b->decoders[module_isa(m)], code, n_bytes, vaddr, insn) == 0;
}

/* Instructions of a function, one after another: addresses that are asked for go up, and nothing is decoded twice. */
struct sweep {
	const struct module_func *f;
	uint64_t at,
	        start; /* decoded up to there; where control comes in that gets there, 0: it is known, or can't */
	size_t n_insns; /* of all functions */
};

/*
 * Where control comes in that gets to an address nothing leads to: behind the
 * last unconditional jump before it, or behind code that was followed.
 */
static uint64_t run_start(struct flow_build *b, struct sweep *s, uint32_t module, const struct module_func *f,
                          uint64_t vaddr)
{
	struct insn insn;

	if (s->f != f)
		*s = (struct sweep){ .f = f, .at = f->vaddr, .n_insns = s->n_insns };
	while (s->at < vaddr && s->n_insns++ < EFFORT_SWEPT && decode_at(b, module, s->at, &insn)) {
		if (flow_node_at(b, module, s->at) != FLOW_NONE || insn.flow == INSN_JUMP ||
		    insn.flow == INSN_JUMP_IND || insn.flow == INSN_RET || insn.flow == INSN_STOP)
			s->start = 0;
		else if (!s->start && !(insn.flags & INSN_NOP))
			s->start = s->at;
		s->at += insn.size_bytes;
	}
	return s->at == vaddr && s->start ? s->start : vaddr;
}

/* All unresolved indirect jumps of a function may go to vaddr.  Whether there are any. */
static bool link_jumps(struct flow_build *b, uint32_t module, const struct module_func *f, uint64_t vaddr)
{
	struct flow_link link = { .to_module = module, .to_vaddr = vaddr, .kind = FLOW_IND, .guessed = true };
	bool any = false;

	for (size_t i = 0; i < b->unresolved.n; i++) {
		struct flow_node *node = &b->nodes.v[b->unresolved.v[i]];

		if (node->module != module || flow_symbol_at(b, module, node->insn.vaddr) != f)
			continue;
		link.from = b->unresolved.v[i];
		node->unknown = false;
		flow_link_add(b, &link);
		any = true;
	}
	return any;
}

/* Hot code that nothing leads to: targets of the function's own jumps, else entered from we don't know where. */
static bool follow_gaps(struct flow_build *b)
{
	struct sweep sweep = { 0 };
	bool more = false;

	for (size_t i = 0; i < b->in->n_hot; i++) {
		const struct flow_hot *h = &b->in->hot[i];
		const struct module_func *f;
		uint64_t start;

		if (!flow_is_code(b, h->module, h->vaddr) ||
		    flow_node_at(b, h->module, h->vaddr) != FLOW_NONE)
			continue;
		f = flow_symbol_at(b, h->module, h->vaddr);
		start = f && h->vaddr >= f->vaddr ? run_start(b, &sweep, h->module, f, h->vaddr) : h->vaddr;
		if (flow_fn_at(b, h->module, start) != FLOW_NONE)
			continue;
		if (!f || !link_jumps(b, h->module, f, start))
			flow_fn_add(b, h->module, start, 0);
		flow_explore(b);
		more = true;
	}
	return more;
}

struct unreached {
	VEC(uint32_t) fns;   /* hot functions that no link leads to */
	VEC(uint32_t) sites; /* unresolved calls in hot functions */
};

static bool is_program_start(const struct flow_build *b, const struct flow_fn *f)
{
	const struct module_func *s = flow_symbol_at(b, f->module, f->vaddr);

	return !s || strcmp(s->linkage, "main") == 0 || strcmp(s->linkage, "_start") == 0 ||
	       s->vaddr != f->vaddr;
}

/* Hot enough to guess about.  A sample or two in start-up code must not make the dynamic linker the caller of the whole program. */
static bool is_hot_fn(const struct flow_build *b, const struct flow_fn *f, double total)
{
	double heat = 0;

	if (!f->hot)
		return false;
	for (size_t i = flow_hot_from(b, f->module, f->vaddr); i < b->in->n_hot; i++) {
		const struct flow_hot *h = &b->in->hot[i];

		if (h->module != f->module || h->vaddr >= f->end_vaddr)
			break;
		heat += h->weight;
	}
	return heat >= model->small * total;
}

/* What is known of a function: KNOWN is how it is come to, LEADS to hot code of which that is not, CALLS through pointers or leads there. */
enum { HOT = 1, REACHED = 2, NO_GUESS = 4, KNOWN = 8, LEADS = 16, CALLS = 32 };

/* Functions that a marked one leads to are marked, or back, those that lead to it; but not what is `but`.  to: by links. */
static void spread(const struct flow_build *b, const uint32_t *to, uint8_t *is, uint8_t mark, uint8_t but,
                   bool back)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < b->links.n; i++) {
			uint32_t from = b->nodes.v[b->links.v[i].from].fn, next = back ? from : to[i];

			if (to[i] == FLOW_NONE || !(is[back ? to[i] : from] & mark) ||
			    is[next] & (mark | but))
				continue;
			is[next] |= mark;
			more = true;
		}
	}
}

/* Besides hot functions those of few samples, where nothing else leads to hot code that they call: not main of what calls through pointers. */
static void find_unreached(struct flow_build *b, struct unreached *u)
{
	uint8_t *is = mem_calloc(b->fns.n + 1, 1);
	uint32_t *to = mem_malloc((b->links.n + 1) * sizeof(*to));
	double total = 0;
	size_t n_hot;

	for (size_t i = 0; i < b->in->n_hot; i++)
		total += b->in->hot[i].weight;
	for (size_t i = 0; i < b->links.n; i++) {
		to[i] = flow_fn_at(b, b->links.v[i].to_module, b->links.v[i].to_vaddr);
		if (to[i] != FLOW_NONE)
			is[to[i]] |= REACHED;
	}
	for (size_t i = 0; i < b->fns.n; i++)
		is[i] |= (is_hot_fn(b, &b->fns.v[i], total) ? HOT : 0) |
		         (!b->fns.v[i].hot || is_program_start(b, &b->fns.v[i]) ? NO_GUESS : 0);
	for (uint32_t i = 0; i < b->nodes.n; i++) {
		uint32_t fn = b->nodes.v[i].fn;

		if (!b->nodes.v[i].unresolved || b->nodes.v[i].insn.flow != INSN_CALL_IND || !(is[fn] & HOT))
			continue;
		vec_add(&u->sites, i);
		is[fn] |= NO_GUESS | CALLS;
	}
	for (uint32_t i = 0; i < b->fns.n; i++) {
		if (is[i] & (HOT | NO_GUESS) && !(is[i] & REACHED))
			is[i] |= KNOWN;
		if ((is[i] & (HOT | REACHED | NO_GUESS)) == HOT)
			vec_add(&u->fns, i);
	}
	spread(b, to, is, KNOWN, 0, false);
	for (size_t i = 0; i < b->fns.n; i++)
		is[i] |= (is[i] & (HOT | KNOWN)) == HOT ? LEADS : 0;
	spread(b, to, is, LEADS, KNOWN, true);
	spread(b, to, is, CALLS, 0, true);
	n_hot = u->fns.n;
	for (uint32_t i = 0; i < b->fns.n; i++)
		if ((is[i] & (LEADS | REACHED | NO_GUESS | CALLS)) == LEADS)
			vec_add(&u->fns, i);
	if (u->fns.n > EFFORT_GUESSED)
		u->fns.n = n_hot;
	free(is);
	free(to);
}

/*
 * Hot functions that nothing calls are called through pointers.  Not those
 * that call through pointers themselves: they would seem recursive.
 */
void flow_guess_calls(struct flow_build *b)
{
	struct unreached u = { 0 };

	find_unreached(b, &u);
	for (size_t s = 0; s < u.sites.n && u.fns.n && u.fns.n <= EFFORT_GUESSED; s++) {
		b->nodes.v[u.sites.v[s]].unknown = false;
		for (size_t f = 0; f < u.fns.n; f++) {
			const struct flow_fn *fn = &b->fns.v[u.fns.v[f]];

			flow_link_add(b, &(struct flow_link){ .from = u.sites.v[s],
			                                      .to_module = fn->module,
			                                      .to_vaddr = fn->vaddr,
			                                      .kind = FLOW_CALL,
			                                      .guessed = true });
		}
	}
	vec_fini(&u.fns);
	vec_fini(&u.sites);
}

bool flow_guess(struct flow_build *b)
{
	bool more = follow_ifuncs(b);

	return follow_gaps(b) || more;
}
