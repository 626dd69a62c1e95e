/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose a function's instructions are, by who calls it: sets of functions. */
#include <math.h>
#include <string.h>

#include "correct/assemble/inclusive_impl.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"

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

		if (add ? !(share > inclusive_small) : share >= inclusive_whole || callee == func)
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
static bool settle(const struct profile *p, uint32_t func, bool add, double *in)
{
	for (int round = 0; round < EFFORT_CALL_ROUNDS; round++) {
		bool change = pass_calls(p, func, add, in);

		if (!pass_contexts(p, func, add, in) && !change)
			return true;
	}
	return false;
}

static void only(const struct profile *p, uint32_t func, double *in)
{
	memset(in, 0, p->n_funcs * sizeof(*in));
	in[func] = 1;
}

void inclusive_find_any(const struct profile *p, uint32_t func, double *in)
{
	only(p, func, in);
	settle(p, func, true, in);
}

void inclusive_keep_all(const struct profile *p, uint32_t func, double *in)
{
	/* What has not settled is not known. */
	if (!settle(p, func, false, in))
		only(p, func, in);
}

bool inclusive_has_code(const struct profile *p, size_t f)
{
	const struct profile_count *c = &p->funcs[f].rolled;

	return c->raw_insn > 0 || c->insn > 0 || c->cyc > 0;
}

struct inclusive inclusive_sum(const struct profile *p, const double *part)
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

struct inclusive inclusive_between(const struct profile *p, const struct inclusive *least,
                                   const struct inclusive *most)
{
	struct inclusive c = *least;
	/* Of functions that ran nothing time tells whether they are the same. */
	bool of_insn = inclusive_is_of_insn(p) && most->insn > 0;
	double high = of_insn ? most->insn : most->cyc, low = of_insn ? least->insn : least->cyc;

	if (high - low > model->little * high)
		c.raw_insn = c.insn = c.cyc = NAN;
	c.lo = inclusive_weight(p, least);
	c.hi = inclusive_weight(p, most);
	return c;
}
