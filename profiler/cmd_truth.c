/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/path.h"
#include "profiler/cmd.h"
#include "profiler/record.h"

static const struct argp_option argp_options[] = {
	{ "output", 'o', "FILE", 0, "Write to FILE (default truth.callgrind)", 0 },
	{ "callers", 'g', NULL, 0, "Count calls, too, with what each came to; half as long again", 0 },
	{ 0 }
};

struct truth_opts {
	struct record_opts record;
	const char *output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct truth_opts *o = state->input;

	if (key == 'o')
		o->output = arg;
	else if (key == 'g')
		o->record.calls = true;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

int cmd_truth(int argc, char **argv)
{
	static const struct argp argp = { .options = argp_options,
		                          .parser = parse,
		                          .args_doc = "[--] PROGRAM [ARGUMENT...]",
		                          .doc = "Count every instruction a program runs, exactly; "
		                                 "callgrind_annotate and KCachegrind open the "
		                                 "result." };
	struct truth_opts o = { .record = { .pmu = "sim", .counting = true, .seed = 1 },
		                .output = "truth.callgrind" };
	struct record_counts counts = { 0 };
	int first, status = 0, err;

	err = cmd_parse(&argp, argc, argv, 1, &first, &o);
	if (err < 0)
		return err;
	if (first >= argc)
		return sp_fail(SP_EUSAGE, "%s: which program? For example: %s ./app", argv[0], argv[0]);
	o.record.argc = argc - first;
	o.record.argv = argv + first;
	err = path_check_file(o.output, "-o");
	if (err < 0)
		return err;
	err = record_run(&o.record, &counts, &status);
	if (err == 0 && !counts.n && !counts.n_unmapped)
		err = sp_fail(SP_EDOMAIN, "no instruction was counted, so %s is not written", o.output);
	if (err == 0)
		err = record_write_truth(o.output, &counts, o.record.argc, o.record.argv);
	record_counts_fini(&counts);
	return err < 0 ? err : status;
}
