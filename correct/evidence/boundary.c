/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/boundary.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

static const double unknown = -1;

enum { ENDS = 4 }; /* two of each of an interval's pieces */

struct pace {
	double insn, cyc;
};

/* One interval, its ends in the order of time. */
struct crossing {
	int32_t at[ENDS];
	bool rested;
	float insn, cyc; /* cyc 0: not counted */
};

/* Of all crossings from one scope to another. */
struct both {
	int32_t from, to;
	double wrong; /* standard deviation, the same way at each */
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
	struct pace sampled;       /* of all scopes, where samples alone tell it */
	struct pairs pairs;        /* (from + 1, to + 1) -> both[] */
	VEC(struct both) both;
	VEC(struct crossing) crossings;
};

struct boundary *boundary_new(size_t n)
{
	struct boundary *e = mem_calloc(1, sizeof(*e));

	e->n = n;
	e->paces = mem_calloc(n + 1, sizeof(*e->paces));
	e->sums = mem_calloc(n + 1, sizeof(*e->sums));
	return e;
}

void boundary_free(struct boundary *e)
{
	if (!e)
		return;
	vec_fini(&e->both);
	vec_fini(&e->crossings);
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

static struct both *both_of(struct boundary *e, int32_t from, int32_t to)
{
	struct both *both = pairs_in(&e->pairs, &e->both, (uint64_t)from + 1, (uint64_t)to + 1);

	both->from = from;
	both->to = to;
	return both;
}

void boundary_cross(struct boundary *e, int32_t from, int32_t to, double insn, double cyc)
{
	both_of(e, from, to)->n_all++;
	vec_add(&e->crossings,
	        ((struct crossing){ .at = { from, from, to, to }, .insn = (float)insn, .cyc = (float)cyc }));
}

void boundary_rest(struct boundary *e, const int32_t at[4], double insn, double cyc)
{
	/* Where the thread crossed between two groups' samples, an interval of each is in pieces there. */
	for (size_t k = 0; k < ENDS; k += 2)
		both_of(e, at[k], at[k + 1])->n_all += at[k] == at[k + 1] ? 0 : 0.5;
	both_of(e, at[0], at[ENDS - 1]);
	vec_add(&e->crossings, ((struct crossing){ .at = { at[0], at[1], at[2], at[3] },
	                                           .rested = true,
	                                           .insn = (float)insn,
	                                           .cyc = (float)cyc }));
}

void boundary_late(struct boundary *e, int32_t from, int32_t to, double insn, double sampled)
{
	both_of(e, from, to)->wrong += insn;
	e->sums[from + 1].unsure += sampled;
	e->sums[to + 1].unsure += sampled;
}

void boundary_sampled(struct boundary *e, int32_t scope, double insn, double cyc)
{
	boundary_inside(e, scope, insn, cyc);
	e->sampled.insn += insn;
	e->sampled.cyc += cyc;
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

/* The more a scope is mixed the more visits no sample fell in, and then other code ran there, too. */
static double trust_for_mixing(const struct crossing *x, const struct visits *v)
{
	double over = 0;

	for (size_t k = 0; k < ENDS; k++)
		over = fmax(over, x->at[k] < 0 ? 0 : over_half(&v[x->at[k]]));
	return 1 - 2 * over;
}

/*
 * eq. 4: which part of an interval each of its ends has, and the standard deviation of half of it, the same way at every one.  As much where
 * paces are alike or not known; the more they differ the surer they say, of N instructions in T cycles, how many cycles
 * of each make up the N.
 */
static double find_parts(const struct boundary *e, const struct crossing *x, const struct visits *v,
                         double part[ENDS])
{
	double pace[ENDS], mean = 0, square = 0, sum = 0, half, from_paces, trust, more;

	for (size_t k = 0; k < ENDS; k++)
		part[k] = 1. / ENDS;
	for (size_t k = 0; k < ENDS; k++) {
		pace[k] = pace_of(e, x->at[k]);
		if (pace[k] < 0 || !(x->insn > 0) || !(x->cyc > 0))
			return x->cyc > 0 ? model->guess / 2 : x->at[0] < 0 ? 0 : model->guess / ENDS;
		mean += pace[k] / ENDS;
	}
	for (size_t k = 0; k < ENDS; k++)
		square += (pace[k] - mean) * (pace[k] - mean);
	if (!(square > 0))
		return 0;
	half = sqrt(square / ENDS) / mean / 2;
	from_paces = model->biased / half / 4;
	trust = half * half / (half * half + from_paces * from_paces) * trust_for_mixing(x, v);
	more = ((double)x->insn / (double)x->cyc - mean) / square;
	for (size_t k = 0; k < ENDS; k++)
		sum += pace[k] * fmax(1. / ENDS + more * (pace[k] - mean), 0);
	for (size_t k = 0; k < ENDS; k++)
		part[k] += trust * (pace[k] * fmax(1. / ENDS + more * (pace[k] - mean), 0) / sum - part[k]);
	return half * sqrt(1 - trust);
}

/* Overflows of the last S cycles before a crossing have their samples after it; a thread's first interval has none. */
static void add_carried(struct boundary *e, const struct crossing *x, size_t end, double skid_cyc)
{
	int32_t from = x->at[end], to = x->at[end + 1];
	double pace = from < 0 ? unknown : pace_of(e, from), n = x->rested ? 0.5 : 1, carried, unsure;

	if (from == to)
		return;
	if (pace >= 0 && (x->cyc > 0 || e->sampled.cyc > 0))
		carried = skid_cyc * n * pace;
	else if (x->cyc > 0)
		carried = skid_cyc * n * (double)x->insn / (double)x->cyc;
	else if (e->sampled.cyc > 0)
		carried = skid_cyc * n * e->sampled.insn / e->sampled.cyc;
	else
		carried = from < 0 ? 0 * skid_cyc : NAN;
	unsure = (pace >= 0 ? model->neighbours_off : model->guess) * carried;
	e->sums[from + 1].out += carried;
	e->sums[to + 1].in += carried;
	e->sums[from + 1].unsure += unsure;
	e->sums[to + 1].unsure += unsure;
}

static void divide(struct boundary *e, const struct crossing *x, const struct visits *v, double skid_cyc)
{
	double part[ENDS], wrong = find_parts(e, x, v, part) * (double)x->insn;
	struct both *both =
	        &e->both.v[pairs_find(&e->pairs, (uint64_t)x->at[0] + 1, (uint64_t)x->at[ENDS - 1] + 1)];

	for (size_t k = 0; k < ENDS; k++)
		credit(e, x->at[k], part[k] * (double)x->insn, 0.5);
	both->wrong += wrong;
	for (size_t k = x->rested ? 0 : 1; k + 1 < ENDS; k += 2)
		add_carried(e, x, k, skid_cyc);
}

/* What is wrong the same way at every crossing between two scopes is independent of what is between two others. */
static void add_wrong(struct boundary *e)
{
	for (size_t k = 0; k < e->both.n; k++) {
		const struct both *b = &e->both.v[k];
		struct boundary_sum *from = &e->sums[b->from + 1], *to = &e->sums[b->to + 1];

		if (b->from == b->to)
			continue;
		from->wrong = hypot(from->wrong, b->wrong);
		to->wrong = hypot(to->wrong, b->wrong);
	}
}

static void find_visits(struct boundary *e, const double *samples, struct visits *v)
{
	for (size_t s = 0; s < e->n; s++) {
		v[s].all = e->paces[s + 1].insn + e->sums[s + 1].insn;
		v[s].samples = v[s].around = samples[s];
	}
	for (size_t i = 0; i < e->crossings.n; i++)
		for (size_t k = 0; k < ENDS; k++)
			if (e->crossings.v[i].at[k] >= 0)
				v[e->crossings.v[i].at[k]].all += (double)e->crossings.v[i].insn / ENDS;
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

void boundary_settle(struct boundary *e, double skid_cyc, const double *samples, struct boundary_sum *sums)
{
	struct visits *v = mem_calloc(e->n + 1, sizeof(*v));

	find_visits(e, samples, v);
	for (size_t i = 0; i < e->crossings.n; i++)
		divide(e, &e->crossings.v[i], v, skid_cyc);
	add_wrong(e);
	add_mixed(e, v);
	memcpy(sums, e->sums + 1, e->n * sizeof(*sums));
	free(v);
}
