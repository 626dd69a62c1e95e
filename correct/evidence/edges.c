/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/edges.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

enum { POINTS = 200, MAX_ROUNDS = 50 };

/* How far a pace is from that of the next interval: at least; the same in instructions a cycle. */
static const double min_spread = 0.03, min_sd = 0.03;

/* Cycles that a change of loops may stall for, and instructions in flight then: reorder buffers hold 128 to 512. */
static const double stall_cyc = 40, in_flight = 448;

/* What the skid carries may be off by, where the pace next to the edge is known and where it is not. */
static const double carried_off = 0.05, carried_guess = 0.5;

/* More visits than that are not told from those that are seen. */
static const double max_hidden = 0.9;

/* Crossings of a scope that are to or from another, where the two alternate. */
static const double min_alternate = 0.05;

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
	int32_t from, to;
	double n, before, after; /* instructions on either side */
	double wrong;            /* the standard deviation of these, the same way at each */
	double out, in, unsure;  /* eq. 35: carried out of the one and into the other */
	double hidden;           /* visits to a third between them that no sample fell in ... */
	double hidden_in;        /* ... and what would be carried out of these */
	double either; /* crossings this way or the other; 0 where that pair tells it, or a side is in none */
};

/* Of one scope. */
struct visits {
	double in, out;         /* crossings into it, and out of it */
	double hidden;          /* as many more, with no sample */
	double all, insn;       /* instructions in all, and of one of them */
	double samples, around; /* in it, and in it and those that it alternates with */
	double known;           /* crossings between it and other scopes, either way */
	double others; /* instructions of these, for the share of their crossings that they have with it */
	double mixed;  /* what is not known of it for its mixing, in instructions */
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

/* Instructions before the edge, and by how many that may be off the same way every time. */
struct split {
	double before, wrong;
};

/*
 * What neither pace tells, in instructions: the stall at an edge, and what of the slower side was done ahead while the
 * faster one held the reorder buffer, or the other way round.
 */
static double at_edge(double slow, double fast)
{
	return hypot(stall_cyc * fast, in_flight / 2 * (1 - slow / fmax(fast, 1e-9)));
}

/*
 * What is wrong at every such edge alike: the edge moves by u where the paces alone say where it is, and the less the
 * more the interval's length v does; and what neither pace explains.
 */
static double same_way(const struct crossing *c, struct known_pace before, struct known_pace after)
{
	double slow = fmin(before.pace, after.pace), fast = fmax(before.pace, after.pace);
	double edge = at_edge(slow, fast), u = edge / fmax(fast - slow, 1e-9), v = c->cyc * c->cyc / 12;
	double sd = hypot(edge, (before.sd + after.sd) / 2 * c->cyc);
	double past = fmax(slow * c->cyc - 2 * sd - c->insn, c->insn - fast * c->cyc - 2 * sd);

	return hypot((slow + fast) / 2 * v * u / (v + u * u), fmax(past, 0));
}

/*
 * eq. 31: the time x before the edge may be any part of the interval's; insn = before x + after (cyc - x) tells it the
 * better, the better the paces are known and the more they differ.
 */
static struct split split_crossing(const struct crossing *c, struct known_pace before,
                                   struct known_pace after)
{
	double all = 0, sum = 0, edge = at_edge(fmin(before.pace, after.pace), fmax(before.pace, after.pace));

	for (int i = 0; i < POINTS; i++) {
		double x = c->cyc * (i + 0.5) / POINTS, y = c->cyc - x;
		double v1 = before.sd * x * before.sd * x, v2 = after.sd * y * after.sd * y,
		       w = v1 + v2 + edge * edge;
		double off = c->insn - before.pace * x - after.pace * y;
		double part = before.pace * x + off * (v1 + edge * edge / 2) / w;
		double weight = exp(-off * off / w / 2) / sqrt(w);

		if (part < 0 || part > c->insn)
			continue;
		all += weight;
		sum += weight * part;
	}
	if (!(all > 0))
		return (struct split){ c->insn / 2, c->insn / 4 };
	return (struct split){ sum / all, same_way(c, before, after) };
}

static void credit(const struct edges *e, int32_t scope, double part, double n_ends, struct edge_sum *sums)
{
	if (scope < 0 || (size_t)scope >= e->n)
		return;
	sums[scope].insn += part;
	sums[scope].n_ends += n_ends;
}

static struct both *both_of(struct edges *e, int32_t from, int32_t to)
{
	long k = pairs_number(&e->pairs, (uint64_t)from + 1, (uint64_t)to + 1);

