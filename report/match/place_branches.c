/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From counts of branches, between places in symbols, to counts of instructions. */
#include <stdlib.h>
#include <string.h>

#include "correct/flow/graph.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/match/place.h"
#include "report/truth/build.h"

/* Exact branches add up at every block but where exceptions fly; samples of branches do nowhere. */
static const double max_lost = 0.01;

/* More than this of the calls and jumps between symbols that no file has is another program. */
static const double max_unknown = 0.01;

/* How often an address was entered or left. */
struct flux {
	double in;     /* by branches, calls, and from the block before */
	double beside; /* by a way that is told only in general, into the middle of a function */
	double out;    /* by the branch, or the end of a block, at this address */
};

struct work {
	struct truth *t;
	struct module *m;
	struct insn_decoder *d;
	uint64_t *symbol;   /* [t->n_symbols] address, UINT64_MAX = none */
	struct pairs index; /* (address) -> flux */
	VEC(struct flux) flux;
	VEC(struct flow_hot) hot;
	VEC(struct flow_seen) seen;
	double *count;    /* [g->n_blocks] */
	double sum, lost; /* instructions; those by which ways in and out differ */
};

/* Functions of that linkage name: *k-th of them in address order. */
static long find_nth(struct module *m, const char *name, unsigned long k, size_t *n_found)
{
	long found = -1;

	*n_found = 0;
	for (size_t i = 0; i < module_n_funcs(m); i++) {
		if (strcmp(module_func(m, i)->linkage, name) != 0)
			continue;
		if (++*n_found == k || found < 0)
			found = (long)i;
	}
	return found;
}

/*
 * BOLT numbers local symbols, "name/1" or "name/file.c/1", and calls stubs
 * "name@PLT".  UINT64_MAX where it is not known which is meant.
 */
static uint64_t find_symbol(struct module *m, const char *symbol)
{
	const char *slash = strchr(symbol, '/'), *last = strrchr(symbol, '/');
	size_t n_name = slash ? (size_t)(slash - symbol) : strlen(symbol), n_found;
	char *name = mem_strndup(symbol, n_name);
	unsigned long k = last ? strtoul(last + 1, NULL, 10) : 1;
	long i;

	if (n_name > 4 && strcmp(name + n_name - 4, "@PLT") == 0)
		memcpy(name + n_name - 4, "@plt", 4);
	i = slash ? -1 : module_func_named(m, name);
	if (i < 0) {
		i = find_nth(m, name, k ? k : 1, &n_found);
		/* By file and number: the number is of that file alone. */
		if (n_found > 1 && slash != last)
			i = -1;
		if (i < 0 && n_found == 0)
			i = module_func_named(m, name);
	}
	free(name);
	return i < 0 ? UINT64_MAX : module_func(m, (size_t)i)->vaddr;
}

static bool is_stub(const char *symbol)
{
	size_t n = strlen(symbol);

	return n > 4 && strcmp(symbol + n - 4, "@PLT") == 0;
}

/* How many of the branches' symbols, by count, a file has; symbol[] filled. */
static double find_symbols(const struct truth *t, struct module *m, uint64_t *symbol)
{
	double all = 0, known = 0;

	for (size_t i = 0; i < t->n_symbols; i++)
		symbol[i] = *t->symbols[i] ? find_symbol(m, t->symbols[i]) : UINT64_MAX;
	for (size_t i = 0; i < t->n_branches; i++) {
		const uint32_t ends[] = { t->branches[i].from, t->branches[i].to };

		for (int k = 0; k < 2; k++) {
			if (!*t->symbols[ends[k]] || is_stub(t->symbols[ends[k]]))
				continue;
			all += (double)t->branches[i].n;
			known += symbol[ends[k]] == UINT64_MAX ? 0 : (double)t->branches[i].n;
		}
	}
	return all > 0 ? known / all : 0;
}

/* The file that BOLT read. */
static int find_module(struct work *w, const char *path, const struct place_files *files)
{
	double best = 0;

	for (size_t i = 0; i < files->n; i++) {
		double share = find_symbols(w->t, files->v[i], w->symbol);

		if (share > best) {
			best = share;
			w->m = files->v[i];
		}
	}
	if (!w->m || 1 - best > max_unknown)
		return sp_fail(
		        SP_ENOENT,
		        "%s: %.1f%% of its branches are of functions that no file of the recording has: "
		        "counts of another program, or the binary has no symbols",
		        path, 100 * (1 - best));
	find_symbols(w->t, w->m, w->symbol);
	return insn_decoder_new(module_isa(w->m), &w->d);
}

