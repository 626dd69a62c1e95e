/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/ratio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

/* Neighbouring intervals of one slot, which counted the events of `counted`: their sums stand in a row, by number. */
struct run {
	uint64_t counted;
	double insn;
	size_t sums;
};

/* Of all intervals that counted an event. */
struct event {
	double n, insn, sum;
};

struct ratios {
	struct event events[EFFORT_EVENTS];
	VEC(struct run) runs;
	VEC(double) sums;
};

struct ratios *ratios_new(void)
{
	return mem_calloc(1, sizeof(struct ratios));
}

void ratios_free(struct ratios *r)
{
	if (!r)
		return;
	vec_fini(&r->runs);
	vec_fini(&r->sums);
	free(r);
}

static double *sum_of(const struct ratios *r, const struct run *run, int event)
{
	return &r->sums.v[run->sums + (size_t)__builtin_popcountll(run->counted & ((1ull << event) - 1))];
}

static uint32_t new_run(struct ratios *r, const struct ratio_interval *in)
{
	struct run run = { .sums = r->sums.n };

	for (size_t i = 0; i < in->n; i++) {
		run.counted |= 1ull << in->events[i];
		vec_add(&r->sums, 0.0);
	}
	vec_add(&r->runs, run);
	return (uint32_t)r->runs.n - 1;
}

void ratios_add(struct ratios *r, const struct ratio_interval *in, uint32_t *run)
{
	if (*run == UINT32_MAX)
		*run = new_run(r, in);
	r->runs.v[*run].insn += in->insn;
	for (size_t i = 0; i < in->n; i++) {
		struct event *e = &r->events[in->events[i]];
		double count = in->counts[i];

		*sum_of(r, &r->runs.v[*run], in->events[i]) += count;
		e->n++;
		e->insn += in->insn;
		e->sum += count;
	}
}

/* What a run counted of an event beside its ratio; NAN where it did not count it. */
static double off(const struct ratios *r, const struct run *run, int event)
{
	const struct event *e = &r->events[event];

	return run->counted >> event & 1 ? *sum_of(r, run, event) - e->sum / e->insn * run->insn : NAN;
}

/*
 * Variance of the sum over all runs, by what each of them counted beside the ratio.  A single one lies on the ratio itself, and two near
 * it: of so few what ran beside them may be other code.
 */
static double scatter(const struct ratios *r, int event)
{
	double squares = 0, n = 0, other;

	for (size_t i = 0; i < r->runs.n; i++) {
		double x = off(r, &r->runs.v[i], event);

		squares += isnan(x) ? 0 : x * x;
		n += !isnan(x);
	}
	other = model->guess * r->events[event].sum;
	return squares * n / fmax(n - 1, 1) + fmax(1 / n - 1.0 / model->hardly, 0) * other * other;
}

void ratios_of(const struct ratios *r, int event, double total_insn, struct ratio *out)
{
	const struct event *e = &r->events[event];
	double part;

	if (e->n < model->hardly || !(e->insn > 0))
		return;
	part = e->insn / fmax(total_insn, e->insn);
	/* The intervals in which the event was counted are a sample of all that ran, and what was not counted may differ by as much again. */
	*out = (struct ratio){ .ratio = e->sum / e->insn,
		               .se = sqrt(scatter(r, event) * (1 - part) * (2 - part)) / e->insn,
		               .counted_insn = e->insn };
}

void ratios_correlate(const struct ratios *r, const int *events, size_t n, double *out)
{
	double x[EFFORT_EVENTS], scale[EFFORT_EVENTS], n_runs[EFFORT_EVENTS] = { 0 },
	                                               at_once[EFFORT_EVENTS] = { 0 };

	memset(out, 0, n * n * sizeof(*out));
	for (size_t i = 0; i < r->runs.n; i++)
		for (size_t a = 0; a < n; a++) {
			x[a] = off(r, &r->runs.v[i], events[a]);
			if (isnan(x[a]))
				continue;
			n_runs[a]++;
			at_once[a] = fmax(at_once[a], __builtin_popcountll(r->runs.v[i].counted));
			for (size_t b = 0; b <= a; b++)
				out[a * n + b] += isnan(x[b]) ? 0 : x[a] * x[b];
		}
	/* The scatter of n runs about the means of k events leaves k/n of their correlations to chance. */
	for (size_t a = 0; a < n; a++)
		scale[a] =
		        out[a * n + a] > 0 ? sqrt(fmax(1 - at_once[a] / n_runs[a], 0) / out[a * n + a]) : 0;
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b <= a; b++)
			out[a * n + b] = a == b ? 1 : out[a * n + b] * scale[a] * scale[b];
}
