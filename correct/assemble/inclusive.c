/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/assemble/inclusive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/assemble/context_walk.h"
#include "correct/assemble/cut_stacks.h"
#include "correct/assemble/own_noise.h"
#include "correct/assemble/stack_bounds.h"
#include "correct/judge/reasons.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/err.h"
#include "profiler/base/order.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

static const double small_share = 1e-9;

/* A caller with so much of the calls has all of them: the flow's rounding. */
static const double whole = 0.999;

enum inclusive_source inclusive_source(const struct profile *p)
{
	if (p->n_frames)
		return INCLUSIVE_STACKS;
	return p->n_calls ? INCLUSIVE_FLOW : INCLUSIVE_NONE;
}

/* 90% of a variable lie within so many standard deviations where these are known by the parts of paths (Student's t; z_of_90). */
static const double t_of_parts = 1.753;

/* ---- call stacks ---- */

static double ratio(double x, double y)
{
	return y > 0 ? x / y : 0;
}

/* A function in the physical one that holds it: what it ran there, and what its frames have. */
struct held {
	double insn, raw, time;
};

struct helds {
	struct pairs index; /* (func, phys_func) */
	VEC(struct held) v;
};

static struct held *held_of(struct helds *h, uint32_t func, uint32_t phys_func)
{
	long k = pairs_number(&h->index, func, phys_func);

	if (k < 0 || ((size_t)k == h->v.n && vec_push(&h->v, (struct held){ 0 }) < 0))
		return NULL;
	return &h->v.v[k];
}

static int find_held(const struct profile *p, struct helds *h)
{
	struct held *to;

	for (size_t i = 0; i < p->n_insns; i++) {
		to = held_of(h, p->insns[i].func, p->insns[i].phys_func);
		if (!to)
			return -SP_ENOMEM;
		to->insn += p->insns[i].count.insn;
	}
	for (size_t i = 1; i < p->n_frames; i++) {
		to = held_of(h, p->frames[i].func, p->frames[i].phys_func);
		if (!to)
			return -SP_ENOMEM;
		to->raw += p->frames[i].raw_insn;
		to->time += p->frames[i].raw_cyc;
	}
	return 0;
}

/* Divided among its frames; where no sample of instructions fell those of time tell. */
static double insn_of_frame(const struct profile_frame *f, const struct held *h)
{
	return h->insn * (h->raw > 0 ? f->raw_insn / h->raw : ratio(f->raw_cyc, h->time));
}

int inclusive_frames(const struct profile *p, double **out, double **held)
{
	struct helds h = { 0 };
	double *sum = calloc(p->n_funcs + 1, sizeof(*sum));
	double *insn = calloc(p->n_frames + 1, sizeof(*insn));
	int err = sum && insn ? find_held(p, &h)
	                      : sp_fail(SP_ENOMEM, "out of memory for %zu frames", p->n_frames);

	for (size_t i = 1; i < p->n_frames && err == 0; i++) {
		const struct profile_frame *f = &p->frames[i];
		struct held *of = held_of(&h, f->func, f->phys_func);

		if (!of) {
			err = -SP_ENOMEM;
			break;
		}
		/* A profile without instructions has functions alone. */
		if (!p->n_insns)
			of->insn = p->funcs[f->func].count.insn;
		insn[i] = insn_of_frame(f, of);
		sum[f->phys_func] += insn[i];
	}
	pairs_fini(&h.index);
	vec_fini(&h.v);
	/* What is inlined and none was seen of keeps to the function that holds it. */
	for (size_t g = 0; g < p->n_funcs && err == 0; g++)
		sum[g] = ratio(p->funcs[g].rolled.insn, sum[g]);
	for (size_t i = 1; i < p->n_frames && err == 0 && !held; i++)
		insn[i] *= sum[p->frames[i].phys_func];
	if (held && err == 0)
		*held = sum;
	else
		free(sum);
	if (err < 0)
		free(insn);
	else
		*out = insn;
	return err;
}

static void add_frame(struct inclusive *to, const struct profile_frame *f, double insn)
{
	to->raw_insn += f->raw_insn;
	to->cyc += f->raw_cyc;
	to->insn += insn;
}

static bool is_nothing(const struct profile_frame *f)
{
	return f->raw_insn == 0 && f->raw_cyc == 0;
}

/* Instructions that were not counted are known within a region only: time is what adds up then. */
bool inclusive_is_of_insn(const struct profile *p)
{
	return p->meta.truth || (!p->meta.relative && (p->meta.insn_event >= 0 || p->meta.pace > 0));
}

