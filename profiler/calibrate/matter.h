/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_MATTER_H
#define SKIDPROF_CALIBRATE_MATTER_H

/*
 * Which cliffs matter for a program, after "Microarchitecture Cliffs", 4.1: a
 * recording's intervals between samples become points, their shares of the
 * cycles by what the core did in them; points are clustered twice, first by
 * the four kinds at the top, then those that waited by what they waited for.
 *
 * The shares are of first order.  From counts of cycles, instructions,
 * mispredicted branches and misses by level:
 *
 *	retiring      instructions / dispatch width
 *	speculation   mispredictions x their penalty
 *	l2 l3 dram    loads that had to go there x the latency beyond the first level
 *	rest          what is left: execution, dependences, the front end
 *
 * Misses that overlap cost less than their latencies, so speculation and the
 * three levels are scaled down together where they exceed what retiring leaves.
 */
#include <stdio.h>

#include "profiler/calibrate/cliff.h"
#include "profiler/sim/config.h"

enum matter_kind {
	MATTER_RETIRING,
	MATTER_SPECULATION,
	MATTER_L2,
	MATTER_L3,
	MATTER_DRAM,
	MATTER_REST,
	MATTER_KINDS
};

struct matter_counts {
	double cycles, instructions, branch_misses, l1d_misses, l2_misses, l3_misses;
};

/* share  out, [MATTER_KINDS], sums to 1. */
void matter_shares(const struct matter_counts *n, const struct sim_config *core, double *share);

struct matter_cluster {
	size_t n_points;
	double cycles;              /* share of all */
	double share[MATTER_KINDS]; /* mean, each point weighing its cycles */
	enum matter_kind chief;     /* the largest but retiring; retiring when none reaches a fifth */
};

enum { MATTER_MAX_CLUSTERS = 16 };

struct matter {
	size_t n_points, n_noise, n;
	struct matter_cluster cluster[MATTER_MAX_CLUSTERS]; /* most cycles first */
};

/*
 * Read a recording that has the six counts in every sample.
 *
 * Returns 0; -SP_EIO, -SP_EFORMAT; -SP_EDOMAIN: not these events, or too few samples; -SP_ENOMEM.
 */
int matter_read(const char *path, const struct sim_config *core, struct matter *out);

/* The two rounds of clustering.  share [n][MATTER_KINDS], cycles [n].  -SP_ENOMEM. */
int matter_cluster(const double *share, const double *cycles, size_t n, struct matter *out);

/* Is a cliff worth calibrating for a cluster of that kind? */
bool matter_concerns(const struct cliff *c, enum matter_kind kind);

/*
 * matter_read with a core by its name or path (NULL: the default one), and
 * matter_print.  What sim_core_load returns as well.
 */
int matter_report(const char *path, const char *core, FILE *f);

void matter_print(const struct matter *m, FILE *f);

#endif
