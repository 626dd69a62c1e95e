/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_REACH_H
#define SKIDPROF_CORRECT_FLOW_REACH_H

/*
 * Which heat each of many loops reaches: its own, and all in the code that it calls.  Loops that call the same code share the
 * walk through it, which is what a large program has most of.
 */
#include "correct/flow/nest.h"

struct reach {
	uint32_t *comp; /* [n] components of the nest that have heat */
	double *heat;   /* [n] theirs */
	size_t n;
	struct reach_line *lines; /* [n_loops * n_lines] bit i of a loop's: it reaches comp[i] */
	size_t n_lines;
};

/* comps[n_loops] of the nest.  Cost: the nest's edges for each 512 components that have heat. */
void reach_find(const struct nest_view *view, const struct nest *n, const double *heat, const uint32_t *comps,
                size_t n_loops, struct reach *out);
void reach_fini(struct reach *r);

/* The next i from `from` on whose component a loop reaches; r->n if there is none. */
size_t reach_next(const struct reach *r, size_t loop, size_t from);

#endif