/* What bounds are of. */
static double weight_of(const struct profile *p, const struct inclusive *c)
{
	return inclusive_is_of_insn(p) ? c->insn : c->cyc;
}

static int ask_paths(const struct profile *p, const struct own_noise *noise, struct inclusive *out);

/*
 * Functions that no sample fell in, for they are short, are on no stack: what the flow knows that they ran is their callers', and
 * so on that of a caller that has samples.  more, [n_funcs]: so much for each instruction of that.  Returns what is nobody's.
 */
static double spread_unsampled(const struct profile *p, const double *insn, double *more)
{
	double *sampled = more + p->n_funcs + 1, *left = sampled + p->n_funcs + 1, rest = 0;

	for (size_t i = 1; i < p->n_frames; i++)
		sampled[p->frames[i].phys_func] += insn[i];
	for (size_t g = 0; g < p->n_funcs; g++)
		left[g] = sampled[g] > 0 ? 0 : p->funcs[g].rolled.insn;
	for (int round = 0; round < EFFORT_SPREAD_ROUNDS; round++)
		for (size_t i = 0, j; i < p->n_calls; i = j) {
			uint32_t g = p->calls[i].callee;
			double had = left[g];

			for (j = i; j < p->n_calls && p->calls[j].callee == g; j++) {
				const struct profile_call *c = &p->calls[j];
				double part = c->caller == g ? 0 : had * fmax(c->share, 0);

				left[g] -= part;
				*(sampled[c->caller] > 0 ? &more[c->caller] : &left[c->caller]) += part;
			}
		}
	for (size_t g = 0; g < p->n_funcs; g++) {
		more[g] = ratio(more[g], sampled[g]);
		rest += fmax(left[g], 0);
	}
	return rest;
}

static int count_stacks(const struct profile *p, const struct own_noise *noise, struct inclusive *out)
{
	uint32_t *last =
	        calloc(p->n_funcs + 1, sizeof(*last)); /* frame + 1 that counted for a function last */
	double *insn = NULL, *more = calloc(3 * (p->n_funcs + 1), sizeof(*more)), rest = 0;
	int err = last && more ? inclusive_frames(p, &insn, NULL) : sp_fail(SP_ENOMEM, "out of memory");

	if (err == 0)
		rest = spread_unsampled(p, insn, more);
	for (size_t i = 1; i < p->n_frames && err == 0; i++)
		insn[i] *= 1 + more[p->frames[i].phys_func];
	for (size_t i = 1; i < p->n_frames && err == 0; i++) {
		if (is_nothing(&p->frames[i]))
			continue;
		for (uint32_t at = (uint32_t)i; at; at = p->frames[at].parent) {
			uint32_t func = p->frames[at].func;

			if (last[func] == i + 1)
				continue;
			last[func] = (uint32_t)i + 1;
			add_frame(&out[func], &p->frames[i], insn[i]);
			out[func].by_status[p->funcs[p->frames[i].phys_func].rolled_status] += insn[i];
		}
	}
	if (err == 0)
		err = stack_bounds(p, insn, rest, noise, out);
	if (err == 0)
		err = cut_stacks_bounds(p, insn, out);
	if (err == 0 && p->n_contexts)
		err = ask_paths(p, noise, out);
	if (err == 0)
		cut_stacks_judge(p, out);
	free(last);
	free(insn);
	free(more);
	return err;
}

/* ---- the flow ---- */

/* How much of the calls of calls[i]'s callee comes from functions that are in; *end out: behind the last of its callers. */
static double share_in(const struct profile *p, size_t i, const double *in, size_t *end)
{
	uint32_t callee = p->calls[i].callee;
	double sum = 0;

	for (; i < p->n_calls && p->calls[i].callee == callee; i++)
		sum += in[p->calls[i].caller] > 0 ? p->calls[i].share : 0;
	*end = i;
	return sum;
}

/* One look at all calls: the functions that are called from inside are in too, or those also called from outside are out. */
static bool pass_calls(const struct profile *p, uint32_t func, bool add, double *in)
{
	bool change = false;

	for (size_t i = 0, j; i < p->n_calls; i = j) {
		uint32_t callee = p->calls[i].callee;
		double share = share_in(p, i, in, &j);

		if (add ? !(share > small_share) : share >= whole || callee == func)
			continue;
		change |= (in[callee] > 0) != add;
		in[callee] = add;
	}
	return change;
}

