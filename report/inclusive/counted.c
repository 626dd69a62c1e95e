/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inclusive counts of exact counts that have calls: a function's are those of the calls of it. */
#include <math.h>

#include "profiler/base/mem.h"
#include "report/inclusive/impl.h"

static struct inclusive exactly(double insn)
{
	struct inclusive c = { .raw_insn = NAN, .insn = insn, .cyc = NAN, .lo = insn, .hi = insn };

	c.by_status[PROFILE_FIXED] = insn;
	return c;
}

void inclusive_counted(const struct profile *p, struct inclusive *out)
{
	double most = 0;

	for (size_t f = 0; f < p->n_funcs; f++) {
		out[f] = exactly(0);
		most += p->funcs[f].rolled.insn;
	}
	/* Functions of one name are one row, as Go's with a wrapper of each: what one calls the other for is there once. */
	for (size_t i = 0; i < p->n_counted; i++)
		if (p->counted[i].caller != p->counted[i].callee)
			out[p->counted[i].callee] =
			        exactly(out[p->counted[i].callee].insn + p->counted[i].insn);
	for (size_t f = 0; f < p->n_funcs; f++) {
		double own = p->funcs[f].rolled.insn;

		/* It was come to in a way that is no call: below others, and nothing tells what it called. */
		if (own > out[f].insn)
			out[f] = (struct inclusive){
				.raw_insn = NAN, .insn = NAN, .cyc = NAN, .lo = own, .hi = most
			};
	}
}

void inclusive_counted_parts(const struct profile *p, uint32_t func, bool callers, struct inclusive *by_func,
                             struct profile_call *calls)
{
	double own = p->funcs[func].rolled.insn;

	for (size_t f = 0; f <= p->n_funcs; f++) {
		by_func[f] = exactly(0);
		calls[f] = (struct profile_call){ .n = NAN, .lo = NAN, .hi = NAN };
	}
	for (size_t i = 0; i < p->n_counted; i++) {
		const struct profile_counted *c = &p->counted[i];
		uint32_t other = callers ? c->caller : c->callee;

		/* A call of itself has nothing that the outermost one has not. */
		if ((callers ? c->callee : c->caller) != func || other == func)
			continue;
		other = other == UINT32_MAX ? (uint32_t)p->n_funcs : other;
		by_func[other] = exactly(by_func[other].insn + c->insn);
		calls[other].n = calls[other].lo = calls[other].hi = c->n;
	}
	if (!callers)
		by_func[func] = exactly(own);
}
