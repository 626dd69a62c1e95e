/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An interval of n and n' instructions on either side of its edge, which
 * counted y, differs from what the two scopes count elsewhere by
 * y - r n - r' n'.  Which of them is it that differs?  The one whose intervals
 * scatter more by themselves: the best linear estimate (eq. 39).
 */
#include "correct/evidence/borders.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "profiler/base/vec.h"

/* Intervals that tell what is counted at an edge. */
enum { MIN_COUNTED = 3 };

/* What is not known of the code at the edges is taken to differ from the rest as much as its intervals do, so many times. */
static const double as_unlike = 0.5;

/* What differs by more than that, in standard deviations of both, is code of neither. */
static const double far = 2;

struct counted {
	size_t crossing;
	int32_t from, to;
	uint32_t n;
	size_t first; /* of its counts */
};

struct count {
	int event;
	double n;
};

struct borders {
	VEC(struct counted) v;
	VEC(struct count) counts;
};

/* What was counted at the edges of one scope. */
struct side {
	double n, insn, insn_sq, sum, sq, cross; /* intervals, and sums of theirs */
	double unsure;                           /* that may be the other side's, with its sign */
};

struct borders *borders_new(void)
{
	return calloc(1, sizeof(struct borders));
}

void borders_free(struct borders *b)
{
	if (!b)
		return;
	vec_fini(&b->v);
	vec_fini(&b->counts);
	free(b);
}

int borders_add(struct borders *b, const struct border *in)
{
	struct counted c = { in->crossing, in->from, in->to, (uint32_t)in->n, b->counts.n };

	for (size_t i = 0; i < in->n; i++)
		if (vec_push(&b->counts, (struct count){ in->events[i], in->counts[i] }) < 0)
			return -SP_ENOMEM;
	return vec_push(&b->v, c);
}

static bool count_of(const struct borders *b, const struct counted *c, int event, double *y)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (b->counts.v[c->first + i].event == event) {
			*y = b->counts.v[c->first + i].n;
			return true;
		}
	return false;
}

static void add_side(struct side *s, double insn, double count, double unsure)
{
	s->n++;
	s->insn += insn;
	s->insn_sq += insn * insn;
	s->sum += count;
	s->sq += count * count;
	s->cross += count * insn;
	s->unsure += unsure;
}

/* eq. 39 */
static void divide(const struct ratio *from, const struct ratio *to, double before, double after, double y,
                   struct side *s_from, struct side *s_to)
{
	double v = from->spread * before * from->spread * before,
	       v_to = to->spread * after * to->spread * after;
	double more = y - from->ratio * before - to->ratio * after,
	       part = v + v_to > 0 ? v / (v + v_to) : 0.5;
	double theirs = fmax(fmin(more, far * sqrt(v + v_to)), -far * sqrt(v + v_to));
	double unsure = sqrt(part * (1 - part)) * theirs + (more - theirs) / 2;

	add_side(s_from, before, from->ratio * before + part * theirs, unsure);
	add_side(s_to, after, to->ratio * after + (1 - part) * theirs, unsure);
}

/* The scope's ratio, of the inside and the edges together. */
static void join(const struct side *s, const struct ratio *inside, double share, struct ratio *out)
{
	double ratio, scatter, se;

	*out = *inside;
	if (s->n < MIN_COUNTED || !(s->insn > 0)) {
		out->se = fmax(out->se, hypot(inside->se_inside, as_unlike * share * inside->spread));
		return;
	}
	ratio = s->sum / s->insn;
	scatter = fmax(s->sq - 2 * ratio * s->cross + ratio * ratio * s->insn_sq, 0) * s->n / (s->n - 1);
	se = hypot(sqrt(scatter), s->unsure) / s->insn;
	out->ratio = (1 - share) * inside->ratio + share * ratio;
	out->se = hypot((1 - share) * inside->se_inside, share * se);
}

int borders_join(const struct borders *b, const struct edges *e, int event, const struct ratio *inside,
                 const double *share, struct ratio *out, size_t n)
{
	struct side *sides = calloc(n + 1, sizeof(*sides));

	if (!sides)
		return sp_fail(SP_ENOMEM, "out of memory for %zu scopes", n);
	for (size_t i = 0; i < b->v.n; i++) {
		const struct counted *c = &b->v.v[i];
		double before, after, y;

		if (!(inside[c->from].counted_insn > 0) || !(inside[c->to].counted_insn > 0) ||
		    !count_of(b, c, event, &y))
			continue;
		edges_divided(e, c->crossing, &before, &after);
		divide(&inside[c->from], &inside[c->to], before, after, y, &sides[c->from], &sides[c->to]);
	}
	for (size_t s = 0; s < n; s++)
		join(&sides[s], &inside[s], share[s], &out[s]);
	free(sides);
	return 0;
}
