/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/boundary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

static const double unknown = -1;

/* Of all intervals inside one scope. */
struct pace {
	double insn, cyc;
};

/* Of all crossings from one scope to another. */
struct both {
	int32_t from, to;
	double insn, cyc; /* of those whose cycles were counted */
	double untimed;   /* instructions of the others */
	double n_all;
};

struct boundary {
	size_t n;
	struct pace *paces;        /* [n + 1], by scope + 1 */
	struct boundary_sum *sums; /* [n + 1], the same */
	struct pairs pairs;        /* (from + 1, to + 1) -> both[] */
	VEC(struct both) both;
};

struct boundary *boundary_new(size_t n)
{
	struct boundary *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->n = n;
	e->paces = calloc(n + 1, sizeof(*e->paces));
	e->sums = calloc(n + 1, sizeof(*e->sums));
	if (!e->paces || !e->sums) {
		boundary_free(e);
		return NULL;
	}
	return e;
}

void boundary_free(struct boundary *e)
{
	if (!e)
		return;
	vec_fini(&e->both);
	pairs_fini(&e->pairs);
	free(e->paces);
	free(e->sums);
	free(e);
}

void boundary_inside(struct boundary *e, int32_t scope, double insn, double cyc)
{
	e->paces[scope + 1].insn += insn;
	e->paces[scope + 1].cyc += cyc;
}

static void credit(struct boundary *e, int32_t scope, double insn, double n_ends)
{
	e->sums[scope + 1].insn += insn;
	e->sums[scope + 1].n_ends += n_ends;
}

int boundary_cross(struct boundary *e, int32_t from, int32_t to, double insn, double cyc)
{
	long k = pairs_number(&e->pairs, (uint64_t)from + 1, (uint64_t)to + 1);
	struct both *b;

	if (k < 0 ||
	    ((size_t)k == e->both.n && vec_push(&e->both, (struct both){ .from = from, .to = to }) < 0))
		return -SP_ENOMEM;
	b = &e->both.v[k];
	b->n_all++;
	if (cyc > 0) {
		b->insn += insn;
		b->cyc += cyc;
	} else {
		b->untimed += insn;
	}
	return 0;
}

void boundary_rest(struct boundary *e, const int32_t at[4], double insn)
{
	for (size_t k = 0; k < 4; k++)
		credit(e, at[k], insn / 4, 0.5);
}

static double pace_of(const struct boundary *e, int32_t scope)
{
	const struct pace *p = &e->paces[scope + 1];

	return p->cyc > 0 ? p->insn / p->cyc : unknown;
}

/*
 * eq. 4: what half of a boundary interval is off by, the same way at every crossing between two scopes: it is all of the one
 * that is faster, or none, the more their paces differ.
 */
static double half_off(const struct boundary *e, const struct both *b)
{
	double before = pace_of(e, b->from), after = pace_of(e, b->to);

	if (before < 0 || after < 0 || !(before + after > 0) || !(b->insn > 0))
		return model->guess / 2;
	return fabs(before - after) / (before + after) / 2;
}

/* A thread's first interval has no crossing: the thread began there. */
static void divide(struct boundary *e, const struct both *b)
{
	struct boundary_sum *from = &e->sums[b->from + 1], *to = &e->sums[b->to + 1];
	double half = (b->insn + b->untimed) / 2,
	       wrong = half_off(e, b) * b->insn + (b->from < 0 ? 0 : model->untimed_off * b->untimed);

	credit(e, b->from, half, b->n_all);
	credit(e, b->to, half, b->n_all);
	from->wrong = hypot(from->wrong, wrong);
	to->wrong = hypot(to->wrong, wrong);
}

void boundary_settle(struct boundary *e, struct boundary_sum *sums)
{
	for (size_t k = 0; k < e->both.n; k++)
		divide(e, &e->both.v[k]);
	memcpy(sums, e->sums + 1, e->n * sizeof(*sums));
}
