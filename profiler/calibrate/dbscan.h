/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_DBSCAN_H
#define SKIDPROF_CALIBRATE_DBSCAN_H

/*
 * Clusters by density (Ester, Kriegel, Sander, Xu 1996): a point with at least
 * `least` points within eps (itself counted) is a core point, core points
 * within eps of each other are one cluster, other points belong to the first
 * cluster that has a core point within eps of them, or are noise.
 */
#include <stddef.h>

enum { DBSCAN_NOISE = -1 };

/*
 * points   [n][dims]
 * cluster  out, [n]: 0, 1, ... in the order of their first points, or DBSCAN_NOISE.
 * Returns the number of clusters; -SP_ENOMEM.  Cost: n * n * dims.
 */
long dbscan(const double *points, size_t n, size_t dims, double eps, size_t least, int *cluster);

#endif
