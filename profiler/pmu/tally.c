/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/tally.h"

#include <inttypes.h>

#include "profiler/base/err.h"

enum { MIN_SUM = 1 << 16 };

static int compare(const void *a, const void *b)
{
	const struct record_count *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static void add(struct record_count *sum, const struct record_count *x)
{
	sum->n += x->n;
	sum->n_load += x->n_load;
	sum->n_miss += x->n_miss;
}

static void sum_up(struct tally *t)
{
	size_t n = 0;

	if (t->counts.n)
		qsort(t->counts.v, t->counts.n, sizeof(*t->counts.v), compare);
	for (size_t i = 0; i < t->counts.n; i++) {
		if (n && compare(&t->counts.v[n - 1], &t->counts.v[i]) == 0)
			add(&t->counts.v[n - 1], &t->counts.v[i]);
		else
			t->counts.v[n++] = t->counts.v[i];
	}
	t->counts.n = t->n_summed = n;
}

int tally_add(struct tally *t, const struct record_count *count)
{
	/* Doubling before each sum keeps the sorting cheap on the whole. */
	if (t->counts.n >= MIN_SUM && t->counts.n >= 2 * t->n_summed)
		sum_up(t);
	t->total += count->n;
	return vec_push(&t->counts, *count);
}

void tally_add_unmapped(struct tally *t, uint64_t n)
{
	t->n_unmapped += n;
	t->total += n;
}

int tally_finish(struct tally *t, struct record_counts *out)
{
	uint64_t sum = t->n_unmapped;

	sum_up(t);
	for (size_t i = 0; i < t->counts.n; i++) {
		if (t->counts.v[i].n > t->total)
			return sp_fail(SP_EFORMAT,
			               "an instruction's exact count, %ju, is above the total, %ju",
			               (uintmax_t)t->counts.v[i].n, (uintmax_t)t->total);
		sum += t->counts.v[i].n;
	}
	if (sum != t->total)
		return sp_fail(SP_EFORMAT, "the exact counts add up to %ju, and not to their total, %ju",
		               (uintmax_t)sum, (uintmax_t)t->total);
	out->v = t->counts.v;
	out->n = t->counts.n;
	out->n_unmapped = t->n_unmapped;
	memset(t, 0, sizeof(*t));
	return 0;
}

void tally_fini(struct tally *t)
{
	vec_fini(&t->counts);
}
