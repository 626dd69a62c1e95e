/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernels and their blocks: the functions that matter, cut at every control
 * flow instruction and every jump target, from the binary that ran.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/flow/graph.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/vec.h"
#include "report/lift/lift.h"
#include "report/report.h"

/* A function of a module, with what was counted in it. */
struct candidate {
	const struct module_func *func;
	uint32_t module;
	size_t count0, n_counts; /* counts->v[count0 ..] */
	double insn, cyc;
};

/* More raw counts than this share of a kernel's instructions, and it is called raw. */
static const double max_raw = 0.01;

struct cut {
	const struct lift_opts *o;
	const struct lift_counts *c;
	struct lift *l;
	VEC(struct candidate) funcs;
	VEC(struct lift_kernel) kernels;
	VEC(struct lift_block) blocks;
	struct flow_graph *graph;
};

static bool has_cycles(const struct lift *l)
{
	return l->profile && report_has_cyc(l->profile);
}

/* Cycles the profile has seen in [vaddr, end); NAN where it has no cycles. */
static double cycles_in(const struct lift *l, uint32_t module, uint64_t vaddr, uint64_t end_vaddr)
{
	size_t first, n;
	double sum = 0;

	if (!has_cycles(l))
		return NAN;
	n = lift_profile_insns(l, module, vaddr, end_vaddr, &first);
	for (size_t i = first; i < first + n; i++)
		sum += l->profile->insns[i].count.cyc;
	return sum;
}

/* The functions that hold a count. */
static int find_functions(struct cut *x)
{
	const struct lift_counts *c = x->c;

	for (size_t i = 0, j; i < c->n; i = j) {
		const struct module *m = x->l->modules[c->v[i].module];
		long f = module_state(m) == MODULE_OK ? module_func_at(m, c->v[i].vaddr) : -1;
		struct candidate k = { .module = c->v[i].module, .count0 = i };

		j = i + 1;
		if (f < 0)
			continue;
		k.func = module_func(m, (size_t)f);
		while (j < c->n && c->v[j].module == k.module &&
		       c->v[j].vaddr < k.func->vaddr + k.func->size_bytes)
			j++;
		k.n_counts = j - i;
		for (size_t e = i; e < j; e++)
			k.insn += c->v[e].n;
		k.cyc = cycles_in(x->l, k.module, k.func->vaddr, k.func->vaddr + k.func->size_bytes);
		if (vec_push(&x->funcs, k) < 0)
			return -SP_ENOMEM;
	}
	return 0;
}

static bool matches(const struct candidate *k, const char *pattern)
{
	const struct profile_func f = { .name = k->func->name, .linkage = k->func->linkage };

	return report_matches(&f, pattern);
}

static int check_patterns(const struct cut *x)
{
	for (size_t i = 0; i < x->o->n_kernels; i++) {
		bool any = false;

		for (size_t k = 0; k < x->funcs.n && !any; k++)
			any = matches(&x->funcs.v[k], x->o->kernels[i]);
		if (!any)
			return sp_fail(SP_ENOENT, "--kernel %s: no function of that name ran",
			               x->o->kernels[i]);
	}
	return 0;
}

static bool is_wanted(const struct cut *x, const struct candidate *k, double total)
{
	if (!x->o->n_kernels)
		return (has_cycles(x->l) ? k->cyc : k->insn) >= x->o->min_share * total && k->insn > 0;
	for (size_t i = 0; i < x->o->n_kernels; i++)
		if (matches(k, x->o->kernels[i]))
			return true;
	return false;
}

static int choose_kernels(struct cut *x)
{
	double total = 0;
	size_t n = 0;
	int err = check_patterns(x);

	for (size_t i = 0; i < x->funcs.n; i++)
		total += has_cycles(x->l) ? x->funcs.v[i].cyc : x->funcs.v[i].insn;
	for (size_t i = 0; i < x->funcs.n; i++)
		if (is_wanted(x, &x->funcs.v[i], total))
			x->funcs.v[n++] = x->funcs.v[i];
	x->funcs.n = n;
	if (err == 0 && !n)
		err = sp_fail(SP_ENOENT,
		              "no function has %g%% of what ran; --min-share or --kernel choose others",
		              100 * x->o->min_share);
	return err;
}

