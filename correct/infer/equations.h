/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_INFER_EQUATIONS_H
#define SKIDPROF_CORRECT_INFER_EQUATIONS_H

/* What is known about a region's flow: linear equations in the edge flows f_e, each with its noise. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sum_e w[e] f_e = value, known to sd; less where there is doubt, by sum_e doubt[e] f_e. */
struct equation {
	double *w;     /* [E], owned */
	double *doubt; /* [E], owned; NULL = none */
	double value, sd;
	double shown;     /* what a report adds to either side: a ratio equation says 0 = 0 */
	uint8_t kind;     /* enum profile_evidence bit */
	const char *name; /* the event; borrowed from the recording or static */
};

struct equations {
	struct equation *v;
	size_t n, cap;
};

/*
 * Append an equation with E zero weights and return it for filling in; NULL
 * when out of memory.  The pointer dies with the next append.
 */
struct equation *equations_add(struct equations *eqs, size_t n_edges);
/* Give the one added last zeros for its doubt; NULL when out of memory. */
double *equations_doubt(struct equations *eqs, size_t n_edges);
/* Take back the one added last. */
void equations_drop(struct equations *eqs);
/* Is any of n weights, `step` apart, not 0?  An equation without one says nothing of what it is about. */
bool equations_any(const double *w, size_t step, size_t n);
void equations_fini(struct equations *eqs);

#endif
