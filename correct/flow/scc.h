/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_SCC_H
#define SKIDPROF_CORRECT_FLOW_SCC_H

/* Strongly connected components (Tarjan 1972) with a stack of its own: any depth. */
#include <stddef.h>
#include <stdint.h>

struct scc_graph { /* edges of vertex i go to to[off[i] .. off[i + 1]] */
	uint32_t n;
	const uint32_t *off, *to;
};

/*
 * comp[n] out: component of each vertex, numbered so that edges between components go from larger to smaller numbers.  *n_comps
 * out. Cost: n + edges.
 */
void scc_find(const struct scc_graph *g, uint32_t *comp, uint32_t *n_comps);

#endif
