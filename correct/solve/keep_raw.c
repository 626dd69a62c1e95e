/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/solve/keep_raw.h"

#include <math.h>
#include <stdlib.h>

#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"

/* Instructions by function, or by block where there is one function; all [n]. */
struct parts {
	uint32_t *of_block; /* [B] */
	size_t n;
	double *seen, *drawn, *sum, *squares;
};

static void parts_fini(struct parts *s)
{
	free(s->of_block);
	free(s->seen);
}

static void number_functions(const struct problem *p, struct parts *s)
{
	struct pairs funcs = { 0 };

	for (size_t b = 0; b < p->n_blocks; b++) {
		size_t k = pairs_must(&funcs, p->graph->blocks[p->blocks[b].graph_block].func, 1);

		s->of_block[b] = (uint32_t)k;
		s->n = k >= s->n ? k + 1 : s->n;
	}
	pairs_fini(&funcs);
}

static void parts_new(const struct problem *p, struct parts *s)
{
	*s = (struct parts){ .of_block = mem_calloc(p->n_blocks + 1, sizeof(*s->of_block)) };
	number_functions(p, s);
	if (s->n == 1) {
		s->n = p->n_blocks;
		for (size_t b = 0; b < p->n_blocks; b++)
			s->of_block[b] = (uint32_t)b;
	}
	s->seen = mem_calloc(4 * s->n + 1, sizeof(*s->seen));
	s->drawn = s->seen + s->n;
	s->sum = s->drawn + s->n;
	s->squares = s->sum + s->n;
}

/* Mean and mean square of each part's instructions over the draws, to sum and squares. */
static void add_draws(const struct problem *p, const struct solution *sol, struct parts *s)
{
	for (size_t i = 0; i < sol->n_draws; i++) {
		for (size_t k = 0; k < s->n; k++)
			s->drawn[k] = 0;
		for (size_t b = 0; b < p->n_blocks; b++)
			s->drawn[s->of_block[b]] +=
			        (double)sol->draws[i * p->n_blocks + b] * p->blocks[b].n_insn;
		for (size_t k = 0; k < s->n; k++) {
			s->sum[k] += s->drawn[k] / (double)sol->n_draws;
			s->squares[k] += s->drawn[k] * s->drawn[k] / (double)sol->n_draws;
		}
	}
}

/* What precise samples by themselves are wrong by: their number is chance, and edges between the parts move some (eq. 22). */
static double variance_of_raw(const struct problem *p, const struct solution *sol, const struct parts *s)
{
	double sum = 0, square = p->insn_per_sample * p->insn_per_sample;

	for (size_t k = 0; k < s->n; k++)
		sum += square + (p->next.n ? 0 : s->seen[k] * p->insn_per_sample);
	for (size_t k = 0; k < p->next.n; k++)
		if (s->of_block[p->next.v[k].a] != s->of_block[p->next.v[k].b])
			sum += square * p->next.v[k].n;
	for (size_t e = 0; e < p->n_edges; e++) {
		double moved = sol->moved * sol->edge_flow[e];

		if (s->of_block[p->edges[e].from] != s->of_block[p->edges[e].to])
			sum += 2 * moved * moved;
	}
	return sum;
}

int keep_raw_judge(const struct problem *p, const struct solution *sol, bool stacks)
{
	double unsure = 0, off = 0, raw;
	struct parts s;

	parts_new(p, &s);
	for (size_t b = 0; b < p->n_blocks; b++)
		for (uint32_t i = 0; i < p->blocks[b].n_insn; i++)
			s.seen[s.of_block[b]] += p->seen_insn[p->blocks[b].insn0 + i];
	add_draws(p, sol, &s);
	for (size_t k = 0; k < s.n; k++) {
		unsure += fmax(s.squares[k] - s.sum[k] * s.sum[k], 0);
		off += (s.sum[k] - s.seen[k]) * (s.sum[k] - s.seen[k]);
	}
	raw = variance_of_raw(p, sol, &s);
	sp_debug("%zu parts: known to %.3g, by precise samples alone to %.3g, apart by %.3g", s.n,
	         sqrt(unsure), sqrt(raw), sqrt(off));
	parts_fini(&s);
	/* What they are apart by beyond raw's own error is the correction's: no less than raw's, and raw is as right. */
	return fmax(stacks ? 0 : unsure, off - raw) > raw;
}
