/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/baseline/loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/mem.h"

void loops_executions(const struct loops_model *m, const double *F, double *n)
{
	memset(n, 0, m->p->n_blocks * sizeof(*n));
	for (size_t l = 0; l < m->n_loops; l++)
		for (size_t k = m->path0[l]; k < m->path0[l + 1]; k++)
			n[m->path[k]] += F[l];
}

double loops_cycles(double cyc, double n)
{
	return n > 0 ? cyc / n : 0;
}

void loops_predict(struct loops_model *m, const double *F, double *landed)
{
	memset(landed, 0, m->p->n_blocks * sizeof(*landed));
	loops_executions(m, F, m->n_exec);
	for (size_t l = 0; l < m->n_loops; l++)
		if (F[l] > 0)
			loops_land(m, l, F[l], landed);
}

double loops_misfit(struct loops_model *m, const double *F)
{
	double phi = 0;

	loops_predict(m, F, m->landed);
	for (size_t b = 0; b < m->p->n_blocks; b++)
		phi += (m->seen[b] - m->landed[b]) * (m->seen[b] - m->landed[b]);
	return phi;
}

double loops_work(const struct loops_model *m)
{
	return (double)(m->n_knots + 1) * (double)(m->path0[m->n_loops] + m->n_loops);
}

