/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "correct/solve/solve.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"

/* Blocks that run equally often, whatever the flow.  All arrays but n_blocks are by the number of the first block of each. */
struct alike {
	size_t *of_block;
	double *seen;   /* [B] by block: instructions sampled */
	double *sum;    /* of those, all of the class */
	double *size;   /* instructions of all its blocks */
	double *flow;   /* instructions by the flow */
	double *leaves; /* [B] by block: share of its executions that another block follows */
	double *square; /* sum over its blocks of what of it leaves them, squared: each is due a part of `sum` */
};

/* The half of the mean distance that a normal number of this variance has from its mean. */
static double half_distance(double variance)
{
	return sqrt(variance / (2 * M_PI));
}

static bool run_alike(const struct problem *p, const struct solution *sol, size_t a, size_t b)
{
	for (size_t i = 0; i < sol->n_draws; i++) {
		float x = sol->draws[i * p->n_blocks + a], y = sol->draws[i * p->n_blocks + b];

		/* They are single-precision sums. */
		if (fabsf(x - y) > sqrtf(FLT_EPSILON) * fabsf(x))
			return false;
	}
	return true;
}

static void find_alike(const struct problem *p, const struct solution *sol, struct alike *c)
{
	const size_t n = p->n_blocks;

	c->of_block = mem_calloc(n + 1, sizeof(*c->of_block));
	c->seen = mem_calloc(6 * n + 1, sizeof(*c->seen));
	c->sum = c->seen + n;
	c->size = c->sum + n;
	c->flow = c->size + n;
	c->leaves = c->flow + n;
	c->square = c->leaves + n;
	for (size_t b = 0; b < n; b++) {
		const struct problem_block *block = &p->blocks[b];
		size_t first = 0;

		while (first < b && (c->of_block[first] != first || !run_alike(p, sol, first, b)))
			first++;
		c->of_block[b] = first;
		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn; i++)
			c->seen[b] += p->seen_insn[i];
		c->sum[first] += c->seen[b];
		c->size[first] += block->n_insn;
		c->flow[first] += solution_mean(sol, n, b) * block->n_insn;
	}
}

/* What a shadow moves from one lap of a block to the next is still in it. */
static void find_leaving(const struct problem *p, const struct solution *sol, struct alike *c)
{
	for (size_t b = 0; b < p->n_blocks; b++)
		c->leaves[b] = 1;
	for (size_t e = 0; e < p->n_edges; e++) {
		const uint32_t b = p->edges[e].to;

		if (p->edges[e].from == b && sol->edge_flow[e] > 0)
			c->leaves[b] = fmax(1 - sol->edge_flow[e] / solution_mean(sol, p->n_blocks, b), 0);
	}
}

/*
 * The variance of what a block has of samples, over the square of what it is due, beyond chance: of blocks that run equally often
 * each is due as much as it has instructions.
 */
static double spread_of(const struct problem *p, struct alike *c)
{
	double squares = 0, unit = 0;

	for (size_t b = 0; b < p->n_blocks; b++) {
		const size_t k = c->of_block[b];
		const double part = p->blocks[b].n_insn / fmax(c->size[k], 1), due = c->sum[k] * part,
		             off = c->seen[b] - due, leaving = due * c->leaves[b];

		c->square[k] += leaving * leaving;
		/* One of one is due all of it.  The mean of its class has a part of what it is off by. */
		if (!(c->flow[k] > 0) || part >= 1)
			continue;
		squares += off * off - p->insn_per_sample * due * (1 - part);
		unit += leaving * leaving * (1 - part);
	}
	return unit > 0 ? fmax(squares / unit, 0) : 0;
}

bool solve_is_shadowed(const struct problem *p, const struct solution *sol)
{
	double raw_off = 0, apart = 0, spread;
	struct alike c;

	find_alike(p, sol, &c);
	find_leaving(p, sol, &c);
	spread = spread_of(p, &c);
	for (size_t b = 0; b < p->n_blocks; b++) {
		if (c.of_block[b] != b)
			continue;
		raw_off += half_distance(spread * c.square[b]);
		apart += fabs(c.sum[b] - c.flow[b]) / 2;
	}
	free(c.of_block);
	free(c.seen);
	sp_debug("precise samples: blocks that run alike differ by %.2g; %.2g of the instructions moved, "
	         "%.2g from the flow",
	         sqrt(spread), raw_off / p->total_insn, apart / p->total_insn);
	return raw_off * raw_off > apart * apart / 2;
}

bool solve_keeps_step(const struct problem *p)
{
	double least = 1;

	for (size_t b = 0; b < p->n_blocks; b++) {
		const struct problem_block *block = &p->blocks[b];
		/* Two that the processor fuses may be seen as one, at either: so much of the block's samples may be at an instruction. */
		const double most = fmin(3. / block->n_insn, 1);
		double all = 0;

		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn; i++)
			all += round(p->seen_insn[i] / p->insn_per_sample);
		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn && most < 1; i++) {
			double n = round(p->seen_insn[i] / p->insn_per_sample);

			if (n > most * all)
				least = fmin(least, gsl_cdf_binomial_Q((unsigned)n - 1, most, (unsigned)all));
		}
	}
	sp_debug("precise samples: at one instruction of a block there are so many with a chance of %.2g",
	         least);
	return least * (double)p->n_insns < reason_limit_in_step;
}
