/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/cholesky.h"
#include "correct/known.h"
#include "profiler/base/mem.h"

/*
 * Weights of the barrier, falling as the mode is looked for.  The third is the last where n_c^-w pulls flows to zero, which it
 * keeps off.  Where nothing pulls them it would by itself lift hundreds of idle flows, and with them the totals.
 */
static const double barriers[] = { 30, 3, 0.5, 0.1, 0.01 };
enum { BARRIERS_PULLED = 3, BARRIERS_FREE, BARRIERS_ALL };

/* The mode is reached, or nearly, when a step raises the log density by no more than that. */
static const double at_mode = 1e-3, near_mode = 1;

/* Executions of every block over the free flows: [B][d]. */
static double *block_rows(const struct problem *p, const struct space *space)
{
	size_t d = space->n_free;
	double *rows = mem_calloc(p->n_blocks * d + 1, sizeof(*rows));

	for (size_t e = 0; e < p->n_edges; e++)
		for (size_t k = 0; k < d; k++)
			rows[p->edges[e].to * d + k] += space->z[e * d + k];
	return rows;
}

static bool same_row(const double *a, const double *b, size_t d)
{
	for (size_t k = 0; k < d; k++)
		if (fabs(a[k] - b[k]) > 1e-9)
			return false;
	return true;
}

static uint64_t hash_row(const double *row, size_t d)
{
	uint64_t h = 0x9e3779b97f4a7c15u;

	for (size_t k = 0; k < d; k++)
		if (fabs(row[k]) > 1e-9)
			h = (h ^ (k * 31 + (uint64_t)(int64_t)lround(row[k] * 64))) * 0xff51afd7ed558ccdu;
	return h;
}

/* Number blocks that always run equally often alike; returns how many numbers. */
static size_t classify(const double *rows, size_t n_blocks, size_t d, uint32_t *class_of, uint32_t *first)
{
	size_t n_classes = 0;
	uint64_t *hash = mem_calloc(n_blocks + 1, sizeof(*hash));

	for (size_t b = 0; b < n_blocks; b++) {
		uint64_t h = hash_row(rows + b * d, d);
		size_t c = 0;

		while (c < n_classes && (hash[c] != h || !same_row(rows + first[c] * d, rows + b * d, d)))
			c++;
		if (c == n_classes) {
			hash[c] = h;
			first[n_classes++] = (uint32_t)b;
		}
		class_of[b] = (uint32_t)c;
	}
	free(hash);
	return n_classes;
}

/* What was sampled in one class of blocks, or in one function. */
struct seen {
	double n_insn, n_cyc, n_sampled; /* instructions of an execution, or all; and samples of each event */
};

/* of: [B] which class, or function, each block is in. */
static void see(const struct problem *p, const uint32_t *of, double cyc_unit, double insn_unit,
                struct seen *seen)
{
	for (size_t b = 0; b < p->n_blocks; b++) {
		const struct problem_block *block = &p->blocks[b];
		struct seen *s = &seen[of[b]];

		s->n_insn += block->n_insn;
		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn; i++) {
			s->n_cyc += p->seen_cyc[i] / cyc_unit;
			if (insn_unit > 0)
				s->n_sampled += p->seen_insn[i] / insn_unit;
		}
	}
}

/* Instructions of a sample where they were sampled; 0 where they were counted, and lie where cycles do. */
static double insn_unit_of(const struct problem *p)
{
	return p->insn_counted || p->relative ? 0 : p->insn_per_sample;
}

/*
 * Number the blocks of each function alike; returns how many have a term: skid moves fewer samples of instructions out of a function
 * than out of a block.  None where stacks tell paths, and what a function runs with them, nor where there is only one.
 */
static size_t number_functions(const struct problem *p, uint32_t *func_of)
{
	uint32_t *funcs;
	size_t n = 0;

	if (!(insn_unit_of(p) > 0 && p->total_insn > 0) || p->stacked_insn > 0)
		return 0;
	funcs = mem_calloc(p->n_blocks + 1, sizeof(*funcs));
	for (size_t b = 0; b < p->n_blocks; b++) {
		size_t f = 0;

		while (f < n && funcs[f] != p->blocks[b].func)
			f++;
		if (f == n)
			funcs[n++] = p->blocks[b].func;
		func_of[b] = (uint32_t)f;
	}
	free(funcs);
	return n > 1 ? n : 0;
}

