/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/sparse.h"

#include <stdlib.h>

#include "profiler/base/mem.h"

void sparse_fini(struct sparse *m)
{
	free(m->row0);
	free(m->col);
	free(m->x);
}

void sparse_from(struct sparse *m, const double *dense, size_t n_rows, size_t n_cols)
{
	size_t n = 0;

	for (size_t i = 0; i < n_rows * n_cols; i++)
		n += dense[i] != 0;
	m->n_rows = n_rows;
	m->row0 = mem_calloc(n_rows + 1, sizeof(*m->row0));
	m->col = mem_calloc(n + 1, sizeof(*m->col));
	m->x = mem_calloc(n + 1, sizeof(*m->x));
	n = 0;
	for (size_t r = 0; r < n_rows; r++) {
		m->row0[r] = n;
		for (size_t c = 0; c < n_cols; c++)
			if (dense[r * n_cols + c] != 0) {
				m->col[n] = (uint32_t)c;
				m->x[n++] = dense[r * n_cols + c];
			}
	}
	m->row0[n_rows] = n;
}

double sparse_dot(const struct sparse *m, size_t row, const double *t)
{
	double sum = 0;

	for (size_t i = m->row0[row]; i < m->row0[row + 1]; i++)
		sum += m->x[i] * t[m->col[i]];
	return sum;
}