/* The same by calls that paths show and the flow may not know, through pointers. */
static bool pass_contexts(const struct profile *p, uint32_t func, bool add, double *in)
{
	bool change = false;

	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];

		if (c->parent == UINT32_MAX || (in[p->contexts[c->parent].func] > 0) != add ||
		    (!add && c->func == func))
			continue;
		change |= (in[c->func] > 0) != add;
		in[c->func] = add;
	}
	return change;
}

/* Again and again until nothing changes; false where it has not settled. */
static bool settle(bool (*pass)(const struct profile *, uint32_t, bool, double *), const struct profile *p,
                   uint32_t func, bool add, double *in)
{
	for (int round = 0; round < EFFORT_CALL_ROUNDS; round++)
		if (!pass(p, func, add, in))
			return true;
	return false;
}

static void only(const struct profile *p, uint32_t func, double *in)
{
	memset(in, 0, p->n_funcs * sizeof(*in));
	in[func] = 1;
}

/* in[g]: may any of what g runs be for func?  It is among its callers, or theirs.  The calls are sorted by callee. */
static void find_any(const struct profile *p, uint32_t func, double *in)
{
	only(p, func, in);
	settle(pass_calls, p, func, true, in);
}

/*
 * Of those, the ones that are all for func: none of their callers is outside.  A recursion, whose callers are inside itself,
 * stays in for as long as it has no other.
 */
static void keep_all(const struct profile *p, uint32_t func, double *in)
{
	/* What has not settled is not known. */
	if (!settle(pass_calls, p, func, false, in))
		only(p, func, in);
}

static struct inclusive sum_parts(const struct profile *p, const double *part)
{
	struct inclusive sum = { 0 };

	for (size_t g = 0; g < p->n_funcs; g++) {
		const struct profile_count *c = &p->funcs[g].rolled;

		if (!(part[g] > 0))
			continue;
		sum.raw_insn += c->raw_insn;
		sum.insn += c->insn;
		sum.cyc += c->cyc;
		sum.by_status[p->funcs[g].rolled_status] += c->insn;
	}
	return sum;
}

static struct inclusive between(const struct profile *p, const struct inclusive *least,
                                const struct inclusive *most)
{
	struct inclusive c = *least;
	/* Of functions that ran nothing time tells whether they are the same. */
	bool of_insn = inclusive_is_of_insn(p) && most->insn > 0;
	double high = of_insn ? most->insn : most->cyc, low = of_insn ? least->insn : least->cyc;

	if (high - low > model->little * high)
		c.raw_insn = c.insn = c.cyc = NAN;
	c.lo = weight_of(p, least);
	c.hi = weight_of(p, most);
	return c;
}

/* ---- the flow and paths ---- */

static bool has_code(const struct profile *p, size_t f)
{
	const struct profile_count *c = &p->funcs[f].rolled;

	return c->raw_insn > 0 || c->insn > 0 || c->cyc > 0;
}

/* Whose are the contexts below a root?  All are func's where what any of them runs is. */
enum owner { OTHERS, OPEN, ITS };

/* Of one function's contexts: by all paths but a part of them, and last by all. */
typedef double context_sums[CONTEXT_PARTS + 1];

struct owners {
	double *any, *all; /* [n_funcs] by the flow: find_any, keep_all */
	double *likely;    /* [n_funcs] by contexts */
	const struct own_noise *noise;
	uint8_t *of; /* [n_contexts] enum owner */
	context_sums *told, *its,
	        *open;          /* [n_funcs] all contexts; func's, and what is open, of functions in any */
	VEC(uint32_t) uncalled; /* functions that ran and nothing tells who calls */
	uint8_t *reach;         /* [uncalled][n_funcs] do they, or what they call, call it? */
	double most;            /* all that ran */
	double *below;          /* [n_funcs] instructions, or time, with what it calls, as calls are shared */
};

static void add_context(const struct profile_context *c, context_sums *to)
{
	for (int k = 0; k < CONTEXT_PARTS; k++)
		to[c->func][k] += c->without[k];
	to[c->func][CONTEXT_PARTS] += c->insn;
}

static void find_owners(const struct profile *p, uint32_t func, struct owners *o)
{
	for (size_t g = 0; g < p->n_funcs; g++)
		if (o->any[g] > 0) {
			memset(o->its[g], 0, sizeof(o->its[g]));
			memset(o->open[g], 0, sizeof(o->open[g]));
		}
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];

		o->of[i] = c->func == func           ? ITS
		           : c->parent != UINT32_MAX ? o->of[c->parent]
		           : o->all[c->func] > 0     ? ITS
		           : o->any[c->func] > 0     ? OPEN
		                                     : OTHERS;
		/* What func calls on a path is in any. */
		if (o->of[i] != OTHERS)
			add_context(c, o->of[i] == ITS ? o->its : o->open);
	}
}

