/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/divide/phases.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"

enum { NONE = UINT32_MAX };

/* A stretch of the run, or several that are alike: how many of its samples have each label. */
struct stretch {
	double *count; /* [n_labels] */
	double n, spread;
	size_t begin, end; /* of a single one: its samples [begin, end) */
};

struct finder {
	const struct phases_opts *opts;
	const uint32_t *label; /* [n] numbered anew: those that occur */
	size_t n, n_labels;
	struct stretch *s;
	size_t n_stretches;
	double *counts; /* what the stretches' counts point into */
	double *gains;  /* [n_stretches^2] */
	uint32_t *to;   /* [n_stretches] into which of them each was merged, itself if into none */
};

/*
 * h of a + b (eq. 2), in nats: samples times the entropy of their labels, which few samples show too little of, by
 * (labels - 1) / 2 in the mean (Miller and Madow).
 */
static double spread_of(const struct stretch *a, const struct stretch *b, size_t n_labels)
{
	double sum = 0, n = a->n + (b ? b->n : 0), seen = 0;

	for (size_t i = 0; i < n_labels; i++) {
		double c = a->count[i] + (b ? b->count[i] : 0);

		if (c > 0)
			sum -= c * log(c / n);
		seen += c > 0;
	}
	return sum + (seen - 1) / 2;
}

/* What telling a and b apart teaches of a sample of the smaller one, in nats (eq. 2). */
static double gain(const struct stretch *a, const struct stretch *b, size_t n_labels)
{
	return (spread_of(a, b, n_labels) - a->spread - b->spread) / fmin(a->n, b->n);
}

/* Do they share no code, or hardly any? */
static bool apart(const struct stretch *a, const struct stretch *b, double g)
{
	double n = a->n + b->n,
	       of_no_common_label = -(a->n * log(a->n / n) + b->n * log(b->n / n)) / fmin(a->n, b->n);

	return g >= model->most * of_no_common_label;
}

static void merge(struct stretch *to, const struct stretch *from, size_t n_labels)
{
	for (size_t i = 0; i < n_labels; i++)
		to->count[i] += from->count[i];
	to->n += from->n;
	to->spread = spread_of(to, NULL, n_labels);
}

/* Neighbours that are alike become one, the most alike first. */
static void join_neighbours(struct finder *f, double *between)
{
	struct stretch *s = f->s;
	size_t n = f->n_stretches;

	for (size_t i = 0; i + 1 < n; i++)
		between[i] = gain(&s[i], &s[i + 1], f->n_labels);
	while (n > 1) {
		size_t least = 0;

		for (size_t i = 1; i + 1 < n; i++)
			if (between[i] < between[least])
				least = i;
		if (between[least] >= model->phase_gain && n <= EFFORT_STRETCHES)
			break;
		merge(&s[least], &s[least + 1], f->n_labels);
		s[least].end = s[least + 1].end;
		memmove(&s[least + 1], &s[least + 2], (n - least - 2) * sizeof(*s));
		memmove(&between[least], &between[least + 1], (n - least - 2) * sizeof(*between));
		n--;
		if (least + 1 < n)
			between[least] = gain(&s[least], &s[least + 1], f->n_labels);
		if (least > 0)
			between[least - 1] = gain(&s[least - 1], &s[least], f->n_labels);
	}
	f->n_stretches = n;
}

/* Of pairs of stretches the most alike one. */
struct pair {
	double gain;
	size_t a, b;
};

static void consider(struct pair *least, double g, size_t a, size_t b)
{
	if (g < least->gain)
		*least = (struct pair){ g, a, b };
}

