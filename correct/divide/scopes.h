/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_SCOPES_H
#define SKIDPROF_CORRECT_DIVIDE_SCOPES_H

/*
 * Scopes: the units that are solved.  A region whose samples show that the program stays in one of its inner loops for many
 * samples is several scopes, one a loop with all it calls: the exact totals between samples then belong to that loop alone,
 * and code shared by two loops is counted in each apart.  A region whose loops alternate between samples is one scope.
 */
#include "correct/flow/region.h"

/* The recording's samples in file order: which thread, which block (-1 = in no region), and where from. */
struct scope_sample {
	uint32_t thread;
	int32_t block;
	/* Blocks it was in before, by its branch record, the latest first: scope_samples.way[way0 .. + n_way]. */
	uint32_t way0, n_way;
};

struct scope_samples {
	const struct scope_sample *v; /* [n]; NULL when there are too many to keep */
	size_t n;
	const int32_t *way; /* -1 = in no known code */
};

struct scope {
	uint32_t parent;              /* region of the recording */
	struct flow_region *region;   /* the part of it that is solved */
	bool whole;                   /* the region itself, and all of its samples */
	bool owned;                   /* region is freed with the scope */
	uint32_t n_samples, n_border; /* samples in it; those that may as well be another scope's */
};

struct scopes {
	struct scope *v;
	size_t n;
	int32_t *of_sample; /* [n_samples] scope, -1 = none */
};

/* Where samples were too many to keep every region is one scope, of_sample NULL; where effort is spent scopes stay together. */
void scopes_find(const struct flow_graph *g, const struct flow_regions *regions,
                 const struct scope_samples *samples, struct flow_effort *effort, struct scopes *out);
void scopes_fini(struct scopes *s);

#endif
