/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * eq. 30: samples of cycles fall evenly in time, so an edge is the newest of a stack as often as it is taken, times how
 * long it is until the next branch.  That time is not recorded, but each edge comes among the newest branches as often
 * as among the older ones once stacks are weighed by it.  How exactly is known, from how many stacks lead from where to
 * where; what this leaves open is left near to what the number of instructions until the next branch says.
 */
#include <gsl/gsl_blas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/infer/cholesky.h"

/*
 * Of the sum over stacks, whose scatter is not all there is; and of each edge by itself, which keeps the covariance
 * of edges that always come together from being singular.
 */
static const double scatter_factor = 1.5, own_scatter = 0.1;

/* u's mean over where the program is kept about as long as a skid is, and steps of half a stack to go as far. */
static const double far_sd = 0.1;
enum { FAR_DOUBLED = 4 };

/*
 * What one stack may weigh: of all together, or of their mean where that is more.  An edge after which the next branch is
 * at once is the newest of so few that these do not tell what leads to it.
 */
static const double most_of_all = 0.01, most_of_mean = 20;

/* An edge's time until the next branch was seen by so many more, of its neighbourhood's. */
static const double prior_gaps = 3;

enum {
	MAX_WEIGHED = 400, /* edges with a weight of their own: the commonest.  Takes a second. */
	MAX_NEWTON = 30,
	MAX_HALVED = 20,
};

#define NONE UINT32_MAX

/* What of edges is looked at; all [n_edges]. */
struct edges {
	double *newest;  /* what the stacks stand for whose newest it is */
	double *density; /* branches an instruction, about where it is the newest: w without knowing better */
	uint32_t *row;   /* its place among the weighed ones, NONE */
	bool passed; /* some were the newest of stacks, but are looked for among the older branches no more */
};

/* The balance in u: r = m exp(u) - given, of covariance v; all of n rows. */
struct balance {
	size_t n;
	double *m;      /* [n][n] */
	double *given;  /* [n] by stacks whose newest edge has no weight of its own */
	double *v;      /* [n][n] */
	double *back;   /* [n][n] from a newest edge to the older ones */
	double *prior;  /* [n][n] precision of u: u' prior u */
	double *u;      /* [n] */
	double *newest; /* [n] as of struct edges */
};

/* One stack's share in each row: few are not 0. */
struct shares {
	double *x;      /* [n] */
	uint32_t *rows; /* those that are not 0 */
	size_t n_rows;
};

static int more_common(const void *a, const void *b)
{
	const double *const *x = a, *const *y = b;

	if (**x != **y)
		return **x > **y ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* The commonest of those that were the newest of any stack. */
static int choose_rows(struct edges *e, size_t n_edges, size_t *n)
{
	const double **order = malloc((n_edges + 1) * sizeof(const double *));
	size_t seen = 0;

	if (!order)
		return sp_fail(SP_ENOMEM, "out of memory for branch records of %zu edges", n_edges);
	for (size_t i = 0; i < n_edges; i++) {
		e->row[i] = NONE;
		if (e->newest[i] > 0)
			order[seen++] = &e->newest[i];
	}
	if (seen)
		qsort(order, seen, sizeof(const double *), more_common);
	for (*n = 0; *n < seen && *n < MAX_WEIGHED; ++*n)
		e->row[order[*n] - e->newest] = (uint32_t)*n;
	free(order);
	return 0;
}

/* Instructions of piece k of a stack, and the edge it closed with. */
static double insns_of(const struct path *s, const struct scope_stacks *r, const struct stack *st, uint32_t k)
{
	return s->all.v[r->pieces.v[st->piece0 + k]].n_insn;
}

static uint32_t edge_of(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                        uint32_t k)
{
	return closing_edge(s, r->pieces.v[st->piece0 + k]);
}

/*
 * Half by what lies before the edge, as far as its stacks reach; half by what is run until the branch after it.
 * Stacks, not bursts: their first piece is the newest.
 */
static int find_densities(const struct path *s, const struct scope_stacks *r, size_t n_edges, struct edges *e)
{
	double *before = calloc(4 * n_edges + 1, sizeof(*before)), *n_before, *after, *n_after;

	if (!before)
		return sp_fail(SP_ENOMEM, "out of memory for branch records of %zu edges", n_edges);
	n_before = before + n_edges;
	after = n_before + n_edges;
	n_after = after + n_edges;
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = 0; k < st->n_pieces; k++) {
			before[st->near] += insns_of(s, r, st, k);
			n_before[st->near]++;
		}
		for (uint32_t k = 1; k < st->n_pieces; k++) {
			after[edge_of(s, r, st, k)] += insns_of(s, r, st, k - 1);
			n_after[edge_of(s, r, st, k)]++;
		}
	}
	for (size_t i = 0; i < n_edges; i++) {
		double about = n_before[i] > 0 ? before[i] / n_before[i] : 0,
		       next = (after[i] + prior_gaps * about) / (n_after[i] + prior_gaps);

		e->density[i] = about > 0 ? 2 / (about + next) : 0;
	}
	free(before);
	return 0;
}

