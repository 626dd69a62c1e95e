/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/landing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/profile.h"
#include "profiler/base/err.h"

/*
 * Mean cycles per instruction do not describe an out-of-order core: what the
 * timing decides is believed to this share of itself, no better.
 */
static const double timing_error = 0.3;

enum { MAX_STEPS = 600, SETTLE_ROUNDS = 4 };

/* An age between two steps: so much of the way from the first to the next. */
struct age {
	size_t step;
	double part;
};

/* A flow out of a block: where to, as a place among the live blocks, and how often of the block's executions. */
struct leaving {
	size_t to;
	double share;
};

struct walk {
	const struct problem *p;
	double *n;           /* [B] executions */
	size_t *live, *rank; /* [live] blocks that run, in order; [B] their places there */
	size_t n_live;
	struct leaving *leaving; /* [E] by the block they leave ... */
	size_t *leaving0;        /* [live + 1] ... where each one's begin */
	struct age *lasts;       /* [live] cycles an execution, in steps */
	double *age;             /* [steps + 2][live] causes that enter a block at that age */
	double *landed;          /* [steps + 2] the distribution of S at each step */
	double step_cyc;
	size_t n_steps;
};

static double cdf(const struct skid_dist *d, double s)
{
	size_t lo = 0, hi = SKID_POINTS;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (d->s_cyc[mid] <= s)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (double)lo / SKID_POINTS;
}

static struct age age_at(const struct walk *w, double age_cyc)
{
	double at = fmin(age_cyc / w->step_cyc, (double)w->n_steps + 1);
	size_t step = (size_t)at;

	return (struct age){ step, at - (double)step };
}

/*
 * The distribution of S as straight lines between the steps.  Mass put on
 * two steps is then worth what it was between them, so that none is lost.
 */
static double landed(const struct walk *w, struct age at)
{
	if (at.step > w->n_steps)
		return 1;
	return w->landed[at.step] * (1 - at.part) + w->landed[at.step + 1] * at.part;
}

static void walk_fini(struct walk *w)
{
	free(w->n);
	free(w->live);
	free(w->rank);
	free(w->lasts);
	free(w->leaving);
	free(w->leaving0);
	free(w->age);
	free(w->landed);
}

/* Of one execution of a live block. */
static double cycles_of(const struct walk *w, size_t b)
{
	const struct problem_block *block = &w->p->blocks[b];
	double cyc = 0;

	for (uint32_t i = 0; i < block->n_insn; i++)
		cyc += w->p->seen_cyc[block->insn0 + i];
	return cyc / w->n[b];
}

/* Edges are in order of the blocks they leave, and so are the live blocks. */
static void fill_leaving(struct walk *w, const double *f)
{
	const struct problem_edge *edges = w->p->edges;
	size_t n = 0, e = 0;

	for (size_t i = 0; i < w->n_live; i++) {
		w->leaving0[i] = n;
		for (; e < w->p->n_edges && edges[e].from <= w->live[i]; e++)
			if (edges[e].from == w->live[i] && f[e] > 0)
				w->leaving[n++] =
				        (struct leaving){ w->rank[edges[e].to], f[e] / w->n[w->live[i]] };
	}
	w->leaving0[w->n_live] = n;
}

static int walk_init(struct walk *w, const struct problem *p, const double *f)
{
	double mean, longest = p->skid.s_cyc[SKID_POINTS - 1], total = 0;

	*w = (struct walk){ .p = p,
		            .n = calloc(p->n_blocks + 1, sizeof(double)),
		            .live = calloc(p->n_blocks + 1, sizeof(*w->live)),
		            .rank = calloc(p->n_blocks + 1, sizeof(*w->rank)) };
	if (!w->n || !w->live || !w->rank)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t e = 0; e < p->n_edges; e++)
		w->n[p->edges[e].to] += f[e];
	for (size_t b = 0; b < p->n_blocks; b++) {
		total += w->n[b];
		w->rank[b] = w->n_live;
		if (w->n[b] > 0)
			w->live[w->n_live++] = b;
	}
	mean = total > 0 ? p->total_cyc / total : 1;
	w->step_cyc = fmax(mean / 4, longest / MAX_STEPS);
	w->step_cyc = fmax(w->step_cyc, 1e-3);
	w->n_steps = (size_t)(longest / w->step_cyc) + 2;
	w->age = calloc((w->n_steps + 2) * w->n_live + 1, sizeof(double));
	w->landed = calloc(w->n_steps + 2, sizeof(double));
	w->lasts = calloc(w->n_live + 1, sizeof(*w->lasts));
	w->leaving = calloc(p->n_edges + 1, sizeof(*w->leaving));
	w->leaving0 = calloc(w->n_live + 1, sizeof(*w->leaving0));
	if (!w->age || !w->landed || !w->lasts || !w->leaving || !w->leaving0)
		return sp_fail(SP_ENOMEM, "out of memory for %zu steps of a landing", w->n_steps);
	fill_leaving(w, f);
	for (size_t i = 0; i < w->n_live; i++)
		w->lasts[i] = age_at(w, cycles_of(w, w->live[i]));
	for (size_t k = 0; k < w->n_steps + 2; k++)
		w->landed[k] = cdf(&p->skid, (double)k * w->step_cyc);
	return 0;
}

/* Mass that leaves the i-th live block goes to its successors as their flows are, each time into the two steps around its age. */
static void pass_on(struct walk *w, size_t i, struct age at, double mass)
{
	double *age;

	if (at.step >= w->n_steps)
		return;
	age = w->age + at.step * w->n_live;
	for (size_t k = w->leaving0[i]; k < w->leaving0[i + 1]; k++) {
		double part = mass * w->leaving[k].share;

		age[w->leaving[k].to] += part * (1 - at.part);
		age[w->n_live + w->leaving[k].to] += part * at.part;
	}
}

