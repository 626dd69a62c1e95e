/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "correct/solve/solve.h"
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
		/* Half of the mean distance that a normal number of this variance has from its mean. */
		raw_off += sqrt(spread * c.square[b] / (2 * M_PI));
		apart += fabs(c.sum[b] - c.flow[b]) / 2;
	}
	free(c.of_block);
	free(c.seen);
	return raw_off * raw_off > apart * apart / 2;
}

static size_t row_of(const size_t *row, size_t block)
{
	return row[block] == block ? block : row_of(row, row[block]);
}

/* A row of blocks of which each leads to the next alone, which is come to by it alone, runs equally often: one of its blocks, by block. */
static size_t *find_rows(const struct problem *p)
{
	const size_t n = p->n_blocks;
	size_t *row = mem_calloc(3 * n + 1, sizeof(*row)), *n_in = row + n, *n_out = n_in + n;

	for (size_t b = 0; b < n; b++)
		row[b] = b;
	for (size_t e = 0; e < p->n_edges; e++) {
		n_out[p->edges[e].from]++;
		n_in[p->edges[e].to]++;
	}
	for (size_t e = 0; e < p->n_edges; e++)
		if (n_out[p->edges[e].from] == 1 && n_in[p->edges[e].to] == 1)
			row[row_of(row, p->edges[e].to)] = row_of(row, p->edges[e].from);
	for (size_t b = 0; b < n; b++)
		row[b] = row_of(row, b);
	return row;
}

bool solve_keeps_step(const struct problem *p)
{
	size_t *row = find_rows(p);
	double *all = mem_calloc(2 * p->n_blocks + 1, sizeof(*all)), *size = all + p->n_blocks, least = 1;

	for (size_t b = 0; b < p->n_blocks; b++) {
		const struct problem_block *block = &p->blocks[b];

		size[row[b]] += block->n_insn;
		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn; i++)
			all[row[b]] += round(p->seen_insn[i] / p->insn_per_sample);
	}
	for (size_t b = 0; b < p->n_blocks; b++) {
		const struct problem_block *block = &p->blocks[b];
		/* Two that the processor fuses may be seen as one, at either: so much of the row's samples may be at an instruction. */
		const double most = fmin(3. / size[row[b]], 1);

		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn && most < 1; i++) {
			double n = round(p->seen_insn[i] / p->insn_per_sample);

			if (n > most * all[row[b]])
				least = fmin(least, gsl_cdf_binomial_Q((unsigned)n - 1, most,
				                                       (unsigned)all[row[b]]));
		}
	}
	free(row);
	free(all);
	return least * (double)p->n_insns < reason_limit_in_step;
}