/* func's share of what g runs: least, likely, most. */
static void its_share(const struct owners *o, size_t g, int part, double out[3])
{
	double all = o->told[g][part], its, open, told;

	out[0] = out[1] = out[2] = 0;
	if (!(o->any[g] > 0))
		return;
	its = o->its[g][part];
	open = o->open[g][part];
	told = all - open;
	if (all > 0) {
		out[0] = its / all;
		out[1] = told > small_share * all ? its / told : 0.5;
		out[2] = (its + open) / all;
	} else {
		out[0] = o->all[g] > 0;
		out[1] = o->all[g] > 0 ? 1 : 0.5;
		out[2] = 1;
	}
}

/* Instructions of func with what it calls, by all paths but each part of them, and by all: least, likely, most. */
static void sum_owners(const struct profile *p, const struct owners *o, double out[CONTEXT_PARTS + 1][3])
{
	double share[3];

	memset(out, 0, (CONTEXT_PARTS + 1) * sizeof(*out));
	for (size_t g = 0; g < p->n_funcs; g++) {
		if (!(o->any[g] > 0) || !(p->funcs[g].rolled.insn > 0))
			continue;
		for (int k = 0; k <= CONTEXT_PARTS; k++) {
			its_share(o, g, k, share);
			for (int i = 0; i < 3; i++)
				out[k][i] += p->funcs[g].rolled.insn * share[i];
		}
	}
}

/* What the callers' shares of calls leave open of func's: each weighs paths of its own. */
static double variance_of_calls(const struct profile *p, uint32_t func, const struct owners *o)
{
	double var = 0;

	for (size_t i = 0, j; i < p->n_calls; i = j) {
		uint32_t callee = p->calls[i].callee;
		double n = 0, in_callee[3], in_caller[3];

		for (j = i; j < p->n_calls && p->calls[j].callee == callee; j++)
			n += p->calls[j].n > 0 && p->calls[j].caller != callee ? p->calls[j].n : 0;
		if (callee == func || !(n > 0) || !(o->any[callee] > 0))
			continue;
		its_share(o, callee, CONTEXT_PARTS, in_callee);
		for (size_t k = i; k < j; k++) {
			const struct profile_call *c = &p->calls[k];
			double sd = (c->hi - c->lo) / (2 * z_of_90 * n);

			if (!(sd > 0) || c->caller == callee)
				continue;
			its_share(o, c->caller, CONTEXT_PARTS, in_caller);
			var += pow(p->funcs[callee].rolled.insn * sd * (in_caller[1] - in_callee[1]), 2);
		}
	}
	return var;
}

/*
 * eq. 20: by contexts, with the interval that their paths leave, from sums without each part of them, and the counts of calls
 * that they were weighed by.
 */
static void count_contexts(const struct profile *p, uint32_t func, struct owners *o, struct inclusive *c)
{
	double part[CONTEXT_PARTS + 1][3], share[3], mean = 0, var = 0, half;
	const double *all = part[CONTEXT_PARTS];

	find_owners(p, func, o);
	sum_owners(p, o, part);
	for (int i = 0; i < CONTEXT_PARTS; i++)
		mean += part[i][1] / CONTEXT_PARTS;
	for (int i = 0; i < CONTEXT_PARTS; i++)
		var += (part[i][1] - mean) * (part[i][1] - mean) * (CONTEXT_PARTS - 1) / CONTEXT_PARTS;
	for (size_t g = 0; g < p->n_funcs; g++) {
		its_share(o, g, CONTEXT_PARTS, share);
		o->likely[g] = share[1];
	}
	memset(c->by_status, 0, sizeof(c->by_status));
	for (size_t g = 0; g < p->n_funcs; g++)
		c->by_status[p->funcs[g].rolled_status] += o->likely[g] * p->funcs[g].rolled.insn;
	half = hypot(t_of_parts * sqrt(var + variance_of_calls(p, func, o)),
	             own_noise_half(o->noise, o->likely));
	c->lo = fmax(c->lo, all[0] - half);
	c->hi = fmin(c->hi, all[2] + half);
	/* The middle of bounds is off by half of what they are apart. */
	if (all[2] - all[0] <= 2 * model->little * all[2])
		c->insn = (all[0] + all[2]) / 2;
}

