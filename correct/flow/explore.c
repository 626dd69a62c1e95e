/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions, found by following control flow from the functions that hold samples.  Each is decoded once, whichever function
 * reaches it first: the functions of hand-written assembly share code.
 */
#include <stdio.h>
#include <string.h>

#include "correct/flow/build.h"
#include "profiler/base/log.h"
#include "profiler/base/order.h"

enum { MAX_UNKNOWN_RUN = 8 }; /* that many undecodable instructions in a row are data */

static struct module *module_of(const struct flow_build *b, uint32_t module)
{
	if (module >= b->in->n_modules || module_state(b->in->modules[module]) != MODULE_OK)
		return NULL;
	return b->in->modules[module];
}

bool flow_is_code(const struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	const struct module *m = module_of(b, module);
	size_t n_bytes;

	return m && module_code(m, vaddr, &n_bytes);
}

size_t flow_hot_from(const struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	const struct flow_hot *hot = b->in->hot;

	return sorted_count(b->in->n_hot, k, order_pairs(hot[k].module, hot[k].vaddr, module, vaddr) < 0);
}

bool flow_hot_within(const struct flow_build *b, uint32_t module, uint64_t vaddr, uint64_t end_vaddr)
{
	const struct flow_hot *hot = b->in->hot;
	size_t lo = flow_hot_from(b, module, vaddr);

	return lo < b->in->n_hot && hot[lo].module == module && hot[lo].vaddr < end_vaddr;
}

/* "foo.cold" or "foo.cold.3", split off foo by the compiler: the length of "foo", else 0. */
static size_t cold_base(const char *linkage)
{
	const char *cold = strstr(linkage, ".cold");

	if (!cold || (cold[5] != 0 && (cold[5] != '.' || strspn(cold + 6, "0123456789") != strlen(cold + 6))))
		return 0;
	return (size_t)(cold - linkage);
}

const struct module_func *flow_symbol_at(const struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	const struct module *m = module_of(b, module);
	long at = m ? module_func_at(m, vaddr) : -1;
	const struct module_func *f = at < 0 ? NULL : module_func(m, (size_t)at);
	size_t n = f ? cold_base(f->linkage) : 0;
	char base[512];

	if (n == 0 || n >= sizeof(base))
		return f;
	memcpy(base, f->linkage, n);
	base[n] = 0;
	at = module_func_named(m, base);
	return at < 0 ? f : module_func(m, (size_t)at);
}

/* The dynamic linker has a memcmp, a malloc ... of its own, which nobody is bound to. */
static bool is_loader(const struct module *m)
{
	const char *slash = strrchr(module_path(m), '/');

	return strncmp(slash ? slash + 1 : module_path(m), "ld-", 3) == 0;
}

/* A function by linkage name, in the dynamic linker only where no other module has it. */
static bool symbol_find(const struct flow_build *b, const char *name, uint32_t *module, uint64_t *vaddr)
{
	for (int loader = 0; loader <= 1; loader++) {
		for (uint32_t i = 0; i < b->in->n_modules; i++) {
			const struct module *m = module_of(b, i);
			long at = m && is_loader(m) == loader ? module_func_named(m, name) : -1;

			if (at < 0)
				continue;
			*module = i;
			*vaddr = module_func(m, (size_t)at)->vaddr;
			return true;
		}
	}
	return false;
}

