/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/cmd.h"
#include "profiler/record.h"

enum { KEY_PMU = 256, KEY_CORE, KEY_SEED, KEY_TRUTH, KEY_NO_BRANCHES };

/* Smaller ones than this leave hardly anything between two interrupts. */
enum { MIN_PERIOD = 11, MAX_PERIOD = 2000000000 };

struct options {
	struct record_opts record;
	const char *truth;
};

static const struct argp_option argp_options[] = {
	{ "pmu", KEY_PMU, "SOURCE", 0, "Where samples come from: auto (default) or sim", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE (default skidprof.data); - is standard output", 0 },
	{ "period", 'c', "N", 0, "Sample every N events (default 10007)", 0 },
	{ "events", 'e', "LIST", 0, "Events, separated by commas; NAME/N samples every N", 0 },
	{ "branches", 'b', NULL, 0, "Record the last taken branches with each sample", 0 },
	{ "no-branches", KEY_NO_BRANCHES, NULL, 0, "Record no branches", 0 },
	{ "core", KEY_CORE, "CORE", 0, "The core to simulate: a name or a file", 0 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the simulated interrupts' delays (default 1)", 0 },
	{ "truth", KEY_TRUTH, "FILE", 0, "Write exact instruction counts of the same run to FILE", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	unsigned long long n;

	switch (key) {
	case KEY_PMU:
		o->record.pmu = arg;
		return 0;
	case 'o':
		o->record.output = arg;
		return 0;
	case 'c':
		if (cmd_parse_u64("-c", arg, MIN_PERIOD, MAX_PERIOD, &n) < 0)
			return EINVAL;
		o->record.period = n;
		return 0;
	case 'e':
		o->record.events = arg;
		return 0;
	case 'b':
		o->record.branches = 1;
		return 0;
	case KEY_NO_BRANCHES:
		o->record.branches = 0;
		return 0;
	case KEY_CORE:
		o->record.core = arg;
		return 0;
	case KEY_SEED:
		if (cmd_parse_u64("--seed", arg, 0, UINT64_MAX, &n) < 0)
			return EINVAL;
		o->record.seed = n;
		return 0;
	case KEY_TRUTH:
		o->truth = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_record(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "[--] PROGRAM [ARGUMENT...]",
		.doc = "Run a program and write samples of it to a perf.data file."
	};
	struct options o = { .record = {
		                     .pmu = "auto", .output = "skidprof.data", .branches = -1, .seed = 1 } };
	struct record_counts counts = { 0 };
	int first, status = 0, err;

	err = cmd_parse(&argp, argc, argv, 1, &first, &o);
	if (err < 0)
		return err;
	if (first >= argc)
		return sp_fail(SP_EUSAGE, "%s: which program? For example: %s ./app", argv[0], argv[0]);
	o.record.counting = o.truth != NULL;
	o.record.argc = argc - first;
	o.record.argv = argv + first;
	err = o.truth ? record_check_output(o.truth) : 0;
	if (err < 0)
		return err;
	err = record_run(&o.record, &counts, &status);
	if (err == 0 && o.truth)
		err = record_write_truth(o.truth, &counts, o.record.argc, o.record.argv);
	record_counts_fini(&counts);
	return err < 0 ? err : status;
}