	if (k < 0 ||
	    ((size_t)k == e->both.n && vec_push(&e->both, (struct both){ .from = from, .to = to }) < 0))
		return NULL;
	return &e->both.v[k];
}

/* Overflows of the last S cycles before an edge have their samples after it; a thread's first interval has none. */
static void add_carried(struct both *both, const struct crossing *c, double pace, double skid_cyc)
{
	bool known = c->from >= 0 && pace >= 0;
	double carried = c->cyc > 0    ? skid_cyc * (pace >= 0 ? pace : c->insn / c->cyc)
	                 : c->from < 0 ? 0 * skid_cyc
	                               : NAN;

	both->out += carried;
	both->in += carried;
	both->unsure += (known ? carried_off : carried_guess) * carried;
}

/* Half to each side is wrong by the skid, times what the paces differ by; of a thread's first interval by nothing. */
static double half_off(const struct crossing *c, double skid_cyc)
{
	if (!(c->cyc > 0))
		return c->from < 0 ? 0 : c->insn / 8;
	return fmin(c->insn / 4, skid_cyc * c->insn / c->cyc);
}

static int settle_crossing(struct edges *e, struct crossing *c, double skid_cyc, struct edge_sum *sums)
{
	struct known_pace before = pace_of(e, c->before, c->from), after = pace_of(e, c->after, c->to);
	struct split s = { c->insn / 2, half_off(c, skid_cyc) };
	struct both *both = both_of(e, c->from, c->to);

	if (!both)
		return -SP_ENOMEM;
	if (c->cyc > 0 && before.pace >= 0 && after.pace >= 0)
		s = split_crossing(c, before, after);
	both->n++;
	both->before += s.before;
	both->after += c->insn - s.before;
	both->wrong += s.wrong;
	add_carried(both, c, before.pace, skid_cyc);
	credit(e, c->from, s.before, 1, sums);
	credit(e, c->to, c->insn - s.before, 1, sums);
	return 0;
}

double edges_hidden(const struct edge_samples *samples, double n_seen)
{
	double hidden = 0;

	if (!(n_seen > 0) || !(samples->n_insn + samples->n_cyc > 0))
		return 0;
	for (int i = 0; i < MAX_ROUNDS; i++) {
		double all = n_seen / (1 - hidden);

		hidden = fmin(fmax(1 - samples->n_insn / all, 0) * fmax(1 - samples->n_cyc / all, 0),
		              max_hidden);
	}
	return hidden;
}

static void find_visits(const struct edges *e, const struct edge_samples *samples, struct edge_sum *sums,
                        struct visits *v)
{
	for (size_t k = 0; k < e->both.n; k++) {
		const struct both *b = &e->both.v[k];

		if (b->from >= 0)
			v[b->from].out += b->n;
		if (b->to >= 0)
			v[b->to].in += b->n;
	}
	for (size_t s = 0; s < e->n; s++) {
		double n = (v[s].in + v[s].out) / 2;

		sums[s].hidden = edges_hidden(&samples[s], n);
		v[s].hidden = n * sums[s].hidden / (1 - sums[s].hidden);
		v[s].all = e->paces[s + 1].insn + sums[s].insn;
		v[s].insn = n > 0 ? v[s].all / (n + v[s].hidden) : 0;
		v[s].samples = v[s].around = samples[s].n_insn + samples[s].n_cyc;
	}
}

/* Hidden visits to what is between `before` and `after`, from the one of these to the other. */
static void hide_between(struct edges *e, const struct both *before, const struct both *after,
                         const struct visits *v, double skid_cyc, struct edge_sum *sums)
{
	const struct visits *between = &v[before->to];
	const struct pace *p = &e->paces[before->to + 1];
	double n = between->hidden * before->n / between->in * after->n / between->out;
	long k = before->from == after->to
	                 ? -1
	                 : pairs_find(&e->pairs, (uint64_t)before->from + 1, (uint64_t)after->to + 1);

	if (k >= 0) {
		e->both.v[k].hidden += n;
		e->both.v[k].hidden_in += n * skid_cyc * (p->cyc > 0 ? p->insn / p->cyc : 0);
	}
	/* What they ran was taken to be of what is around them, as they did not go there for nothing. */
	if (before->from >= 0)
		sums[before->from].wrong = hypot(sums[before->from].wrong, n * between->insn / 2);
	if (after->to >= 0)
		sums[after->to].wrong = hypot(sums[after->to].wrong, n * between->insn / 2);
}

/* What is wrong the same way at every edge between two scopes is not at those between two others. */
static void add_both(const struct both *b, struct edge_sum *sums)
{
	double part = b->hidden > 0 ? fmin(1, b->n / b->hidden) : 0;
	double in = b->in * (1 - part * b->hidden / b->n) + part * b->hidden_in;

	if (b->from >= 0) {
		sums[b->from].out += b->out;
		sums[b->from].unsure += b->unsure;
		sums[b->from].wrong = hypot(sums[b->from].wrong, b->wrong);
	}
	if (b->to >= 0) {
		sums[b->to].in += in;
		sums[b->to].unsure += b->unsure + fabs(in - b->in) / 2;
		sums[b->to].wrong = hypot(sums[b->to].wrong, b->wrong);
	}
}

static double either_way(const struct edges *e, const struct both *b)
{
	long k;

	if (b->from < 0 || b->to < 0)
		return 0;
	k = pairs_find(&e->pairs, (uint64_t)b->to + 1, (uint64_t)b->from + 1);
	if (k < 0)
		return b->n;
	return b->from > b->to ? 0 : b->n + e->both.v[k].n;
}

/*
 * eq. 37: where the next sample is in the scope or not without regard to this one, nothing is known of when it was
 * entered and left; 1 then, near 0 where samples stay for long.
 */
static double mixing(const struct visits *v)
{
	double others = 1 - v->samples / fmax(v->around, 1);

	return v->samples > 0 && others > 0 ? fmin(v->known / 2 / v->samples / others, 1) : 0;
}

/* No more than there are on either side. */
static double mixed_of(const struct visits *v)
{
	double over = fmax(mixing(v) - 0.5, 0);

	return over * over * fmin(v->all, v->others);
}

static void add_mixed(struct edges *e, struct visits *v, struct edge_sum *sums)
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
		if (both->either > min_alternate * a->known)
			a->around += b->samples;
		if (both->either > min_alternate * b->known)
			b->around += a->samples;
	}
	for (size_t s = 0; s < e->n; s++)
		sums[s].mixed = v[s].mixed = mixed_of(&v[s]);
	/* What one has too much of, those around it have too little. */
	for (size_t k = 0; k < e->both.n; k++) {
		const struct both *both = &e->both.v[k];
		int32_t a = both->from, b = both->to;

		if (!(both->either > 0))
			continue;
		sums[a].mixed = hypot(sums[a].mixed, v[b].mixed * both->either / v[b].known);
		sums[b].mixed = hypot(sums[b].mixed, v[a].mixed * both->either / v[a].known);
	}
}

