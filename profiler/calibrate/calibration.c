/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/calibration.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"

static bool is_wanted(const struct cliff *c, const char *glob)
{
	return !glob || fnmatch(glob, c->name, 0) == 0;
}

/* By its name, or because a row that is chosen has to be told from it. */
static bool is_chosen(const struct cliff *all, size_t n, const struct cliff *c, const char *glob)
{
	if (is_wanted(c, glob))
		return true;
	for (size_t k = 0; k < n; k++)
		if (all[k].behind && !strcmp(all[k].behind, c->name) && is_chosen(all, n, &all[k], glob))
			return true;
	return false;
}

static int no_such(const struct cliff *all, size_t n, const char *glob)
{
	const char **words = calloc(n + 1, sizeof(*words)), *near;
	int err;

	if (!words)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		words[i] = all[i].name;
	near = cmd_suggest(glob, words);
	err = near ? sp_fail(SP_EUSAGE, "--only: no cliff is named '%s'; did you mean '%s'?", glob, near)
	           : sp_fail(SP_EUSAGE, "--only: no cliff is named '%s'; skidprof-calibrate(1) lists them",
	                     glob);
	free(words);
	return err;
}

int calibration_choose(const char *glob, struct calibration *out)
{
	size_t n;
	const struct cliff *all = cliff_table(&n);

	memset(out, 0, sizeof(*out));
	out->rows = calloc(n, sizeof(*out->rows));
	if (!out->rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu cliffs", n);
	for (size_t i = 0; i < n; i++)
		if (is_chosen(all, n, &all[i], glob))
			out->rows[out->n++].cliff = &all[i];
	if (out->n)
		return 0;
	calibration_fini(out);
	return no_such(all, n, glob);
}

void calibration_fini(struct calibration *c)
{
	free(c->rows);
	free(c->fit.rows);
	memset(c, 0, sizeof(*c));
}

static void read_cpu_name(char *out, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(out, size, "unknown processor");
	while (f && fgets(line, sizeof(line), f)) {
		char *name = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !name)
			continue;
		name += 1 + (name[1] == ' ');
		name[strcspn(name, "\n")] = '\0';
		snprintf(out, size, "%s", name);
		break;
	}
	if (f)
		fclose(f);
}

static struct calibration_row *find_row(const struct calibration *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->rows[i].cliff->name, name))
			return &c->rows[i];
	return NULL;
}

/* Once all rows are there: which change points are another row's. */
static void attribute(struct calibration *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct calibration_row *r = &c->rows[i], *other;
		enum cliff_verdict before = r->real.verdict;

		if (!r->cliff->behind || r->lacks)
			continue;
		other = find_row(c, r->cliff->behind);
		if (!other || other->lacks)
			continue;
		/* What could not be measured can't be told from. */
		if (other->is_disturbed && r->real.verdict == CLIFF_CLEAN)
			r->real.verdict = CLIFF_WEAK;
		if (other->is_disturbed || r->is_disturbed)
			continue;
		cliff_attribute(r->cliff, &other->real, &r->real);
		if (r->real.verdict != before)
			r->behind = r->cliff->behind;
	}
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * A sweep over every row that needs another.  1: more fits into the core than
 * ever before, so a neighbour was there all the time, and all sweeps are void.
 */
static int one_round(const struct cliff_bench *b, struct calibration *c, struct cliff_sweeps *sweeps,
                     unsigned round)
{
	int err = 0;

	for (size_t i = 0; i < c->n && err == 0; i++) {
		const struct cliff *cliff = c->rows[i].cliff;

		sp_progress("measuring cliffs", round * c->n + i, CLIFF_MAX_SWEEPS * c->n);
		c->rows[i].lacks = cliff_native_lacks(cliff);
		if (!c->rows[i].lacks && !cliff_sweeps_settled(cliff, &sweeps[i], c->quick))
			err = cliff_sweep(b, cliff, c->quick, &sweeps[i]);
	}
	return err;
}

static bool is_open(const struct calibration *c, const struct cliff_sweeps *sweeps)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->rows[i].lacks && !cliff_sweeps_settled(c->rows[i].cliff, &sweeps[i], c->quick))
			return true;
	return false;
}

static int measure_rows(struct cliff_native *n, struct calibration *c)
{
	struct cliff_sweeps *sweeps = calloc(c->n, sizeof(*sweeps));
	struct cliff_bench b;
	int err = 0;

	if (!sweeps)
		return sp_fail(SP_ENOMEM, "out of memory for %zu cliffs", c->n);
	cliff_native_bench(n, &b);
	for (unsigned round = 0; is_open(c, sweeps) && err >= 0; round++) {
		err = one_round(&b, c, sweeps, round);
		if (err == 1)
			memset(sweeps, 0, c->n * sizeof(*sweeps));
	}
	sp_progress_end();
	for (size_t i = 0; i < c->n && err >= 0; i++) {
		c->rows[i].curve = sweeps[i].curve;
		c->rows[i].real = sweeps[i].result;
		c->rows[i].is_disturbed = sweeps[i].is_disturbed;
	}
	free(sweeps);
	return err < 0 ? err : 0;
}

/* Seconds that neighbours on the core are waited for: --quick has a minute, all in all. */
enum { PATIENCE_S = 120, QUICK_PATIENCE_S = 10 };

int calibration_measure(struct cliff_native *n, bool quick, struct calibration *c)
{
	double begin = seconds_now();
	const char *no_pmu;
	int err;

	c->quick = quick;
	cliff_native_patience(n, quick ? QUICK_PATIENCE_S : PATIENCE_S);
	if ((err = measure_rows(n, c)) < 0)
		return err;
	attribute(c);
	read_cpu_name(c->cpu, sizeof(c->cpu));
	cliff_native_sizes(n, &c->sizes);
	c->core_ghz = cliff_native_core_ghz(n);
	c->tsc_ghz = cliff_native_tsc_ghz(n);
	no_pmu = cliff_native_no_pmu(n);
	snprintf(c->no_pmu, sizeof(c->no_pmu), "%s", no_pmu ? no_pmu : "");
	cliff_native_company(n, &c->company);
	c->has_huge_pages = cliff_native_arena(n)->has_huge_pages;
	c->seconds = seconds_now() - begin;
	return 0;
}

size_t calibration_count(const struct calibration *c, enum cliff_verdict v)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += !c->rows[i].lacks && c->rows[i].real.verdict == v;
	return n;
}
