/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_EQUATIONS_H
#define SKIDPROF_CORRECT_INFER_EQUATIONS_H

/* Terms: what is known about a scope's flow.  Each is a linear equation in the edge flows f_e, with a standard deviation. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sum_e w[e] f_e = value, to the standard deviation sd. */
struct equation {
	double *w; /* [E], owned */
	double value, sd;
	double shown;     /* what a report adds to either side, for a ratio equation by itself reads 0 = 0 */
	uint8_t kind;     /* enum profile_evidence bit */
	const char *name; /* the event; borrowed from the recording or static */
};

struct equations {
	struct equation *v;
	size_t n, cap;
	/* The noise of equations [first, first + n_together) goes together: L [n_together][n_together], lower, of its correlations L L'.  Owned. */
	size_t first, n_together;
	double *together;
};

/* Append an equation with E zero weights and return it for filling in.  The pointer dies with the next append. */
struct equation *equations_add(struct equations *eqs, size_t n_edges);
/* Take back the one added last. */
void equations_drop(struct equations *eqs);
/* Is any of n weights, `step` apart, not 0? */
bool equations_any(const double *w, size_t step, size_t n);
void equations_fini(struct equations *eqs);

#endif
