/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ratio of an event to instructions from those intervals in which it was
 * counted, with what is known of all of them as help (eq. 7): a generalised
 * regression estimator of survey sampling (Sarndal, Swensson and Wretman,
 * Model Assisted Survey Sampling, 1992, chapter 6).  It is right whatever the
 * model of a count is, and the nearer the model the less it scatters.
 *
 * The model of a count is the bare ratio, and what intervals that end at this place count above it.  A place that was met a
 * few times only is believed as far as places differ by more than chance.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/ratio.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

/* The events that a group counts, or those of them that could be read. */
struct set {
	int *events;
	size_t n;
};

struct interval {
	uint32_t place, set;
	float insn;
	uint32_t next; /* index of the next one of its run; 0 = there is none */
	size_t counts; /* index of the first */
};

/* Its first interval and its last. */
struct ends {
	uint32_t first, last;
};

struct ratios {
	VEC(struct set) sets;
	VEC(struct interval) v;
	VEC(float) counts;
	VEC(struct ends) runs;
	uint32_t n_places;
	double insn;
};

struct ratios *ratios_new(void)
{
	return mem_calloc(1, sizeof(struct ratios));
}

void ratios_free(struct ratios *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->sets.n; i++)
		free(r->sets.v[i].events);
	vec_fini(&r->sets);
	vec_fini(&r->v);
	vec_fini(&r->counts);
	vec_fini(&r->runs);
	free(r);
}

/* Number of a set of events, one more if it is new. */
static size_t set_of(struct ratios *r, const int *events, size_t n)
{
	int *copy;

	for (size_t i = 0; i < r->sets.n; i++)
		if (r->sets.v[i].n == n && memcmp(r->sets.v[i].events, events, n * sizeof(*events)) == 0)
			return i;
	vec_room(&r->sets, r->sets.n + 1);
	copy = mem_malloc((n + 1) * sizeof(*copy));
	memcpy(copy, events, n * sizeof(*copy));
	r->sets.v[r->sets.n] = (struct set){ copy, n };
	return r->sets.n++;
}

void ratios_add(struct ratios *r, const struct ratio_interval *in, uint32_t *run)
{
	const struct interval v = { .place = in->place,
		                    .set = (uint32_t)set_of(r, in->events, in->n),
		                    .insn = (float)in->insn,
		                    .counts = r->counts.n };
	const uint32_t at = (uint32_t)r->v.n;

	for (size_t i = 0; i < in->n; i++)
		vec_add(&r->counts, (float)in->counts[i]);
	if (in->place >= r->n_places)
		r->n_places = in->place + 1;
	r->insn += v.insn;
	vec_add(&r->v, v);
	if (*run == UINT32_MAX) {
		*run = (uint32_t)r->runs.n;
		vec_add(&r->runs, ((struct ends){ at, at }));
	} else {
		r->v.v[r->runs.v[*run].last].next = at;
		r->runs.v[*run].last = at;
	}
}

/* The event's place in each set, -1 where it is not. */
static int *find_in_sets(const struct ratios *r, int event)
{
	int *at = mem_malloc((r->sets.n + 1) * sizeof(*at));

	for (size_t s = 0; s < r->sets.n; s++) {
		at[s] = -1;
		for (size_t i = 0; i < r->sets.v[s].n; i++)
			if (r->sets.v[s].events[i] == event)
				at[s] = (int)i;
	}
	return at;
}

/* What was counted at one place. */
struct place {
	double n;          /* intervals */
	double sq, by_sum; /* of their instructions squared, and times what they counted above the ratio */
	double own_sq, own_by_sum; /* the same of one run */
	double all;                /* instructions, counted or not */
};

/* Of a run, in intervals that counted the event. */
struct run {
	double n, insn, above; /* intervals, their instructions, and what they counted above the ratio */
	double expected;       /* of that by their places, as all other runs tell these */
};

struct fit {
	const struct ratios *r;
	const int *at;
	double n, insn, sum; /* of the intervals in which it was counted */
	double ratio;        /* per instruction */
	double between;      /* standard deviation of places' ratios, beyond chance */
	double chance;       /* of an interval beside its place: variance */
	double trust;        /* share of what places count above the ratio that holds for other runs */
	struct place *places;
	struct run *runs; /* [runs.n] */
};

