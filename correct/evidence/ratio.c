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
	uint32_t place, run, set;
	float insn;
	size_t counts; /* index of the first */
};

struct ratios {
	VEC(struct set) sets;
	VEC(struct interval) v;
	VEC(float) counts;
	uint32_t n_runs, n_places;
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
	free(r);
}

/* Number of a set of events, one more if it is new. */
static long set_of(struct ratios *r, const int *events, size_t n)
{
	int *copy;

	for (size_t i = 0; i < r->sets.n; i++)
		if (r->sets.v[i].n == n && memcmp(r->sets.v[i].events, events, n * sizeof(*events)) == 0)
			return (long)i;
	vec_room(&r->sets, r->sets.n + 1);
	copy = mem_malloc((n + 1) * sizeof(*copy));
	memcpy(copy, events, n * sizeof(*copy));
	r->sets.v[r->sets.n] = (struct set){ copy, n };
	return (long)r->sets.n++;
}

int ratios_add(struct ratios *r, const struct ratio_interval *in, uint32_t *run)
{
	long set = set_of(r, in->events, in->n);
	struct interval v = { .place = in->place, .insn = (float)in->insn };

	if (set < 0)
		return (int)set;
	if (*run == UINT32_MAX)
		*run = r->n_runs++;
	v.set = (uint32_t)set;
	v.run = *run;
	v.counts = r->counts.n;
	for (size_t i = 0; i < in->n; i++)
		vec_add(&r->counts, (float)in->counts[i]);
	if (in->place >= r->n_places)
		r->n_places = in->place + 1;
	r->insn += v.insn;
	vec_add(&r->v, v);
	return 0;
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
	double above;      /* an instruction's, of it what is believed */
	double all;        /* instructions, counted or not */
};

struct fit {
	const struct ratios *r;
	const int *at;
	double n, insn, sum; /* of the intervals in which it was counted */
	double ratio;        /* per instruction */
	double n_parameters; /* beside the ratio, in effect */
	double between;      /* standard deviation of places' ratios, beyond chance */
	struct place *places;
};

/* What interval i counted, false where that isn't known. */
static bool count_of(const struct fit *f, size_t i, double *count)
{
	const struct interval *v = &f->r->v.v[i];
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
	double within = 0, between = 0, sum = 0, sum_sq = 0, n = 0, chance, more, y;

	for (size_t i = 0; i < f->r->v.n; i++) {
		const struct interval *v = &f->r->v.v[i];
		struct place *p = &f->places[v->place];
		double insn = v->insn;

		p->all += insn;
		if (!count_of(f, i, &y))
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
	chance = fmax(within - between, 0) / (f->n - n);
	more = fmax((between - (n - 1) * chance) / (sum - sum_sq / sum), 0);
	f->between = sqrt(more);
	for (uint32_t h = 0; h < f->r->n_places; h++) {
		struct place *p = &f->places[h];
		double believed = p->sq * more > 0 ? p->sq * more / (p->sq * more + chance) : 0;

		if (!(p->sq > 0))
			continue;
		p->above = believed * p->by_sum / p->sq;
		f->n_parameters += believed;
	}
}

/* eq. 7: the model over all intervals, and what it misses where the event was counted. */
static double estimate(const struct fit *f)
{
	double all = 0, counted = 0, y;

	for (size_t i = 0; i < f->r->v.n; i++) {
		const struct interval *v = &f->r->v.v[i];
		double above = f->places[v->place].above * v->insn;

		all += above;
		if (count_of(f, i, &y))
			counted += above;
	}
	return f->ratio + all / f->r->insn - counted / f->insn;
}

/* What the model and the bare ratio miss by, each beside its mean: squares of a run's sum, over all runs. */
static int scatter(const struct fit *f, double *fitted, double *bare)
{
	double *runs = mem_calloc(f->r->n_runs + 1, 3 * sizeof(*runs)), mean = 0, y;

	for (size_t i = 0; i < f->r->v.n; i++) {
		const struct interval *v = &f->r->v.v[i];
		double *run = runs + 3 * (size_t)v->run;

		if (!count_of(f, i, &y))
			continue;
		y -= f->ratio * v->insn;
		run[0] += v->insn;
		run[1] += y;
		y -= f->places[v->place].above * v->insn;
		run[2] += y;
		mean += y / f->insn;
	}
	*fitted = *bare = 0;
	for (size_t i = 0; i < f->r->n_runs; i++) {
		const double *run = runs + 3 * i;

		*bare += run[1] * run[1];
		*fitted += (run[2] - mean * run[0]) * (run[2] - mean * run[0]);
	}
	free(runs);
	*fitted *= f->n / fmax(f->n - f->n_parameters - 1, 1);
	return 0;
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

		if (!count_of(f, i, &y))
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
static int standard_error(const struct fit *f, double total_insn, struct ratio *out)
{
	double part = fmin(f->insn / total_insn, 1), all = fmin(f->r->insn / total_insn, 1),
	       of_inside = part / all, never = sqrt(never_counted(f)), fitted = 0, bare = 0;
	int err = scatter(f, &fitted, &bare);

	if (err < 0)
		return err;
	/* Parameters are fitted to those that were counted, and scatter with them. */
	fitted *= fmax(1 - of_inside, 0) + f->n_parameters / f->n;
	/* What was not counted may differ from what was by as much again. */
	out->se = hypot(sqrt((fitted + bare * of_inside * (1 - all)) * (2 - part)) / f->insn, never);
	out->se = hypot(out->se, (1 - all) * differ(f));
	return 0;
}

int ratios_of(const struct ratios *r, int event, double total_insn, struct ratio *out)
{
	struct fit f = { .r = r, .places = mem_calloc(r->n_places + 1, sizeof(*f.places)) };
	int *at = find_in_sets(r, event), err = 1;
	double y;

	f.at = at;
	for (size_t i = 0; err > 0 && i < r->v.n; i++) {
		if (!count_of(&f, i, &y))
			continue;
		f.n++;
		f.insn += r->v.v[i].insn;
		f.sum += y;
	}
	if (err > 0 && f.n >= model->hardly && f.insn > 0) {
		f.ratio = f.sum / f.insn;
		if (f.n >= model->few && f.n < (double)r->v.n) {
			fit_places(&f);
		}
	}
	if (err >= 0 && f.n >= model->hardly && f.insn > 0) {
		/* Of an event that hardly ever happens the model may expect less than none. */
		*out = (struct ratio){ .ratio = fmax(estimate(&f), 0), .counted_insn = f.insn };
		err = standard_error(&f, fmax(total_insn, f.insn), out);
	}
	free(f.places);
	free(at);
	return err;
}
