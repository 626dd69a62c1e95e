/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function's callers, or callees, with what of it belongs to each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "report/inclusive/impl.h"

/* Parts by function, [n_funcs + 1]: the last is of no caller. */
static struct inclusive_part *gather(const struct profile *p, const struct inclusive *by_func,
                                     const struct profile_call *const *calls, size_t *n)
{
	struct inclusive_part *out = mem_calloc(p->n_funcs + 2, sizeof(*out));

	*n = 0;
	for (size_t f = 0; f <= p->n_funcs; f++) {
		struct inclusive c = by_func[f];
		bool counted = c.raw_insn > 0 || c.insn > 0 || c.cyc > 0;

		/* A call that closes a cycle has nothing of its own: all of it is the outermost call's. */
		if (!counted && calls[f] && calls[f]->n > 0)
			c = (struct inclusive){ .raw_insn = NAN, .insn = NAN, .cyc = NAN };
		if (counted || (isnan(c.insn) && f < p->n_funcs))
			out[(*n)++] = (struct inclusive_part){ f < p->n_funcs ? (uint32_t)f : UINT32_MAX, c,
				                               calls[f] ? calls[f]->n : NAN,
				                               calls[f] ? calls[f]->lo : NAN,
				                               calls[f] ? calls[f]->hi : NAN };
	}
	return out;
}

/* The outermost call of func on a stack, 0 where it is not there. */
static uint32_t outermost(const struct profile *p, uint32_t frame, uint32_t func)
{
	uint32_t found = 0;

	for (uint32_t at = frame; at; at = p->frames[at].parent)
		if (p->frames[at].func == func)
			found = at;
	return found;
}

/* By the outermost call of it.  Who is missing is nobody known. */
static void add_caller(const struct profile *p, uint32_t func, uint32_t frame, double insn,
                       struct inclusive *by_func)
{
	uint32_t at = outermost(p, frame, func), by = at && !p->frames[at].open ? p->frames[at].parent : 0;

	if (at)
		inclusive_add_frame(&by_func[by ? p->frames[by].func : p->n_funcs], &p->frames[frame], insn);
}

/*
 * What runs in func itself, and what in a function that it called, of which the outermost call on the stack is func's.
 * outer: scratch, [n_funcs], all 0 before and after.
 */
static void add_callees(const struct profile *p, uint32_t func, uint32_t frame, double insn, uint32_t *outer,
                        struct inclusive *by_func)
{
	if (p->frames[frame].func == func)
		inclusive_add_frame(&by_func[func], &p->frames[frame], insn);
	for (uint32_t at = frame; at; at = p->frames[at].parent)
		outer[p->frames[at].func] = at;
	for (uint32_t at = frame; at; at = p->frames[at].parent) {
		uint32_t callee = p->frames[at].func, by = p->frames[at].parent;

		if (outer[callee] != at)
			continue;
		outer[callee] = 0;
		if (callee != func && by && p->frames[by].func == func)
			inclusive_add_frame(&by_func[callee], &p->frames[frame], insn);
	}
}

/* Of each function, [n_funcs]. */
struct totals {
	double *sum; /* of its frames, with all that they call */
	double *whole; /* what it is said to have, which may be known better by samples as they are; 0 = as the sum */
};

static struct totals totals_of(const struct profile *all, const struct profile *p, const double *insn)
{
	struct totals t = { .sum = mem_calloc(p->n_funcs + 1, sizeof(*t.sum)),
		            .whole = mem_calloc(p->n_funcs + 1, sizeof(*t.whole)) };
	struct inclusive *said = inclusive_count(all);
	uint32_t *last = mem_calloc(p->n_funcs + 1, sizeof(*last)); /* frame that was added last */

	for (uint32_t i = 1; i < p->n_frames; i++)
		for (uint32_t at = inclusive_frame_is_empty(&p->frames[i]) ? 0 : i; at;
		     at = p->frames[at].parent) {
			uint32_t func = p->frames[at].func;

			t.sum[func] += last[func] == i ? 0 : insn[i];
			last[func] = i;
		}
	for (size_t f = 0; f < p->n_funcs; f++)
		t.whole[f] = inclusive_is_of_insn(p) && t.sum[f] > 0 && said[f].insn > 0 ? said[f].insn : 0;
	free(said);
	free(last);
	return t;
}

/* What frames' counts must be multiplied by to come to what a function is said to have. */
static double ratio(const struct totals *t, size_t f)
{
	return t->whole[f] > 0 ? t->whole[f] / t->sum[f] : 1;
}

/* Its callees' parts, and what it runs itself, come to what it has; those that others call, too, are known less well. */
static void fit_callees(const struct profile *p, uint32_t func, const struct totals *t, const bool *shared,
                        struct inclusive *by_func)
{
	double others = t->whole[func], open = 0;

	for (size_t f = 0; f <= p->n_funcs; f++)
		*(shared[f] ? &open : &others) += shared[f] ? by_func[f].insn : -by_func[f].insn;
	for (size_t f = 0; f < p->n_funcs && others > 0 && open > 0; f++)
		if (shared[f])
			by_func[f].insn *= others / open;
}