/* Decode the kernels' functions. */
static int build_graph(struct cut *x)
{
	VEC(struct flow_hot) hot = { 0 };
	struct flow_input in = { .modules = x->l->modules, .n_modules = x->l->n_modules };
	int err = 0;

	for (size_t k = 0; k < x->funcs.n && err == 0; k++) {
		const struct candidate *f = &x->funcs.v[k];

		for (size_t i = f->count0; i < f->count0 + f->n_counts && err == 0; i++)
			if (x->c->v[i].n > 0)
				err = vec_push(&hot, (struct flow_hot){ f->module, x->c->v[i].vaddr,
				                                        x->c->v[i].n });
	}
	in.hot = hot.v;
	in.n_hot = hot.n;
	if (err == 0)
		err = flow_build(&in, &x->graph);
	vec_fini(&hot);
	return err;
}

/*
 * Executions of a block.  Exact counts, and corrected ones, are the same for
 * all its instructions; raw samples are not, and their mean is the best guess.
 */
static double executions(const struct cut *x, const struct candidate *f, const struct flow_block *b)
{
	double sum = 0;

	for (size_t i = f->count0; i < f->count0 + f->n_counts; i++) {
		const struct lift_insn *c = &x->c->v[i];

		if (c->vaddr == b->vaddr && x->l->exact)
			return c->n;
		if (c->vaddr >= b->vaddr && c->vaddr < b->end_vaddr)
			sum += c->n;
	}
	return x->l->exact ? 0 : sum / b->n_insn;
}

/*
 * How often a block runs in succession: 1 when it does not jump to itself,
 * else executions a time that it is entered from elsewhere.  That is at most
 * as often as the blocks before it run, or those after.
 */
static uint32_t turns_of(const struct cut *x, const struct candidate *f, const struct flow_block *b, double n)
{
	const struct flow_graph *g = x->graph;
	uint32_t self = (uint32_t)(b - g->blocks);
	double in = 0, out = 0;
	bool again = false;

	for (uint32_t i = b->in0; i < b->in0 + b->n_in; i++) {
		const struct flow_edge *e = &g->edges[g->in[i]];

		again = again || e->from == self;
		if (e->from != self)
			in += executions(x, f, &g->blocks[e->from]);
	}
	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++)
		if (g->edges[i].to != self)
			out += executions(x, f, &g->blocks[g->edges[i].to]);
	if (!again)
		return 1;
	if (!(in > 0) || (out > 0 && out < in))
		in = out;
	return in > 0 && n / in < UINT16_MAX ? (uint32_t)fmax(1, n / in + 0.5) : 0;
}

/* The 90% interval of a block's executions: that of its first instruction, which all share. */
static void find_interval(const struct lift *l, struct lift_block *b)
{
	size_t first, n = lift_profile_insns(l, b->module, b->code.vaddr, b->code.vaddr + 1, &first);

	b->lo = b->hi = NAN;
	if (l->exact || l->relative || n != 1)
		return;
	b->lo = l->profile->insns[first].count.lo;
	b->hi = l->profile->insns[first].count.hi;
}

static int add_block(struct cut *x, const struct candidate *f, const struct flow_block *g)
{
	struct module *m = x->l->modules[f->module];
	struct lift_block b = { .kernel = (uint32_t)x->kernels.n,
		                .n_insn = g->n_insn,
		                .module = f->module,
		                .n = executions(x, f, g) };
	size_t left;

	b.code = (struct tool_block){ module_code(m, g->vaddr, &left), g->end_vaddr - g->vaddr, g->vaddr,
		                      module_isa(m) };
	if (!(b.n > 0) || !b.code.bytes || left < b.code.n_bytes)
		return 0;
	for (uint32_t i = g->insn0; i < g->insn0 + g->n_insn && !b.undecoded; i++) {
		b.divides |= (x->graph->insns[i].flags & INSN_DIV) != 0;
		if (x->graph->insns[i].flags & INSN_UNKNOWN)
			b.undecoded = x->graph->insns[i].vaddr;
	}
	b.code.turns = turns_of(x, f, g, b.n);
	b.cyc = cycles_in(x->l, f->module, g->vaddr, g->end_vaddr);
	find_interval(x->l, &b);
	return vec_push(&x->blocks, b);
}

