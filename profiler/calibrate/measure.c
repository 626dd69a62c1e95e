/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cliff from its row to its number: sweeps over its pressures until they agree. */
#include "profiler/calibrate/cliff.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

enum { QUICK_SWEEPS = 3 };

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

static int first_sweep(struct cliff_native *n, const struct cliff *c, bool quick, struct cliff_curve *out)
{
	struct cliff_curve fine;
	struct cliff_sizes sizes;
	int err;

	cliff_native_sizes(n, &sizes);
	cliff_pressures(c, &sizes, quick, out);
	if ((err = cliff_run_native(n, c, out)) < 0)
		return err;
	cliff_refine(c, out, &fine);
	err = cliff_run_native(n, c, &fine);
	cliff_curve_join(out, &fine);
	return err;
}

/* Walks over memory take most of the time. */
static size_t fewest_sweeps(const struct cliff *c, bool quick)
{
	if (quick)
		return 2;
	return c->is_far || c->shape == CLIFF_CHASE ? 3 : CLIFF_MAX_SWEEPS;
}

bool cliff_sweeps_settled(const struct cliff *c, const struct cliff_sweeps *s, bool quick)
{
	size_t most = quick ? QUICK_SWEEPS : CLIFF_MAX_SWEEPS;

	if (s->n < fewest_sweeps(c, quick))
		return false;
	return s->n >= most || s->result.verdict == CLIFF_CLEAN || s->result.verdict == CLIFF_ABSENT;
}

int cliff_sweep_native(struct cliff_native *n, const struct cliff *c, bool quick, struct cliff_sweeps *s)
{
	struct cliff_curve *now = &s->sweep[s->n];
	int err;

	*now = s->sweep[0];
	err = s->n ? cliff_run_native(n, c, now) : first_sweep(n, c, quick, now);
	if (err < 0 || (err = cliff_infer(c, now, &s->alone[s->n])) < 0)
		return err;
	pool(s->sweep, ++s->n, &s->curve);
	if ((err = cliff_infer(c, &s->curve, &s->result)) < 0)
		return err;
	cliff_agree(s->alone, s->n, &s->result);
	return 0;
}
