/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_SPACE_H
#define SKIDPROF_CORRECT_INFER_SPACE_H

/*
 * The free flows of a region.  All edge flows that conserve at every block
 * and return from every call they make are f = Z t, t the flows of a set of
 * free edges (design section 4: Z a basis of the null space).
 */
#include "correct/infer/problem.h"

struct space {
	size_t n_edges, n_free;
	uint32_t *free_edge; /* [n_free] the edge whose flow is t[k] */
	double *z;           /* [n_edges][n_free] row-major */
};

/*
 * Cost: elimination of (blocks + calls) rows.  usable[E] says which edges
 * may carry flow at all; NULL for every one.
 */
int space_new(const struct problem *p, const bool *usable, struct space **out);
void space_free(struct space *s);

/* How many free flows there are at least, and hardly more, before anything is eliminated.  Cost: E.  0 or -SP_ENOMEM. */
int space_size(const struct problem *p, const bool *usable, size_t *n_free);

/* f[E] = Z t. */
void space_flow(const struct space *s, const double *t, double *f);

#endif