static struct flux *flux_at(struct work *w, uint64_t vaddr)
{
	long i = pairs_must(&w->index, vaddr, 0);

	if ((size_t)i == w->flux.n)
		vec_add(&w->flux, (struct flux){ 0 });
	return &w->flux.v[i];
}

static const struct flux *find_flux(const struct work *w, uint64_t vaddr)
{
	static const struct flux none;
	long i = pairs_find(&w->index, vaddr, 0);

	return i < 0 ? &none : &w->flux.v[i];
}

static bool decode(const struct work *w, uint64_t vaddr, struct insn *out)
{
	size_t n;
	const uint8_t *code = module_code(w->m, vaddr, &n);

	return code && insn_decode(w->d, code, n, vaddr, out) == 0;
}

static void enter(struct work *w, uint64_t to, double n)
{
	flux_at(w, to)->in += n;
	vec_add(&w->hot, (struct flow_hot){ 0, to, n });
}

static void leave(struct work *w, uint64_t from, double n)
{
	flux_at(w, from)->out += n;
	vec_add(&w->hot, (struct flow_hot){ 0, from, n });
}

/* From code that BOLT did not read: a call, or a way into the middle, which others may tell better. */
static void enter_from_outside(struct work *w, const struct truth_branch *b, uint64_t to)
{
	struct flux *f = flux_at(w, to);

	*(b->to_off ? &f->beside : &f->in) += (double)b->n;
	vec_add(&w->hot, (struct flow_hot){ 0, to, (double)b->n });
}

static void take_branch(struct work *w, const struct truth_branch *b)
{
	uint64_t from = w->symbol[b->from], to = w->symbol[b->to], next;
	bool to_known = to != UINT64_MAX, leaves = true;
	struct insn insn;

	to = to_known ? to + b->to_off : UINT64_MAX;
	if (from == UINT64_MAX) {
		if (to_known)
			enter_from_outside(w, b, to);
		return;
	}
	from += b->from_off;
	if (!decode(w, from, &insn))
		return;
	next = from + insn.size_bytes;
	switch (insn.flow) {
	case INSN_JUMP:
	case INSN_COND:
		/* Where a function was split BOLT names another target than the code has: entries tell it too. */
		if (to != insn.target && to != next)
			to_known = false;
		break;
	case INSN_CALL:
	case INSN_CALL_IND:
		/* A call leaves no block; but the block behind one that may throw is another. */
		if (insn.flow == INSN_CALL_IND && to_known && to != next)
			vec_add(&w->seen, (struct flow_seen){ 0, 0, from, to, b->n });
		leaves = false;
		break;
	case INSN_JUMP_IND:
		if (to_known)
			vec_add(&w->seen, (struct flow_seen){ 0, 0, from, to, b->n });
		break;
	default:
		break;
	}
	if (leaves)
		leave(w, from, (double)b->n);
	if (to_known)
		enter(w, to, (double)b->n);
}