/* What calls nothing is what it runs itself. */
static int mark_callers(const struct profile *p, bool **out)
{
	bool *calls = calloc(p->n_funcs + 1, sizeof(*calls));

	if (!calls)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	for (size_t i = 0; i < p->n_calls; i++)
		calls[p->calls[i].caller] = calls[p->calls[i].caller] || p->calls[i].share > 0;
	*out = calls;
	return 0;
}

static void owners_free(struct owners *o)
{
	free(o->any);
	free(o->all);
	free(o->likely);
	free(o->of);
	free(o->told);
	free(o->its);
	free(o->open);
	vec_fini(&o->uncalled);
	free(o->reach);
	free(o->below);
	*o = (struct owners){ 0 };
}

static int find_uncalled(const struct profile *p, struct owners *o)
{
	double *more = o->likely;

	for (uint32_t g = 0; g < p->n_funcs; g++) {
		const struct profile_count *c = &p->funcs[g].rolled;

		if (p->funcs[g].uncalled && has_code(p, g) && vec_push(&o->uncalled, g) < 0)
			return -SP_ENOMEM;
		o->below[g] = inclusive_is_of_insn(p) ? c->insn : c->cyc;
		o->most += o->below[g];
	}
	for (int round = 0; round < EFFORT_SPREAD_ROUNDS; round++) {
		for (size_t g = 0; g < p->n_funcs; g++)
			more[g] = inclusive_is_of_insn(p) ? p->funcs[g].rolled.insn : p->funcs[g].rolled.cyc;
		for (size_t i = 0; i < p->n_calls; i++)
			more[p->calls[i].caller] += p->calls[i].share * o->below[p->calls[i].callee];
		for (size_t g = 0; g < p->n_funcs; g++)
			o->below[g] = fmin(more[g], o->most);
	}
	o->reach = calloc(o->uncalled.n * p->n_funcs + 1, 1);
	if (!o->reach)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	for (size_t i = 0; i < o->uncalled.n; i++) {
		find_any(p, o->uncalled.v[i], o->any);
		settle(pass_contexts, p, o->uncalled.v[i], true, o->any);
		for (size_t g = 0; g < p->n_funcs; g++)
			o->reach[i * p->n_funcs + g] = o->any[g] > 0;
	}
	return 0;
}

static int owners_new(const struct profile *p, const struct own_noise *noise, struct owners *o)
{
	const size_t n = p->n_funcs + 1;

	*o = (struct owners){ .any = calloc(n, sizeof(*o->any)),
		              .all = calloc(n, sizeof(*o->all)),
		              .likely = calloc(n, sizeof(*o->likely)),
		              .noise = noise,
		              .of = calloc(p->n_contexts + 1, 1),
		              .told = calloc(n, sizeof(*o->told)),
		              .its = calloc(n, sizeof(*o->its)),
		              .open = calloc(n, sizeof(*o->open)),
		              .below = calloc(n, sizeof(*o->below)) };
	if (!o->any || !o->all || !o->likely || !o->of || !o->told || !o->its || !o->open || !o->below)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	for (size_t i = 0; i < p->n_contexts; i++)
		add_context(&p->contexts[i], o->told);
	return find_uncalled(p, o);
}

/*
 * May it call itself through others?  Paths tell its outermost calls from those below them only where they are long enough
 * to have both, and most are not: contexts of such a function are not asked.
 */
static bool is_in_cycle(const struct profile *p, uint32_t func, const double *any)
{
	for (size_t i = sorted_count(p->n_calls, k, p->calls[k].callee < func);
	     i < p->n_calls && p->calls[i].callee == func; i++)
		if (p->calls[i].caller != func && any[p->calls[i].caller] > 0)
			return true;
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];

		if (c->func == func && c->parent != UINT32_MAX && p->contexts[c->parent].func != func &&
		    any[p->contexts[c->parent].func] > 0)
			return true;
	}
	return false;
}

/*
 * Where something in it calls by a pointer, all may be called whose callers nothing tells, with what that calls.  What calls func
 * is not: the code would have to come back to it.
 */
static double uncalled_weight(const struct profile *p, uint32_t func, const struct owners *o)
{
	bool opens = false;
	double sum = 0;

	for (size_t g = 0; g < p->n_funcs && !opens; g++)
		opens = o->any[g] > 0 && p->funcs[g].opens;
	for (size_t i = 0; i < o->uncalled.n && opens; i++) {
		uint32_t g = o->uncalled.v[i];

		if (!o->reach[i * p->n_funcs + func] && !(o->any[g] > 0))
			sum += o->below[g];
	}
	return sum;
}