/* The two that are to become one; false when all that are left are phases. */
static bool next_pair(const struct finder *f, size_t left, size_t *a, size_t *b)
{
	/* Of all, of those that share code, and of those that are too small for themselves. */
	struct pair any = { .gain = INFINITY }, sharing = any, small = any, take;

	for (size_t i = 0; i < f->n_stretches; i++)
		for (size_t k = 0; f->to[i] == i && k < i; k++) {
			double g = f->gains[i * f->n_stretches + k], n = fmin(f->s[i].n, f->s[k].n);
			bool share;

			if (f->to[k] != k)
				continue;
			share = !apart(&f->s[i], &f->s[k], g);
			consider(&any, g, k, i);
			if (share)
				consider(&sharing, g, k, i);
			if (n < (double)(share ? f->opts->min_samples : f->opts->min_apart))
				consider(&small, g, k, i);
		}
	if (any.gain < model->phase_gain || left > MAX_PHASES)
		take = any;
	else if (left > f->opts->most && isfinite(sharing.gain))
		take = sharing;
	else
		take = small;
	*a = take.a;
	*b = take.b;
	return isfinite(take.gain);
}

/* Stretches that are alike become one phase, and those too short go with what they are most alike. */
static size_t join_alike(struct finder *f)
{
	size_t n = f->n_stretches, left = n, a = 0, b = 0;

	for (size_t i = 0; i < n; i++) {
		f->to[i] = (uint32_t)i;
		for (size_t k = 0; k < i; k++)
			f->gains[i * n + k] = gain(&f->s[i], &f->s[k], f->n_labels);
	}
	while (next_pair(f, left, &a, &b)) {
		merge(&f->s[a], &f->s[b], f->n_labels);
		left--;
		for (size_t i = 0; i < n; i++)
			if (f->to[i] == b)
				f->to[i] = (uint32_t)a;
		for (size_t i = 0; i < n; i++)
			if (f->to[i] == i && i != a)
				f->gains[i > a ? i * n + a : a * n + i] =
				        gain(&f->s[i], &f->s[a], f->n_labels);
	}
	return left;
}

/* Labels that occur, numbered from 0. */
static void number_labels(const uint32_t *label, size_t n, size_t n_all, uint32_t *out, size_t *n_labels)
{
	uint32_t *number = mem_malloc((n_all + 1) * sizeof(*number));

	memset(number, 0xff, (n_all + 1) * sizeof(*number));
	*n_labels = 0;
	for (size_t i = 0; i < n; i++) {
		if (number[label[i]] == NONE)
			number[label[i]] = (uint32_t)(*n_labels)++;
		out[i] = number[label[i]];
	}
	free(number);
}

static void count_labels(const struct finder *f, struct stretch *s)
{
	memset(s->count, 0, f->n_labels * sizeof(*s->count));
	s->n = (double)(s->end - s->begin);
	for (size_t i = s->begin; i < s->end; i++)
		s->count[f->label[i]]++;
	s->spread = spread_of(s, NULL, f->n_labels);
}

static void cut_into_cells(struct finder *f)
{
	size_t n_cells = f->n / model->phase_cell;

	n_cells = n_cells > EFFORT_CELLS ? EFFORT_CELLS : n_cells ? n_cells : 1;
	f->counts = mem_calloc(n_cells * f->n_labels + 1, sizeof(*f->counts));
	f->s = mem_calloc(n_cells, sizeof(*f->s));
	f->n_stretches = n_cells;
	for (size_t c = 0; c < n_cells; c++) {
		struct stretch *s = &f->s[c];

		*s = (struct stretch){ .count = f->counts + c * f->n_labels,
			               .begin = f->n * c / n_cells,
			               .end = f->n * (c + 1) / n_cells };
		count_labels(f, s);
	}
}

/*
 * Where from `from` to `until` phase a gives way to b, most likely: each sample is likelier on the side whose phase has more of
 * its label.  Returns the first sample of b.
 */
