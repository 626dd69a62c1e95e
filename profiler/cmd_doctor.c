/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/cmd.h"
#include "profiler/doctor/doctor.h"

static const struct argp_option argp_options[] = { { "json", 'j', NULL, 0, "Write JSON", 0 }, { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	(void)arg;
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	*json = true;
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.doc = "Try what this machine offers a recording, and say what to do "
		       "about what it lacks.\vExit status: 0 where a recording works and "
		       "something of it can be corrected, 1 where not."
	};
	struct doctor d;
	bool json = false;
	int first, err;

	err = cmd_parse(&argp, argc, argv, 0, &first, &json);
	if (err < 0)
		return err;
	if (first < argc)
		return sp_fail(SP_EUSAGE, "%s takes no '%s'", argv[0], argv[first]);
	doctor_examine(&d);
	if (json)
		err = doctor_json(&d, argp_program_version, stdout);
	else
		doctor_text(&d, stdout);
	if (err == 0)
		err = cmd_flush_stdout();
	return err < 0 ? err : !d.corrected;
}