/* Causes in a live block itself: one an instruction leaves it, aged by what follows that.  Returns what stays, O_b. */
static double own_causes(struct walk *w, size_t live)
{
	const struct problem *p = w->p;
	size_t b = w->live[live];
	const struct problem_block *block = &p->blocks[b];
	double left = 0, stay = 0;

	for (uint32_t i = block->n_insn; i-- > 0;) {
		struct age at = age_at(w, left);

		stay += w->n[b] * landed(w, at);
		pass_on(w, live, at, w->n[b]);
		left += p->seen_cyc[block->insn0 + i] / w->n[b];
	}
	return stay;
}

int landing_predict(const struct problem *p, const double *f, double *predicted, double *moved)
{
	size_t n_blocks = p->n_blocks;
	double *taken = calloc(n_blocks + 1, sizeof(*taken));
	struct walk w;
	int err = walk_init(&w, p, f);

	if (err == 0 && !taken)
		err = sp_fail(SP_ENOMEM, "out of memory");
	if (err < 0)
		goto out;
	memset(predicted, 0, n_blocks * sizeof(*predicted));
	memset(moved, 0, n_blocks * sizeof(*moved));
	for (size_t i = 0; i < w.n_live; i++) {
		size_t b = w.live[i];

		predicted[b] = own_causes(&w, i);
		moved[b] = w.n[b] * p->blocks[b].n_insn - predicted[b];
	}
	for (size_t k = 0; k < w.n_steps; k++) {
		double *age = w.age + k * w.n_live;

		/* Blocks shorter than a step pass mass on within it: a few rounds, then the next step takes the rest. */
		memset(taken, 0, w.n_live * sizeof(*taken));
		for (int round = 0; round < SETTLE_ROUNDS; round++)
			for (size_t i = 0; i < w.n_live; i++) {
				size_t b = w.live[i];
				double mass = age[i] - taken[i];
				struct age at = w.lasts[i];

				if (mass <= 0)
					continue;
				if (round + 1 == SETTLE_ROUNDS && !at.step)
					at = (struct age){ .step = 1 };
				at.step += k;
				taken[i] += mass;
				predicted[b] += mass * (landed(&w, at) - w.landed[k]);
				pass_on(&w, i, at, mass);
			}
	}
	for (size_t b = 0; b < n_blocks; b++)
		moved[b] = fmax(moved[b], predicted[b] - (w.n[b] * p->blocks[b].n_insn - moved[b]));
out:
	walk_fini(&w);
	free(taken);
	return err;
}

static int predict_at(const struct problem *p, const struct space *space, const double *t, double *f,
                      double *predicted, double *moved)
{
	space_flow(space, t, f);
	for (size_t e = 0; e < space->n_edges; e++)
		f[e] = fmax(f[e], 0);
	return landing_predict(p, f, predicted, moved);
}

static int add_rows(const struct problem *p, const struct space *space, const double *t,
                    const double *predicted, const double *moved, const double *slope, struct equations *out)
{
	size_t n_blocks = p->n_blocks;

	for (size_t b = 0; b < n_blocks; b++) {
		struct equation *eq;
		double seen = 0;

		if (!equations_any(slope + b, n_blocks, space->n_free))
			continue;
		eq = equations_add(out, p->n_edges);
		if (!eq)
			return -SP_ENOMEM;
		for (uint32_t i = 0; i < p->blocks[b].n_insn; i++)
			seen += p->seen_insn[p->blocks[b].insn0 + i];
		eq->name = "landing";
		eq->kind = PROFILE_BY_LANDING;
		eq->value = seen - predicted[b];
		/* Counted samples: the noise is that of the count predicted, not only of the one that came. */
		eq->sd = sqrt((fmax(seen, predicted[b]) + p->insn_per_sample) * p->insn_per_sample +
		              timing_error * timing_error * moved[b] * moved[b]);
		for (size_t k = 0; k < space->n_free; k++) {
			eq->w[space->free_edge[k]] = slope[k * n_blocks + b];
			eq->value += slope[k * n_blocks + b] * t[k];
		}
	}
	return 0;
}

int landing_equations(const struct problem *p, const struct space *space, const double *t,
                      struct equations *out)
{
	size_t d = space->n_free, n_blocks = p->n_blocks;
	double *work = calloc(d * n_blocks + 4 * n_blocks + p->n_edges + d + 1, sizeof(*work));
	double *slope, *predicted, *moved, *there, *f, *t_near;
	int err;

	if (!work)
		return sp_fail(SP_ENOMEM, "out of memory for %zu free flows", d);
	slope = work;
	predicted = slope + d * n_blocks;
	moved = predicted + n_blocks;
	there = moved + n_blocks;
	f = there + 2 * n_blocks;
	t_near = f + p->n_edges;
	err = predict_at(p, space, t, f, predicted, moved);
	for (size_t k = 0; k < d && err == 0; k++) {
		double h = fmax(0.01 * fabs(t[k]), 1e-4 * p->total_insn / (double)(n_blocks + 1));

		memcpy(t_near, t, d * sizeof(*t));
		t_near[k] += h;
		err = predict_at(p, space, t_near, f, there, there + n_blocks);
		for (size_t b = 0; b < n_blocks; b++)
			slope[k * n_blocks + b] = (there[b] - predicted[b]) / h;
	}
	if (err == 0)
		err = add_rows(p, space, t, predicted, moved, slope, out);
	free(work);
	return err;
}
