/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/build.h"
#include "correct/model/effort.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

static void build_fini(struct flow_build *b)
{
	for (size_t i = 0; i < sizeof(b->decoders) / sizeof(*b->decoders); i++)
		insn_decoder_free(b->decoders[i]);
	vec_fini(&b->nodes);
	vec_fini(&b->links);
	vec_fini(&b->fns);
	vec_fini(&b->ifuncs);
	vec_fini(&b->work);
	vec_fini(&b->pending);
	vec_fini(&b->unresolved);
	vec_fini(&b->tables);
	pairs_fini(&b->page_at);
	vec_fini(&b->pages);
	pairs_fini(&b->fn_at);
	vec_fini(&b->order);
	vec_fini(&b->cuts);
	vec_fini(&b->succ);
	vec_fini(&b->stack);
	vec_fini(&b->rets);
	free(b->seen);
	free(b->seen_to);
	free(b->cut_of_node);
	free(b->succ0);
	free(b->stamp);
}

static void seed_at(struct flow_build *b, uint32_t module, uint64_t vaddr)
{
	const struct module_func *f =
	        flow_is_code(b, module, vaddr) ? flow_symbol_at(b, module, vaddr) : NULL;

	if (f)
		flow_fn_add(b, module, f->vaddr, 0);
}

/*
 * Start from the functions that hold samples, and from those that branch: the one whose loop calls all the others may
 * take too little time for a sample, and nothing else leads to it.
 */
static void seed(struct flow_build *b)
{
	for (size_t i = 0; i < b->in->n_hot; i++)
		seed_at(b, b->in->hot[i].module, b->in->hot[i].vaddr);
	for (size_t i = 0; i < b->in->n_seen; i++)
		seed_at(b, b->in->seen[i].from_module, b->in->seen[i].from_vaddr);
}

/* What a program begins with is seldom seen, and may be the only way to what was. */
static void seed_main(struct flow_build *b)
{
	for (uint32_t i = 0; i < b->in->n_modules; i++) {
		const struct module *m = b->in->modules[i];
		long main = module_state(m) == MODULE_OK && module_is_program(m)
		                    ? module_func_named(m, "main")
		                    : -1;

		if (main >= 0)
			seed_at(b, i, module_func(m, (size_t)main)->vaddr);
	}
}

static int open_decoders(struct flow_build *b)
{
	int err = 0;

	for (size_t i = 0; i < b->in->n_modules && err == 0; i++) {
		enum insn_isa isa = module_isa(b->in->modules[i]);

		if (module_state(b->in->modules[i]) == MODULE_OK && isa != ISA_NONE && !b->decoders[isa])
			err = insn_decoder_new(isa, &b->decoders[isa]);
	}
	return err;
}

static void explore(struct flow_build *b)
{
	bool more = true;

	flow_seen_index(b);
	seed(b);
	for (unsigned round = 0; more && round < EFFORT_GUESS_ROUNDS; round++) {
		flow_explore(b);
		more = flow_guess(b);
	}
	flow_explore(b);
	seed_main(b);
	flow_explore(b);
	/* What code that never was seen calls by name is not for a pointer to call. */
	if (!more)
		flow_guess_calls(b);
}

int flow_build(const struct flow_input *in, struct flow_graph **out)
{
	struct flow_build b = { .in = in };
	struct flow_graph *g = mem_calloc(1, sizeof(*g));
	int err = open_decoders(&b);

	if (err == 0) {
		explore(&b);
		flow_cut_blocks(&b);
		flow_find_returns(&b);
		err = flow_assemble(&b, g);
	}
	build_fini(&b);
	if (err < 0) {
		flow_free(g);
		return err;
	}
	flow_index_edges(g);
	*out = g;
	return 0;
}

void flow_free(struct flow_graph *g)
{
	if (!g)
		return;
	free(g->insns);
	free(g->blocks);
	free(g->edges);
	free(g->in);
	free(g->funcs);
	free(g->func_blocks);
	free(g->cold_calls);
	free(g);
}

static bool holds_insn(const struct flow_graph *g, const struct flow_block *b, uint64_t vaddr)
{
	for (uint32_t i = 0; i < b->n_insn; i++)
		if (g->insns[b->insn0 + i].vaddr == vaddr)
			return true;
	return false;
}

/* Blocks overlap only where instructions do, by less than an instruction: a few back is enough. */
enum { MAX_OVERLAP = 8 };

long flow_block_at(const struct flow_graph *g, uint32_t module, uint64_t vaddr)
{
	size_t lo = sorted_count(g->n_blocks, k,
	                         order_pairs(g->blocks[k].module, g->blocks[k].vaddr, module, vaddr) <= 0);
	long inside = -1;

	for (unsigned i = 0; i < MAX_OVERLAP && lo-- > 0; i++) {
		const struct flow_block *b = &g->blocks[lo];

		if (b->module != module)
			break;
		if (vaddr >= b->end_vaddr)
			continue;
		if (holds_insn(g, b, vaddr))
			return (long)lo;
		if (inside < 0)
			inside = (long)lo;
	}
	return inside;
}