/* By the flow: bounds, and a count where they are close; else by paths, where they tell it. */
static struct inclusive count_by_calls(const struct profile *p, uint32_t f, struct owners *o)
{
	struct inclusive least, most, c;
	double more;

	find_any(p, f, o->any);
	settle(pass_contexts, p, f, true, o->any);
	memcpy(o->all, o->any, p->n_funcs * sizeof(*o->all));
	keep_all(p, f, o->all);
	settle(pass_contexts, p, f, false, o->all);
	most = sum_parts(p, o->any);
	least = sum_parts(p, o->all);
	c = between(p, &least, &most);
	if (inclusive_is_of_insn(p)) {
		double half = own_noise_half(o->noise, o->all);
		bool same = memcmp(o->any, o->all, p->n_funcs * sizeof(*o->all)) == 0;

		c.lo = fmax(c.lo - half, 0);
		c.hi += same ? half : own_noise_half(o->noise, o->any);
	}
	if (isnan(c.insn) && most.insn > 0 && p->n_contexts && !is_in_cycle(p, f, o->any) &&
	    inclusive_is_of_insn(p))
		count_contexts(p, f, o, &c);
	more = uncalled_weight(p, f, o);
	c.hi = fmin(c.hi + more, fmax(c.hi, o->most));
	/* What may be twice as much is not known. */
	if (more > weight_of(p, &c))
		c.raw_insn = c.insn = c.cyc = NAN;
	return c;
}

static int count_flow(const struct profile *p, const struct own_noise *noise, struct inclusive *out)
{
	struct owners o = { 0 };
	bool *calls = NULL;
	int err = owners_new(p, noise, &o);

	if (err == 0)
		err = mark_callers(p, &calls);
	for (uint32_t f = 0; f < p->n_funcs && err == 0; f++) {
		const struct profile_count *c = &p->funcs[f].rolled;
		double own;

		if (!calls[f] && !has_code(p, f))
			continue;
		if (!calls[f] && !p->funcs[f].opens) {
			out[f] =
			        (struct inclusive){ .raw_insn = c->raw_insn, .insn = c->insn, .cyc = c->cyc };
			out[f].by_status[p->funcs[f].rolled_status] = c->insn;
			own = weight_of(p, &out[f]);
			out[f].lo = out[f].hi = own;
			if (inclusive_is_of_insn(p) && c->hi > c->lo) {
				out[f].lo = c->lo;
				out[f].hi = c->hi;
			}
			continue;
		}
		out[f] = count_by_calls(p, f, &o);
	}
	owners_free(&o);
	free(calls);
	return err;
}

/*
 * Functions that jump to another at their end are on no stack of it: its frame has taken the place of theirs.  The flow tells
 * them by calls that no stack has, where several would.
 */
static int find_jumping(const struct profile *p, bool **out)
{
	bool *seen = calloc(p->n_calls + 1, sizeof(*seen)), *jumps = calloc(p->n_funcs + 1, sizeof(*jumps));
	double *samples =
	        calloc(p->n_funcs + 1, sizeof(*samples)); /* of instructions, in what somebody called */
	double period = profile_mean_period(&p->meta.events[p->meta.insn_event]);
	int err =
	        seen && jumps && samples ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu calls", p->n_calls);

	*out = jumps;
	for (size_t i = 1; i < p->n_frames && err == 0; i++) {
		const struct profile_frame *f = &p->frames[i];
		long call = f->parent ? context_find_call(p, p->frames[f->parent].func, f->func) : -1;

		samples[f->func] += f->parent && period > 0 ? f->raw_insn / period : 0;
		if (call >= 0)
			seen[call] = true;
	}
	for (size_t i = 0; i < p->n_calls && err == 0; i++)
		jumps[p->calls[i].caller] |=
		        !seen[i] && p->calls[i].share * samples[p->calls[i].callee] >= model->few;
	free(seen);
	free(samples);
	return err;
}

