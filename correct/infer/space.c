/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/disjoint.h"
#include "profiler/base/err.h"

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

/* The balance of each block (in minus out) and of each call (CALL minus RET edges of the same call): rows of E columns. */
static double *balance_rows(const struct problem *p, const bool *usable, size_t *n_rows)
{
	size_t n_edges = p->n_edges;
	uint32_t *row_of = calloc(p->n_blocks + 1, sizeof(*row_of));
	double *a = NULL;

	if (row_of) {
		*n_rows = p->n_blocks + number_calls(p, usable, row_of);
		a = calloc(*n_rows * n_edges + 1, sizeof(*a));
	}
	for (size_t e = 0; a && e < n_edges; e++) {
		const struct problem_edge *edge = &p->edges[e];

		if (usable && !usable[e])
			continue;
		a[edge->from * n_edges + e] -= 1;
		a[edge->to * n_edges + e] += 1;
		if (edge->call < 0 || !row_of[edge->call])
			continue;
		if (edge->kind == FLOW_CALL)
			a[row_of[edge->call] * n_edges + e] += 1;
		else if (edge->kind == FLOW_RET)
			a[row_of[edge->call] * n_edges + e] -= 1;
	}
	free(row_of);
	return a;
}

/* By number + 1 of the first that was told of a call: what is called from one block, and where it comes back. */
static void unite(uint32_t *group, uint32_t *first, uint32_t block)
{
	if (*first)
		disjoint_unite(group, block, *first - 1);
	*first = block + 1;
}

/*
 * Rows that follow from others: the balances of a function's blocks add up to
 * its calls less its returns, which is what those of its call blocks add up
 * to.  One for each set of blocks that jumps, and calls passed over, connect.
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

int space_size(const struct problem *p, const bool *usable, size_t *n_free)
{
	uint32_t *work = calloc(3 * p->n_blocks + 1, sizeof(*work));
	size_t n_edges = 0, n_rows;

	if (!work)
		return sp_fail(SP_ENOMEM, "out of memory for a region of %zu blocks", p->n_blocks);
	for (size_t e = 0; e < p->n_edges; e++)
		n_edges += !usable || usable[e];
	/* A block without edges is a row, and a set, of its own. */
	n_rows = p->n_blocks + number_calls(p, usable, work) -
	         count_sets(p, usable, work + p->n_blocks, work + 2 * p->n_blocks);
	*n_free = n_edges > n_rows ? n_edges - n_rows : 0;
	free(work);
	return 0;
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
