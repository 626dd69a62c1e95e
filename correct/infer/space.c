/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/space.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"

/* Entries of balance rows are small integers; what is below this is rounding. */
static const double tiny = 1e-9;

/* A linear program that takes longer is a region too large to be solved. */
enum { MAX_LP_MS = 10000 };

/*
 * The balance of each block (in minus out) and of each call (CALL minus RET
 * edges of the same call), in rows of E + 0 columns.  Recursive regions don't
 * match calls: a return may belong to an outer activation.
 */
static double *balance_rows(const struct problem *p, const bool *usable, size_t *n_rows)
{
	size_t n_blocks = p->n_blocks, n_edges = p->n_edges;
	size_t n = p->region->recursive ? n_blocks : 2 * n_blocks;
	double *a = calloc(n * n_edges + 1, sizeof(*a));

	if (!a)
		return NULL;
	for (size_t e = 0; e < n_edges; e++) {
		const struct problem_edge *edge = &p->edges[e];

		if (usable && !usable[e])
			continue;
		a[edge->from * n_edges + e] -= 1;
		a[edge->to * n_edges + e] += 1;
		if (p->region->recursive || edge->call < 0)
			continue;
		if (edge->kind == FLOW_CALL)
			a[(n_blocks + (size_t)edge->call) * n_edges + e] += 1;
		else if (edge->kind == FLOW_RET)
			a[(n_blocks + (size_t)edge->call) * n_edges + e] -= 1;
	}
	*n_rows = n;
	return a;
}

/*
 * Reduce to row echelon form, each pivot column cleared above and below.
 * pivot_row[e] is the row whose pivot is edge e, -1 for free edges.
 */
static void eliminate(double *a, size_t n_rows, size_t n_edges, int32_t *pivot_row)
{
	size_t rank = 0;

	for (size_t e = 0; e < n_edges; e++)
		pivot_row[e] = -1;
	for (size_t e = 0; e < n_edges && rank < n_rows; e++) {
		size_t best = rank;
		double *top;

		for (size_t r = rank + 1; r < n_rows; r++)
			if (fabs(a[r * n_edges + e]) > fabs(a[best * n_edges + e]))
				best = r;
		if (fabs(a[best * n_edges + e]) < tiny)
			continue;
		top = a + rank * n_edges;
		for (size_t k = e; best != rank && k < n_edges; k++) {
			double swap = top[k];

			top[k] = a[best * n_edges + k];
			a[best * n_edges + k] = swap;
		}
		for (size_t k = n_edges; k-- > e;)
			top[k] /= top[e];
		for (size_t r = 0; r < n_rows; r++) {
			double factor = a[r * n_edges + e];

			if (r == rank || fabs(factor) < tiny)
				continue;
			for (size_t k = e; k < n_edges; k++)
				if (top[k] != 0)
					a[r * n_edges + k] -= factor * top[k];
		}
		pivot_row[e] = (int32_t)rank++;
	}
}

int space_new(const struct problem *p, const bool *usable, struct space **out)
{
	size_t n_edges = p->n_edges, n_rows = 0, k = 0;
	struct space *s = calloc(1, sizeof(*s));
	int32_t *pivot_row = calloc(n_edges + 1, sizeof(*pivot_row));
	double *a = balance_rows(p, usable, &n_rows);
	int err = sp_fail(SP_ENOMEM, "out of memory for a region of %zu edges", n_edges);

	if (!s || !pivot_row || !a)
		goto out;
	eliminate(a, n_rows, n_edges, pivot_row);
	s->n_edges = n_edges;
	for (size_t e = 0; e < n_edges; e++)
		s->n_free += pivot_row[e] < 0 && (!usable || usable[e]);
	s->free_edge = calloc(s->n_free + 1, sizeof(*s->free_edge));
	s->z = calloc(n_edges * s->n_free + 1, sizeof(*s->z));
	if (!s->free_edge || !s->z)
		goto out;
	for (size_t e = 0; e < n_edges; e++)
		if (pivot_row[e] < 0 && (!usable || usable[e]))
			s->free_edge[k++] = (uint32_t)e;
	for (size_t e = 0; e < n_edges; e++)
		for (k = 0; k < s->n_free; k++) {
			double z = pivot_row[e] < 0 ? s->free_edge[k] == e
			                            : -a[(size_t)pivot_row[e] * n_edges + s->free_edge[k]];

			s->z[e * s->n_free + k] = fabs(z) < tiny ? 0 : z;
		}
	*out = s;
	s = NULL;
	err = 0;
out:
	space_free(s);
	free(pivot_row);
	free(a);
	return err;
}

