/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/problem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/flow/scc.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/binary/insn.h"

#define NONE UINT32_MAX

/* The place of a number in n structures in its order, `size` bytes each, where it is at `offset`; -1 if in none. */
static long find_number(const void *v, size_t n, size_t size, size_t offset, uint32_t wanted)
{
	const char *first = (const char *)v + offset;
	size_t i = sorted_count(n, k, *(const uint32_t *)(const void *)(first + k * size) < wanted);

	return i < n && *(const uint32_t *)(const void *)(first + i * size) == wanted ? (long)i : -1;
}

static int32_t local_block(const struct flow_region *r, uint32_t graph_block)
{
	return (int32_t)find_number(r->blocks, r->n_blocks, sizeof(*r->blocks), 0, graph_block);
}

static size_t count_insns(const struct flow_graph *g, const struct flow_region *r)
{
	size_t n = 0;

	for (size_t b = 0; b < r->n_blocks; b++)
		n += g->blocks[r->blocks[b]].n_insn;
	return n;
}

/* calloc that gives something to free even for n = 0. */
static void *array(size_t n, size_t size)
{
	return mem_calloc(n ? n : 1, size);
}

static void allocate(struct problem *p)
{
	p->blocks = array(p->n_blocks, sizeof(*p->blocks));
	p->edges = array(p->n_edges, sizeof(*p->edges));
	p->insns = array(p->n_insns, sizeof(*p->insns));
	p->seen_insn = array(p->n_insns, sizeof(*p->seen_insn));
	p->seen_cyc = array(p->n_insns, sizeof(*p->seen_cyc));
}

static void number_blocks(struct problem *p)
{
	uint32_t insn = 0;

	for (size_t b = 0; b < p->n_blocks; b++) {
		const struct flow_block *fb = &p->graph->blocks[p->region->blocks[b]];

		p->blocks[b] = (struct problem_block){ insn, fb->n_insn, p->region->blocks[b], fb->func };
		if (fb->n_insn)
			memcpy(&p->insns[insn], &p->graph->insns[fb->insn0], fb->n_insn * sizeof(*p->insns));
		insn += fb->n_insn;
	}
}

/* Local blocks and graph blocks are in the same order, so edges stay sorted by from. */
static void number_edges(struct problem *p)
{
	const struct flow_region *r = p->region;

	for (size_t e = 0; e < p->n_edges; e++) {
		const struct flow_edge *fe = &p->graph->edges[r->edges[e]];
		bool matched = fe->kind == FLOW_CALL || fe->kind == FLOW_RET;

		p->edges[e] = (struct problem_edge){
			.from = (uint32_t)local_block(r, fe->from),
			.to = (uint32_t)local_block(r, fe->to),
			.graph_edge = r->edges[e],
			.call = matched ? local_block(r, fe->call) : -1,
			.kind = fe->kind,
		};
	}
}

/* Where a callee comes back to its call, by call: one of the blocks, or NONE. */
static void find_returns(const struct problem *p, uint32_t *back)
{
	memset(back, 0xff, p->n_blocks * sizeof(*back));
	for (size_t e = 0; e < p->n_edges; e++)
		if (p->edges[e].call >= 0 && p->edges[e].kind == FLOW_RET)
			back[p->edges[e].call] = p->edges[e].to;
}