/* Of functions whose calls are short beside the skid, and of those that jump, paths may tell more than stacks do. */
static int ask_paths(const struct profile *p, const struct own_noise *noise, struct inclusive *out)
{
	struct owners o;
	bool *jumps = NULL;
	int err = owners_new(p, noise, &o);

	if (err == 0 && p->meta.insn_event >= 0)
		err = find_jumping(p, &jumps);
	for (uint32_t f = 0; f < p->n_funcs && err == 0; f++) {
		struct inclusive by_paths;

		if (!(out[f].hi > out[f].lo) || p->funcs[f].inlined || !inclusive_is_of_insn(p))
			continue;
		by_paths = count_by_calls(p, f, &o);
		if (by_paths.hi - by_paths.lo >= out[f].hi - out[f].lo && !(jumps && jumps[f]))
			continue;
		out[f].insn = isnan(by_paths.insn) ? fmin(fmax(out[f].insn, by_paths.lo), by_paths.hi)
		                                   : by_paths.insn;
		out[f].lo = by_paths.lo;
		out[f].hi = by_paths.hi;
	}
	owners_free(&o);
	free(jumps);
	return err;
}

/* As a function's (assemble_funcs.c), by the statuses of the functions that are summed. */
static uint8_t judge(const struct profile *p, const struct inclusive *c)
{
	const double *s = c->by_status,
	             all = s[PROFILE_FIXED] + s[PROFILE_RAW] + s[PROFILE_WEAK] + s[PROFILE_UNRELIABLE];
	const struct profile_count count = { .insn = c->insn, .lo = c->lo, .hi = c->hi };

	if (p->meta.truth)
		return c->hi - c->lo > 2 * reason_limit_wide * c->insn || isnan(c->insn) ? PROFILE_WEAK
		                                                                         : PROFILE_FIXED;
	if (s[PROFILE_UNRELIABLE] > reason_limit_in_unreliable * all)
		return PROFILE_UNRELIABLE;
	/* What may be twice as much, or next to nothing, is not known at all. */
	if (c->hi - c->lo > (isnan(c->insn) ? c->lo : c->insn))
		return PROFILE_UNRELIABLE;
	if (s[PROFILE_RAW] > reason_limit_outside * all || all == 0)
		return PROFILE_RAW;
	if (isnan(c->insn) || s[PROFILE_RAW] > reason_limit_partly_outside * all ||
	    s[PROFILE_FIXED] < reason_limit_functions_open * all)
		return PROFILE_WEAK;
	return profile_judge(PROFILE_FIXED, &count);
}

int inclusive_count(const struct profile *p, struct inclusive **out)
{
	struct own_noise noise;
	int err;

	*out = calloc(p->n_funcs + 1, sizeof(**out));
	if (!*out)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	err = own_noise_new(p, &noise);
	if (err == 0)
		err = inclusive_source(p) == INCLUSIVE_STACKS ? count_stacks(p, &noise, *out)
		                                              : count_flow(p, &noise, *out);
	own_noise_free(&noise);
	for (size_t f = 0; f < p->n_funcs && err == 0; f++)
		(*out)[f].status = judge(p, &(*out)[f]);
	if (err < 0) {
		free(*out);
		*out = NULL;
	}
	return err;
}

/* ---- callers and callees ---- */

/* Parts by function, [n_funcs + 1]: the last is of no caller. */
static int gather(const struct profile *p, const struct inclusive *by_func,
                  const struct profile_call *const *calls, struct inclusive_part **out, size_t *n)
{
	*n = 0;
	*out = calloc(p->n_funcs + 2, sizeof(**out));
	if (!*out)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	for (size_t f = 0; f <= p->n_funcs; f++) {
		struct inclusive c = by_func[f];
		bool counted = c.raw_insn > 0 || c.insn > 0 || c.cyc > 0;

		/* A call that closes a cycle has nothing of its own: all of it is the outermost call's. */
		if (!counted && calls[f] && calls[f]->n > 0)
			c = (struct inclusive){ .raw_insn = NAN, .insn = NAN, .cyc = NAN };
		if (counted || (isnan(c.insn) && f < p->n_funcs))
			(*out)[(*n)++] = (struct inclusive_part){ f < p->n_funcs ? (uint32_t)f : UINT32_MAX,
				                                  c, calls[f] ? calls[f]->n : NAN,
				                                  calls[f] ? calls[f]->lo : NAN,
				                                  calls[f] ? calls[f]->hi : NAN };
	}
	return 0;
}

/*
 * The frame of the outermost call of func on a stack, 0 if it is not there; *below out: the one below it on the way to
 * `frame`, 0 if that is itself.
 */
static uint32_t outermost(const struct profile *p, uint32_t frame, uint32_t func, uint32_t *below)
{
	uint32_t found = 0, under = 0;

	for (uint32_t at = frame; at; at = p->frames[at].parent) {
		if (p->frames[at].func == func) {
			found = at;
			*below = under;
		}
		under = at;
	}
	return found;
}

