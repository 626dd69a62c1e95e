/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A calibration's cliffs against a simulated core: before the fit and after. */
#include "profiler/calibrate/calibration.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/base/draft.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/pmu/core.h"

int calibration_against(const char *word, struct calibration *c)
{
	struct calibration_fit *f = &c->fit;
	struct sim_core core = { 0 };
	int err;

	if ((err = sim_core_load(word, PROGRAM_X86_64, &core)) < 0)
		return err;
	err = sim_config_parse(core.text, core.n_bytes, &f->config);
	if (err < 0)
		sp_fail_prefix(err, "%s", core.path);
	snprintf(f->core, sizeof(f->core), "%s", core.name);
	sim_core_fini(&core);
	return err;
}

/* Walks over more than the second level holds take most of the model's time, and are the least certain on the processor. */
static bool is_left_out(const struct calibration *c, const struct calibration_row *r)
{
	bool is_long = r->cliff->shape == CLIFF_PATTERN ||
	               (r->cliff->shape == CLIFF_CHASE && r->cliff->cls == CLIFF_CAPACITY);

	return r->lacks || (c->quick && is_long) || (c->quick && r->cliff->scale == CLIFF_OF_L3);
}

static int make_rows(struct calibration *c)
{
	struct calibration_fit *f = &c->fit;

	f->rows = calloc(c->n, sizeof(*f->rows));
	if (!f->rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu cliffs", c->n);
	for (size_t i = 0; i < c->n; i++) {
		if (is_left_out(c, &c->rows[i]))
			continue;
		f->rows[f->n] = (struct fit_row){ .cliff = c->rows[i].cliff,
			                          .real = c->rows[i].curve,
			                          .real_is = c->rows[i].real };
		c->rows[i].fit = &f->rows[f->n++];
	}
	return 0;
}

static void show_progress(void *user, const char *key, size_t k, size_t n)
{
	(void)user;
	(void)key;
	sp_progress("fitting the model", k, n);
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int calibration_fit(struct cliff_arena *arena, struct calibration *c)
{
	struct calibration_fit *f = &c->fit;
	struct cliff_model *m = NULL;
	double begin = seconds_now();
	int err;

	if ((err = make_rows(c)) < 0 || (err = cliff_model_open(arena, &m)) < 0)
		return err;
	if (c->core_ghz > 0)
		f->config.freq_ghz = c->core_ghz;
	if ((err = fit_before(m, &f->config, f->rows, f->n)) == 0 &&
	    (err = fit_config(m, f->rows, f->n, &f->config, show_progress, NULL)) == 0)
		err = fit_after(m, &f->config, f->rows, f->n);
	sp_progress_end();
	cliff_model_close(m);
	fit_summarise(f->rows, f->n, false, &f->before);
	fit_summarise(f->rows, f->n, true, &f->after);
	f->seconds = seconds_now() - begin;
	return err;
}

static int put_core(const void *calibration, FILE *to)
{
	const struct calibration *c = calibration;
	const struct calibration_fit *f = &c->fit;

	fprintf(to,
	        "# %s, as skidprof calibrate found it: %zu cliffs, mean error %.2f%% (%.2f%% with core %s, "
	        "where "
	        "it began).\n"
	        "# What no cliff speaks of, the skid among it, is as that core has it.\n\n",
	        c->cpu, f->after.n, 100 * f->after.mean, 100 * f->before.mean, f->core);
	sim_config_write(&f->config, to);
	return 0;
}

int calibration_write_core(const struct calibration *c, const char *path)
{
	return draft_write(path, put_core, c);
}