static size_t refine_border(const struct finder *f, const struct stretch *a, const struct stretch *b,
                            size_t from, size_t until)
{
	double sum = 0, most = 0;
	size_t best = from;

	for (size_t i = from; i < until; i++) {
		uint32_t l = f->label[i];

		sum += log((a->count[l] + 0.5) / a->n) - log((b->count[l] + 0.5) / b->n);
		if (sum > most) {
			most = sum;
			best = i + 1;
		}
	}
	return best;
}

/*
 * A cell that a border lies in is like the phases on either side, and would have them taken for one: each border is moved first,
 * by a cell at most, to where the samples say that it is.
 */
static void sharpen(struct finder *f, size_t cell)
{
	size_t kept = 0;

	for (size_t i = 0; i + 1 < f->n_stretches; i++) {
		struct stretch *a = &f->s[i], *b = a + 1;
		size_t from = a->end - a->begin > cell ? a->end - cell : a->begin,
		       until = b->end - b->begin > cell ? b->begin + cell : b->end;

		a->end = b->begin = refine_border(f, a, b, from, until);
	}
	for (size_t i = 0; i < f->n_stretches; i++) {
		if (f->s[i].begin == f->s[i].end)
			continue;
		count_labels(f, &f->s[i]);
		f->s[kept++] = f->s[i];
	}
	f->n_stretches = kept;
}

/* Phases are numbered as they are first seen; stretches[number] is which one that is. */
static void number_phases(const struct finder *f, uint8_t *phase, const struct stretch *stretches[MAX_PHASES])
{
	uint8_t number[EFFORT_STRETCHES], n = 0;

	memset(number, 0xff, sizeof(number));
	for (size_t i = 0; i < f->n_stretches; i++) {
		if (number[f->to[i]] == 0xff) {
			stretches[n] = &f->s[f->to[i]];
			number[f->to[i]] = n++;
		}
		memset(phase + f->s[i].begin, number[f->to[i]], f->s[i].end - f->s[i].begin);
	}
}

static void refine_borders(const struct finder *f, uint8_t *phase, const struct stretch *const *stretches,
                           size_t reach)
{
	size_t begin = 0;

	for (size_t i = 1, end; i < f->n; i = end) {
		uint8_t before = phase[i - 1], after = phase[i];
		size_t from, until;

		for (end = i; end < f->n && phase[end] == after; end++)
			;
		if (before == after)
			continue;
		from = i > begin + reach ? i - reach : begin;
		until = i + reach < end ? i + reach : end;
		begin = refine_border(f, stretches[before], stretches[after], from, until);
		memset(phase + from, before, begin - from);
		memset(phase + begin, after, until - begin);
	}
}

static void find(struct finder *f, uint8_t *phase, size_t *n_phases)
{
	const struct stretch *stretches[MAX_PHASES];
	double *between;
	size_t reach;

	cut_into_cells(f);
	reach = 2 * (f->n / f->n_stretches + 1);
	between = mem_calloc(f->n_stretches, sizeof(*between));
	join_neighbours(f, between);
	free(between);
	sharpen(f, reach / 2);
	f->gains = mem_calloc(f->n_stretches * f->n_stretches + 1, sizeof(*f->gains));
	f->to = mem_calloc(f->n_stretches + 1, sizeof(*f->to));
	*n_phases = join_alike(f);
	number_phases(f, phase, stretches);
	refine_borders(f, phase, stretches, reach);
}

long phases_find(const uint32_t *label, size_t n, size_t n_labels, const struct phases_opts *opts,
                 uint8_t *phase)
{
	uint32_t *numbered = mem_calloc(n + 1, sizeof(*numbered));
	struct finder f = { .opts = opts, .label = numbered, .n = n };
	size_t n_phases = 1;

	number_labels(label, n, n_labels, numbered, &f.n_labels);
	memset(phase, 0, n);
	if (n >= 2 * opts->min_samples)
		find(&f, phase, &n_phases);
	free(numbered);
	free(f.s);
	free(f.counts);
	free(f.gains);
	free(f.to);
	return (long)n_phases;
}
