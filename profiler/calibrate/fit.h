/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_FIT_H
#define SKIDPROF_CALIBRATE_FIT_H

/*
 * The parameters of a simulated core for which its cliffs look like those of
 * another core: the processor's, or those of a simulated core whose
 * parameters are hidden (which is how the fit is tested).
 *
 * A row of the table names the keys of the core file that it speaks of.  Each
 * key is moved until the whole curves of its rows, and the numbers inferred
 * from them, lie as near to the other core's as they can; then all once more,
 * because some rows feel more than one key.
 */
#include "profiler/calibrate/cliff.h"
#include "profiler/calibrate/model.h"

struct fit_row {
	const struct cliff *cliff;
	struct cliff_curve real, before, after;
	struct cliff_result real_is, before_is, after_is;
	double err_before, err_after; /* model / real - 1; NAN where either has no number */
	bool counts;                  /* clean on the real core, so in the means */
};

/* real is there; the model's curves and errors with config are put into `before` and `after`. */
int fit_before(struct cliff_model *m, const struct sim_config *config, struct fit_row *rows, size_t n);
int fit_after(struct cliff_model *m, const struct sim_config *config, struct fit_row *rows, size_t n);

/* Told of every key that is about to be moved: the k-th of n. */
typedef void fit_progress_fn(void *user, const char *key, size_t k, size_t n);

/*
 * Move config's parameters.  Only rows that are clean or weak on the real core
 * have a say; a key of which no row speaks stays as it is.
 *
 * progress  may be NULL.
 */
int fit_config(struct cliff_model *m, struct fit_row *rows, size_t n, struct sim_config *config,
               fit_progress_fn *progress, void *user);

/* Over the rows that count. */
struct fit_summary {
	size_t n, n_continuous;
	double mean, mean_continuous, median, worst, signed_mean; /* of the error, a fraction */
	const char *worst_name;
};

void fit_summarise(const struct fit_row *rows, size_t n, bool after, struct fit_summary *out);

#endif
