/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How well weighed stacks tell the flows: the scatter of the stacks, and the errors that weighing leaves (eq. 13).
 * Which flows are called free is nothing that was measured, so noise that is known of each flow by itself is not given to
 * those alone, but to all flows alike (eq. 13): else a small flow that is what two large ones differ by would have their noise.
 */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/infer/sparse.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"

/* The free edges that stacks run over. */
struct few {
	uint32_t *free; /* [n] which ones */
	size_t n;
};

static void list_free(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                      const int32_t *free_of, const double *x, uint8_t *listed, struct few *out)
{
	for (uint32_t k = 0; k < st->n_pieces; k++) {
		const struct piece *p = &s->all.v[r->pieces.v[st->piece0 + k]];

		for (uint32_t i = 0; i < p->n_edges; i++) {
			int32_t at = free_of[s->pool.v[p->edge0 + i]];

			if (at < 0 || listed[at] || x[s->pool.v[p->edge0 + i]] == 0)
				continue;
			listed[at] = 1;
			out->free[out->n++] = (uint32_t)at;
		}
	}
}

static void clear_stack(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                        struct path_tally *t)
{
	for (uint32_t k = 0; k < st->n_pieces; k++) {
		const struct piece *p = &s->all.v[r->pieces.v[st->piece0 + k]];

		for (uint32_t i = 0; i < p->n_edges; i++)
			t->edge[s->pool.v[p->edge0 + i]] = 0;
	}
	t->insn = 0;
}

/*
 * Covariance of the free edges' flows from the scatter of stacks: cov[d][d], its lower triangle.  x_s - I_s f/N of a stack
 * has mean zero at the true flow.  Samples come at even distances, so a stage of the program that is longer than these gets its
 * share of them, and no chance is in that: what each differs by from the one before it tells the noise, half the square of it
 * (Wolter, Introduction to Variance Estimation, 2007, chapter 8).  Bursts come at random: their scatter is about the mean.
 *
 * Two stacks run over few edges, so the sum over stacks is taken of
 * x x' - I (x m' + m x') + I^2 m m' with m = f/N, x and I their differences.  one: zeros, and again when it returns.
 */
static void scatter(const struct path *s, const struct scope_stacks *r, const float *weight,
                    const struct space *space, const struct path_tally *mean, double *cov,
                    struct path_tally *one)
{
	size_t d = space->n_free;
	int32_t *free_of = mem_malloc((space->n_edges + 1) * sizeof(*free_of));
	uint8_t *listed = mem_calloc(d + 1, 1);
	struct few few = { .free = mem_malloc((d + 1) * sizeof(*few.free)) };
	double *by_insn = mem_calloc(d + 1, sizeof(*by_insn)), insn2 = 0; /* sums of I x and of I^2 */

	memset(cov, 0, d * d * sizeof(*cov));
	for (size_t e = 0; e < space->n_edges; e++)
		free_of[e] = -1;
	for (size_t k = 0; k < d; k++)
		free_of[space->free_edge[k]] = (int32_t)k;
	for (size_t i = 0; i < r->stacks.n; i++) {
		/* The first has none before it: the last one does as well. */
		const struct stack *st = &r->stacks.v[i], *before = &r->stacks.v[i ? i - 1 : r->stacks.n - 1];

		few.n = 0;
		path_add_stack(s, r, st, weight, st->burst ? 1 : M_SQRT1_2, one);
		list_free(s, r, st, free_of, one->edge, listed, &few);
		if (!st->burst) {
			path_add_stack(s, r, before, weight, -M_SQRT1_2, one);
			list_free(s, r, before, free_of, one->edge, listed, &few);
		}
		for (size_t k = 0; k < few.n; k++)
			listed[few.free[k]] = 0;
		insn2 += one->insn * one->insn;
		for (size_t k = 0; k < few.n; k++) {
			size_t a = few.free[k];
			double x = one->edge[space->free_edge[a]];

			by_insn[a] += one->insn * x;
			for (size_t l = 0; l < few.n; l++)
				if (few.free[l] <= a)
					cov[a * d + few.free[l]] +=
					        x * one->edge[space->free_edge[few.free[l]]];
		}
		clear_stack(s, r, st, one);
		if (!st->burst)
			clear_stack(s, r, before, one);
	}
	for (size_t a = 0; a < d; a++)
		for (size_t b = 0; b <= a; b++) {
			double ma = mean->edge[space->free_edge[a]] / mean->insn,
			       mb = mean->edge[space->free_edge[b]] / mean->insn;

			cov[a * d + b] += insn2 * ma * mb - by_insn[a] * mb - ma * by_insn[b];
		}
	free(free_of);
	free(listed);
	free(few.free);
	free(by_insn);
}

/* Rows of Z, and an order in which edges that always run together are next to each other. */
struct flows {
	const struct space *space;
	struct sparse z;
	uint32_t *order; /* [n_edges] */
};

static const double *row_of(const struct space *space, uint32_t edge)
{
	return space->z + edge * space->n_free;
}

static int by_row(const void *a, const void *b, void *arg)
{
	const struct space *space = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int differ = memcmp(row_of(space, x), row_of(space, y), space->n_free * sizeof(double));

	return differ ? differ : (x > y) - (x < y);
}

