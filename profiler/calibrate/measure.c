/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cliff from its row to its number: sweeps over its pressures until they agree. */
#include "profiler/calibrate/cliff.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

enum { MAX_SWEEPS = 5, FEWEST_SWEEPS = 3, QUICK_SWEEPS = 2 };

/* Every point's median over the sweeps. */
static void pool(const struct cliff_curve *sweeps, size_t n, struct cliff_curve *out)
{
	double response[MAX_SWEEPS], spread[MAX_SWEEPS];

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

int cliff_measure_native(struct cliff_native *n, const struct cliff *c, bool quick, struct cliff_curve *curve,
                         struct cliff_result *out)
{
	struct cliff_curve sweep[MAX_SWEEPS];
	struct cliff_result alone[MAX_SWEEPS];
	size_t fewest = quick ? QUICK_SWEEPS : FEWEST_SWEEPS, most = quick ? FEWEST_SWEEPS : MAX_SWEEPS;
	int err = 0;

	for (size_t k = 0; k < most; k++) {
		sweep[k] = sweep[0];
		err = k ? cliff_run_native(n, c, &sweep[k]) : first_sweep(n, c, quick, &sweep[0]);
		if (err < 0 || (err = cliff_infer(c, &sweep[k], &alone[k])) < 0)
			return err;
		pool(sweep, k + 1, curve);
		if (k + 1 < fewest)
			continue;
		if ((err = cliff_infer(c, curve, out)) < 0)
			return err;
		cliff_agree(alone, k + 1, out);
		if (out->verdict == CLIFF_CLEAN || (out->verdict == CLIFF_ABSENT && k + 1 >= fewest))
			break;
	}
	return 0;
}
