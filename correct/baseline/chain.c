/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Have the chains met, and how many independent draws are they worth?
 * Gelman et al., Bayesian Data Analysis, 3rd ed., sections 11.4 and 11.5:
 * each chain is split in half, which makes 2 n_chains sequences of half = n / 2.
 */
#include <math.h>

#include "correct/infer/problem.h"

struct halves {
	const double *x;
	size_t n_chains, n, half;
};

/* Sequence k of the 2 n_chains; the middle draw of an odd n is left out. */
static const double *sequence(const struct halves *h, size_t k)
{
	return h->x + (k / 2) * h->n + (k % 2 ? h->n - h->half : 0);
}

static double mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* Mean of the sequences' variances, and (without the factor half) the variance of their means. */
static void variances(const struct halves *h, double *within, double *between)
{
	size_t m = 2 * h->n_chains;
	double grand = 0, w = 0, b = 0;

	for (size_t k = 0; k < m; k++)
		grand += mean_of(sequence(h, k), h->half) / (double)m;
	for (size_t k = 0; k < m; k++) {
		const double *s = sequence(h, k);
		double mean = mean_of(s, h->half), ss = 0;

		for (size_t i = 0; i < h->half; i++)
			ss += (s[i] - mean) * (s[i] - mean);
		w += ss / (double)(h->half - 1) / (double)m;
		b += (mean - grand) * (mean - grand) / (double)(m - 1);
	}
	*within = w;
	*between = b;
}

/* Autocovariance at a lag, mean over the sequences. */
static double autocovariance(const struct halves *h, size_t lag)
{
	size_t m = 2 * h->n_chains;
	double sum = 0;

	for (size_t k = 0; k < m; k++) {
		const double *s = sequence(h, k);
		double mean = mean_of(s, h->half), c = 0;

		for (size_t i = 0; i + lag < h->half; i++)
			c += (s[i] - mean) * (s[i + lag] - mean);
		sum += c / (double)h->half;
	}
	return sum / (double)m;
}

/*
 * Geyer's initial monotone sequence: sums of two neighbouring correlations
 * are taken while they are positive, and never let grow.
 */
static double correlation_time(const struct halves *h, double within, double total)
{
	double tau = -1, last = INFINITY;

	for (size_t lag = 0; lag + 1 < h->half; lag += 2) {
		double even = lag ? 1 - (within - autocovariance(h, lag)) / total : 1;
		double pair = even + 1 - (within - autocovariance(h, lag + 1)) / total;

		if (!(pair > 0))
			break;
		last = fmin(last, pair);
		tau += 2 * last;
	}
	return tau;
}

void chain_diagnose(const double *x, size_t n_chains, size_t n, double *r_hat, double *n_eff)
{
	struct halves h = { x, n_chains, n, n / 2 };
	double all = (double)(2 * n_chains * h.half), within, between, total;

	*r_hat = *n_eff = NAN;
	if (n_chains == 0 || h.half < 2)
		return;
	variances(&h, &within, &between);
	total = within * (double)(h.half - 1) / (double)h.half + between;
	if (!(total > 0)) { /* every draw is the same: nothing to be uncertain of */
		*r_hat = 1;
		*n_eff = all;
		return;
	}
	*r_hat = within > 0 ? sqrt(total / within) : INFINITY;
	/* A chain that alternates can be worth more than its length; no more than n log10 n is believed. */
	*n_eff = within > 0 ? all / fmax(correlation_time(&h, within, total), 1 / log10(all))
	                    : (double)n_chains;
}
