/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_SPACE_H
#define SKIDPROF_CORRECT_INFER_SPACE_H

/*
 * The free flows t of a scope.  Edge flows that conserve at every block, and return from every call to where it was made, are a
 * linear space.  The columns of Z are a basis of it, so f = Z t; t are the flows of some edges, the free ones.
 */
#include "correct/infer/problem.h"

struct space {
	size_t n_edges, n_free;
	uint32_t *free_edge; /* [n_free] the edge whose flow is t[k] */
	double *z;           /* [n_edges][n_free] row-major */
};

/* Cost: elimination of (blocks + calls) rows.  usable[E] says which edges may carry flow at all; NULL for every one. */
struct space *space_new(const struct problem *p, const bool *usable);
void space_free(struct space *s);

/* A lower bound of n_free that hardly misses, without elimination.  Cost: E. */
void space_size(const struct problem *p, const bool *usable, size_t *n_free);

/* f[E] = Z t. */
void space_flow(const struct space *s, const double *t, double *f);

#endif