/* What its instructions say of the whole. */
static void sum_counts(const struct cut *x, const struct candidate *f, struct lift_kernel *k)
{
	double n_load = 0, n_miss = 0, raw = 0;

	for (size_t i = f->count0; i < f->count0 + f->n_counts; i++) {
		const struct lift_insn *c = &x->c->v[i];

		n_load += c->n_load;
		n_miss += c->n_miss;
		if (c->status == PROFILE_RAW)
			raw += c->n;
		else if (c->status > k->status && (c->n > 0 || !x->l->relative))
			k->status = c->status;
	}
	/* What runs once a call, before and behind the loops, is in no region. */
	if (raw > max_raw * k->insn && k->status == PROFILE_FIXED)
		k->status = PROFILE_RAW;
	if (x->l->truth && x->l->truth->total_miss) {
		k->n_load = n_load;
		k->n_miss = n_miss;
	}
}

/* Its blocks are those of one region; the time of others is not known by what they execute. */
static void make_relative(const struct lift_block *blocks, struct lift_kernel *k)
{
	double cyc = 0;

	for (size_t i = 0; i < k->n_blocks; i++)
		cyc += blocks[i].cyc;
	k->known = cyc / k->cyc;
	if (!(k->known >= LIFT_MIN_KNOWN))
		k->status = PROFILE_UNRELIABLE;
	k->calls = k->insn = NAN;
}

static int add_kernel(struct cut *x, const struct candidate *f)
{
	struct lift_kernel k = { .name = f->func->name,
		                 .module = f->module,
		                 .vaddr = f->func->vaddr,
		                 .end_vaddr = f->func->vaddr + f->func->size_bytes,
		                 .block0 = x->blocks.n,
		                 .insn = f->insn,
		                 .cyc = f->cyc > 0 ? f->cyc : NAN,
		                 .measured = f->cyc > 0 ? MEASURED_PROFILE : MEASURED_NOT,
		                 .known = 1,
		                 .n_load = NAN,
		                 .n_miss = NAN };
	int err = 0;

	for (size_t i = 0; i < x->graph->n_blocks && err == 0; i++) {
		const struct flow_block *g = &x->graph->blocks[i];

		if (g->module == f->module && g->vaddr >= k.vaddr && g->vaddr < k.end_vaddr)
			err = add_block(x, f, g);
	}
	k.n_blocks = x->blocks.n - k.block0;
	if (k.n_blocks && x->blocks.v[k.block0].code.vaddr == k.vaddr)
		k.calls = x->blocks.v[k.block0].n;
	sum_counts(x, f, &k);
	if (x->l->relative)
		make_relative(x->blocks.v + k.block0, &k);
	return err < 0 ? err : vec_push(&x->kernels, k);
}

static int by_heat(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	double p = isfinite(x->cyc) ? x->cyc : x->insn, q = isfinite(y->cyc) ? y->cyc : y->insn;

	if (p != q)
		return p > q ? -1 : 1;
	return (x->func->vaddr > y->func->vaddr) - (x->func->vaddr < y->func->vaddr);
}

int lift_cut(const struct lift_opts *o, const struct lift_counts *c, struct lift *l)
{
	struct cut x = { .o = o, .c = c, .l = l };
	int err = find_functions(&x);

	if (err == 0)
		err = choose_kernels(&x);
	if (err == 0)
		err = build_graph(&x);
	if (err == 0)
		qsort(x.funcs.v, x.funcs.n, sizeof(*x.funcs.v), by_heat);
	for (size_t i = 0; i < x.funcs.n && err == 0; i++)
		err = add_kernel(&x, &x.funcs.v[i]);
	l->kernels = x.kernels.v;
	l->n_kernels = x.kernels.n;
	l->blocks = x.blocks.v;
	l->n_blocks = x.blocks.n;
	flow_free(x.graph);
	vec_fini(&x.funcs);
	return err;
}
