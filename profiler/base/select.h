/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_SELECT_H
#define SKIDPROF_BASE_SELECT_H

#include <stddef.h>

/*
 * The k-th smallest of v[n], k < n, comes to v[k]; none before it is larger, and none after it smaller.  What sorting
 * does for one of them, for about 3 n comparisons.  No NANs.
 */
double select_nth(double *v, size_t n, size_t k);

/* The middle of v[n], of two the greater; 0 of none.  Leaves v in another order. */
double select_middle(double *v, size_t n);

/* Quantile q of v[n], n > 0, between neighbours by distance.  Leaves v in another order. */
double select_quantile(double *v, size_t n, double q);

#endif