static void flows_init(struct flows *f, const struct space *space)
{
	f->space = space;
	f->order = mem_malloc((space->n_edges + 1) * sizeof(*f->order));
	for (uint32_t e = 0; e < space->n_edges; e++)
		f->order[e] = e;
	qsort_r(f->order, space->n_edges, sizeof(*f->order), by_row, (void *)space);
	sparse_from(&f->z, space->z, space->n_edges, space->n_free);
}

static void flows_fini(struct flows *f)
{
	sparse_fini(&f->z);
	free(f->order);
}

/*
 * eq. 13: out[d][d] is the covariance of the free flows when errors of all flows, of variance var[E] > 0, are independent,
 * given that flows conserve.  Edges that always run together are one flow.
 */
static int spread_errors(const struct flows *f, const double *var, double *out)
{
	const struct space *space = f->space;
	const struct sparse *z = &f->z;
	size_t d = space->n_free;
	gsl_matrix_view m = gsl_matrix_view_array(out, d, d);

	memset(out, 0, d * d * sizeof(*out));
	for (size_t i = 0, next; i < space->n_edges; i = next) {
		uint32_t first = f->order[i];
		const double *row = row_of(space, first);
		double mean = 0;

		for (next = i; next < space->n_edges &&
		               memcmp(row_of(space, f->order[next]), row, d * sizeof(*row)) == 0;
		     next++)
			mean += var[f->order[next]];
		mean /= (double)(next - i);
		for (size_t a = z->row0[first]; a < z->row0[first + 1]; a++)
			for (size_t b = z->row0[first]; b <= a; b++)
				out[z->col[a] * d + z->col[b]] += z->x[a] * z->x[b] / mean;
	}
	if (gsl_linalg_cholesky_decomp1(&m.matrix) != GSL_SUCCESS)
		return sp_fail(SP_EDOMAIN, "branch records: their errors could not be factored");
	gsl_linalg_cholesky_invert(&m.matrix);
	return 0;
}

/* var[E] of each edge's flow, of the free ones' cov[d][d]: its lower triangle. */
static void find_variances(const struct flows *f, const double *cov, double *var)
{
	const struct sparse *z = &f->z;
	size_t d = f->space->n_free;

	for (size_t e = 0; e < z->n_rows; e++) {
		var[e] = 0;
		for (size_t a = z->row0[e]; a < z->row0[e + 1]; a++)
			for (size_t b = z->row0[e]; b <= a; b++)
				var[e] +=
				        (a == b ? 1 : 2) * z->x[a] * z->x[b] * cov[z->col[a] * d + z->col[b]];
		var[e] = fmax(var[e], 0);
	}
}

/* What half the window, or half of each stack, misses all flows by together is one direction, in which totals may choose. */
static void add_apart(const struct space *space, const struct path_means *means, double *cov)
{
	const size_t d = space->n_free;
	double *apart = mem_malloc((d + 1) * sizeof(*apart));

	for (size_t a = 0; a < d; a++)
		apart[a] = means->mean->edge[space->free_edge[a]] - means->half->edge[space->free_edge[a]];
	for (size_t a = 0; a < d; a++)
		for (size_t b = 0; b < d; b++)
			cov[a * d + b] += apart[a] * apart[b];
	free(apart);
}

/*
 * Where stacks are few the scatter is shrunk towards what errors of each flow by itself would be, no flow is left quite
 * certain, and each is allowed the error of eq. 13: what was slow before the newest edge is still seen too often.  Moments are
 * not fair: interrupts wait until an instruction retires, and stacks without cycles have what leads to slow code too often.  The
 * branches next to the moment have most of that: half the window, or the newer half of each stack, tells how much it is.
 */
static int add_errors(const struct flows *f, const struct path_means *means, size_t n_stacks, double *var,
                      double *errors, double *cov)
{
	size_t d = f->space->n_free;
	double keep = 1 - fmin(1 - model->scatter_kept, (double)d / (double)n_stacks),
	       unit = means->stack * means->stack;
	int err;

	find_variances(f, cov, var);
	for (size_t e = 0; e < f->space->n_edges; e++)
		var[e] += unit;
	err = spread_errors(f, var, errors);
	if (err < 0)
		return err;
	for (size_t a = 0; a < d; a++)
		for (size_t b = 0; b <= a; b++)
			cov[a * d + b] = keep * cov[a * d + b] + (1 - keep) * errors[a * d + b];
	for (size_t e = 0; e < f->space->n_edges; e++) {
		double bias = model->biased * means->mean->edge[e];

		var[e] = unit + bias * bias;
		if (means->half)
			var[e] += pow(means->mean->edge[e] - means->half->edge[e], 2);
	}
	err = spread_errors(f, var, errors);
	for (size_t a = 0; err == 0 && a < d; a++)
		for (size_t b = 0; b <= a; b++)
			cov[b * d + a] = cov[a * d + b] += errors[a * d + b];
	if (err == 0 && means->half)
		add_apart(f->space, means, cov);
	return err;
}

int path_noise(const struct path *s, const struct scope_stacks *r, const float *weight,
               const struct space *space, const struct path_means *means, double *cov)
{
	size_t d = space->n_free, n = space->n_edges;
	double *work = mem_calloc(n + d * d + 1, sizeof(*work));
	struct path_tally one = { .edge = work };
	struct flows f;
	int err;

	scatter(s, r, weight, space, means->mean, cov, &one);
	flows_init(&f, space);
	err = add_errors(&f, means, r->stacks.n, work, work + n, cov);
	flows_fini(&f);
	free(work);
	return err;
}
