/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_BORDERS_H
#define SKIDPROF_CORRECT_EVIDENCE_BORDERS_H

/*
 * What intervals counted that go from one scope to another (eq. 39).  Ratios
 * of events to instructions (eq. 13) are those of intervals between two
 * samples of one scope, so what is run next to its edges has less than its
 * part in them: a loop that is always the last before another scope's turn.
 * Their counts are exact, too, but of both scopes together.
 */
#include "correct/evidence/edges.h"
#include "correct/evidence/ratio.h"

struct borders;

struct border {
	size_t crossing; /* its number among the edges */
	int32_t from, to;
	const int *events; /* [n] numbers from 0 */
	const double *counts;
	size_t n;
};

struct borders *borders_new(void); /* NULL without memory */
void borders_free(struct borders *b);

/* Returns 0, -SP_ENOMEM. */
int borders_add(struct borders *b, const struct border *border);

/*
 * The ratios of one event in n scopes, from those of their inside intervals
 * and what was counted at their edges, as divided by edges_settle().
 *
 * inside[n]  counted_insn 0: none is known
 * share[n]   of the scope's instructions, those of intervals that cross its edges
 * out[n]     inside where nothing was counted at the edges, but for its standard error
 *
 * Returns 0, -SP_ENOMEM.
 */
int borders_join(const struct borders *b, const struct edges *e, int event, const struct ratio *inside,
                 const double *share, struct ratio *out, size_t n);

#endif