static int by_vaddr(const void *a, const void *b)
{
	const struct flow_hot *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static void merge_hot(struct work *w)
{
	size_t n = 0;

	qsort(w->hot.v, w->hot.n, sizeof(*w->hot.v), by_vaddr);
	for (size_t i = 0; i < w->hot.n; i++) {
		if (n && w->hot.v[n - 1].vaddr == w->hot.v[i].vaddr)
			w->hot.v[n - 1].weight += w->hot.v[i].weight;
		else
			w->hot.v[n++] = w->hot.v[i];
	}
	w->hot.n = n;
}

/* Does block b go on into the next one in the code without a branch that BOLT would list? */
static bool goes_on(const struct flow_graph *g, uint32_t b)
{
	const struct flow_block *x = &g->blocks[b];
	const struct insn *last = &g->insns[x->insn0 + x->n_insn - 1];

	if (b + 1 == g->n_blocks || g->blocks[b + 1].vaddr != x->end_vaddr || last->flow == INSN_COND)
		return false;
	for (uint32_t e = x->out0; e < x->out0 + x->n_out; e++)
		if ((g->edges[e].kind == FLOW_FALL || g->edges[e].kind == FLOW_SKIP) &&
		    g->edges[e].to == b + 1)
			return true;
	return false;
}

static void count_block(struct work *w, const struct flow_graph *g, uint32_t b)
{
	const struct flow_block *x = &g->blocks[b];
	const struct insn *last = &g->insns[x->insn0 + x->n_insn - 1];
	const struct flux *first = find_flux(w, x->vaddr), *end = find_flux(w, last->vaddr);
	double n = first->in > 0 ? first->in : first->beside;

	if (!(n > 0) && b > 0 && goes_on(g, b - 1))
		n = w->count[b - 1];
	/* Where an exception lands nobody counts entries. */
	if (!(n > 0))
		n = end->out;
	w->count[b] = n;
	w->sum += n * x->n_insn;
	if (end->out > 0)
		w->lost += (n > end->out ? n - end->out : end->out - n) * x->n_insn;
}

/* A function that is entered, and of whose branches none is listed, was not instrumented. */
static bool is_gap(const struct work *w, const struct flow_graph *g, const struct flow_func *f)
{
	bool ran = false;

	for (uint32_t i = f->block0; i < f->block0 + f->n_blocks; i++) {
		uint32_t b = g->func_blocks[i];
		const struct flow_block *x = &g->blocks[b];
		const struct insn *last = &g->insns[x->insn0 + x->n_insn - 1];

		if (find_flux(w, last->vaddr)->out > 0)
			return false;
		ran = ran || (w->count[b] > 0 && last->flow == INSN_COND);
	}
	return ran;
}

static void add_gap(struct truth *t, const struct flow_block *x)
{
	struct truth_gap *grown = mem_realloc(t->gaps, (t->n_gaps + 1) * sizeof(*grown));

	t->gaps = grown;
	t->gaps[t->n_gaps++] = (struct truth_gap){ 0, x->vaddr, x->end_vaddr };
}

static void find_gaps(struct work *w, const struct flow_graph *g)
{
	size_t n = 0;

	for (size_t f = 0; f < g->n_funcs; f++) {
		const struct flow_func *x = &g->funcs[f];

		if (!is_gap(w, g, x))
			continue;
		n++;
		for (uint32_t i = x->block0; i < x->block0 + x->n_blocks; i++) {
			add_gap(w->t, &g->blocks[g->func_blocks[i]]);
			w->count[g->func_blocks[i]] = 0;
		}
	}
	if (n)
		sp_note("left out: %zu functions that BOLT did not instrument", n);
}

static void add_counts(struct work *w, const struct flow_graph *g, struct truth_build *b)
{
	for (size_t i = 0; i < g->n_blocks; i++) {
		const struct flow_block *x = &g->blocks[i];

		for (uint32_t k = 0; k < x->n_insn && w->count[i] > 0; k++)
			vec_add(&b->insns, (struct truth_insn){ 0, g->insns[x->insn0 + k].vaddr,
			                                        (uint64_t)w->count[i] });
	}
}

static int count_blocks(struct work *w, const char *path, const struct flow_graph *g)
{
	w->count = mem_calloc(g->n_blocks + 1, sizeof(*w->count));
	for (size_t b = 0; b < g->n_blocks; b++)
		count_block(w, g, (uint32_t)b);
	if (w->lost > max_lost * w->sum)
		return sp_fail(
		        SP_EFORMAT,
		        "%s: its branches don't add up at blocks of %s: by %.1f%% more or fewer came in "
		        "than went out; it is of another build, or of samples (perf2bolt)",
		        path, module_path(w->m), 100 * w->lost / w->sum);
	find_gaps(w, g);
	return 0;
}

static int place(struct work *w, const char *path)
{
	struct truth_build b = { 0 };
	struct flow_graph *g = NULL;
	uint32_t object;
	int err;

	for (size_t i = 0; i < w->t->n_branches; i++)
		take_branch(w, &w->t->branches[i]);
	merge_hot(w);
	err = flow_build(&(struct flow_input){ &w->m, 1, w->hot.v, w->hot.n, w->seen.v, w->seen.n }, &g);
	if (err == 0)
		err = count_blocks(w, path, g);
	if (err == 0) {
		truth_build_object(&b, module_path(w->m), &object);
		truth_build_id(&b, object, module_build_id(w->m));
		add_counts(w, g, &b);
		err = truth_build_move(&b, w->t);
	}
	truth_build_fini(&b);
	flow_free(g);
	return err;
}

int place_branches(struct truth *t, const char *path, const struct place_files *files)
{
	struct work w = { .t = t };
	int err;

	w.symbol = mem_calloc(t->n_symbols + 1, sizeof(*w.symbol));
	err = find_module(&w, path, files);
	if (err == 0)
		err = place(&w, path);
	t->of_objects = true;
	insn_decoder_free(w.d);
	free(w.symbol);
	free(w.count);
	pairs_fini(&w.index);
	vec_fini(&w.flux);
	vec_fini(&w.hot);
	vec_fini(&w.seen);
	return err;
}
