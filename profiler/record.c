/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/record.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/pmu/event_code.h"
#include "profiler/pmu/pmu.h"

int (*record_write_truth)(const char *path, const struct record_counts *counts, int argc, char **argv);

/* The program's time: on the simulated core a long program runs for a few tenths of a second. */
enum { DEFAULT_ROTATE_NS = 20000 };

/* What --pmu can be, in the order auto tries them. */
static const struct pmu_ops *const sources[] = { &pmu_hardware, &pmu_clock, &pmu_simulated, NULL };

void record_counts_fini(struct record_counts *c)
{
	for (size_t i = 0; i < c->n_files; i++)
		free(c->files[i]);
	free(c->files);
	free(c->v);
	free(c->calls);
	memset(c, 0, sizeof(*c));
}

static const struct pmu_ops *pick_auto(const struct record_opts *opts)
{
	for (size_t i = 0; sources[i]; i++)
		if (sources[i]->probe(opts) == 0)
			return sources[i];
	return NULL;
}

static int pick(const struct record_opts *opts, const struct pmu_ops **out)
{
	const char *words[sizeof(sources) / sizeof(sources[0]) + 1] = { "auto" }, *near;
	const char *word = opts->pmu;

	if (strcmp(word, "auto") == 0) {
		*out = pick_auto(opts);
		return *out ? 0 : sp_fail_prefix(-SP_ENOTSUP, "no source of samples works here");
	}
	for (size_t i = 0; sources[i]; i++) {
		words[i + 1] = sources[i]->name;
		if (strcmp(word, sources[i]->name) == 0) {
			*out = sources[i];
			return 0;
		}
	}
	near = cmd_suggest(word, words);
	return sp_fail(SP_EUSAGE, "--pmu: no source of samples '%s'; %s %s", word,
	               near ? "did you mean" : "there are", near ? near : "auto, hardware, clock and sim");
}

struct record_opts record_opts_default(void)
{
	return (struct record_opts){ .pmu = "auto",
		                     .output = "skidprof.data",
		                     .branches = -1,
		                     .bursts_hz = -1,
		                     .burst_budget = 0.02,
		                     .rotate_ns = DEFAULT_ROTATE_NS,
		                     .seed = 1 };
}

int record_plan(const struct record_opts *opts, struct record_plan *out)
{
	const struct pmu_ops *source = NULL;
	int err = pick(opts, &source);

	*out = (struct record_plan){ .source = source ? source->name : NULL };
	return err < 0 ? err : source->plan(opts, out);
}

int record_list_events(const char *part)
{
	event_code_list(stdout, part);
	return cmd_flush_stdout();
}

int record_run(const struct record_opts *opts, struct record_counts *counts, int *exit_status)
{
	const struct pmu_ops *source = NULL;
	int err = pick(opts, &source);

	return err < 0 ? err : source->run(opts, counts, exit_status);
}
