/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

enum { POINTS = 200 };

/* How far a pace is from that of the next interval: at least; the same in instructions a cycle. */
static const double min_spread = 0.03, min_sd = 0.03;

static const double unknown = -1;

/* Of all intervals inside one scope. */
struct pace {
	double insn, cyc, n;
	double insn_sq, cyc_sq, cross;
};

struct crossing {
	int32_t from, to;
	double insn, cyc;
	double before[2], after[2]; /* instructions a cycle on either side, the nearest first */
};

struct rest {
	int32_t at[4];
	double insn;
};

struct thread {
	int32_t scope;  /* of its last intervals inside one */
	double pace[2]; /* the latest first */
	size_t pending; /* 1 + the crossing whose paces after are yet to come; 0 = none */
};

/* Of all crossings from one scope to another. */
struct both {
	double before, after, n; /* instructions on either side */
};

struct edges {
	size_t n;
	struct pace *paces; /* [n + 1], by scope + 1 */
	VEC(struct thread) threads;
	VEC(struct crossing) crossings;
	VEC(struct rest) rests;
	struct pairs pairs; /* (from + 1, to + 1) -> both[] */
	VEC(struct both) both;
};

struct edges *edges_new(size_t n)
{
	struct edges *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->n = n;
	e->paces = calloc(n + 1, sizeof(*e->paces));
	if (!e->paces) {
		free(e);
		return NULL;
	}
	return e;
}

void edges_free(struct edges *e)
{
	if (!e)
		return;
	vec_fini(&e->threads);
	vec_fini(&e->crossings);
	vec_fini(&e->rests);
	vec_fini(&e->both);
	pairs_fini(&e->pairs);
	free(e->paces);
	free(e);
}

static struct thread *thread_of(struct edges *e, uint32_t thread)
{
	while (e->threads.n <= thread)
		if (vec_push(&e->threads, (struct thread){ .scope = -1, .pace = { unknown, unknown } }) < 0)
			return NULL;
	return &e->threads.v[thread];
}

int edges_inside(struct edges *e, uint32_t thread, int32_t scope, double insn, double cyc)
{
	struct thread *t = thread_of(e, thread);
	struct pace *p = &e->paces[scope + 1];

	if (!t)
		return -SP_ENOMEM;
	p->insn += insn;
	p->cyc += cyc;
	p->n++;
	p->insn_sq += insn * insn;
	p->cyc_sq += cyc * cyc;
	p->cross += insn * cyc;
	t->pace[1] = t->scope == scope ? t->pace[0] : unknown;
	t->pace[0] = cyc > 0 ? insn / cyc : unknown;
	t->scope = scope;
	if (t->pending) {
		struct crossing *c = &e->crossings.v[t->pending - 1];

		if (c->to == scope)
			c->after[c->after[0] >= 0] = t->pace[0];
		if (c->to != scope || c->after[1] >= 0)
			t->pending = 0;
	}
	return 0;
}

int edges_cross(struct edges *e, uint32_t thread, int32_t from, int32_t to, double insn, double cyc)
{
	struct thread *t = thread_of(e, thread);
	struct crossing c = { .from = from,
		              .to = to,
		              .insn = insn,
		              .cyc = cyc,
		              .before = { unknown, unknown },
		              .after = { unknown, unknown } };

	if (!t)
		return -SP_ENOMEM;
	if (t->scope == from)
		memcpy(c.before, t->pace, sizeof(c.before));
	/* Only next to it is the pace the same. */
	t->pace[0] = t->pace[1] = unknown;
	if (vec_push(&e->crossings, c) < 0)
		return -SP_ENOMEM;
	t->pending = e->crossings.n;
	return 0;
}

int edges_rest(struct edges *e, const int32_t at[4], double insn)
{
	return vec_push(&e->rests, (struct rest){ { at[0], at[1], at[2], at[3] }, insn });
}

/* A pace and its standard deviation. */
struct known_pace {
	double pace, sd;
};

static struct known_pace pace_of(const struct edges *e, const double local[2], int32_t scope)
{
	const struct pace *p = &e->paces[scope + 1];
	double mean = p->cyc > 0 ? p->insn / p->cyc : unknown, pace = local[0] >= 0 ? local[0] : mean,
	       spread = 0;

