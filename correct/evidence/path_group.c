/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * eq. 27: what weighing leaves, stacks of one newest edge are wrong by together: all of them are seen too often
 * where the code after that edge is slower than its history tells.  Noise of each flow by itself does not let exact
 * totals undo that; noise of the weight of each such group of stacks does.  How large it is the totals tell, which
 * the stacks predict with an error of their own.
 */
#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/profile.h"

/* What is supposed of k before totals are looked at: about a tenth, within a factor of 3. */
static const double usual = 0.1, usual_log_sd = 1;

static const double tried[] = { 0.01, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4 };

enum { N_TRIED = sizeof(tried) / sizeof(tried[0]) };

struct groups {
	size_t d, n;
	double *j; /* [n][d] what one more of each group adds to the free flows */
};

/* Totals' misses in units of their noise, and what makes them miss: all [k] or [k][k]. */
struct misses {
	size_t k;
	double *miss, *known, *grouped; /* covariance without groups, and by groups of weights known to 1 */
};

static int by_near(const void *a, const void *b)
{
	const struct stack *x = *(const struct stack *const *)a, *y = *(const struct stack *const *)b;

	return (x->near > y->near) - (x->near < y->near);
}

static int groups_init(struct groups *g, const struct path *s, const struct scope_stacks *r,
                       const float *weight, const struct space *space, const struct path_tally *mean)
{
	size_t n = r->stacks.n;
	const struct stack **order = malloc((n + 1) * sizeof(const struct stack *));
	struct path_tally one = { .edge = calloc(space->n_edges + 1, sizeof(double)) };
	bool ok = order && one.edge;

	*g = (struct groups){ .d = space->n_free };
	for (size_t i = 0; ok && i < n; i++)
		order[i] = &r->stacks.v[i];
	if (ok && n)
		qsort(order, n, sizeof(const struct stack *), by_near);
	for (size_t i = 0; ok && i < n; i++)
		g->n += !i || order[i]->near != order[i - 1]->near;
	g->j = ok ? calloc(g->n * g->d + 1, sizeof(*g->j)) : NULL;
	ok = g->j;
	for (size_t i = 0, row = 0; ok && i < n; row++) {
		uint32_t near = order[i]->near;

		memset(one.edge, 0, space->n_edges * sizeof(*one.edge));
		one.insn = 0;
		for (; i < n && order[i]->near == near; i++)
			path_add_stack(s, r, order[i], weight, 1, &one);
		for (size_t k = 0; k < g->d; k++) {
			uint32_t e = space->free_edge[k];

			g->j[row * g->d + k] = one.edge[e] - one.insn * mean->edge[e] / mean->insn;
		}
	}
	free(order);
	free(one.edge);
	return ok ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu free flows", space->n_free);
}

/* Ratios to instructions: which flow there is, not how much of it. */
static bool is_ratio(const struct equation *eq)
{
	return eq->kind == PROFILE_BY_MIX && eq->sd > 0;
}

/* A of the text: rows of ratios in the free flows, of `mean`'s scale, in units of their noise. */
static double *ratio_rows(const struct equations *eqs, const struct space *space,
                          const struct path_tally *mean, double scale, struct misses *out)
{
	size_t d = space->n_free;
	double *a = calloc(eqs->n * d + 1, sizeof(*a));

	for (size_t i = 0; a && i < eqs->n; i++) {
		const struct equation *eq = &eqs->v[i];
		double *row = a + out->k * d;

		if (!is_ratio(eq))
			continue;
		out->miss[out->k] = eq->value / eq->sd;
		for (size_t e = 0; e < space->n_edges; e++)
			for (size_t k = 0; k < d && eq->w[e] != 0; k++)
				row[k] += scale * eq->w[e] / eq->sd * space->z[e * d + k];
		for (size_t k = 0; k < d; k++)
			out->miss[out->k] -= row[k] * mean->edge[space->free_edge[k]];
		out->k++;
	}
	return a;
}

