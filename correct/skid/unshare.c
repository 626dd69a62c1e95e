/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "correct/skid/dist.h"
#include "profiler/base/mem.h"

enum { ROUNDS = 8 }; /* the estimate moves by less than a cycle after five */

static int shorter_first(const void *a, const void *b)
{
	const struct skid_seen *x = a, *y = b;

	if (x->s_cyc != y->s_cyc)
		return x->s_cyc < y->s_cyc ? -1 : 1;
	/* Of equals those that were over: the others lasted longer. */
	if (x->shared != y->shared)
		return (int)x->shared - (int)y->shared;
	return (x->other_cyc > y->other_cyc) - (x->other_cyc < y->other_cyc);
}

/* How many of the sorted skids are below s. */
static size_t below(const struct skid_seen *seen, size_t n, double s)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (seen[mid].s_cyc < s)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Skids that last about as long: a twentieth less or more, as the other's skid is known no better. */
struct band {
	double half;
	size_t from, to;
};

/* An interrupt that two waited for. */
struct shared {
	size_t i;
	struct band mine, theirs;
};

static struct band band_at(const struct skid_seen *seen, size_t n, double s)
{
	double half = fmax(2, s / 20);

	return (struct band){ half, below(seen, n, s - half), below(seen, n, s + half) };
}

/* Bands are the same in all rounds. */
static size_t list_shared(const struct skid_seen *seen, size_t n, struct shared **out)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += seen[i].shared && isfinite(seen[i].other_cyc);
	*out = mem_malloc((k + 1) * sizeof(**out));
	k = 0;
	for (size_t i = 0; i < n; i++)
		if (seen[i].shared && isfinite(seen[i].other_cyc))
			(*out)[k++] = (struct shared){ i, band_at(seen, n, seen[i].s_cyc),
				                       band_at(seen, n, seen[i].other_cyc) };
	return k;
}

/*
 * The hazard in a band: the share of the skids lasting that long that ends within a cycle.  hazard[i] is the sum over
 * seen[0..i).  But for the one at skip.
 */
static double hazard_in(const struct band *b, const double *hazard, size_t skip)
{
	double sum = hazard[b->to] - hazard[b->from];

	if (skip >= b->from && skip < b->to)
		sum -= hazard[skip + 1] - hazard[skip];
	return fmax(sum, 0) / b->half;
}

/* The probability that a shared interrupt came for the cycles: of the two waits the one that ended. */
static void share_out(const struct shared *shared, size_t n_shared, const double *hazard, double *own)
{
	for (size_t k = 0; k < n_shared; k++) {
		double mine = hazard_in(&shared[k].mine, hazard, shared[k].i);
		double theirs = hazard_in(&shared[k].theirs, hazard, SIZE_MAX);

		own[shared[k].i] = mine + theirs > 0 ? mine / (mine + theirs) : 0.5;
	}
}

/* Kaplan-Meier, with skids that end in part. */
static void quantiles(const struct skid_seen *seen, size_t n, const double *own, double *out)
{
	double left = 1;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		left *= 1 - own[i] / (double)(n - i);
		/* A little more, so that rounding moves none. */
		while (k < n && ((double)k + 0.5) / (double)n <= 1 - left + 1e-9)
			out[k++] = seen[i].s_cyc;
	}
	while (k < n)
		out[k++] = seen[n - 1].s_cyc;
}

void skid_unshare(struct skid_seen *seen, size_t n, double *out)
{
	double *own = mem_malloc((n + 1) * sizeof(*own)), *hazard = mem_malloc((n + 1) * sizeof(*hazard));
	struct shared *shared;
	size_t n_shared;

	if (n)
		qsort(seen, n, sizeof(*seen), shorter_first);
	for (size_t i = 0; i < n; i++)
		own[i] = seen[i].shared ? 0.5 : 1;
	n_shared = list_shared(seen, n, &shared);
	for (int round = 0; n_shared && round < ROUNDS; round++) {
		hazard[0] = 0;
		for (size_t i = 0; i < n; i++)
			hazard[i + 1] = hazard[i] + own[i] / (double)(n - i);
		share_out(shared, n_shared, hazard, own);
	}
	quantiles(seen, n, own, out);
	free(shared);
	free(own);
	free(hazard);
}