/* Rows that are alike share one cost: most classes of a large scope have no sample at all. */
static void add_cost(struct posterior *post, double k, double var, double least, double (*known)[3],
                     size_t row)
{
	size_t i = 0;

	while (i < post->n_costs && (known[i][0] != k || known[i][1] != var || known[i][2] != least))
		i++;
	post->cost_of[row] = (uint32_t)i;
	if (i < post->n_costs)
		return;
	known[i][0] = k;
	known[i][1] = var;
	known[i][2] = least;
	cost_new(k, var, least, &post->costs[post->n_costs++]);
}

/* F_c and a_c of each class, and of each function that has a term. */
static void time_terms(struct posterior *post, const struct problem *p, const uint32_t *func_of)
{
	double cyc_unit = p->cyc_per_sample > 0 ? p->cyc_per_sample : 1, all_cyc = p->total_cyc / cyc_unit,
	       all_insn = 0;
	double insn_unit = insn_unit_of(p), cpi = 0;
	struct seen *seen = mem_calloc(post->n_timed + 1, sizeof(*seen));
	double(*known)[3] = mem_calloc(post->n_timed + 1, sizeof(*known));

	see(p, post->class_of, cyc_unit, insn_unit, seen);
	if (post->n_timed > post->n_classes)
		see(p, func_of, cyc_unit, insn_unit, seen + post->n_classes);
	for (size_t c = 0; !(p->total_cyc > 0) && c < post->n_classes; c++)
		all_cyc += seen[c].n_cyc + 0.5;
	if (insn_unit > 0)
		all_insn = p->total_insn / insn_unit;
	if (p->total_insn > 0 && !p->relative)
		cpi = all_cyc * cyc_unit / p->total_insn;
	for (size_t c = 0; c < post->n_classes; c++) {
		double n_insn = fmax(seen[c].n_insn, 1);
		double per_insn = p->total_insn > 0 ? (all_cyc + all_insn) / p->total_insn : 1 / cyc_unit;

		post->log_unit[c] = log(n_insn * per_insn);
		/* Half a sample more: none seen does not mean no time. */
		add_cost(post, seen[c].n_cyc + seen[c].n_sampled + 0.5, cost_variance(n_insn),
		         cost_least(n_insn, cpi), known, c);
	}
	for (size_t f = post->n_classes; f < post->n_timed; f++) {
		post->log_unit[f] = -log(insn_unit);
		add_cost(post, seen[f].n_sampled + 0.5, cost_function_variance(seen[f].n_insn), 0, known, f);
	}
	free(seen);
	free(known);
}

/* w: directions that no equation fixes, over the classes. */
static double scale_weight(const struct posterior *post, const struct equations *eqs)
{
	size_t n_settled = eqs->n;

	if (n_settled >= post->n_free)
		return 0;
	return fmin(1, (double)(post->n_free - n_settled) / (double)post->n_classes);
}

/* There are no more classes than blocks, nor more functions. */
static void alloc_all(struct posterior *post, const struct problem *p)
{
	post->class_of = mem_calloc(p->n_blocks + 1, sizeof(uint32_t));
	post->log_unit = mem_calloc(2 * p->n_blocks + 1, sizeof(double));
	post->cost_of = mem_calloc(2 * p->n_blocks + 1, sizeof(uint32_t));
	post->costs = mem_calloc(2 * p->n_blocks + 1, sizeof(*post->costs));
}

/* Rows of d, in units of their noise: inverse(L) of those whose noise goes together has independent noise. */
static void part_noise(const struct equations *eqs, size_t d, double *rows)
{
	for (size_t i = 0; i < eqs->n_together; i++) {
		const double *l = eqs->together + i * eqs->n_together;

		for (size_t k = 0; k < d; k++) {
			for (size_t j = 0; j < i; j++)
				rows[i * d + k] -= l[j] * rows[j * d + k];
			rows[i * d + k] /= l[i];
		}
	}
}

void posterior_equate(struct posterior *post, const struct equations *eqs)
{
	size_t d = post->n_free;
	double *r = mem_calloc(eqs->n * d + 1, sizeof(*r)), *value = mem_calloc(eqs->n + 1, sizeof(*value));

	for (size_t i = 0; i < eqs->n; i++) {
		const struct equation *eq = &eqs->v[i];

		for (size_t e = 0; e < post->n_edges; e++)
			for (size_t k = post->z.row0[e]; eq->w[e] != 0 && k < post->z.row0[e + 1]; k++)
				r[i * d + post->z.col[k]] += eq->w[e] / eq->sd * post->z.x[k];
		value[i] = eq->value / eq->sd;
	}
	part_noise(eqs, d, r + eqs->first * d);
	part_noise(eqs, 1, value + eqs->first);
	free(post->r);
	free(post->r_value);
	post->r = r;
	post->r_value = value;
	post->n_rows = eqs->n;
	post->scale_weight = scale_weight(post, eqs);
}