/* What an interval counted, false where that isn't known. */
static bool count_of(const struct fit *f, const struct interval *v, double *count)
{
	int at = f->at[v->set];

	if (at < 0)
		return false;
	*count = f->r->counts.v[v->counts + (size_t)at];
	return true;
}

/*
 * Places differ by more than chance: variance between them and within one, from the scatter (analysis of variance).  What a
 * place counts goes with its instructions, so that each interval's say is by the square of those: what a few read that
 * hardly ran any, next to each other, would else be told of all that ran there.
 */
static void fit_places(struct fit *f)
{
	double within = 0, between = 0, sum = 0, sum_sq = 0, n = 0, y;

	for (size_t i = 0; i < f->r->v.n; i++) {
		const struct interval *v = &f->r->v.v[i];
		struct place *p = &f->places[v->place];
		double insn = v->insn;

		p->all += insn;
		if (!count_of(f, &f->r->v.v[i], &y))
			continue;
		y -= f->ratio * insn;
		p->n++;
		p->sq += insn * insn;
		p->by_sum += insn * y;
		within += y * y;
	}
	for (uint32_t h = 0; h < f->r->n_places; h++) {
		const struct place *p = &f->places[h];

		if (!(p->sq > 0))
			continue;
		n++;
		sum += p->sq;
		sum_sq += p->sq * p->sq;
		between += p->by_sum * p->by_sum / p->sq;
	}
	if (n < 2 || f->n <= n)
		return;
	f->chance = fmax(within - between, 0) / (f->n - n);
	f->between = sqrt(fmax((between - (n - 1) * f->chance) / (sum - sum_sq / sum), 0));
}

/* Above the ratio, an instruction: of it what is believed. */
static double above_at(const struct fit *f, double sq, double by_sum)
{
	double more = f->between * f->between;

	return sq > 0 && more > 0 ? by_sum * more / (sq * more + f->chance) : 0;
}

static const struct interval *next_in_run(const struct ratios *r, const struct interval *v)
{
	return v->next ? &r->v.v[v->next] : NULL;
}

/* One run's intervals, which others are to be expected without. */
static void add_run(struct fit *f, const struct ends *ends, struct run *run)
{
	const struct ratios *r = f->r;
	const struct interval *first = &r->v.v[ends->first], *v;
	double y;

	for (v = first; v; v = next_in_run(r, v)) {
		double insn = v->insn;

		if (!count_of(f, v, &y))
			continue;
		y -= f->ratio * insn;
		run->n++;
		run->insn += insn;
		run->above += y;
		f->places[v->place].own_sq += insn * insn;
		f->places[v->place].own_by_sum += insn * y;
	}
	for (v = first; v; v = next_in_run(r, v)) {
		const struct place *p = &f->places[v->place];

		if (count_of(f, v, &y))
			run->expected +=
			        (double)v->insn * above_at(f, p->sq - p->own_sq, p->by_sum - p->own_by_sum);
	}
	for (v = first; v; v = next_in_run(r, v))
		f->places[v->place].own_sq = f->places[v->place].own_by_sum = 0;
}

/*
 * Intervals of a run are alike for other reasons than where they end.  So places are trusted as far as what other runs say of
 * them goes along with what a run counted.
 */
static void find_trust(struct fit *f)
{
	double product = 0, square = 0;

	for (size_t k = 0; k < f->r->runs.n; k++) {
		struct run *run = &f->runs[k];

		add_run(f, &f->r->runs.v[k], run);
		product += run->above * run->expected;
		square += run->expected * run->expected;
	}
	f->trust = square > 0 ? fmin(fmax(product / square, 0), 1) : 0;
}

/*
 * eq. 7: the model over all intervals, and what it misses where the event was counted.  There a run is expected by the others,
 * as intervals that were not counted are: a place of one interval would else fit that one, and no other.
 */
static double estimate(const struct fit *f)
{
	double all = 0, counted = 0, y;

	for (size_t k = 0; k < f->r->runs.n; k++)
		counted += f->trust * f->runs[k].expected;
	for (size_t i = 0; i < f->r->v.n; i++) {
		const struct interval *v = &f->r->v.v[i];
		const struct place *p = &f->places[v->place];

		if (!count_of(f, &f->r->v.v[i], &y))
			all += f->trust * above_at(f, p->sq, p->by_sum) * (double)v->insn;
	}
	return f->ratio + (all + counted) / f->r->insn - counted / f->insn;
}

