/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/precise.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/known.h"
#include "correct/model/effort.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

/* What is said of the blocks: seen = a f, of covariance cov. */
struct seen {
	size_t n;       /* blocks that some flow leads through */
	uint32_t *rank; /* [B] their numbers, UINT32_MAX of others */
	double *insn;   /* [n] seen */
	double *cov;    /* [n][n], or [n] where blocks are too many */
	double *f;      /* [E] flows about t */
	bool together;
};

static void seen_fini(struct seen *s)
{
	free(s->rank);
	free(s->insn);
	free(s->cov);
	free(s->f);
}

static double *variance_of(const struct seen *s, size_t row, size_t col)
{
	return &s->cov[s->together ? row * s->n + col : row];
}

/* Variance that one block has more of, and another less. */
static void add_between(struct seen *s, uint32_t a, uint32_t b, double var)
{
	if (a == b)
		return;
	if (a != UINT32_MAX)
		*variance_of(s, a, a) += var;
	if (b != UINT32_MAX)
		*variance_of(s, b, b) += var;
	if (s->together && a != UINT32_MAX && b != UINT32_MAX) {
		*variance_of(s, a, b) -= var;
		*variance_of(s, b, a) -= var;
	}
}

/*
 * Samples come evenly, so that a loop that runs for long has its share of them without chance.  The scatter of their counts is half
 * the square of what one sample differs from the one before it; and no count is known better than to one sample.
 */
static void add_chance_of_next(const struct problem *p, struct seen *s)
{
	double square = p->insn_per_sample * p->insn_per_sample;

	for (size_t k = 0; k < p->next.n; k++)
		add_between(s, s->rank[p->next.v[k].a], s->rank[p->next.v[k].b], square * p->next.v[k].n / 2);
	for (size_t i = 0; i < s->n; i++)
		*variance_of(s, i, i) += square;
}

/* Counted samples: the noise is that of the count predicted, not only of the one that came. */
static void add_chance(const struct problem *p, struct seen *s)
{
	double *predicted;

	if (p->next.n) {
		add_chance_of_next(p, s);
		return;
	}
	predicted = mem_calloc(s->n + 1, sizeof(*predicted));
	for (size_t e = 0; e < p->n_edges; e++)
		if (s->rank[p->edges[e].to] != UINT32_MAX)
			predicted[s->rank[p->edges[e].to]] += s->f[e] * p->blocks[p->edges[e].to].n_insn;
	for (size_t i = 0; i < s->n; i++)
		*variance_of(s, i, i) +=
		        (fmax(s->insn[i], predicted[i]) + p->insn_per_sample) * p->insn_per_sample;
	free(predicted);
}

/* What is moved over an edge one block has, and another has not. */
static void add_moved(const struct problem *p, double moved, struct seen *s)
{
	for (size_t e = 0; e < p->n_edges; e++) {
		double one = moved * s->f[e];

		add_between(s, s->rank[p->edges[e].from], s->rank[p->edges[e].to], one * one);
	}
}

static void see(const struct problem *p, const struct space *space, const double *t, double moved,
                struct seen *s)
{
	*s = (struct seen){ .rank = mem_malloc((p->n_blocks + 1) * sizeof(*s->rank)),
		            .insn = mem_calloc(p->n_blocks + 1, sizeof(*s->insn)),
		            .f = mem_calloc(p->n_edges + 1, sizeof(*s->f)) };
	space_flow(space, t, s->f);
	memset(s->rank, 0xff, p->n_blocks * sizeof(*s->rank));
	for (size_t e = 0; e < p->n_edges; e++) {
		uint32_t b = p->edges[e].to;

		s->f[e] = fmax(s->f[e], 0);
		if (s->rank[b] == UINT32_MAX && equations_any(space->z + e * space->n_free, 1, space->n_free))
			s->rank[b] = (uint32_t)s->n++;
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		for (uint32_t i = 0; s->rank[b] != UINT32_MAX && i < p->blocks[b].n_insn; i++)
			s->insn[s->rank[b]] += p->seen_insn[p->blocks[b].insn0 + i];
	s->together = s->n <= EFFORT_MOVED;
	s->cov = mem_calloc((s->together ? s->n * s->n : s->n) + 1, sizeof(*s->cov));
	add_chance(p, s);
	add_moved(p, moved, s);
}

/* inverse(L) of cov = L L', in its place. */
static int whiten(struct seen *s)
{
	gsl_matrix_view m = gsl_matrix_view_array(s->cov, s->n ? s->n : 1, s->n ? s->n : 1);

	if (!s->together) {
		for (size_t i = 0; i < s->n; i++)
			s->cov[i] = 1 / sqrt(s->cov[i]);
		return 0;
	}
	if (s->n && (gsl_linalg_cholesky_decomp1(&m.matrix) != GSL_SUCCESS ||
	             gsl_linalg_tri_invert(CblasLower, CblasNonUnit, &m.matrix) != GSL_SUCCESS))
		return sp_fail(SP_EDOMAIN, "precise samples: their covariance could not be factored");
	return 0;
}

static void add_row(const struct problem *p, const struct seen *s, size_t row, struct equations *out)
{
	struct equation *eq = equations_add(out, p->n_edges);

	eq->name = "precise samples";
	eq->kind = PROFILE_BY_PRECISE;
	eq->sd = 1;
	for (size_t i = s->together ? 0 : row; i <= row; i++)
		eq->value += *variance_of(s, row, i) * s->insn[i];
	for (size_t e = 0; e < p->n_edges; e++) {
		uint32_t b = p->edges[e].to, i = s->rank[b];

		if (i != UINT32_MAX && (s->together ? i <= row : i == row))
			eq->w[e] = *variance_of(s, row, i) * p->blocks[b].n_insn;
	}
}

int precise_equations(const struct problem *p, const struct space *space, const double *t, double moved,
                      struct equations *out)
{
	struct seen s;
	int err;

	see(p, space, t, moved, &s);
	err = whiten(&s);
	for (size_t i = 0; i < s.n && err == 0; i++)
		add_row(p, &s, i, out);
	seen_fini(&s);
	return err;
}
