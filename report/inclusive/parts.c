/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function's callers, or callees, with what of it belongs to each. */
#include <math.h>
#include <stdlib.h>

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

/*
 * What frames' counts must be multiplied by, of each function, to come to what it is said to have with all that it calls: that
 * may be known better by samples as they are.  [n_funcs]
 */
static double *ratios(const struct profile *all, const struct profile *p, const double *insn)
{
	struct inclusive *whole = inclusive_count(all);
	double *sum = mem_calloc(p->n_funcs + 1, sizeof(*sum));
	uint32_t *last = mem_calloc(p->n_funcs + 1, sizeof(*last)); /* frame that was added last */

	for (uint32_t i = 1; i < p->n_frames; i++)
		for (uint32_t at = inclusive_frame_is_empty(&p->frames[i]) ? 0 : i; at;
		     at = p->frames[at].parent) {
			uint32_t func = p->frames[at].func;

			sum[func] += last[func] == i ? 0 : insn[i];
			last[func] = i;
		}
	for (size_t f = 0; f < p->n_funcs; f++)
		sum[f] = inclusive_is_of_insn(p) && sum[f] > 0 && whole[f].insn > 0 ? whole[f].insn / sum[f]
		                                                                    : 1;
	free(whole);
	free(last);
	return sum;
}

static void parts_of_stacks(const struct profile *all, uint32_t func, bool callers, struct inclusive *by_func)
{
	struct profile calls = *all, *p = &calls;
	double *insn = inclusive_frames(all, NULL), *ratio;
	uint32_t *outer = mem_calloc(p->n_funcs + 1, sizeof(*outer));

	calls.frames = inclusive_merge_inlined(all);
	ratio = ratios(all, p, insn);
	for (uint32_t i = 1; i < p->n_frames; i++) {
		if (inclusive_frame_is_empty(&p->frames[i]))
			continue;
		if (callers)
			add_caller(p, func, i, insn[i], by_func);
		else
			add_callees(p, func, i, insn[i], outer, by_func);
	}
	/* Of a function's callers each has a part of it, and of its callees a part of theirs. */
	for (size_t f = 0; f <= p->n_funcs; f++)
		by_func[f].insn *= callers ? ratio[func] : f == func || f == p->n_funcs ? 1 : ratio[f];
	free(ratio);
	free(calls.frames);
	free(outer);
	free(insn);
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

	if (call->share >= inclusive_whole)
		return *of;
	if (p->n_contexts)
		*(inclusive_is_of_insn(p) ? &c.insn : &c.cyc) =
		        inclusive_weight(p, of) * share_of_caller(p, call->callee, call->caller, at);
	return c;
}

static void parts_of_flow(const struct profile *p, uint32_t func, bool callers, struct inclusive *by_func,
                          const struct profile_call **calls)
{
	const struct profile_count *own = &p->funcs[func].rolled;
	struct inclusive *all = inclusive_count(p);
	uint32_t *at = mem_calloc(p->n_contexts + 1, sizeof(*at));
	bool told = false;

	for (size_t i = 0; i < p->n_calls; i++) {
		const struct profile_call *c = &p->calls[i];
		uint32_t other = callers ? c->caller : c->callee;

		if ((callers ? c->callee : c->caller) != func || (c->share <= 0 && !c->taken) ||
		    (!callers && other == func))
			continue;
		by_func[other] = shared(p, &all[c->callee], c, at);
		calls[other] = c;
		told = true;
	}
	if (callers && !told)
		by_func[p->n_funcs] = all[func];
	if (!callers)
		by_func[func] = (struct inclusive){
			.raw_insn = own->raw_insn, .insn = own->insn, .cyc = own->cyc, .lo = NAN, .hi = NAN
		};
	free(at);
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