/* What the bare ratio misses by, and the model, made without the run, beside its mean: squares of a run's sum, over all runs. */
static void scatter(const struct fit *f, double *fitted, double *bare)
{
	double mean = 0, n = 0;

	for (size_t k = 0; k < f->r->runs.n; k++) {
		mean += (f->runs[k].above - f->trust * f->runs[k].expected) / f->insn;
		n += f->runs[k].n > 0;
	}
	*fitted = *bare = 0;
	for (size_t k = 0; k < f->r->runs.n; k++) {
		const struct run *run = &f->runs[k];
		double miss = run->above - f->trust * run->expected - mean * run->insn;

		*bare += run->above * run->above;
		*fitted += miss * miss;
	}
	*fitted *= n / fmax(n - 1, 1);
}

/*
 * Variance of the ratio for places at which the event never was counted.  A rare block of a loop is run by intervals
 * that end elsewhere; but where many ended and none was counted, they were of another loop, that ran between two slots.
 */
static double never_counted(const struct fit *f)
{
	double sum = 0, sd = fmax(f->between, fmax(f->ratio, model->unseen_ratio));

	for (uint32_t h = 0; h < f->r->n_places; h++)
		if (f->places[h].n < 1 && f->places[h].all > model->small * f->r->insn)
			sum += f->places[h].all * f->places[h].all;
	return sum * sd * sd / (f->r->insn * f->r->insn);
}

/* How far the ratios of single intervals are from the mean: the standard deviation. */
static double differ(const struct fit *f)
{
	double squares = 0, insn = 0, y;

	for (size_t i = 0; i < f->r->v.n; i++) {
		double of = (double)f->r->v.v[i].insn;

		if (!count_of(f, &f->r->v.v[i], &y))
			continue;
		squares += (y - f->ratio * of) * (y - f->ratio * of);
		insn += of * of;
	}
	return insn > 0 ? sqrt(squares / insn) : 0;
}

/*
 * The intervals in which the event was counted are a sample of all, about
 * which the model's scatter counts; and all are one of what ran in the scope.
 * Its rest is what each visit began and ended with, which may be the same code each time, and
 * differ from the mean as intervals do.
 */
static void standard_error(const struct fit *f, double total_insn, struct ratio *out)
{
	double part = fmin(f->insn / total_insn, 1), all = fmin(f->r->insn / total_insn, 1),
	       of_inside = part / all, never = sqrt(never_counted(f)), fitted = 0, bare = 0;

	scatter(f, &fitted, &bare);
	fitted *= fmax(1 - of_inside, 0);
	/* What was not counted may differ from what was by as much again. */
	out->se = hypot(sqrt((fitted + bare * of_inside * (1 - all)) * (2 - part)) / f->insn, never);
	out->se = hypot(out->se, (1 - all) * differ(f));
}

static void fit_fini(struct fit *f)
{
	free(f->places);
	free(f->runs);
}

static void fit_init(struct fit *f, const struct ratios *r, const int *at)
{
	*f = (struct fit){ .r = r,
		           .at = at,
		           .places = mem_calloc(r->n_places + 1, sizeof(*f->places)),
		           .runs = mem_calloc(r->runs.n + 1, sizeof(*f->runs)) };
}

void ratios_of(const struct ratios *r, int event, double total_insn, struct ratio *out)
{
	int *at = find_in_sets(r, event);
	struct fit f;
	double y;

	fit_init(&f, r, at);
	for (size_t i = 0; i < r->v.n; i++) {
		if (!count_of(&f, &r->v.v[i], &y))
			continue;
		f.n++;
		f.insn += r->v.v[i].insn;
		f.sum += y;
	}
	if (f.n >= model->hardly && f.insn > 0) {
		f.ratio = f.sum / f.insn;
		if (f.n >= model->few && f.n < (double)r->v.n)
			fit_places(&f);
		find_trust(&f);
		/* Of an event that hardly ever happens the model may expect less than none. */
		*out = (struct ratio){ .ratio = fmax(estimate(&f), 0), .counted_insn = f.insn };
		standard_error(&f, fmax(total_insn, f.insn), out);
	}
	fit_fini(&f);
	free(at);
}