static void add_share(struct shares *sh, uint32_t row, double x)
{
	if (row == NONE)
		return;
	if (sh->x[row] == 0)
		sh->rows[sh->n_rows++] = row;
	sh->x[row] += x;
}

/* Each older branch of a stack alike, of those whose edges were the newest of others; minus the newest. */
static bool share_out(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                      const struct edges *e, struct shares *sh)
{
	size_t n = 0;

	sh->n_rows = 0;
	for (uint32_t k = st->away; k < st->n_pieces; k++)
		n += e->newest[edge_of(s, r, st, k)] > 0;
	if (n == 0)
		return false;
	for (uint32_t k = st->away; k < st->n_pieces; k++)
		if (e->newest[edge_of(s, r, st, k)] > 0)
			add_share(sh, e->row[edge_of(s, r, st, k)], -1. / (double)n);
	add_share(sh, e->row[st->near], 1);
	return true;
}

static void add_stack(struct balance *b, const struct edges *e, const struct stack *st, struct shares *sh)
{
	double q = st->insn * e->density[st->near];
	uint32_t near = e->row[st->near];

	for (size_t i = 0; i < sh->n_rows; i++) {
		size_t row = sh->rows[i];

		if (near == NONE) {
			b->given[row] -= q * sh->x[row];
		} else {
			b->m[row * b->n + near] += q * sh->x[row];
			b->back[near * b->n + row] += q * ((row == near) - sh->x[row]);
		}
		for (size_t k = 0; k < sh->n_rows; k++)
			b->v[row * b->n + sh->rows[k]] += q * q * sh->x[row] * sh->x[sh->rows[k]];
	}
	for (size_t i = 0; i < sh->n_rows; i++)
		sh->x[sh->rows[i]] = 0;
}

static int collect(struct balance *b, const struct path *s, const struct scope_stacks *r,
                   const struct edges *e)
{
	struct shares sh = { .x = calloc(b->n + 1, sizeof(*sh.x)) };

	sh.rows = malloc(((size_t)path_longest(r) + 1) * sizeof(*sh.rows));
	if (!sh.x || !sh.rows) {
		free(sh.x);
		free(sh.rows);
		return sp_fail(SP_ENOMEM, "out of memory for %zu edges", b->n);
	}
	for (size_t i = 0; i < r->stacks.n; i++)
		if (share_out(s, r, &r->stacks.v[i], e, &sh))
			add_stack(b, e, &r->stacks.v[i], &sh);
	free(sh.x);
	free(sh.rows);
	for (size_t i = 0; i < b->n; i++) {
		double *own = &b->v[i * b->n + i];

		/* A row that no stack speaks of says nothing. */
		*own = *own > 0 ? *own * (1 + own_scatter) : 1;
	}
	for (size_t i = 0; i < b->n * b->n; i++)
		b->v[i] *= scatter_factor * scatter_factor;
	return 0;
}

static gsl_matrix_view view(double *x, size_t n)
{
	return gsl_matrix_view_array(x, n, n);
}

/* back^(2^FAR_DOUBLED), its rows summing to 1; scratch[n][n]. */
static void go_far(struct balance *b, double *scratch)
{
	size_t n = b->n;

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t k = 0; k < n; k++)
			sum += b->back[i * n + k];
		/* Where nothing is seen to lead back from, it stays. */
		for (size_t k = 0; k < n; k++)
			b->back[i * n + k] = sum > 0 ? b->back[i * n + k] / sum : i == k;
	}
	for (int doubled = 0; doubled < FAR_DOUBLED; doubled++) {
		gsl_matrix_view back = view(b->back, n), out = view(scratch, n);

		gsl_blas_dgemm(CblasNoTrans, CblasNoTrans, 1, &back.matrix, &back.matrix, 0, &out.matrix);
		memcpy(b->back, scratch, n * n * sizeof(*scratch));
	}
}

/*
 * u is known to 1 for every edge by itself, and its mean over where going back ends to far_sd.  Edges that it ends
 * alike for say one thing together: each is its share of them, by the cosine of their rows.
 */