/* Executions of each class, and what each function runs: [n_timed][d]. */
static double *timed_rows(const struct posterior *post, const struct problem *p, const double *rows,
                          const uint32_t *first, const uint32_t *func_of)
{
	size_t d = post->n_free;
	double *timed = mem_calloc(post->n_timed * d + 1, sizeof(*timed)),
	       *of_funcs = timed + post->n_classes * d;

	for (size_t c = 0; c < post->n_classes; c++)
		memcpy(timed + c * d, rows + first[c] * d, d * sizeof(*rows));
	for (size_t b = 0; b < p->n_blocks && post->n_timed > post->n_classes; b++)
		for (size_t k = 0; k < d; k++)
			of_funcs[func_of[b] * d + k] += p->blocks[b].n_insn * rows[b * d + k];
	return timed;
}

struct posterior *posterior_new(const struct problem *p, const struct space *space,
                                const struct equations *eqs)
{
	struct posterior *post = mem_calloc(1, sizeof(*post));
	double *rows = block_rows(p, space), *timed;
	uint32_t *first = mem_calloc(2 * p->n_blocks + 1, sizeof(*first)), *func_of = first + p->n_blocks;

	post->n_free = space->n_free;
	post->n_edges = p->n_edges;
	alloc_all(post, p);
	post->n_classes = classify(rows, p->n_blocks, post->n_free, post->class_of, first);
	post->n_timed = post->n_classes + number_functions(p, func_of);
	timed = timed_rows(post, p, rows, first, func_of);
	sparse_from(&post->z, space->z, p->n_edges, post->n_free);
	sparse_from(&post->n, timed, post->n_timed, post->n_free);
	time_terms(post, p, func_of);
	posterior_equate(post, eqs);
	free(rows);
	free(timed);
	free(first);
	return post;
}

void posterior_free(struct posterior *post)
{
	if (!post)
		return;
	sparse_fini(&post->z);
	sparse_fini(&post->n);
	free(post->r);
	free(post->r_value);
	free(post->class_of);
	free(post->log_unit);
	free(post->cost_of);
	for (size_t i = 0; i < post->n_costs; i++)
		cost_free(post->costs[i]);
	free(post->costs);
	free(post);
}

/* w of a class. */
static double scale_of(const struct posterior *post, size_t row)
{
	return row < post->n_classes ? post->scale_weight : 0;
}

double posterior_time(const struct posterior *post, size_t row, double n)
{
	double log_n = log(n);

	return cost_at(post->costs[post->cost_of[row]], log_n + post->log_unit[row]) +
	       scale_of(post, row) * log_n;
}

void posterior_time_slope(const struct posterior *post, size_t row, double n, double *slope, double *curve)
{
	const struct cost *cost = post->costs[post->cost_of[row]];
	double y = log(n) + post->log_unit[row];

	cost_slope(cost, y, slope, curve);
	*slope += scale_of(post, row);
}

/* g += slope * row, h += curve * row row' of one sparse row. */
static void add_rank_one(const struct sparse *m, size_t row, double slope, double curve, double *g, double *h,
                         size_t d)
{
	for (size_t i = m->row0[row]; i < m->row0[row + 1]; i++) {
		g[m->col[i]] += slope * m->x[i];
		for (size_t j = m->row0[row]; j < m->row0[row + 1]; j++)
			h[m->col[i] * d + m->col[j]] += curve * m->x[i] * m->x[j];
	}
}

static size_t n_barriers(const struct posterior *post)
{
	return post->scale_weight > 0 ? BARRIERS_PULLED : BARRIERS_FREE;
}

double posterior_miss(const struct posterior *post, size_t i, const double *t)
{
	const double *row = post->r + i * post->n_free;
	double miss = -post->r_value[i];

	for (size_t k = 0; k < post->n_free; k++)
		miss += row[k] * t[k];
	return miss;
}

