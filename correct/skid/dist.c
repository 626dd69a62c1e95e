/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <gsl/gsl_sort.h>

#include "correct/skid/dist.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

void skid_dist_constant(struct skid_dist *d, double s_cyc)
{
	for (size_t k = 0; k < SKID_POINTS; k++)
		d->s_cyc[k] = s_cyc;
}

/* sorted[n] at position h, clamped, linear between neighbours. */
static double at_position(const double *sorted, size_t n, double h)
{
	size_t i;

	if (h <= 0)
		return sorted[0];
	if (h >= (double)(n - 1))
		return sorted[n - 1];
	i = (size_t)h;
	return sorted[i] + (h - (double)i) * (sorted[i + 1] - sorted[i]);
}

int skid_dist_fit(struct skid_dist *d, const double *s_cyc, size_t n)
{
	double *sorted;

	if (n == 0)
		return sp_fail(SP_EDOMAIN, "no overshoot was recorded to measure the skid from");
	for (size_t k = 0; k < n; k++)
		if (!(s_cyc[k] >= 0) || !isfinite(s_cyc[k]))
			return sp_fail(SP_EDOMAIN, "a skid of %g cycles can't be", s_cyc[k]);
	sorted = mem_malloc(n * sizeof(*sorted));
	memcpy(sorted, s_cyc, n * sizeof(*sorted));
	gsl_sort(sorted, 1, n);
	for (size_t k = 0; k < SKID_POINTS; k++) /* the k-th of n values stands at (k + 0.5) / n */
		d->s_cyc[k] = at_position(sorted, n, ((double)k + 0.5) / SKID_POINTS * (double)n - 0.5);
	free(sorted);
	return 0;
}

double skid_dist_quantile(const struct skid_dist *d, double q)
{
	return at_position(d->s_cyc, SKID_POINTS, q * SKID_POINTS - 0.5);
}

double skid_dist_mean(const struct skid_dist *d)
{
	double sum = 0;

	for (size_t k = 0; k < SKID_POINTS; k++)
		sum += d->s_cyc[k];
	return sum / SKID_POINTS;
}

double skid_dist_hidden(const struct skid_dist *d, double gap_cyc)
{
	double hidden = 0;

	if (!(gap_cyc > 0))
		return 0;
	/* Samples are g (1 + hidden) apart, and the more are hidden the shorter is g: from none on, to the first that is met. */
	for (int round = 0; round < 100 && hidden < 1; round++) {
		double before = hidden, g = gap_cyc / (1 + hidden), sum = 0;

		for (size_t k = 0; k < SKID_POINTS; k++)
			sum += floor(d->s_cyc[k] / g);
		hidden = sum / SKID_POINTS;
		if (hidden <= before)
			break;
	}
	return fmin(hidden, 1);
}

/*
 * Quantiles of 21,937 overshoots (cycles:u, fixed period 750,000, group read)
 * on a Xeon W-2195: p10 310, median 378, p90 646, p99 1215 cycles.
 */
static const struct skid_dist skylake_sp = { {
	300, 305, 307, 308, 309, 309, 310, 310, 311, 313, 316, 318, 320, 325, 327, 327,
	328, 328, 329, 329, 331, 331, 332, 334, 337, 342, 352, 362, 368, 371, 374, 376,
	379, 382, 386, 389, 392, 395, 400, 406, 413, 421, 431, 442, 455, 471, 494, 511,
	531, 545, 552, 558, 566, 579, 592, 605, 623, 644, 674, 712, 762, 838, 945, 1308,
} };

/* Names under which the measured core, Skylake server and its refreshes, is sold. */
static const char *const skylake_sp_names[] = {
	"Xeon(R) W-21",        "Xeon(R) W-22",        "Xeon(R) W-31",      "Xeon(R) W-32",
	"Xeon(R) Gold 51",     "Xeon(R) Gold 61",     "Xeon(R) Gold 52",   "Xeon(R) Gold 62",
	"Xeon(R) Platinum 81", "Xeon(R) Platinum 82", "Xeon(R) Silver 41", "Xeon(R) Silver 42",
};

bool skid_dist_default(const char *cpudesc, struct skid_dist *d, const char **basis)
{
	*d = skylake_sp;
	for (size_t k = 0; cpudesc && k < sizeof(skylake_sp_names) / sizeof(*skylake_sp_names); k++) {
		if (strstr(cpudesc, skylake_sp_names[k])) {
			*basis = "measured on a Xeon W-2195, a core of this kind";
			return true;
		}
	}
	*basis = "measured on a Xeon W-2195: this CPU's is not known";
	return false;
}