static bool name_never_returns(const char *linkage)
{
	static const char names[] =
	        " abort exit _exit _Exit quick_exit __stack_chk_fail __assert_fail __assert "
	        "__fortify_fail __chk_fail longjmp _longjmp siglongjmp __longjmp_chk pthread_exit "
	        "__cxa_throw __cxa_rethrow __cxa_bad_cast _Unwind_Resume "
	        "__cxa_throw_bad_array_new_length _ZSt9terminatev __cxa_call_unexpected __libc_fatal "
	        "__cxa_pure_virtual err errx verr verrx rust_begin_unwind __cxa_call_terminate ";
	static const char *const prefixes[] = { "_ZSt17__throw_", "_ZSt16__throw_",    "_ZSt19__throw_",
		                                "_ZSt20__throw_", "_ZSt24__throw_",    "_ZSt25__throw_",
		                                "_ZSt28__throw_", "_ZN4core9panicking" };
	char word[64];

	if (snprintf(word, sizeof(word), " %s ", linkage) < (int)sizeof(word) && strstr(names, word))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(linkage, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Functions that return into the middle of another one, to where an exception is caught or something is cleaned up. */
static bool is_unwinder(const struct flow_build *b, const struct flow_node *n)
{
	static const char *const names[] = { "_Unwind_RaiseException", "_Unwind_Resume",
		                             "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind" };
	const struct module_func *f = flow_symbol_at(b, n->module, n->insn.vaddr);

	for (size_t i = 0; f && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(f->linkage, names[i]) == 0)
			return true;
	return false;
}

void flow_node_form(struct flow_build *b, uint32_t node, struct insn_form *out)
{
	const struct flow_node *n = &b->nodes.v[node];
	const struct module *m = b->in->modules[n->module];
	size_t n_bytes;
	const uint8_t *code = module_code(m, n->insn.vaddr, &n_bytes);

	insn_form(b->decoders[module_isa(m)], code, n_bytes, &n->insn, out);
}

void flow_fn_add(struct flow_build *b, uint32_t module, uint64_t vaddr, uint32_t depth)
{
	const uint32_t known = flow_fn_at(b, module, vaddr);
	struct flow_fn f = { .module = module, .vaddr = vaddr, .end_vaddr = vaddr, .entry = FLOW_NONE };
	const struct module_func *symbol;

	if (known != FLOW_NONE) {
		if (depth < b->fns.v[known].depth)
			b->fns.v[known].depth = depth;
		return;
	}
	symbol = flow_symbol_at(b, module, vaddr);
	if (symbol && symbol->vaddr + symbol->size_bytes > vaddr)
		f.end_vaddr = symbol->vaddr + symbol->size_bytes;
	f.hot = flow_hot_within(b, module, vaddr, f.end_vaddr > vaddr ? f.end_vaddr : vaddr + 1);
	f.ran = !f.hot && (flow_seen_to(b, module, vaddr) || flow_seen_within(b, module, vaddr, f.end_vaddr));
	f.depth = f.hot || f.ran ? 0 : depth;
	pairs_must(&b->fn_at, module, vaddr);
	vec_add(&b->fns, f);
}

/* A call or jump there leads into another function than the one it stands in. */
static bool enters_function(const struct flow_build *b, const struct flow_node *from, uint32_t module,
                            uint64_t vaddr)
{
	const struct module_func *to, *own;

	if (module != from->module)
		return true;
	to = flow_symbol_at(b, module, vaddr);
	own = flow_symbol_at(b, module, from->insn.vaddr);
	return to && to->vaddr == vaddr && to != own;
}

static void add_ifunc(struct flow_build *b, const struct flow_link *link)
{
	for (size_t i = 0; i < b->ifuncs.n; i++)
		if (b->ifuncs.v[i].from == link->from)
			return;
	vec_add(&b->ifuncs, (struct flow_ifunc){ .from = link->from,
	                                         .module = link->to_module,
	                                         .resolver_vaddr = link->to_vaddr });
}

static bool has_link(const struct flow_build *b, const struct flow_link *link)
{
	for (uint32_t l = b->nodes.v[link->from].link0; l != FLOW_NONE; l = b->links.v[l].next)
		if (b->links.v[l].to_vaddr == link->to_vaddr && b->links.v[l].to_module == link->to_module)
			return true;
	return false;
}

void flow_link_add(struct flow_build *b, const struct flow_link *link)
{
	struct flow_node *from = &b->nodes.v[link->from];
	const struct module_func *symbol = flow_symbol_at(b, link->to_module, link->to_vaddr);
	bool enters = link->kind == FLOW_CALL || enters_function(b, from, link->to_module, link->to_vaddr);
	struct flow_link copy = *link;

	if (has_link(b, link))
		return;
	if (enters && symbol && symbol->ifunc && symbol->vaddr == link->to_vaddr) {
		add_ifunc(b, link);
		return;
	}
	if (enters && symbol && name_never_returns(symbol->linkage))
		from->noreturn = true;
	copy.next = from->link0;
	from->link0 = (uint32_t)b->links.n;
	vec_add(&b->links, copy);
	if (enters)
		flow_fn_add(b, link->to_module, link->to_vaddr,
		            b->fns.v[from->fn].depth + (link->kind == FLOW_CALL));
	else
		vec_add(&b->work, (struct flow_work){ .vaddr = link->to_vaddr, .from = link->from });
}

/* The name the dynamic linker binds a slot to never returns, whether we have its code or not. */
static void note_slot_name(struct flow_build *b, uint32_t node, const char *name)
{
	if (name && name_never_returns(name))
		b->nodes.v[node].noreturn = true;
}

/*
 * Branch records show what a slot was bound to, which its name does not where there are several versions of it.  A jump to the
 * linker's stub, or to the dynamic linker, is only on the way there.
 */
static bool follow_bound(struct flow_build *b, uint32_t node)
{
	uint32_t own = b->nodes.v[node].module;
	bool bound = false;

	flow_seen_follow(b, node);
	for (uint32_t l = b->nodes.v[node].link0; l != FLOW_NONE; l = b->links.v[l].next) {
		uint32_t to = b->links.v[l].to_module;

		bound |= to != own && !is_loader(b->in->modules[to]);
	}
	return bound;
}

bool flow_slot_follow(struct flow_build *b, uint32_t node, uint64_t slot)
{
	struct flow_node *n = &b->nodes.v[node];
	struct flow_link link = { .from = node, .kind = flow_is_call(&n->insn) ? FLOW_CALL : FLOW_IND };
	struct module *m = b->in->modules[n->module];
	const char *name = NULL;
	uint64_t target = 0;
	bool ifunc = false;

	if (!module_slot(m, slot, &name, &target, &ifunc))
		return false;
	note_slot_name(b, node, name);
	if (name && follow_bound(b, node))
		return true;
	link.to_module = n->module;
	link.to_vaddr = target;
	if (name && !symbol_find(b, name, &link.to_module, &link.to_vaddr))
		return true;
	if (ifunc && !name)
		add_ifunc(b, &link);
	else
		flow_link_add(b, &link);
	return true;
}

static void follow_indirect_call(struct flow_build *b, uint32_t node)
{
	struct insn insn = b->nodes.v[node].insn;
	bool found = ((insn.flags & INSN_MEM_TARGET) && flow_slot_follow(b, node, insn.target)) ||
	             flow_seen_follow(b, node);

	b->nodes.v[node].unknown = b->nodes.v[node].unresolved = !found;
}

/* What follows a call is only code of the caller while it is in the same function. */
static bool call_falls(const struct flow_build *b, const struct flow_node *n)
{
	uint64_t next = n->insn.vaddr + n->insn.size_bytes;
	const struct module_func *own = flow_symbol_at(b, n->module, n->insn.vaddr);

	return !own || flow_symbol_at(b, n->module, next) == own;
}

/* Follow to where the instruction of a node may lead; true: it may go on to the next one. */
static bool follow(struct flow_build *b, uint32_t node)
{
	struct insn insn = b->nodes.v[node].insn;
	struct flow_link link = { .from = node,
		                  .to_vaddr = insn.target,
		                  .to_module = b->nodes.v[node].module,
		                  .kind = insn.flow == INSN_CALL ? FLOW_CALL : FLOW_TAKEN };

	switch ((enum insn_flow)insn.flow) {
	case INSN_PLAIN:
	case INSN_SYSCALL:
		return true;
	case INSN_COND:
	case INSN_JUMP:
		flow_link_add(b, &link);
		return insn.flow == INSN_COND;
	case INSN_JUMP_IND:
		vec_add(&b->pending, node);
		return false;
	case INSN_CALL:
	case INSN_CALL_IND:
		if (insn.flow == INSN_CALL)
			flow_link_add(b, &link);
		else
			follow_indirect_call(b, node);
		return b->nodes.v[node].falls =
		               call_falls(b, &b->nodes.v[node]) && !b->nodes.v[node].noreturn;
	case INSN_RET:
		if (is_unwinder(b, &b->nodes.v[node]))
			flow_seen_follow(b, node);
		return false;
	case INSN_STOP:
		return false;
	}
	return false;
}

static void place_node(struct flow_build *b, uint32_t module, uint64_t vaddr, uint32_t node)
{
	pairs_in(&b->page_at, &b->pages, module, vaddr / FLOW_PAGE)->node[vaddr % FLOW_PAGE] = node + 1;
}

/* Decode one instruction as a new node; FLOW_NONE where there is no code, or none of an instruction set that we know. */
static uint32_t decode(struct flow_build *b, uint32_t fn, uint64_t vaddr)
{
	uint32_t module = b->fns.v[fn].module;
	struct module *m = module_of(b, module);
	struct flow_node n = {
		.module = module, .fn = fn, .fall_prev = FLOW_NONE, .jump_prev = FLOW_NONE, .link0 = FLOW_NONE
	};
	size_t n_bytes;
	const uint8_t *code = m ? module_code(m, vaddr, &n_bytes) : NULL;

	if (!code || module_isa(m) == ISA_NONE || (module_isa(m) == ISA_AARCH64 && vaddr % 4) ||
	    insn_decode(b->decoders[module_isa(m)], code, n_bytes, vaddr, &n.insn) < 0)
		return FLOW_NONE;
	place_node(b, module, vaddr, (uint32_t)b->nodes.n);
	b->n_cold_insns += !b->fns.v[fn].hot;
	vec_add(&b->nodes, n);
	return (uint32_t)b->nodes.n - 1;
}

static void link_back(struct flow_node *n, uint32_t fall_prev, uint32_t jump_prev)
{
	if (n->fall_prev == FLOW_NONE)
		n->fall_prev = fall_prev;
	if (n->jump_prev == FLOW_NONE)
		n->jump_prev = jump_prev;
}

/* Decode straight on from an address that node `from` jumps to, or from a function's entry, where it is FLOW_NONE. */
static void scan(struct flow_build *b, uint32_t fn, uint64_t vaddr, uint32_t from)
{
	uint32_t module = b->fns.v[fn].module, prev = FLOW_NONE, node;
	bool leader = true, falls = true;
	unsigned unknown_run = 0;

	while (falls) {
		node = flow_node_at(b, module, vaddr);
		if (node != FLOW_NONE) {
			b->nodes.v[node].leader = true;
			link_back(&b->nodes.v[node], prev, from);
			return;
		}
		node = decode(b, fn, vaddr);
		if (node == FLOW_NONE)
			return;
		b->nodes.v[node].leader = leader;
		link_back(&b->nodes.v[node], prev, from);
		unknown_run = b->nodes.v[node].insn.flags & INSN_UNKNOWN ? unknown_run + 1 : 0;
		if (unknown_run > MAX_UNKNOWN_RUN)
			return;
		falls = follow(b, node);
		leader = b->nodes.v[node].insn.flow != INSN_PLAIN &&
		         b->nodes.v[node].insn.flow != INSN_SYSCALL;
		vaddr += b->nodes.v[node].insn.size_bytes;
		prev = node;
		from = FLOW_NONE;
	}
}

static void list_unresolved(struct flow_build *b, uint32_t node)
{
	vec_add(&b->unresolved, node);
	for (size_t i = b->unresolved.n - 1; i > 0 && b->unresolved.v[i - 1] > node; i--) {
		b->unresolved.v[i] = b->unresolved.v[i - 1];
		b->unresolved.v[i - 1] = node;
	}
}

static void follow_pending(struct flow_build *b, uint32_t node)
{
	struct insn insn = b->nodes.v[node].insn;
	bool found = (insn.flags & INSN_MEM_TARGET) && flow_slot_follow(b, node, insn.target);

	/* What branch records show went there; a table tells what else may. */
	if (!found) {
		found = flow_seen_follow(b, node);
		found |= flow_table_follow(b, node);
	}
	b->nodes.v[node].unknown = b->nodes.v[node].unresolved = !found;
	if (!found)
		list_unresolved(b, node);
}

static void start_fn(struct flow_build *b, uint32_t fn)
{
	struct flow_fn *f = &b->fns.v[fn];

	if (f->started)
		return;
	if (!f->hot && !f->ran && (f->depth > FLOW_MAX_DEPTH || b->n_cold_insns > FLOW_MAX_COLD_INSNS))
		return;
	f->started = true;
	scan(b, fn, f->vaddr, FLOW_NONE);
}

enum { PROGRESS_STEPS = 4096 };

void flow_explore(struct flow_build *b)
{
	for (size_t n = 0;; n++) {
		if (n % PROGRESS_STEPS == 0)
			sp_progress("decoding code: instructions", b->nodes.n, 0);
		if (b->work.n) {
			struct flow_work w = b->work.v[--b->work.n];

			scan(b, b->nodes.v[w.from].fn, w.vaddr, w.from);
		} else if (b->pending.n) {
			follow_pending(b, b->pending.v[--b->pending.n]);
		} else if (b->next_fn < b->fns.n) {
			start_fn(b, b->next_fn++);
		} else {
			break;
		}
	}
	sp_progress_end();
}
