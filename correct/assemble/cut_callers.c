/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/assemble/cut_callers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

/* Of `first`, which begins stacks that are cut: what it runs below `func` where it has callers, and what of the cut ones does. */
struct above {
	uint32_t func, first;
	double called, cut;
};

struct cuts {
	const struct profile *p;
	const double *weight;
	double *below; /* [n_frames] a frame with all below it */
	double *cut,
	        *whole; /* [n_funcs] of first functions: of stacks that begin with them and are cut, and where they have callers */
	uint32_t *root; /* [n_frames] the outermost frame of its stack */
	uint32_t *last; /* [n_funcs] frame + 1 that was added last */
	struct pairs index;
	VEC(struct above) v;
};

/* A frame's weight, as far as it is of stacks that are cut. */
static double cut_of(const struct cuts *c, size_t i)
{
	const struct profile_frame *f = &c->p->frames[i];
	double share = f->raw_insn > 0  ? f->cut_insn / f->raw_insn
	               : f->raw_cyc > 0 ? f->cut_cyc / f->raw_cyc
	                                : 0;

	return c->weight[i] * share;
}

static int init(struct cuts *c)
{
	const size_t n = c->p->n_frames + 1, n_funcs = c->p->n_funcs + 1;

	c->below = calloc(n, sizeof(*c->below));
	c->cut = calloc(2 * n_funcs, sizeof(*c->cut));
	c->root = calloc(n, sizeof(*c->root));
	c->last = calloc(n_funcs, sizeof(*c->last));
	if (!c->below || !c->cut || !c->root || !c->last)
		return sp_fail(SP_ENOMEM, "out of memory for %zu frames", c->p->n_frames);
	c->whole = c->cut + n_funcs;
	/* Callers stand before callees. */
	for (size_t i = c->p->n_frames; i-- > 1;) {
		c->below[i] += c->weight[i];
		c->below[c->p->frames[i].parent] += c->below[i];
	}
	for (uint32_t i = 1; i < c->p->n_frames; i++) {
		const uint32_t parent = c->p->frames[i].parent;

		c->root[i] = parent ? c->root[parent] : i;
		c->cut[c->p->frames[c->root[i]].func] += cut_of(c, i);
	}
	return 0;
}

static void fini(struct cuts *c)
{
	pairs_fini(&c->index);
	vec_fini(&c->v);
	free(c->below);
	free(c->cut);
	free(c->root);
	free(c->last);
}

static struct above *find(struct cuts *c, uint32_t func, uint32_t first)
{
	long k = pairs_number(&c->index, func, first);

	if (k < 0 || ((size_t)k == c->v.n && vec_push(&c->v, (struct above){ func, first, 0, 0 }) < 0))
		return NULL;
	return &c->v.v[k];
}

/* Each function from a frame up is once above `first`, with so much that is called, or that is of a cut stack. */
static int add_callers(struct cuts *c, uint32_t from, uint32_t mark, uint32_t first, double called,
                       double cut)
{
	for (uint32_t at = from; at; at = c->p->frames[at].parent) {
		const uint32_t func = c->p->frames[at].func;
		struct above *a;

		if (c->last[func] == mark)
			continue;
		c->last[func] = mark;
		a = find(c, func, first);
		if (!a)
			return -SP_ENOMEM;
		a->called += called;
		a->cut += cut;
	}
	return 0;
}

/* Is the same function further up, too?  It is counted there. */
static bool is_inner(const struct profile *p, uint32_t frame)
{
	for (uint32_t at = p->frames[frame].parent; at; at = p->frames[at].parent)
		if (p->frames[at].func == p->frames[frame].func)
			return true;
	return false;
}

static int collect(struct cuts *c)
{
	const struct profile *p = c->p;
	int err = 0;

	for (uint32_t i = 1; i < p->n_frames && err == 0; i++) {
		const uint32_t func = p->frames[i].func;

		if (!p->frames[i].parent || !(c->cut[func] > 0) || is_inner(p, i))
			continue;
		c->whole[func] += c->below[i];
		err = add_callers(c, p->frames[i].parent, 2 * i, func, c->below[i], 0);
	}
	for (uint32_t i = 1; i < p->n_frames && err == 0; i++) {
		double cut = cut_of(c, i);

		if (cut > 0)
			err = add_callers(c, i, 2 * i + 1, p->frames[c->root[i]].func, 0, cut);
	}
	return err;
}

int cut_callers(const struct profile *p, const double *weight, double **out)
{
	struct cuts c = { .p = p, .weight = weight };
	double *more = calloc(p->n_funcs + 1, sizeof(*more));
	int err = more ? init(&c) : sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);

	if (err == 0)
		err = collect(&c);
	for (size_t i = 0; i < c.v.n && err == 0; i++) {
		const struct above *a = &c.v.v[i];

		if (c.whole[a->first] > 0)
			more[a->func] += a->called / c.whole[a->first] * fmax(c.cut[a->first] - a->cut, 0);
	}
	fini(&c);
	if (err < 0)
		free(more);
	else
		*out = more;
	return err;
}
