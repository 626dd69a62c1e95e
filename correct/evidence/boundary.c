/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/boundary.h"

#include <math.h>
#include <stdbool.h>
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
	double n, insn, cyc; /* of those whose cycles were counted */
	double untimed;      /* instructions of the others */
	double n_all,
	        either; /* crossings this way; this way or the other: 0 where that pair tells it, or a side is in none */
};

/* Of one scope. */
struct visits {
	double all;             /* its instructions */
	double samples, around; /* in it, and in it and those that it alternates with */
	double known;           /* crossings between it and other scopes, either way */
	double others; /* instructions of these, for the share of their crossings that they have with it */
	double mixed;  /* what is not known of it for its mixing, in instructions */
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
		b->n++;
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

static double either_way(const struct boundary *e, const struct both *b)
{
	long k;

	if (b->from < 0 || b->to < 0)
		return 0;
	k = pairs_find(&e->pairs, (uint64_t)b->to + 1, (uint64_t)b->from + 1);
	if (k < 0)
		return b->n_all;
	return b->from > b->to ? 0 : b->n_all + e->both.v[k].n_all;
}

/*
 * eq. 4: where the next sample is in the scope or not without regard to this one, nothing is known of when it was
 * entered and left; 1 then, near 0 where samples stay for long.
 */
static double mixing(const struct visits *v)
{
	double others = 1 - v->samples / fmax(v->around, 1);

	return v->samples > 0 && others > 0 ? fmin(v->known / 2 / v->samples / others, 1) : 0;
}

/* Below a half nothing is to be seen of it. */
static double over_half(const struct visits *v)
{
	return fmax(mixing(v) - 0.5, 0);
}

/* No more than there are on either side. */
static double mixed_of(const struct visits *v)
{
	double over = over_half(v);

	return over * over * fmin(v->all, v->others);
}

static void find_around(struct boundary *e, struct visits *v)
{
	for (size_t k = 0; k < e->both.n; k++) {
		struct both *b = &e->both.v[k];

		b->either = either_way(e, b);
		if (b->either > 0) {
			v[b->from].known += b->either;
			v[b->to].known += b->either;
		}
	}
	for (size_t k = 0; k < e->both.n; k++) {
		const struct both *both = &e->both.v[k];
		struct visits *a, *b;

		if (!(both->either > 0))
			continue;
		a = &v[both->from];
		b = &v[both->to];
		a->others += b->all * both->either / b->known;
		b->others += a->all * both->either / a->known;
		if (both->either > model->chance * a->known)
			a->around += b->samples;
		if (both->either > model->chance * b->known)
			b->around += a->samples;
	}
}

/*
 * eq. 4: which part of a boundary interval ran before the crossing, and its standard deviation, the same way at every one.  Half where
 * paces are alike or not known; the more they differ the surer they say, of N instructions in T cycles, how many cycles
 * before the crossing make up the N.  But the more a scope is mixed the more visits no sample fell in, and then other code ran there, too.
 */
static double part_before(const struct boundary *e, const struct both *b, const struct visits *v, double *sd)
{
	double before = pace_of(e, b->from), after = pace_of(e, b->to), differ, solved, half, from_paces,
	       trust;

	*sd = model->guess / 2;
	if (before < 0 || after < 0 || !(before + after > 0) || !(b->insn > 0))
		return 0.5;
	differ = fabs(before - after) / (before + after);
	half = differ / 2;
	*sd = half;
	if (differ == 0)
		return 0.5;
	from_paces = model->crossing_pace_off / differ / 2;
	trust = half * half / (half * half + from_paces * from_paces);
	trust *= 1 - 2 * fmax(b->from < 0 ? 0 : over_half(&v[b->from]), b->to < 0 ? 0 : over_half(&v[b->to]));
	solved = before * (b->insn - after * b->cyc) / (before - after) / b->insn;
	*sd = half * sqrt(1 - trust);
	return 0.5 + trust * (fmin(fmax(solved, 0), 1) - 0.5);
}

/* A thread's first interval has no crossing: the thread began there. */
static void divide(struct boundary *e, const struct both *b, const struct visits *v)
{
	struct boundary_sum *from = &e->sums[b->from + 1], *to = &e->sums[b->to + 1];
	double sd, part = part_before(e, b, v, &sd), first = part * b->insn + b->untimed / 2,
	           wrong = sd * b->insn + (b->from < 0 ? 0 : model->untimed_off * b->untimed);

	credit(e, b->from, first, b->n_all);
	credit(e, b->to, b->insn + b->untimed - first, b->n_all);
	from->wrong = hypot(from->wrong, wrong);
	to->wrong = hypot(to->wrong, wrong);
}

/* Overflows of the last S cycles before a crossing have their samples after it; a thread's first interval has none. */
static void add_carried(const struct boundary *e, const struct both *b, double skid_cyc,
                        struct boundary_sum *from, struct boundary_sum *to)
{
	double pace = b->from < 0 ? unknown : pace_of(e, b->from);
	bool known = pace >= 0;
	double carried = b->untimed > 0 && b->from >= 0 ? NAN : 0 * skid_cyc;

	if (b->n > 0)
		carried += skid_cyc * b->n * (known ? pace : b->insn / b->cyc);
	from->out += carried;
	to->in += carried;
	from->unsure += (known ? model->neighbours_off : model->guess) * carried;
	to->unsure += (known ? model->neighbours_off : model->guess) * carried;
}

/* What is wrong the same way at every crossing between two scopes is independent of what is between two others. */
static void add_both(struct boundary *e, const struct both *b, const struct visits *v, double skid_cyc)
{
	divide(e, b, v);
	add_carried(e, b, skid_cyc, &e->sums[b->from + 1], &e->sums[b->to + 1]);
}

static void find_visits(struct boundary *e, const double *samples, struct visits *v)
{
	for (size_t s = 0; s < e->n; s++) {
		v[s].all = e->paces[s + 1].insn + e->sums[s + 1].insn;
		v[s].samples = v[s].around = samples[s];
	}
	for (size_t k = 0; k < e->both.n; k++) {
		const struct both *b = &e->both.v[k];

		if (b->from >= 0)
			v[b->from].all += (b->insn + b->untimed) / 2;
		if (b->to >= 0)
			v[b->to].all += (b->insn + b->untimed) / 2;
	}
	find_around(e, v);
}

static void add_mixed(struct boundary *e, struct visits *v)
{
	for (size_t s = 0; s < e->n; s++)
		e->sums[s + 1].mixed = v[s].mixed = mixed_of(&v[s]);
	/* What one has too much of, those around it have too little. */
	for (size_t k = 0; k < e->both.n; k++) {
		const struct both *both = &e->both.v[k];
		int32_t a = both->from, b = both->to;

		if (!(both->either > 0))
			continue;
		e->sums[a + 1].mixed = hypot(e->sums[a + 1].mixed, v[b].mixed * both->either / v[b].known);
		e->sums[b + 1].mixed = hypot(e->sums[b + 1].mixed, v[a].mixed * both->either / v[a].known);
	}
}

int boundary_settle(struct boundary *e, double skid_cyc, const double *samples, struct boundary_sum *sums)
{
	struct visits *v = calloc(e->n + 1, sizeof(*v));

	if (!v)
		return sp_fail(SP_ENOMEM, "out of memory for %zu scopes", e->n);
	find_visits(e, samples, v);
	for (size_t k = 0; k < e->both.n; k++)
		add_both(e, &e->both.v[k], v, skid_cyc);
	add_mixed(e, v);
	memcpy(sums, e->sums + 1, e->n * sizeof(*sums));
	free(v);
	return 0;
}
