/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * [SKID] (2) for blocks, averaged over S, without walking instructions.
 *
 * Let H(t) be the causes that retire up to time t, counted round and round
 * the loop: H(t + P) = H(t) + N.  With skid S those seen up to t are
 * H(t - S).  Averaged over S spread evenly in [a, b] that is
 * (G(t - a) - G(t - b)) / (b - a), G the integral of H.  So each corner of
 * the density of S costs one pass over the block boundaries, and what is
 * seen in a block is the difference between its ends.  It is exact for that
 * density; points of S instead would show phases of short loops that a
 * spread-out S does not have.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "correct/baseline/loops.h"

/* One lap: block k runs in [at[k], at[k + 1]). */
struct lap {
	size_t n;
	const uint32_t *blocks;
	double *at;     /* [n + 1] at[n] = P, cycles */
	double *before; /* [n + 1] H(at[k]), before[n] = N */
	double *area;   /* [n + 1] G(at[k]) */
	double *seen;   /* [n + 1] causes seen up to at[k], less a constant */
};

/* The part of G that one block adds up to x in [0, 1] of its time, in units of its duration. */
static double area_in_block(const struct loops_model *m, uint32_t b, double x)
{
	const struct problem_block *pb = &m->p->blocks[b];
	const double *retire = m->retire + pb->insn0;
	size_t cell = (size_t)(x * LOOPS_HINTS);
	uint32_t done = m->hint[b * LOOPS_HINTS + (cell < LOOPS_HINTS ? cell : LOOPS_HINTS - 1)];

	while (done < pb->n_insn && retire[done] <= x)
		done++;
	if (done == 0)
		return 0;
	return done * x - (m->sum[pb->insn0 + done - 1] + retire[done - 1]);
}

static void make_lap(const struct loops_model *m, size_t l, struct lap *lap)
{
	lap->n = m->path0[l + 1] - m->path0[l];
	lap->blocks = m->path + m->path0[l];
	lap->at = m->lap;
	lap->before = lap->at + m->lap_size + 1;
	lap->area = lap->before + m->lap_size + 1;
	lap->seen = lap->area + m->lap_size + 1;
	lap->at[0] = lap->before[0] = lap->area[0] = 0;
	for (size_t k = 0; k < lap->n; k++) {
		uint32_t b = lap->blocks[k];
		double cyc = loops_cycles(m->cyc[b], m->n_exec[b]);

		lap->at[k + 1] = lap->at[k] + cyc;
		lap->before[k + 1] = lap->before[k] + m->p->blocks[b].n_insn;
		lap->area[k + 1] = lap->area[k] + cyc * (lap->before[k] + area_in_block(m, b, 1));
	}
	memset(lap->seen, 0, (lap->n + 1) * sizeof(*lap->seen));
}

/* G(t) for t in [0, P), in block k. */
static double area_at(const struct loops_model *m, const struct lap *lap, size_t k, double t)
{
	double cyc = lap->at[k + 1] - lap->at[k], x;

	if (!(cyc > 0))
		return lap->area[k];
	x = fmin((t - lap->at[k]) / cyc, 1);
	return lap->area[k] + cyc * (lap->before[k] * x + area_in_block(m, lap->blocks[k], x));
}

/* Add coef G(at[j] - s) to seen[j]: the place looked at only moves on, and wraps once. */
static void add_knot(const struct loops_model *m, struct lap *lap, double s_cyc, double coef)
{
	double period = lap->at[lap->n], all = lap->before[lap->n], area = lap->area[lap->n];
	double laps = floor(-s_cyc / period), start = fmax(-s_cyc - laps * period, 0);
	size_t k = 0;

	assert(lap->n > 0);
	for (size_t j = 0; j <= lap->n; j++) {
		double t = start + lap->at[j], q = laps;

		while (k < lap->n && lap->at[k + 1] <= t)
			k++;
		if (k >= lap->n) { /* into the next lap: k counts on from n */
			q = laps + 1;
			t = fmax(t - period, 0);
			while (k + 1 < 2 * lap->n && lap->at[k - lap->n + 1] <= t)
				k++;
		}
		lap->seen[j] += coef * (q * area + all * period * q * (q - 1) / 2 + q * all * t +
		                        area_at(m, lap, k % lap->n, t));
	}
}

/* No skid, or no time to walk along: everything is seen where it was caused. */
static void land_in_place(const struct loops_model *m, size_t l, double F, double *landed)
{
	for (size_t k = m->path0[l]; k < m->path0[l + 1]; k++)
		landed[m->path[k]] += F * m->p->blocks[m->path[k]].n_insn;
}

void loops_land(const struct loops_model *m, size_t l, double F, double *landed)
{
	struct lap lap;
	double whole;

	make_lap(m, l, &lap);
	if (m->no_skid || !(lap.at[lap.n] > 0)) {
		land_in_place(m, l, F, landed);
		return;
	}
	/* Laps that every S takes change nothing, and G grows with the square of the distance. */
	whole = floor(m->knots[0].s_cyc / lap.at[lap.n]) * lap.at[lap.n];
	for (size_t k = 0; k < m->n_knots; k++)
		add_knot(m, &lap, m->knots[k].s_cyc - whole, m->knots[k].coef);
	for (size_t k = 0; k < lap.n; k++)
		landed[lap.blocks[k]] += F * (lap.seen[k + 1] - lap.seen[k]);
}