/* cov[d][d] is of flows in mean's scale, its lower and upper triangle; scale makes executions of them. */
static int misses_init(struct misses *m, const struct equations *eqs, const struct space *space,
                       const struct path_tally *mean, double scale, double *cov, const struct groups *g)
{
	size_t d = space->n_free, most = eqs->n + 1;
	double *a = NULL, *by_flow = NULL, *by_group = NULL;
	int err = 0;

	*m = (struct misses){ .miss = calloc(most, sizeof(double)),
		              .known = calloc(most * most, sizeof(double)),
		              .grouped = calloc(most * most, sizeof(double)) };
	if (m->miss && m->known && m->grouped)
		a = ratio_rows(eqs, space, mean, scale, m);
	by_flow = calloc(most * d + 1, sizeof(*by_flow));
	by_group = calloc(most * g->n + 1, sizeof(*by_group));
	if (!a || !by_flow || !by_group) {
		err = sp_fail(SP_ENOMEM, "out of memory for %zu free flows", d);
	} else if (m->k) {
		gsl_matrix_view va = gsl_matrix_view_array(a, m->k, d), vc = gsl_matrix_view_array(cov, d, d),
		                vj = gsl_matrix_view_array(g->j, g->n, d),
		                vf = gsl_matrix_view_array(by_flow, m->k, d),
		                vg = gsl_matrix_view_array(by_group, m->k, g->n),
		                known = gsl_matrix_view_array(m->known, m->k, m->k),
		                grouped = gsl_matrix_view_array(m->grouped, m->k, m->k);

		gsl_matrix_set_identity(&known.matrix);
		gsl_blas_dgemm(CblasNoTrans, CblasNoTrans, 1, &va.matrix, &vc.matrix, 0, &vf.matrix);
		gsl_blas_dgemm(CblasNoTrans, CblasTrans, 1, &vf.matrix, &va.matrix, 1, &known.matrix);
		gsl_blas_dgemm(CblasNoTrans, CblasTrans, 1, &va.matrix, &vj.matrix, 0, &vg.matrix);
		gsl_blas_dgemm(CblasNoTrans, CblasTrans, 1, &vg.matrix, &vg.matrix, 0, &grouped.matrix);
	}
	free(a);
	free(by_flow);
	free(by_group);
	return err;
}

static void misses_fini(struct misses *m)
{
	free(m->miss);
	free(m->known);
	free(m->grouped);
}

/* Log of the density of the misses when groups' weights are known to k; v[k][k] and x[k] are scratch. */
static double log_density(const struct misses *m, double k, double *v, double *x)
{
	gsl_matrix_view cov = gsl_matrix_view_array(v, m->k, m->k);
	gsl_vector_view miss = gsl_vector_view_array(x, m->k);
	double sum = 0;

	for (size_t i = 0; i < m->k * m->k; i++)
		v[i] = m->known[i] + k * k * m->grouped[i];
	memcpy(x, m->miss, m->k * sizeof(*x));
	if (gsl_linalg_cholesky_decomp1(&cov.matrix) != GSL_SUCCESS)
		return -INFINITY;
	gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, &cov.matrix, &miss.vector);
	for (size_t i = 0; i < m->k; i++)
		sum -= x[i] * x[i] / 2 + log(v[i * m->k + i]);
	return sum;
}

/* k: the mean of its logarithm under the totals. */
static int fit(const struct misses *m, double *k)
{
	double log_p[N_TRIED] = { 0 }, best = -INFINITY, sum = 0, mean = 0;
	double *v = malloc((m->k * m->k + m->k + 1) * sizeof(*v));

	*k = usual;
	if (!v)
		return sp_fail(SP_ENOMEM, "out of memory for %zu totals", m->k);
	for (int i = 0; m->k && i < N_TRIED; i++) {
		double z = log(tried[i] / usual) / usual_log_sd;

		log_p[i] = log_density(m, tried[i], v, v + m->k * m->k) - z * z / 2;
		best = fmax(best, log_p[i]);
	}
	for (int i = 0; isfinite(best) && i < N_TRIED; i++) {
		sum += exp(log_p[i] - best);
		mean += exp(log_p[i] - best) * log(tried[i]);
	}
	if (sum > 0)
		*k = exp(mean / sum);
	free(v);
	return 0;
}

int path_add_groups(const struct path *s, const struct scope_stacks *r, const float *weight,
                    const struct space *space, const struct path_mean *of, double *cov)
{
	size_t d = space->n_free;
	struct groups g;
	struct misses m = { 0 };
	double k = 0;
	int err = groups_init(&g, s, r, weight, space, of->tally);

	if (err == 0)
		err = misses_init(&m, of->totals, space, of->tally, of->scale, cov, &g);
	if (err == 0)
		err = fit(&m, &k);
	if (err == 0 && g.n) {
		gsl_matrix_view j = gsl_matrix_view_array(g.j, g.n, d), c = gsl_matrix_view_array(cov, d, d);

		gsl_blas_dgemm(CblasTrans, CblasNoTrans, k * k, &j.matrix, &j.matrix, 1, &c.matrix);
	}
	misses_fini(&m);
	free(g.j);
	return err;
}