/* Of a function's callers each has a part of it, and of its callees a part of theirs. */
static void scale(const struct profile *p, uint32_t func, bool callers, const struct totals *t,
                  struct inclusive *by_func)
{
	bool *shared = mem_calloc(p->n_funcs + 1, sizeof(*shared));

	for (size_t f = 0; f <= p->n_funcs; f++) {
		if (!callers && (f == func || f == p->n_funcs))
			continue;
		shared[f] = !callers && by_func[f].insn < inclusive_whole * t->sum[f];
		by_func[f].insn *= ratio(t, callers ? func : f);
	}
	if (!callers && t->whole[func] > 0)
		fit_callees(p, func, t, shared, by_func);
	free(shared);
}

static void parts_of_stacks(const struct profile *all, uint32_t func, bool callers, struct inclusive *by_func)
{
	struct profile calls = *all, *p = &calls;
	double *insn = inclusive_frames(all, NULL);
	uint32_t *outer = mem_calloc(p->n_funcs + 1, sizeof(*outer));
	struct totals totals;

	calls.frames = inclusive_merge_inlined(all);
	totals = totals_of(all, p, insn);
	for (uint32_t i = 1; i < p->n_frames; i++) {
		if (inclusive_frame_is_empty(&p->frames[i]))
			continue;
		if (callers)
			add_caller(p, func, i, insn[i], by_func);
		else
			add_callees(p, func, i, insn[i], outer, by_func);
	}
	scale(p, func, callers, &totals, by_func);
	free(totals.sum);
	free(totals.whole);
	free(calls.frames);
	free(outer);
	free(insn);
}

/* What contexts tell of who called one function. */
struct callers_told {
	double *insn; /* [n_funcs + 1] what it ran with all that it called, by its caller; the last: nobody known */
	double sum;   /* of those that are known; 0 where contexts leave more open than makes no matter */
	uint32_t *at; /* [n_contexts] scratch: the caller of the call that a context is in */
};

static void tell_callers(const struct profile *p, uint32_t callee, struct callers_told *t)
{
	static const uint32_t no_call = UINT32_MAX;
	double open;

	memset(t->insn, 0, (p->n_funcs + 1) * sizeof(*t->insn));
	t->sum = 0;
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];
		bool root = c->parent == UINT32_MAX;

		t->at[i] = c->func == callee ? (root ? (uint32_t)p->n_funcs : p->contexts[c->parent].func)
		           : root            ? no_call
		                             : t->at[c->parent];
		if (t->at[i] == no_call)
			continue;
		t->insn[t->at[i]] += c->insn;
		t->sum += t->at[i] == p->n_funcs ? 0 : c->insn;
	}
	open = t->insn[p->n_funcs];
	if (open > model->little * (t->sum + open))
		t->sum = 0;
}

static struct inclusive of_weight(const struct profile *p, double weight)
{
	struct inclusive c = { .raw_insn = NAN, .insn = NAN, .cyc = NAN, .lo = NAN, .hi = NAN };

	*(inclusive_is_of_insn(p) ? &c.insn : &c.cyc) = weight;
	return c;
}

/* Of what the callee comes to with all that it calls, what one caller called; NAN = contexts don't tell. */
static double weight_of_caller(const struct profile *p, const struct inclusive *of,
                               const struct callers_told *t, uint32_t caller)
{
	return t->sum > 0 ? inclusive_weight(p, of) * t->insn[caller] / t->sum : NAN;
}

/*
 * All of it for one who has all of its calls; of several what paths tell, where they do.  What threads begin with the code
 * calls nowhere, and of what it does call it has one caller: that has no more of it than it comes to itself.
 */
static struct inclusive shared(const struct profile *p, const struct inclusive *all,
                               const struct profile_call *call, const struct callers_told *t)
{
	const struct inclusive *of = &all[call->callee], *by = &all[call->caller];
	const double told = weight_of_caller(p, of, t, call->caller), own = inclusive_own(p, call->caller),
	             known = inclusive_weight(p, by) - own;

	if (call->share < inclusive_whole)
		return of_weight(p, told);
	if (!(by->hi > 0 && inclusive_weight(p, of) > by->hi))
		return *of;
	if (told >= by->lo - own && told <= by->hi - own)
		return of_weight(p, told);
	return of_weight(p, known < 0 ? 0 : known);
}