/* comp[B]: blocks that lead to one another by steps within functions, past calls, and into callees, but not back. */
static void find_recursions(const struct problem *p, uint32_t *comp)
{
	uint32_t *off = mem_calloc(p->n_blocks + 2, sizeof(*off)),
	         *to = mem_calloc(2 * p->n_edges + 1, sizeof(*to)),
	         *back = mem_calloc(p->n_blocks + 1, sizeof(*back)), n_comps, at = 0;

	find_returns(p, back);
	/* Edges are in the order of their blocks. */
	for (size_t e = 0; e < p->n_edges; e++) {
		const struct problem_edge *edge = &p->edges[e];
		bool is_call = edge->call >= 0 && edge->kind == FLOW_CALL;

		if (edge->call < 0 || is_call)
			to[at++] = edge->to;
		if (is_call && back[edge->call] != NONE)
			to[at++] = back[edge->call];
		off[edge->from + 1] = at;
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		off[b + 1] = off[b + 1] > off[b] ? off[b + 1] : off[b];
	scc_find(&(struct scc_graph){ (uint32_t)p->n_blocks, off, to }, comp, &n_comps);
	free(off);
	free(to);
	free(back);
}

/*
 * A call whose callee leads to the same call again, before it returns, is part of a recursion: which activation is
 * returned to is not told, so it is not matched to returns.  The same goes for a callee that is left by longjmp(3) or
 * an exception; of those it is not even said that they return as often as they are called.
 */
static void unmatch_recursions(struct problem *p)
{
	uint32_t *comp = mem_calloc(p->n_blocks + 1, sizeof(*comp));
	bool *recursive = mem_calloc(p->n_blocks + 1, sizeof(*recursive)); /* by call */
	bool *left =
	        mem_calloc(p->n_blocks + 1, sizeof(*left)); /* by comp: jumps lead away from calls in it */

	find_recursions(p, comp);
	for (size_t e = 0; e < p->n_edges; e++)
		if (p->graph->edges[p->edges[e].graph_edge].away &&
		    comp[p->edges[e].from] == comp[p->edges[e].to])
			left[comp[p->edges[e].from]] = true;
	for (size_t e = 0; e < p->n_edges; e++)
		if (p->edges[e].call >= 0 && p->edges[e].kind == FLOW_CALL)
			recursive[p->edges[e].call] |= comp[p->edges[e].from] == comp[p->edges[e].to];
	for (size_t e = 0; e < p->n_edges; e++)
		if (p->edges[e].call >= 0 && recursive[p->edges[e].call]) {
			if (!left[comp[p->edges[e].call]])
				p->edges[e].recursive = (uint32_t)p->edges[e].call + 1;
			p->edges[e].call = -1;
		}
	free(comp);
	free(recursive);
	free(left);
}

struct problem *problem_new(const struct flow_graph *g, const struct flow_region *r)
{
	struct problem *p = mem_calloc(1, sizeof(*p));

	p->graph = g;
	p->region = r;
	p->n_blocks = r->n_blocks;
	p->n_edges = r->n_edges;
	p->n_insns = count_insns(g, r);
	allocate(p);
	number_blocks(p);
	number_edges(p);
	if (r->recursive)
		unmatch_recursions(p);
	return p;
}

void problem_free(struct problem *p)
{
	if (!p)
		return;
	free(p->seen_cyc);
	free(p->seen_insn);
	free(p->insns);
	free(p->edges);
	free(p->blocks);
	free(p);
}

double problem_heat(const struct problem *p, const struct problem_block *b)
{
	double heat = 0;

	for (uint32_t i = b->insn0; i < b->insn0 + b->n_insn; i++)
		heat += p->seen_cyc[i] + p->seen_insn[i];
	return heat;
}

double problem_time(const struct problem *p, const struct problem_block *b)
{
	double cyc = 0;

	for (uint32_t i = b->insn0; i < b->insn0 + b->n_insn; i++)
		cyc += p->seen_cyc[i];
	return cyc;
}

long problem_block_at(const struct problem *p, uint32_t graph_block)
{
	return find_number(p->blocks, p->n_blocks, sizeof(*p->blocks),
	                   offsetof(struct problem_block, graph_block), graph_block);
}

long problem_edge_at(const struct problem *p, uint32_t graph_edge)
{
	return find_number(p->edges, p->n_edges, sizeof(*p->edges), offsetof(struct problem_edge, graph_edge),
	                   graph_edge);
}

void solution_init(struct solution *s, const struct problem *p, size_t n_draws)
{
	*s = (struct solution){ .n_draws = n_draws };
	s->draws = array(n_draws * p->n_blocks, sizeof(*s->draws));
	s->edge_flow = array(p->n_edges, sizeof(*s->edge_flow));
}

void solution_fini(struct solution *s)
{
	free(s->draws);
	free(s->doubt);
	free(s->edge_flow);
	*s = (struct solution){ 0 };
}

void solution_doubt(struct solution *s, enum problem_verdict how, const char *fmt, ...)
{
	va_list ap;

	s->verdict = how;
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
}

/* Each draw has its place among all of a normal distribution's, in no order: so their mean is that. */
void solution_keep_positive(struct solution *s, size_t n_blocks, size_t b, double mean)
{
	double after = 0;

	for (size_t i = 0; i < s->n_draws; i++) {
		float *n = &s->draws[i * n_blocks + b];

		*n = fmaxf(*n, 0);
		after += (double)*n / (double)s->n_draws;
	}
	for (size_t i = 0; i < s->n_draws && after > 0; i++)
		s->draws[i * n_blocks + b] *= (float)(fmax(mean, 0) / after);
}

void solution_spread(struct solution *s, size_t n_blocks, double sd, unsigned long seed)
{
	size_t n = s->n_draws;
	gsl_rng *rng;
	double *factor;

	if (!n || !(sd > 0))
		return;
	rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));
	factor = mem_calloc(n, sizeof(*factor));
	for (size_t i = 0; i < n; i++)
		factor[i] = fmax(1 + sd * gsl_cdf_ugaussian_Pinv(((double)i + 0.5) / (double)n), 0);
	gsl_rng_set(rng, seed);
	gsl_ran_shuffle(rng, factor, n, sizeof(*factor));
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < n_blocks; b++)
			s->draws[i * n_blocks + b] *= (float)factor[i];
	free(factor);
	gsl_rng_free(rng);
}

