/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that run different programs and use one library: its calls and returns lead from the one into the other, and make one
 * region of both.  No flow leads there.
 */
#include <string.h>

#include "correct/judge/reasons.h"
#include "correct/solve/solve.h"

/* Of which programs a scope's samples are: by far the most, and of all others together. */
struct programs {
	uint32_t first, other; /* modules */
	double heat, others, all;
};

/* Modules are few, and mostly one: each is summed up by itself. */
static struct programs find_programs(const struct work *w, const struct problem *p)
{
	struct programs of = { 0 };

	for (uint32_t m = 0; m < w->rec->n_modules; m++) {
		double heat = 0;

		if (!module_is_program(w->rec->modules[m]))
			continue;
		for (size_t b = 0; b < p->n_blocks; b++)
			if (w->graph->blocks[p->blocks[b].graph_block].module == m)
				heat += problem_heat(p, &p->blocks[b]);
		if (heat > of.heat) {
			of.others += of.heat;
			of.other = of.first;
			of.first = m;
			of.heat = heat;
		} else if (heat > 0) {
			of.others += heat;
			of.other = m;
		}
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		of.all += problem_heat(p, &p->blocks[b]);
	return of;
}

bool solve_doubt_programs(const struct work *w, const struct problem *p, struct solution *sol)
{
	struct programs of = find_programs(w, p);

	if (of.others <= reason_limit_several_programs * of.all)
		return false;
	solution_doubt(sol, REASON_OF(several_programs), basename(module_path(w->rec->modules[of.first])),
	               basename(module_path(w->rec->modules[of.other])));
	return true;
}