static void find_prior(struct balance *b, double *scratch)
{
	size_t n = b->n;
	gsl_matrix_view back = view(b->back, n), like = view(scratch, n), prior = view(b->prior, n);

	go_far(b, scratch);
	gsl_blas_dgemm(CblasNoTrans, CblasTrans, 1, &back.matrix, &back.matrix, 0, &like.matrix);
	for (size_t i = 0; i < n; i++) {
		double all = 0;

		for (size_t k = 0; k < n; k++)
			all += b->newest[k] * scratch[i * n + k] /
			       sqrt(scratch[i * n + i] * scratch[k * n + k]);
		for (size_t k = 0; k < n; k++)
			b->back[i * n + k] *= sqrt(b->newest[i] / all) / far_sd;
	}
	gsl_blas_dgemm(CblasTrans, CblasNoTrans, 1, &back.matrix, &back.matrix, 0, &prior.matrix);
	for (size_t i = 0; i < n; i++)
		b->prior[i * n + i] += 1;
}

/* -2 log of the density, but for a constant, is  exp(u)' a exp(u) - 2 exp(u)' h + u' prior u. */
struct density {
	size_t n;
	const double *a, *h, *prior;
};

static double cost(const struct density *d, const double *u)
{
	double sum = 0;

	for (size_t i = 0; i < d->n; i++) {
		double x = -2 * d->h[i], y = 0;

		for (size_t k = 0; k < d->n; k++) {
			x += d->a[i * d->n + k] * exp(u[k]);
			y += d->prior[i * d->n + k] * u[k];
		}
		sum += exp(u[i]) * x + u[i] * y;
	}
	return sum;
}

/* u + the longest of step, step / 2, ... that lowers the cost, to u; returns the change of its largest entry. */
static double go_along(const struct density *d, double *u, const double *step, double *tried)
{
	double now = cost(d, u), longest = 0, times;

	for (size_t i = 0; i < d->n; i++)
		longest = fmax(longest, fabs(step[i]));
	times = longest > 1 ? 1 / longest : 1;
	for (int halved = 0; halved < MAX_HALVED; halved++, times /= 2) {
		for (size_t i = 0; i < d->n; i++)
			tried[i] = u[i] + times * step[i];
		if (cost(d, tried) <= now) {
			memcpy(u, tried, d->n * sizeof(*u));
			return times * longest;
		}
	}
	return 0;
}

/* Half the gradient of the cost, negative, and half its Hessian without what curves exp. */
static void differentiate(const struct density *d, const double *u, double *x, double *hess)
{
	for (size_t i = 0; i < d->n; i++) {
		double y = 0;

		x[i] = d->h[i];
		for (size_t k = 0; k < d->n; k++) {
			size_t at = i * d->n + k;

			x[i] -= d->a[at] * exp(u[k]);
			y += d->prior[at] * u[k];
			hess[at] = exp(u[i] + u[k]) * d->a[at] + d->prior[at];
		}
		x[i] = exp(u[i]) * x[i] - y;
	}
}

/* The u of highest density; hess[n][n], x[n], y[n] are scratch. */
static int climb(const struct density *d, double *u, double *hess, double *x, double *y)
{
	double moved = 1;

	for (int i = 0; i < MAX_NEWTON && moved > 0.001; i++) {
		differentiate(d, u, x, hess);
		if (cholesky_factor(hess, d->n) < 0)
			return sp_fail(SP_EDOMAIN, "branch records: their balance could not be factored");
		cholesky_solve(hess, d->n, x);
		moved = go_along(d, u, x, y);
	}
	return 0;
}

static int solve(struct balance *b)
{
	size_t n = b->n;
	double *a = calloc(2 * n * n + 3 * n + 1, sizeof(*a)), *scratch, *h;
	gsl_matrix_view m = view(b->m, n), l = view(b->v, n), va = view(a, n);
	gsl_vector_view given = gsl_vector_view_array(b->given, n), vh;
	int err;

	if (!a)
		return sp_fail(SP_ENOMEM, "out of memory for %zu edges", n);
	scratch = a + n * n;
	h = scratch + n * n;
	vh = gsl_vector_view_array(h, n);
	find_prior(b, scratch);
	err = cholesky_factor(b->v, n);
	if (err < 0) {
		err = sp_fail(SP_EDOMAIN, "branch records: their scatter could not be factored");
	} else {
		gsl_blas_dtrsm(CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, &l.matrix, &m.matrix);
		gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, &l.matrix, &given.vector);
		gsl_blas_dgemm(CblasTrans, CblasNoTrans, 1, &m.matrix, &m.matrix, 0, &va.matrix);
		gsl_blas_dgemv(CblasTrans, 1, &m.matrix, &given.vector, 0, &vh.vector);
		err = climb(&(struct density){ n, a, h, b->prior }, b->u, scratch, h + n, h + 2 * n);
	}
	free(a);
	return err;
}

