/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/equations.h"

#include <stdlib.h>

#include "profiler/base/vec.h"

struct equation *equations_add(struct equations *eqs, size_t n_edges)
{
	struct equation *eq;

	if (vec_reserve(eqs, eqs->n + 1) < 0)
		return NULL;
	eq = &eqs->v[eqs->n];
	*eq = (struct equation){ .w = calloc(n_edges + 1, sizeof(double)) };
	if (!eq->w) {
		sp_fail(SP_ENOMEM, "out of memory for an equation of %zu edges", n_edges);
		return NULL;
	}
	eqs->n++;
	return eq;
}

void equations_drop(struct equations *eqs)
{
	free(eqs->v[--eqs->n].w);
}

void equations_fini(struct equations *eqs)
{
	for (size_t i = 0; i < eqs->n; i++)
		free(eqs->v[i].w);
	vec_fini(eqs);
}