long loops_edge(const struct problem *p, uint32_t graph_edge)
{
	size_t lo = 0, hi = p->n_edges;

	while (lo < hi) { /* the region's edges ascend */
		size_t mid = lo + (hi - lo) / 2;

		if (p->edges[mid].graph_edge < graph_edge)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->n_edges && p->edges[lo].graph_edge == graph_edge ? (long)lo : -1;
}

static int make_paths(struct loops_model *m, const struct flow_loops *loops)
{
	const struct problem *p = m->p;
	size_t at = 0;

	for (size_t l = 0; l < loops->n; l++) {
		m->path0[l] = at;
		for (size_t k = 0; k < loops->v[l].n; k++) {
			long e = loops_edge(p, loops->v[l].edges[k]);

			if (e < 0)
				return sp_fail(SP_EDOMAIN, "simple loop %zu leaves its region", l);
			m->path[at++] = p->edges[e].from;
			m->size[l] += p->blocks[p->edges[e].from].n_insn;
		}
		if (!(m->size[l] > 0))
			return sp_fail(SP_EDOMAIN, "simple loop %zu has no instructions", l);
		if (at - m->path0[l] > m->lap_size)
			m->lap_size = at - m->path0[l];
	}
	m->path0[loops->n] = at;
	return 0;
}

/* Where in its block's time each instruction retires: the same for every F ([SKID] (5): n_i is one for the block). */
static void place_causes(struct loops_model *m, size_t b)
{
	const struct problem_block *pb = &m->p->blocks[b];
	double *retire = m->retire + pb->insn0, *sum = m->sum + pb->insn0, t = 0, total = 0;
	uint32_t done = 0;

	for (uint32_t i = 0; i < pb->n_insn; i++) {
		t += m->p->seen_cyc[pb->insn0 + i];
		retire[i] = m->cyc[b] > 0 ? fmin(t / m->cyc[b], 1) : 1;
		sum[i] = total;
		total += retire[i];
	}
	for (uint32_t k = 0; k < LOOPS_HINTS; k++) {
		while (done < pb->n_insn && done < UINT16_MAX && retire[done] * LOOPS_HINTS <= k)
			done++;
		m->hint[b * LOOPS_HINTS + k] = (uint16_t)done;
	}
}

/*
 * E_b and C_b.  |E| may be known better than by its samples (eq. 3), so the
 * samples are scaled to it.
 */
static void sum_blocks(struct loops_model *m)
{
	const struct problem *p = m->p;
	double all = 0;

	for (size_t b = 0; b < p->n_blocks; b++) {
		for (uint32_t i = p->blocks[b].insn0; i < p->blocks[b].insn0 + p->blocks[b].n_insn; i++) {
			m->seen[b] += p->seen_insn[i];
			m->cyc[b] += p->seen_cyc[i];
		}
		all += m->seen[b];
		place_causes(m, b);
	}
	for (size_t b = 0; b < p->n_blocks && all > 0; b++)
		m->seen[b] *= p->total_insn / all;
}

/*
 * sigma^2 = |E|^2 / B (1 / N_E + 1 / N_C), N the numbers of samples: phi sums
 * B squares; E_b, a count of samples times the period, has variance
 * E_b |E| / N_E, together |E|^2 / N_E; and the predicted landing follows the
 * cycles, whose share in a block is as noisy.
 */
static double noise(const struct loops_model *m)
{
	const struct problem *p = m->p;
	double insn = p->total_insn > 0 ? p->insn_per_sample / p->total_insn : 0;
	double cyc = p->total_cyc > 0 ? p->cyc_per_sample / p->total_cyc : 0;
	double s2 = p->total_insn * p->total_insn / (double)p->n_blocks * (insn + cyc);

	return s2 > 0 ? s2 : 1;
}

static double share_uncovered(struct loops_model *m)
{
	double out = 0;

	for (size_t l = 0; l < m->n_loops; l++)
		for (size_t k = m->path0[l]; k < m->path0[l + 1]; k++)
			m->landed[m->path[k]] = 1;
	for (size_t b = 0; b < m->p->n_blocks; b++)
		if (m->landed[b] == 0)
			out += m->seen[b];
	return m->p->total_insn > 0 ? out / m->p->total_insn : 0;
}

/* The quantile at the corner between cell c - 1 and cell c. */
static double corner(const struct skid_dist *d, size_t c, size_t n_cells)
{
	return skid_dist_quantile(d, (double)c / (double)n_cells);
}

/* Corners that coincide, those of neighbouring cells and of a constant S, are one. */
static void add_step(struct loops_knot *knots, size_t *n, double s_cyc, double coef)
{
	for (size_t k = *n; k > 0 && k + 2 > *n; k--) {
		if (knots[k - 1].s_cyc == s_cyc) {
			knots[k - 1].coef += coef;
			return;
		}
	}
	knots[(*n)++] = (struct loops_knot){ s_cyc, coef };
}

/*
 * Cycles are whole, so a skid recorded as 378 says no more than 377.5 to
 * 378.5: no step is narrower than one cycle.
 */
size_t loops_knots(const struct skid_dist *d, size_t n_cells, struct loops_knot *knots)
{
	size_t n = 0;

	for (size_t c = 0; c < n_cells; c++) {
		double a = corner(d, c, n_cells), b = corner(d, c + 1, n_cells), coef;

		if (b - a < 1) {
			double mid = (a + b) / 2;

			a = fmax(mid - 0.5, 0);
			b = mid + 0.5;
		}
		coef = 1 / ((double)n_cells * (b - a));
		add_step(knots, &n, a, coef);
		add_step(knots, &n, b, -coef);
	}
	return n;
}

static int allocate(struct loops_model *m, const struct flow_loops *loops, size_t n_cells)
{
	size_t steps = 0, n_blocks = m->p->n_blocks + 1, n_insns = m->p->n_insns + 1;

	for (size_t l = 0; l < loops->n; l++)
		steps += loops->v[l].n;
	m->path0 = mem_calloc(loops->n + 1, sizeof(*m->path0));
	m->path = mem_calloc(steps + 1, sizeof(*m->path));
	m->size = mem_calloc(loops->n + 1, sizeof(*m->size));
	m->seen = mem_calloc(n_blocks, sizeof(*m->seen));
	m->cyc = mem_calloc(n_blocks, sizeof(*m->cyc));
	m->n_exec = mem_calloc(n_blocks, sizeof(*m->n_exec));
	m->landed = mem_calloc(n_blocks, sizeof(*m->landed));
	m->hint = mem_calloc(n_blocks, LOOPS_HINTS * sizeof(*m->hint));
	m->retire = mem_calloc(n_insns, sizeof(*m->retire));
	m->sum = mem_calloc(n_insns, sizeof(*m->sum));
	m->knots = mem_calloc(2 * n_cells, sizeof(*m->knots));
	return 0;
}

int loops_model_init(struct loops_model *m, const struct problem *p, const struct flow_loops *loops,
                     size_t n_cells)
{
	int ret;

	*m = (struct loops_model){ .p = p, .n_loops = loops->n };
	ret = allocate(m, loops, n_cells);
	if (ret == 0)
		ret = make_paths(m, loops);
	m->lap = mem_calloc(m->lap_size + 1, 4 * sizeof(*m->lap));
	if (ret < 0) {
		loops_model_fini(m);
		return ret;
	}
	sum_blocks(m);
	m->sigma2 = noise(m);
	m->uncovered = share_uncovered(m);
	m->n_knots = loops_knots(&p->skid, n_cells, m->knots);
	m->no_skid = skid_dist_quantile(&p->skid, 1) <= 0;
	return 0;
}

void loops_model_fini(struct loops_model *m)
{
	free(m->lap);
	free(m->knots);
	free(m->sum);
	free(m->retire);
	free(m->hint);
	free(m->landed);
	free(m->n_exec);
	free(m->cyc);
	free(m->seen);
	free(m->size);
	free(m->path);
	free(m->path0);
	*m = (struct loops_model){ 0 };
}