static int balance_init(struct balance *b, size_t n)
{
	double *all = calloc(4 * n * n + 3 * n + 1, sizeof(*all));

	if (!all)
		return sp_fail(SP_ENOMEM, "out of memory for %zu edges", n);
	*b = (struct balance){ .n = n, .m = all };
	b->v = b->m + n * n;
	b->back = b->v + n * n;
	b->prior = b->back + n * n;
	b->given = b->prior + n * n;
	b->u = b->given + n;
	b->newest = b->u + n;
	return 0;
}

static double weight_of(const struct balance *b, const struct edges *e, const struct stack *st)
{
	uint32_t row = e->row[st->near];

	return st->insn * e->density[st->near] * (row == NONE ? 1 : exp(b->u[row]));
}

/* Edges whose stacks would weigh too much each are looked for among the older ones no more; are there any? */
static bool pass_over(const struct balance *b, const struct scope_stacks *r, struct edges *e)
{
	double all = 0, most = fmax(most_of_all, most_of_mean / (double)r->stacks.n);
	bool any = false;

	for (size_t i = 0; i < r->stacks.n; i++)
		if (e->row[r->stacks.v[i].near] != NONE)
			all += weight_of(b, e, &r->stacks.v[i]);
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		if (e->row[st->near] != NONE && weight_of(b, e, st) > most * all) {
			e->newest[st->near] = 0;
			any = true;
		}
	}
	e->passed |= any;
	return any;
}

/*
 * Where edges are passed over a stack stands for the way from one weighed edge to the next, each way seen in it alike, for
 * those passed over lie between, and their own stacks count for nothing.
 */
static void weigh_stack(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                        const struct edges *e, double w, float *weight)
{
	uint32_t end = st->n_pieces, n_ways = 0;

	for (uint32_t k = st->away; k < st->n_pieces && e->passed; k++)
		if (e->newest[edge_of(s, r, st, k)] > 0) {
			end = k;
			n_ways++;
		}
	if (e->passed && !(e->newest[st->near] > 0))
		w = 0;
	for (uint32_t k = 0; k < st->n_pieces; k++)
		weight[st->piece0 + k] = k < end ? (float)(w / fmax(n_ways, 1)) : 0;
}

/* u of edges that are not passed over; b->m is to be freed, after errors too. */
static int find_weights(const struct path *s, const struct scope_stacks *r, size_t n_edges, struct edges *e,
                        struct balance *b)
{
	size_t n = 0;
	int err = choose_rows(e, n_edges, &n);

	if (err == 0)
		err = balance_init(b, n);
	if (err)
		return err;
	for (size_t i = 0; i < n_edges; i++)
		if (e->row[i] != NONE)
			b->newest[e->row[i]] = e->newest[i];
	err = collect(b, s, r, e);
	return err == 0 && n ? solve(b) : err;
}

static int balance(const struct path *s, const struct scope_stacks *r, size_t n_edges, struct edges *e,
                   float *weight)
{
	struct balance b = { 0 };
	int err;

	for (size_t i = 0; i < r->stacks.n; i++)
		e->newest[r->stacks.v[i].near] += r->stacks.v[i].insn;
	err = find_densities(s, r, n_edges, e);
	if (err < 0)
		return err;
	do {
		free(b.m);
		b.m = NULL;
		err = find_weights(s, r, n_edges, e, &b);
	} while (err == 0 && pass_over(&b, r, e));
	for (size_t i = 0; err == 0 && i < r->stacks.n; i++)
		weigh_stack(s, r, &r->stacks.v[i], e, weight_of(&b, e, &r->stacks.v[i]), weight);
	free(b.m);
	return err;
}

int path_weigh_by_balance(const struct path *s, const struct scope_stacks *r, size_t n_edges, float *weight)
{
	struct edges e = { .newest = calloc(n_edges + 1, sizeof(*e.newest)),
		           .density = calloc(n_edges + 1, sizeof(*e.density)),
		           .row = malloc((n_edges + 1) * sizeof(*e.row)) };
	int err = sp_fail(SP_ENOMEM, "out of memory for branch records of %zu edges", n_edges);

	if (e.newest && e.density && e.row)
		err = balance(s, r, n_edges, &e, weight);
	free(e.newest);
	free(e.density);
	free(e.row);
	return err;
}
