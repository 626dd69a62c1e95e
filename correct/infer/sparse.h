/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_SPARSE_H
#define SKIDPROF_CORRECT_INFER_SPARSE_H

#include <stddef.h>
#include <stdint.h>

/* Rows of a sparse matrix over the free flows. */
struct sparse {
	size_t n_rows;
	size_t *row0;  /* [n_rows + 1] */
	uint32_t *col; /* free flow, ascending in a row */
	double *x;
};

/* What is not 0 of dense[n_rows][n_cols].  To be freed by sparse_fini(). */
void sparse_from(struct sparse *m, const double *dense, size_t n_rows, size_t n_cols);
void sparse_fini(struct sparse *m);

/* row . t */
double sparse_dot(const struct sparse *m, size_t row, const double *t);

#endif
