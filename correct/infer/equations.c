/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/equations.h"

#include <stdlib.h>

#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

struct equation *equations_add(struct equations *eqs, size_t n_edges)
{
	struct equation *eq;

	vec_room(eqs, eqs->n + 1);
	eq = &eqs->v[eqs->n];
	*eq = (struct equation){ .w = mem_calloc(n_edges + 1, sizeof(double)) };
	eqs->n++;
	return eq;
}

void equations_drop(struct equations *eqs)
{
	eqs->n--;
	free(eqs->v[eqs->n].w);
}

bool equations_any(const double *w, size_t step, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (w[k * step] != 0)
			return true;
	return false;
}

void equations_fini(struct equations *eqs)
{
	while (eqs->n)
		equations_drop(eqs);
	vec_fini(eqs);
	free(eqs->together);
}
