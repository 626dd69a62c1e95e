/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/ratio.h"

#include <math.h>
#include <stdlib.h>

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
	double insn_sq, by_sum, sum_sq; /* sums of squares and products of what single ones counted */
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
		e->insn_sq += in->insn * in->insn;
		e->by_sum += in->insn * count;
		e->sum_sq += count * count;
	}
}

/* Variance of the sum over all runs, by what each of them counted beside the ratio. */
static double scatter(const struct ratios *r, int event, double ratio)
{
	double squares = 0, n = 0;

	for (size_t i = 0; i < r->runs.n; i++) {
		const struct run *run = &r->runs.v[i];
		double off;

		if (!(run->counted >> event & 1))
			continue;
		off = *sum_of(r, run, event) - ratio * run->insn;
		squares += off * off;
		n++;
	}
	return squares * n / fmax(n - 1, 1);
}

/* How far the ratios of single intervals are from the mean: the standard deviation. */
static double differ(const struct event *e, double ratio)
{
	double squares = e->sum_sq - 2 * ratio * e->by_sum + ratio * ratio * e->insn_sq;

	return e->insn_sq > 0 ? sqrt(fmax(squares, 0) / e->insn_sq) : 0;
}

void ratios_of(const struct ratios *r, int event, double inside_insn, double total_insn, struct ratio *out)
{
	const struct event *e = &r->events[event];
	double ratio, part, outside;

	if (e->n < model->hardly || !(e->insn > 0))
		return;
	ratio = e->sum / e->insn;
	total_insn = fmax(total_insn, e->insn);
	part = e->insn / total_insn;
	outside = fmax(1 - inside_insn / total_insn, 0);
	/*
	 * The intervals in which the event was counted are a sample of all that ran, and what was not counted may differ by as much
	 * again.  What each visit began and ended with may be the same code each time, and differ from the mean as intervals do.
	 */
	*out = (struct ratio){ .ratio = ratio,
		               .se = hypot(sqrt(scatter(r, event, ratio) * (1 - part) * (2 - part)) / e->insn,
		                           outside * differ(e, ratio)),
		               .counted_insn = e->insn };
}