/* Gradient and (positive) Hessian of -log p with barrier -b sum log f. */
static void derivatives(const struct posterior *post, const double *t, double barrier, const double *rr,
                        double *g, double *h)
{
	size_t d = post->n_free;

	memcpy(h, rr, d * d * sizeof(*h));
	memset(g, 0, d * sizeof(*g));
	for (size_t i = 0; i < post->n_rows; i++) {
		const double *row = post->r + i * d;
		double miss = posterior_miss(post, i, t);

		for (size_t k = 0; k < d; k++)
			g[k] += miss * row[k];
	}
	for (size_t c = 0; c < post->n_timed; c++) {
		double n = sparse_dot(&post->n, c, t), slope, curve;

		if (n <= 0)
			continue;
		posterior_time_slope(post, c, n, &slope, &curve);
		add_rank_one(&post->n, c, slope / n, curve / (n * n), g, h, d);
	}
	for (size_t e = 0; e < post->n_edges; e++) {
		double f = sparse_dot(&post->z, e, t);

		if (post->z.row0[e] == post->z.row0[e + 1])
			continue;
		add_rank_one(&post->z, e, -barrier / f, barrier / (f * f), g, h, d);
	}
}

static double objective(const struct posterior *post, const double *t, double barrier)
{
	double sum = 0;

	for (size_t e = 0; e < post->n_edges; e++) {
		double f = sparse_dot(&post->z, e, t);

		if (post->z.row0[e] == post->z.row0[e + 1])
			continue;
		if (!(f > 0))
			return INFINITY;
		sum -= barrier * log(f);
	}
	for (size_t i = 0; i < post->n_rows; i++) {
		double miss = posterior_miss(post, i, t);

		sum += miss * miss / 2;
	}
	for (size_t c = 0; c < post->n_timed; c++) {
		double n = sparse_dot(&post->n, c, t);

		if (n > 0)
			sum += posterior_time(post, c, n);
	}
	return sum;
}

/* One damped Newton step; returns how much the objective fell. */
static double newton_step(const struct posterior *post, double barrier, const double *rr, double *t,
                          double *g, double *h, double *trial)
{
	size_t d = post->n_free;
	double before = objective(post, t, barrier), step = 1;

	derivatives(post, t, barrier, rr, g, h);
	if (cholesky_factor_hessian(h, d) < 0)
		return 0;
	cholesky_solve(h, d, g);
	for (int halving = 0; halving < 50; halving++, step /= 2) {
		double after;

		for (size_t k = 0; k < d; k++)
			trial[k] = t[k] - step * g[k];
		after = objective(post, trial, barrier);
		if (after < before) {
			memcpy(t, trial, d * sizeof(*t));
			return before - after;
		}
	}
	return 0;
}

void posterior_normal(const struct posterior *post, double *rr)
{
	size_t d = post->n_free;

	memset(rr, 0, d * d * sizeof(*rr));
	for (size_t i = 0; i < post->n_rows; i++) {
		const double *row = post->r + i * d;

		for (size_t a = 0; a < d; a++)
			for (size_t b = 0; row[a] != 0 && b < d; b++)
				rr[a * d + b] += row[a] * row[b];
	}
}

void posterior_slopes(const struct posterior *post, const double *t, double *gradient, double *hessian)
{
	size_t d = post->n_free;
	double *rr = mem_calloc(d * d + 1, sizeof(*rr));

	posterior_normal(post, rr);
	derivatives(post, t, barriers[n_barriers(post) - 1], rr, gradient, hessian);
	free(rr);
}

/* Newton steps from t under the first n barriers.  True where they end short of the mode. */
static bool descend(const struct posterior *post, size_t n, double *t, double *hessian)
{
	/*
	 * A step factors d x d, so the largest spaces get few.  From an interior flow far from the totals forty lead to
	 * where the barrier is highest, and a few more to the mode.
	 */
	int max_steps = (int)fmax(4, fmin(60, 2e10 / pow((double)post->n_free + 1, 3)));
	size_t d = post->n_free;
	bool far = false;
	double *work = mem_calloc(d * d + 2 * d + 1, sizeof(*work)), *rr, *g, *trial;

	rr = work;
	g = work + d * d;
	trial = g + d;
	posterior_normal(post, rr);
	for (size_t i = 0; i < n; i++) {
		double fell = INFINITY;

		for (int step = 0; step < max_steps && fell >= at_mode; step++)
			fell = newton_step(post, barriers[i], rr, t, g, hessian, trial);
		far = fell > near_mode;
	}
	derivatives(post, t, barriers[n - 1], rr, g, hessian);
	free(work);
	return far;
}

bool posterior_mode(const struct posterior *post, double *t, double *hessian)
{
	return descend(post, n_barriers(post), t, hessian);
}

bool posterior_nearest(const struct posterior *post, double *t, double *hessian)
{
	struct posterior timeless = *post;

	timeless.n_timed = 0;
	return descend(&timeless, BARRIERS_ALL, t, hessian);
}
