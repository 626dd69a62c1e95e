/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/disjoint.h"
#include "profiler/base/mem.h"

/* Entries of balance rows are small integers; what is below this is rounding. */
static const double tiny = 1e-9;

/* Rows of calls, which follow those of blocks: row_of[B], 0 for a block that doesn't call. */
static size_t number_calls(const struct problem *p, const bool *usable, uint32_t *row_of)
{
	size_t n = 0;

	for (size_t e = 0; e < p->n_edges; e++) {
		int32_t call = p->edges[e].call;

		if (p->edges[e].kind == FLOW_CALL && call >= 0 && (!usable || usable[e]) && !row_of[call])
			row_of[call] = (uint32_t)(p->n_blocks + n++);
	}
	return n;
}

/* The balances as a matrix, of the edges that may carry flow and the blocks at their ends: of a large region few. */
struct balances {
	size_t n_rows, n_cols;
	uint32_t *edge;   /* [n_cols] of the problem */
	uint32_t *row_of; /* [2 B] number + 1 of a block's row, and of the calls' it makes; 0: none */
	double *a;        /* [n_rows][n_cols] */
};

static void balances_fini(struct balances *m)
{
	free(m->edge);
	free(m->row_of);
	free(m->a);
}

static void number_row(struct balances *m, size_t at)
{
	if (!m->row_of[at])
		m->row_of[at] = (uint32_t)++m->n_rows;
}

/* Blocks first, in order of their edges; then the calls. */
static void number_rows(const struct problem *p, struct balances *m)
{
	for (size_t c = 0; c < m->n_cols; c++) {
		number_row(m, p->edges[m->edge[c]].from);
		number_row(m, p->edges[m->edge[c]].to);
	}
	for (size_t c = 0; c < m->n_cols; c++) {
		const struct problem_edge *e = &p->edges[m->edge[c]];

		if (e->kind == FLOW_CALL && e->call >= 0)
			number_row(m, p->n_blocks + (size_t)e->call);
	}
}

static double *entry(const struct balances *m, size_t at, size_t col)
{
	return m->a + (m->row_of[at] - 1) * m->n_cols + col;
}

/* The balance of each block (in minus out) and of each call (CALL minus RET edges of the same call). */
static void balances_init(struct balances *m, const struct problem *p, const bool *usable)
{
	*m = (struct balances){ .edge = mem_calloc(p->n_edges + 1, sizeof(*m->edge)),
		                .row_of = mem_calloc(2 * p->n_blocks + 1, sizeof(*m->row_of)) };
	if (m->edge && m->row_of) {
		for (uint32_t e = 0; e < p->n_edges; e++)
			if (!usable || usable[e])
				m->edge[m->n_cols++] = e;
		number_rows(p, m);
		m->a = mem_calloc(m->n_rows * m->n_cols + 1, sizeof(*m->a));
	}
	for (size_t c = 0; c < m->n_cols; c++) {
		const struct problem_edge *e = &p->edges[m->edge[c]];
		size_t call = p->n_blocks + (size_t)(e->call < 0 ? 0 : e->call);

		*entry(m, e->from, c) -= 1;
		*entry(m, e->to, c) += 1;
		if (e->call < 0 || !m->row_of[call])
			continue;
		if (e->kind == FLOW_CALL)
			*entry(m, call, c) += 1;
		else if (e->kind == FLOW_RET)
			*entry(m, call, c) -= 1;
	}
}

/* By number + 1 of the first that was told of a call: what is called from one block, and where it comes back. */
static void unite(uint32_t *group, uint32_t *first, uint32_t block)
{
	if (*first)
		disjoint_unite(group, block, *first - 1);
	*first = block + 1;
}

/*
 * Rows that follow from others: the balances of a function's blocks add up to its calls less its returns, which is what those of
 * its call blocks add up to.  One for each set of blocks that jumps, and calls passed over, connect.
 */
static size_t count_sets(const struct problem *p, const bool *usable, uint32_t *group, uint32_t *callee)
{
	size_t n = 0;

	for (uint32_t b = 0; b < p->n_blocks; b++)
		group[b] = b;
	for (size_t e = 0; e < p->n_edges; e++) {
		const struct problem_edge *edge = &p->edges[e];
		uint32_t from = edge->from + 1;

		if (usable && !usable[e])
			continue;
		if (edge->call < 0) {
			unite(group, &from, edge->to);
			continue;
		}
		unite(group, &callee[edge->call], edge->kind == FLOW_CALL ? edge->to : edge->from);
		from = (uint32_t)edge->call + 1;
		if (edge->kind == FLOW_RET)
			unite(group, &from, edge->to);
	}
	for (uint32_t b = 0; b < p->n_blocks; b++)
		n += group[b] == b;
	return n;
}

void space_size(const struct problem *p, const bool *usable, size_t *n_free)
{
	uint32_t *work = mem_calloc(3 * p->n_blocks + 1, sizeof(*work));
	size_t n_edges = 0, n_rows;

	for (size_t e = 0; e < p->n_edges; e++)
		n_edges += !usable || usable[e];
	/* A block without edges is a row, and a set, of its own. */
	n_rows = p->n_blocks + number_calls(p, usable, work) -
	         count_sets(p, usable, work + p->n_blocks, work + 2 * p->n_blocks);
	*n_free = n_edges > n_rows ? n_edges - n_rows : 0;
	free(work);
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

/* What each edge carries of each free flow, from the reduced matrix. */
static void fill_basis(const struct balances *m, const int32_t *pivot_row, struct space *s)
{
	uint32_t *free_col = mem_calloc(m->n_cols + 1, sizeof(*free_col));
	size_t k = 0;

	for (size_t c = 0; c < m->n_cols; c++)
		s->n_free += pivot_row[c] < 0;
	s->free_edge = mem_calloc(s->n_free + 1, sizeof(*s->free_edge));
	s->z = mem_calloc(s->n_edges * s->n_free + 1, sizeof(*s->z));
	for (uint32_t c = 0; c < m->n_cols; c++)
		if (pivot_row[c] < 0) {
			free_col[k] = c;
			s->free_edge[k++] = m->edge[c];
		}
	for (size_t c = 0; c < m->n_cols; c++)
		for (k = 0; k < s->n_free; k++) {
			double z = pivot_row[c] < 0 ? free_col[k] == c
			                            : -m->a[(size_t)pivot_row[c] * m->n_cols + free_col[k]];

			s->z[m->edge[c] * s->n_free + k] = fabs(z) < tiny ? 0 : z;
		}
	free(free_col);
}

struct space *space_new(const struct problem *p, const bool *usable)
{
	struct space *s = mem_calloc(1, sizeof(*s));
	struct balances m = { 0 };
	int32_t *pivot_row = mem_calloc(p->n_edges + 1, sizeof(*pivot_row));

	balances_init(&m, p, usable);
	eliminate(m.a, m.n_rows, m.n_cols, pivot_row);
	s->n_edges = p->n_edges;
	fill_basis(&m, pivot_row, s);
	free(pivot_row);
	balances_fini(&m);
	return s;
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