static int parts_of_stacks(const struct profile *p, uint32_t func, bool callers, struct inclusive *by_func)
{
	double *insn = NULL;
	int err = inclusive_frames(p, &insn, NULL);

	for (uint32_t i = 1; i < p->n_frames && err == 0; i++) {
		uint32_t below = 0, at = is_nothing(&p->frames[i]) ? 0 : outermost(p, i, func, &below), part;

		if (!at)
			continue;
		part = callers ? p->frames[at].parent : below ? below : at;
		/* Who is missing is nobody known. */
		if (callers && p->frames[at].open)
			part = 0;
		add_frame(&by_func[part ? p->frames[part].func : p->n_funcs], &p->frames[i], insn[i]);
	}
	free(insn);
	return err;
}

/*
 * Of what callee comes to with all that it calls, the share that is called by caller: by contexts; NAN where they leave more open
 * than makes no matter.  at: scratch, [n_contexts]: the caller of the call of callee that one is in, n_funcs = not known.
 */
static double share_of_caller(const struct profile *p, uint32_t callee, uint32_t caller, uint32_t *at)
{
	static const uint32_t no_call = UINT32_MAX;
	double its = 0, told = 0, open = 0;

	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];
		bool root = c->parent == UINT32_MAX;

		at[i] = c->func == callee ? (root ? (uint32_t)p->n_funcs : p->contexts[c->parent].func)
		        : root            ? no_call
		                          : at[c->parent];
		if (at[i] == no_call)
			continue;
		*(at[i] == p->n_funcs ? &open : at[i] == caller ? &its : &told) += c->insn;
	}
	told += its;
	return told > 0 && open <= model->little * (told + open) ? its / told : NAN;
}

/* All of it for one who has all of its calls; of several what paths tell, where they do. */
static struct inclusive shared(const struct profile *p, const struct inclusive *of,
                               const struct profile_call *call, uint32_t *at)
{
	struct inclusive c = { .raw_insn = NAN, .insn = NAN, .cyc = NAN, .lo = NAN, .hi = NAN };

	if (call->share >= whole)
		return *of;
	if (p->n_contexts && inclusive_is_of_insn(p))
		c.insn = of->insn * share_of_caller(p, call->callee, call->caller, at);
	return c;
}

static int parts_of_flow(const struct profile *p, uint32_t func, bool callers, struct inclusive *by_func,
                         const struct profile_call **calls)
{
	const struct profile_count *own = &p->funcs[func].rolled;
	struct inclusive *all = NULL;
	uint32_t *at = calloc(p->n_contexts + 1, sizeof(*at));
	int err = at ? inclusive_count(p, &all) : sp_fail(SP_ENOMEM, "out of memory");
	bool told = false;

	for (size_t i = 0; i < p->n_calls && err == 0; i++) {
		const struct profile_call *c = &p->calls[i];
		uint32_t other = callers ? c->caller : c->callee;

		if ((callers ? c->callee : c->caller) != func || (c->share <= 0 && !c->taken) ||
		    (!callers && other == func))
			continue;
		by_func[other] = shared(p, &all[c->callee], c, at);
		calls[other] = c;
		told = true;
	}
	if (err == 0 && callers && !told)
		by_func[p->n_funcs] = all[func];
	if (err == 0 && !callers)
		by_func[func] = (struct inclusive){
			.raw_insn = own->raw_insn, .insn = own->insn, .cyc = own->cyc, .lo = NAN, .hi = NAN
		};
	free(at);
	free(all);
	return err;
}

static int parts(const struct profile *p, uint32_t func, bool callers, struct inclusive_part **out, size_t *n)
{
	struct inclusive *by_func = calloc(p->n_funcs + 1, sizeof(*by_func));
	const struct profile_call **calls = calloc(p->n_funcs + 1, sizeof(const struct profile_call *));
	int err = by_func && calls ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);

	if (err == 0)
		err = inclusive_source(p) == INCLUSIVE_STACKS
		              ? parts_of_stacks(p, func, callers, by_func)
		              : parts_of_flow(p, func, callers, by_func, calls);
	if (err == 0)
		err = gather(p, by_func, calls, out, n);
	free(by_func);
	free(calls);
	return err;
}

int inclusive_callers(const struct profile *p, uint32_t func, struct inclusive_part **out, size_t *n)
{
	return parts(p, func, true, out, n);
}

int inclusive_callees(const struct profile *p, uint32_t func, struct inclusive_part **out, size_t *n)
{
	return parts(p, func, false, out, n);
}