/* What is of no caller that the code has: of those that contexts show, or of nobody known. */
static void add_rest(const struct profile *p, const struct inclusive *of, const struct callers_told *t,
                     const struct profile_call *const *calls, struct inclusive *by_func)
{
	const double whole = inclusive_weight(p, of), little = model->little * whole;
	double left = whole, others = 0;
	bool any = false;

	for (size_t f = 0; f < p->n_funcs; f++) {
		any |= calls[f] != NULL;
		left -= calls[f] ? inclusive_weight(p, &by_func[f]) : 0;
		others += calls[f] || !(t->sum > 0) ? 0 : t->insn[f];
	}
	for (size_t f = 0; f < p->n_funcs && others > 0 && left > little; f++)
		if (!calls[f] && t->insn[f] > 0)
			by_func[f] = of_weight(p, left * t->insn[f] / others);
	if (others > 0)
		return;
	/* No more than it is known to is its callers'. */
	if (!any)
		by_func[p->n_funcs] = *of;
	else if (left > fmax(little, whole - of->lo))
		by_func[p->n_funcs] = of_weight(p, left);
}

/* by_func, calls: [n_funcs + 1], all 0 before. */
static void callers_by_flow(const struct profile *p, const struct inclusive *all, uint32_t func,
                            struct callers_told *t, struct inclusive *by_func,
                            const struct profile_call **calls)
{
	tell_callers(p, func, t);
	for (size_t i = 0; i < p->n_calls; i++) {
		const struct profile_call *c = &p->calls[i];

		if (c->callee != func || (c->share <= 0 && !c->taken))
			continue;
		by_func[c->caller] = shared(p, all, c, t);
		calls[c->caller] = c;
	}
	add_rest(p, &all[func], t, calls, by_func);
}

/* By calls that the code has, and by contexts: what a thread begins with these alone have. */
static bool *find_callees(const struct profile *p, uint32_t func)
{
	bool *is = mem_calloc(p->n_funcs + 1, sizeof(*is));

	for (size_t i = 0; i < p->n_calls; i++)
		if (p->calls[i].caller == func && (p->calls[i].share > 0 || p->calls[i].taken))
			is[p->calls[i].callee] = true;
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];

		if (c->parent != UINT32_MAX && p->contexts[c->parent].func == func)
			is[c->func] = true;
	}
	is[func] = false;
	return is;
}

/* To each callee its callers come as they do where these are asked for. */
static void callees_by_flow(const struct profile *p, const struct inclusive *all, uint32_t func,
                            struct callers_told *t, struct inclusive *by_func,
                            const struct profile_call **calls)
{
	const struct profile_count *own = &p->funcs[func].rolled;
	struct inclusive *by_caller = mem_calloc(p->n_funcs + 1, sizeof(*by_caller));
	const struct profile_call **its = mem_calloc(p->n_funcs + 1, sizeof(const struct profile_call *));
	bool *is = find_callees(p, func);

	for (uint32_t g = 0; g < p->n_funcs; g++) {
		if (!is[g])
			continue;
		memset(by_caller, 0, (p->n_funcs + 1) * sizeof(*by_caller));
		memset(its, 0, (p->n_funcs + 1) * sizeof(*its));
		callers_by_flow(p, all, g, t, by_caller, its);
		by_func[g] = by_caller[func];
		calls[g] = its[func];
	}
	by_func[func] = (struct inclusive){
		.raw_insn = own->raw_insn, .insn = own->insn, .cyc = own->cyc, .lo = NAN, .hi = NAN
	};
	free(by_caller);
	free(its);
	free(is);
}

static void parts_of_flow(const struct profile *p, uint32_t func, bool callers, struct inclusive *by_func,
                          const struct profile_call **calls)
{
	struct inclusive *all = inclusive_count(p);
	struct callers_told told = { .insn = mem_calloc(p->n_funcs + 1, sizeof(*told.insn)),
		                     .at = mem_calloc(p->n_contexts + 1, sizeof(*told.at)) };

	(callers ? callers_by_flow : callees_by_flow)(p, all, func, &told, by_func, calls);
	free(told.insn);
	free(told.at);
	free(all);
}

static struct inclusive_part *parts(const struct profile *p, uint32_t func, bool callers, size_t *n)
{
	struct inclusive *by_func = mem_calloc(p->n_funcs + 1, sizeof(*by_func));
	const struct profile_call **calls = mem_calloc(p->n_funcs + 1, sizeof(const struct profile_call *));
	struct profile_call *counted = mem_calloc(p->n_funcs + 1, sizeof(*counted));
	struct inclusive_part *out;

	for (size_t f = 0; f <= p->n_funcs && inclusive_source(p) == INCLUSIVE_COUNTED; f++)
		calls[f] = &counted[f];
	if (inclusive_source(p) == INCLUSIVE_COUNTED)
		inclusive_counted_parts(p, func, callers, by_func, counted);
	else if (inclusive_source(p) == INCLUSIVE_STACKS)
		parts_of_stacks(p, func, callers, by_func);
	else
		parts_of_flow(p, func, callers, by_func, calls);
	out = gather(p, by_func, calls, n);
	free(by_func);
	free(calls);
	free(counted);
	return out;
}

struct inclusive_part *inclusive_callers(const struct profile *p, uint32_t func, size_t *n)
{
	return parts(p, func, true, n);
}

struct inclusive_part *inclusive_callees(const struct profile *p, uint32_t func, size_t *n)
{
	return parts(p, func, false, n);
}
