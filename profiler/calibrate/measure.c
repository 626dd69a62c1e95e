/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cliff from its row to its number: sweeps over its pressures until they agree. */
#include "profiler/calibrate/cliff.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

/* Every point's median over the sweeps. */
static void pool(const struct cliff_curve *sweeps, size_t n, struct cliff_curve *out)
{
	double response[CLIFF_MAX_SWEEPS], spread[CLIFF_MAX_SWEEPS];

	*out = sweeps[0];
	for (size_t i = 0; i < out->n; i++) {
		for (size_t k = 0; k < n; k++) {
			response[k] = sweeps[k].response[i];
			spread[k] = sweeps[k].spread[i];
		}
		gsl_sort(response, 1, n);
		gsl_sort(spread, 1, n);
		out->response[i] = gsl_stats_median_from_sorted_data(response, 1, n);
		out->spread[i] = gsl_stats_median_from_sorted_data(spread, 1, n);
	}
}

/* Of a step or bend: it is not where the finer points were laid, so those few it was first seen by were disturbed. */
static bool is_lost(const struct cliff *c, const struct cliff_curve *whole, const struct cliff_curve *fine)
{
	struct cliff_result r;
	double at;

	if (!fine->n || c->method == CLIFF_FILL || cliff_infer(c, whole, &r) < 0 || r.verdict == CLIFF_ABSENT)
		return false;
	at = r.value - c->amount;
	return at <= fine->pressure[0] || at >= fine->pressure[fine->n - 1];
}

enum { COARSE_AROUND = 3 };

/* The coarse points around the fine ones are measured again, too: what one of them says once is no better than that. */
static void add_coarse(const struct cliff *c, const struct cliff_curve *whole, struct cliff_curve *again)
{
	int64_t from = (int64_t)again->pressure[0] - COARSE_AROUND * c->step,
	        to = (int64_t)again->pressure[again->n - 1] + COARSE_AROUND * c->step;
	size_t n = 0;

	if (c->method == CLIFF_FILL)
		return;
	for (size_t i = 0; i < whole->n; i++)
		if (whole->pressure[i] >= from && whole->pressure[i] <= to)
			again->pressure[n++] = whole->pressure[i];
	again->n = n;
}

static int first_attempt(const struct cliff_bench *b, const struct cliff *c, bool quick,
                         struct cliff_sweeps *s)
{
	struct cliff_curve *whole = &s->sweep[0];
	int err;

	cliff_pressures(c, &b->sizes, quick, whole);
	if ((err = b->run(b->user, c, whole)) != 0)
		return err;
	cliff_refine(c, whole, &s->again);
	err = b->run(b->user, c, &s->again);
	cliff_curve_join(whole, &s->again);
	return err;
}

enum { ATTEMPTS = 3 };

static int first_sweep(const struct cliff_bench *b, const struct cliff *c, bool quick, struct cliff_sweeps *s)
{
	int err = 0;

	s->is_lost = true;
	for (unsigned i = 0; i < ATTEMPTS && s->is_lost && err == 0; i++) {
		err = first_attempt(b, c, quick, s);
		s->is_lost = err == 0 && is_lost(c, &s->sweep[0], &s->again);
	}
	/* Without a change point there is nothing that would be nearer to the answer than the rest. */
	if (!s->again.n)
		s->again = s->sweep[0];
	else
		add_coarse(c, &s->sweep[0], &s->again);
	return err;
}

/* What is far from the change point need not be measured again. */
static int next_sweep(const struct cliff_bench *b, const struct cliff *c, struct cliff_sweeps *s)
{
	int err;

	s->again.is_disturbed = false;
	err = b->run(b->user, c, &s->again);
	s->sweep[s->n] = s->sweep[0];
	cliff_curve_join(&s->sweep[s->n], &s->again);
	return err;
}

struct bounds {
	size_t fewest, most;
};

/* Walks over memory take most of the time; what is shared with others, or has coarse steps, no number of sweeps makes certain. */
static struct bounds how_many(const struct cliff *c, bool quick)
{
	if (c->is_shared || c->shape == CLIFF_PATTERN)
		return quick ? (struct bounds){ 1, 1 } : (struct bounds){ 2, 2 };
	/* A difference is a small part of what it is the difference of: two sweeps agree by chance. */
	if (c->method == CLIFF_DIFFERENCE)
		return (struct bounds){ CLIFF_MAX_SWEEPS, CLIFF_MAX_SWEEPS };
	if (quick)
		return (struct bounds){ 2, 3 };
	return (struct bounds){ c->is_far || c->shape == CLIFF_CHASE ? 3 : CLIFF_MAX_SWEEPS,
		                CLIFF_MAX_SWEEPS };
}

/* Where neighbours never leave for long enough, so often nevertheless. */
enum { TRIES = 3, QUICK_TRIES = 1 };

bool cliff_sweeps_settled(const struct cliff *c, const struct cliff_sweeps *s, bool quick)
{
	struct bounds b = how_many(c, quick);
	size_t tries = quick ? QUICK_TRIES : TRIES;

	if (s->n_tried >= b.most + tries || (s->is_disturbed && s->n_tried >= tries))
		return true;
	if (s->n < b.fewest || s->is_disturbed)
		return false;
	return s->n >= b.most || s->result.verdict == CLIFF_CLEAN || s->result.verdict == CLIFF_ABSENT;
}

static int conclude(const struct cliff *c, bool quick, struct cliff_sweeps *s)
{
	int err;

	pool(s->sweep, s->n, &s->curve);
	if ((err = cliff_infer(c, &s->curve, &s->result)) < 0)
		return err;
	cliff_agree(s->alone, s->n, &s->result);
	if (s->is_disturbed)
		s->result.verdict = CLIFF_NOISY;
	else if (s->result.verdict == CLIFF_CLEAN &&
	         (s->is_lost || (s->n < how_many(c, quick).fewest && s->n < 2)))
		s->result.verdict = CLIFF_WEAK;
	return 0;
}

int cliff_sweep(const struct cliff_bench *b, const struct cliff *c, bool quick, struct cliff_sweeps *s)
{
	int err;

	if (s->is_disturbed)
		s->n = 0;
	s->n_tried++;
	err = s->n ? next_sweep(b, c, s) : first_sweep(b, c, quick, s);
	if (err != 0)
		return err;
	if (s->n && s->sweep[s->n].is_disturbed)
		return 0;
	s->is_disturbed = s->sweep[s->n].is_disturbed;
	if ((err = cliff_infer(c, &s->sweep[s->n], &s->alone[s->n])) < 0)
		return err;
	s->n++;
	return conclude(c, quick, s);
}
