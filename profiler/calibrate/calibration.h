/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_CALIBRATION_H
#define SKIDPROF_CALIBRATE_CALIBRATION_H

/* All cliffs of one processor: what `skidprof calibrate` finds and shows. */
#include <stdio.h>

#include "profiler/calibrate/cliff.h"

struct calibration_row {
	const struct cliff *cliff;
	const char *lacks;  /* why it can't be measured here; NULL = it was */
	const char *behind; /* the row whose change point was seen instead; NULL = none */
	struct cliff_curve curve;
	struct cliff_result real;
};

struct calibration {
	struct calibration_row *rows;
	size_t n;
	struct cliff_sizes sizes;
	char cpu[80];       /* the processor's name */
	const char *no_pmu; /* why its cycle counter is not used; NULL = it is */
	double core_ghz, tsc_ghz, seconds;
	bool quick, has_huge_pages;
};

/*
 * Choose the rows whose name matches a shell pattern, NULL for all, and those
 * they have to be told from (struct cliff, behind).  -SP_EUSAGE: none; -SP_ENOMEM.
 */
int calibration_choose(const char *glob, struct calibration *out);

/* Measure the chosen rows.  What cliff_native_open and cliff_measure_native return. */
int calibration_measure(struct cliff_native *n, bool quick, struct calibration *c);

void calibration_fini(struct calibration *c);

/* How many rows have a verdict. */
size_t calibration_count(const struct calibration *c, enum cliff_verdict v);

/* 0 or -SP_ENOMEM; what could not be written shows when f is flushed. */
int calibration_text(const struct calibration *c, FILE *f);
int calibration_json(const struct calibration *c, FILE *f);
int calibration_csv(const struct calibration *c, FILE *f);

#endif