double solution_draw_insn(const struct solution *s, const struct problem *p, size_t draw)
{
	double insn = 0;

	for (size_t b = 0; b < p->n_blocks; b++)
		insn += (double)s->draws[draw * p->n_blocks + b] * p->blocks[b].n_insn;
	return insn;
}

void solution_set_insn(struct solution *s, const struct problem *p, size_t draw, double insn)
{
	const double has = solution_draw_insn(s, p, draw);

	for (size_t b = 0; b < p->n_blocks && has > 0; b++)
		s->draws[draw * p->n_blocks + b] *= (float)(insn / has);
}

double solution_mean(const struct solution *s, size_t n_blocks, size_t b)
{
	double sum = 0;

	for (size_t i = 0; i < s->n_draws; i++)
		sum += (double)s->draws[i * n_blocks + b];
	return s->n_draws ? sum / (double)s->n_draws : 0;
}

/* Each turn leaves a fraction of what the one before left. */
enum { FIT_TURNS = 20 };

static double sum_of(const struct solution *s, const struct problem *p, const uint32_t *blocks, size_t n,
                     size_t draw)
{
	double insn = 0;

	for (size_t k = 0; k < n; k++)
		insn += (double)s->draws[draw * p->n_blocks + blocks[k]] * p->blocks[blocks[k]].n_insn;
	return insn;
}

void solution_fit(struct solution *s, const struct problem *p, const double *mean, const double *insn)
{
	uint32_t *blocks = mem_malloc((p->n_blocks + 1) * sizeof(*blocks));
	size_t n = 0;

	/* Most blocks of a large region never run: their pages stay untouched. */
	for (uint32_t b = 0; b < p->n_blocks; b++)
		if (mean[b] > 0)
			blocks[n++] = b;
	for (int turn = 0; turn < FIT_TURNS; turn++) {
		for (size_t i = 0; i < s->n_draws; i++) {
			const double has = sum_of(s, p, blocks, n, i);

			for (size_t k = 0; k < n && has > 0; k++)
				s->draws[i * p->n_blocks + blocks[k]] *= (float)(insn[i] / has);
		}
		for (size_t k = 0; k < n; k++)
			solution_keep_positive(s, p->n_blocks, blocks[k], mean[blocks[k]]);
	}
	free(blocks);
}

/* The mean of both by their precisions; what each draw takes from the total leaves draws the scatter that both together have. */
static void meet(struct solution *s, const struct problem *p, double total, double sd, gsl_rng *rng,
                 double *drawn, double *insn)
{
	double mean = 0, var = 0, part, off;

	for (size_t i = 0; i < s->n_draws; i++) {
		drawn[i] = solution_draw_insn(s, p, i);
		mean += drawn[i] / (double)s->n_draws;
	}
	for (size_t i = 0; i < s->n_draws; i++)
		var += (drawn[i] - mean) * (drawn[i] - mean) / (double)s->n_draws;
	*insn = mean;
	if (!(mean > 0))
		return;
	/* It grows with what is counted, so a mean that a single stack made small by chance is no surer for being small. */
	var *= pow(fmax(total / mean, 1), 2);
	part = var / (var + sd * sd);
	/* Where they do not agree, one of them is worse than it is taken to be. */
	off = fmax(fabs(mean - total) / sqrt(var + sd * sd), 1);
	*insn = mean + part * (total - mean);
	for (size_t i = 0; i < s->n_draws; i++) {
		double away = (1 - part) * (drawn[i] - mean) + part * gsl_ran_gaussian(rng, sd);

		for (size_t b = 0; b < p->n_blocks && drawn[i] > 0; b++)
			s->draws[i * p->n_blocks + b] *= (float)(fmax(*insn + off * away, 0) / drawn[i]);
	}
}

void solution_meet_total(struct solution *s, const struct problem *p, double total, double sd,
                         unsigned long seed, double *insn)
{
	double *drawn = mem_calloc(s->n_draws + 1, sizeof(*drawn));
	gsl_rng *rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));

	gsl_rng_set(rng, seed);
	meet(s, p, total, sd, rng, drawn, insn);
	gsl_rng_free(rng);
	free(drawn);
}
