/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/cmd.h"
#include "profiler/record.h"

static const struct argp_option argp_options[] = {
	{ "output", 'o', "FILE", 0, "Write to FILE (default truth.callgrind)", 0 }, { 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **output = state->input;

	if (key != 'o')
		return ARGP_ERR_UNKNOWN;
	*output = arg;
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
	struct record_opts opts = { .pmu = "sim", .counting = true, .seed = 1 };
	struct record_counts counts = { 0 };
	const char *output = "truth.callgrind";
	int first, status = 0, err;

	err = cmd_parse(&argp, argc, argv, 1, &first, &output);
	if (err < 0)
		return err;
	if (first >= argc)
		return sp_fail(SP_EUSAGE, "%s: which program? For example: %s ./app", argv[0], argv[0]);
	opts.argc = argc - first;
	opts.argv = argv + first;
	err = record_check_output(output);
	if (err < 0)
		return err;
	err = record_run(&opts, &counts, &status);
	if (err == 0 && !counts.n && !counts.n_unmapped)
		err = sp_fail(SP_EDOMAIN, "no instruction was counted, so %s is not written", output);
	if (err == 0)
		err = record_write_truth(output, &counts, opts.argc, opts.argv);
	record_counts_fini(&counts);
	return err < 0 ? err : status;
}