	if (local[0] >= 0 && local[1] >= 0)
		spread = fabs(local[0] - local[1]);
	else if (p->cyc_sq > 0)
		spread =
		        sqrt(fmax(p->insn_sq - 2 * mean * p->cross + mean * mean * p->cyc_sq, 0) / p->cyc_sq);
	return (struct known_pace){ pace, fmax(fmax(spread, min_spread * pace), min_sd) };
}

/*
 * eq. 31: the time x before the edge may be any part of the interval's; insn = before x + after (cyc - x) tells it the
 * better, the better the paces are known and the more they differ.
 */
static double insn_before(const struct edges *e, const struct crossing *c)
{
	struct known_pace before = pace_of(e, c->before, c->from), after = pace_of(e, c->after, c->to);
	double all = 0, sum = 0;

	if (!(c->cyc > 0) || before.pace < 0 || after.pace < 0)
		return c->insn / 2;
	for (int i = 0; i < POINTS; i++) {
		double x = c->cyc * (i + 0.5) / POINTS, y = c->cyc - x;
		double v1 = before.sd * x * before.sd * x, v2 = after.sd * y * after.sd * y;
		double off = c->insn - before.pace * x - after.pace * y;
		double part = before.pace * x + off * v1 / (v1 + v2);
		double weight = exp(-off * off / (v1 + v2) / 2) / sqrt(v1 + v2);

		if (part < 0 || part > c->insn)
			continue;
		all += weight;
		sum += weight * part;
	}
	return all > 0 ? sum / all : c->insn / 2;
}

static void credit(const struct edges *e, int32_t scope, double part, double n_ends, double *insn,
                   double *ends)
{
	if (scope < 0 || (size_t)scope >= e->n)
		return;
	insn[scope] += part;
	ends[scope] += n_ends;
}

static int settle_crossings(struct edges *e, double *insn, double *n_ends)
{
	for (size_t i = 0; i < e->crossings.n; i++) {
		const struct crossing *c = &e->crossings.v[i];
		double before = insn_before(e, c);
		long k = pairs_number(&e->pairs, (uint64_t)c->from + 1, (uint64_t)c->to + 1);

		if (k < 0 || ((size_t)k == e->both.n && vec_push(&e->both, (struct both){ 0 }) < 0))
			return -SP_ENOMEM;
		e->both.v[k].before += before;
		e->both.v[k].after += c->insn - before;
		e->both.v[k].n++;
		credit(e, c->from, before, 1, insn, n_ends);
		credit(e, c->to, c->insn - before, 1, insn, n_ends);
	}
	return 0;
}

/* What a gap between samples in scopes a and b has of each, on average. */
static struct both usual(const struct edges *e, int32_t a, int32_t b)
{
	const struct pace *of_a = &e->paces[a + 1], *of_b = &e->paces[b + 1];
	long k = a == b ? -1 : pairs_find(&e->pairs, (uint64_t)a + 1, (uint64_t)b + 1);

	if (k >= 0)
		return (struct both){ e->both.v[k].before / e->both.v[k].n,
			              e->both.v[k].after / e->both.v[k].n, 1 };
	return (struct both){ of_a->n > 0 ? of_a->insn / of_a->n / 2 : 0,
		              of_b->n > 0 ? of_b->insn / of_b->n / 2 : 0, 1 };
}

int edges_settle(struct edges *e, double *insn, double *n_ends)
{
	int err;

	memset(insn, 0, e->n * sizeof(*insn));
	memset(n_ends, 0, e->n * sizeof(*n_ends));
	err = settle_crossings(e, insn, n_ends);
	for (size_t i = 0; err == 0 && i < e->rests.n; i++) {
		const struct rest *r = &e->rests.v[i];
		struct both first = usual(e, r->at[0], r->at[1]), second = usual(e, r->at[2], r->at[3]);
		double part[4] = { first.before, first.after, second.before, second.after },
		       sum = part[0] + part[1] + part[2] + part[3];

		for (size_t k = 0; k < 4; k++)
			credit(e, r->at[k], r->insn * (sum > 0 ? part[k] / sum : 0.25), 0.5, insn, n_ends);
	}
	return err;
}