void space_free(struct space *s)
{
	if (!s)
		return;
	free(s->free_edge);
	free(s->z);
	free(s);
}

void space_flow(const struct space *s, const double *t, double *f)
{
	for (size_t e = 0; e < s->n_edges; e++) {
		const double *row = s->z + e * s->n_free;
		double sum = 0;

		for (size_t k = 0; k < s->n_free; k++)
			sum += row[k] * t[k];
		f[e] = sum;
	}
}

/*
 * Maximise sum s_e with f_e - s_e >= 0, 0 <= s_e <= 1 over circulations f.
 * They form a cone, so every edge that can be positive reaches s_e = 1 in
 * one common solution, and the others stay at 0.
 */
static int fill_program(glp_prob *lp, const struct problem *p)
{
	size_t n_edges = p->n_edges, n_rows = 0, n = 0;
	double *a = balance_rows(p, NULL, &n_rows);
	size_t max_terms = 4 * n_edges + 2 * n_edges + 1;
	int *row = calloc(max_terms + 1, sizeof(*row)), *col = calloc(max_terms + 1, sizeof(*col));
	double *value = calloc(max_terms + 1, sizeof(*value));
	int err = 0;

	if (!a || !row || !col || !value) {
		err = sp_fail(SP_ENOMEM, "out of memory for a region of %zu edges", n_edges);
		goto out;
	}
	glp_set_obj_dir(lp, GLP_MAX);
	glp_add_rows(lp, (int)(n_rows + n_edges));
	glp_add_cols(lp, (int)(2 * n_edges));
	for (size_t r = 0; r < n_rows; r++) {
		glp_set_row_bnds(lp, (int)r + 1, GLP_FX, 0, 0);
		for (size_t e = 0; e < n_edges; e++) {
			if (a[r * n_edges + e] == 0)
				continue;
			row[++n] = (int)r + 1;
			col[n] = (int)e + 1;
			value[n] = a[r * n_edges + e];
		}
	}
	for (size_t e = 0; e < n_edges; e++) {
		int r = (int)(n_rows + e) + 1, f = (int)e + 1, slack = (int)(n_edges + e) + 1;

		glp_set_row_bnds(lp, r, GLP_LO, 0, 0);
		glp_set_col_bnds(lp, f, GLP_LO, 0, 0);
		glp_set_col_bnds(lp, slack, GLP_DB, 0, 1);
		glp_set_obj_coef(lp, slack, 1);
		row[++n] = r;
		col[n] = f;
		value[n] = 1;
		row[++n] = r;
		col[n] = slack;
		value[n] = -1;
	}
	glp_load_matrix(lp, (int)n, row, col, value);
out:
	free(a);
	free(row);
	free(col);
	free(value);
	return err;
}

int space_interior(const struct problem *p, bool *usable, double *f)
{
	glp_prob *lp = glp_create_prob();
	glp_smcp how;
	size_t n_used = 0;
	int err = fill_program(lp, p);

	if (err < 0)
		goto out;
	glp_init_smcp(&how);
	how.msg_lev = GLP_MSG_OFF;
	how.tm_lim = MAX_LP_MS;
	if (glp_simplex(lp, &how) != 0 || glp_get_status(lp) != GLP_OPT) {
		err = sp_fail(SP_EDOMAIN, "no circulation found in a region of %zu blocks", p->n_blocks);
		goto out;
	}
	for (size_t e = 0; e < p->n_edges; e++) {
		f[e] = glp_get_col_prim(lp, (int)e + 1);
		usable[e] = glp_get_col_prim(lp, (int)(p->n_edges + e) + 1) > 0.5;
		n_used += usable[e];
		if (!usable[e])
			f[e] = 0;
	}
	if (!n_used)
		err = sp_fail(SP_EDOMAIN, "no edge of a region of %zu blocks can carry flow", p->n_blocks);
out:
	glp_delete_prob(lp);
	/* It keeps one a thread, which nobody else frees when a worker ends. */
	glp_free_env();
	return err;
}