static int add_all(struct edges *e, double skid_cyc, const struct edge_samples *samples,
                   struct edge_sum *sums)
{
	struct visits *v = calloc(e->n + 1, sizeof(*v));

	if (!v)
		return sp_fail(SP_ENOMEM, "out of memory for %zu scopes", e->n);
	find_visits(e, samples, sums, v);
	for (size_t i = 0; i < e->both.n; i++) {
		const struct both *before = &e->both.v[i];

		if (before->to < 0 || !(v[before->to].hidden > 0))
			continue;
		for (size_t k = 0; k < e->both.n; k++)
			if (e->both.v[k].from == before->to)
				hide_between(e, before, &e->both.v[k], v, skid_cyc, sums);
	}
	for (size_t k = 0; k < e->both.n; k++)
		add_both(&e->both.v[k], sums);
	add_mixed(e, v, sums);
	free(v);
	return 0;
}

/* What a gap between samples in scopes a and b has of each, on average. */
static void usual(const struct edges *e, int32_t a, int32_t b, double part[2])
{
	const struct pace *of_a = &e->paces[a + 1], *of_b = &e->paces[b + 1];
	long k = a == b ? -1 : pairs_find(&e->pairs, (uint64_t)a + 1, (uint64_t)b + 1);

	part[0] = of_a->n > 0 ? of_a->insn / of_a->n / 2 : 0;
	part[1] = of_b->n > 0 ? of_b->insn / of_b->n / 2 : 0;
	if (k >= 0) {
		part[0] = e->both.v[k].before / e->both.v[k].n;
		part[1] = e->both.v[k].after / e->both.v[k].n;
	}
}

int edges_settle(struct edges *e, double skid_cyc, const struct edge_samples *samples, struct edge_sum *sums)
{
	int err = 0;

	memset(sums, 0, e->n * sizeof(*sums));
	for (size_t i = 0; i < e->crossings.n && err == 0; i++)
		err = settle_crossing(e, &e->crossings.v[i], skid_cyc, sums);
	if (err == 0)
		err = add_all(e, skid_cyc, samples, sums);
	for (size_t i = 0; err == 0 && i < e->rests.n; i++) {
		const struct rest *r = &e->rests.v[i];
		double part[4], sum;

		usual(e, r->at[0], r->at[1], part);
		usual(e, r->at[2], r->at[3], part + 2);
		sum = part[0] + part[1] + part[2] + part[3];
		for (size_t k = 0; k < 4; k++)
			credit(e, r->at[k], r->insn * (sum > 0 ? part[k] / sum : 0.25), 0.5, sums);
	}
	return err;
}
