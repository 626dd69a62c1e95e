/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_CALIBRATION_H
#define SKIDPROF_CALIBRATE_CALIBRATION_H

/* All cliffs of one processor: what `skidprof calibrate` finds and shows. */
#include <stdio.h>

#include "profiler/calibrate/cliff.h"
#include "profiler/calibrate/fit.h"

struct calibration_row {
	const struct cliff *cliff;
	const char *lacks;  /* why it can't be measured here; NULL = it was */
	const char *behind; /* the row whose change point was seen instead; NULL = none */
	struct cliff_curve curve;
	struct cliff_result real;
	bool is_disturbed;         /* noisy because the core was shared whenever it was measured */
	const struct fit_row *fit; /* in struct calibration_fit; NULL = not fitted */
};

struct calibration_fit {
	struct fit_row *rows; /* [n]; NULL = no fit was made */
	size_t n;
	char core[64];            /* where it began */
	struct sim_config config; /* where it ended */
	struct fit_summary before, after;
	double seconds;
};

struct calibration {
	struct calibration_row *rows;
	size_t n;
	struct cliff_sizes sizes;
	char cpu[80];     /* the processor's name */
	char no_pmu[256]; /* why its cycle counter is not used; empty = it is */
	double core_ghz, tsc_ghz, seconds;
	bool quick, has_huge_pages;
	struct cliff_company company;
	struct calibration_fit fit;
};

/*
 * Choose the rows whose name matches a shell pattern, NULL for all, and those
 * they have to be told from (struct cliff, behind).  -SP_EUSAGE: none; -SP_ENOMEM.
 */
int calibration_choose(const char *glob, struct calibration *out);

/* Measure the chosen rows.  What cliff_native_open and cliff_measure_native return. */
int calibration_measure(struct cliff_native *n, bool quick, struct calibration *c);

/*
 * The core that the fit begins with: name or path of its file, NULL = the
 * default one.  Before anything is measured, so that a wrong name costs no
 * time.  What sim_core_load and sim_config_parse return.
 */
int calibration_against(const char *word, struct calibration *c);

/* Fit that core to what was measured; arena: what the cliffs walk over.  What fit_config returns. */
int calibration_fit(struct cliff_arena *arena, struct calibration *c);

/* The fitted core as a file for record --core; a page with a plot of every cliff.  -SP_EIO. */
int calibration_write_core(const struct calibration *c, const char *path);
int calibration_html(const struct calibration *c, const char *path);

void calibration_fini(struct calibration *c);

/* What a row's verdict is due to, beside the number itself; NULL = nothing else. */
const char *calibration_note(const struct calibration_row *r);

/* Was anybody else on the core?  A sentence, for people. */
void calibration_company(const struct calibration *c, char *out, size_t size);

/* How many rows have a verdict. */
size_t calibration_count(const struct calibration *c, enum cliff_verdict v);

/* 0 or -SP_ENOMEM; what could not be written shows when f is flushed. */
int calibration_text(const struct calibration *c, FILE *f);
int calibration_json(const struct calibration *c, FILE *f);
int calibration_csv(const struct calibration *c, FILE *f);

#endif
