/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/path.h"
#include "profiler/calibrate/calibration.h"
#include "profiler/calibrate/matter.h"
#include "profiler/cmd.h"

enum { OPT_QUICK = 256, OPT_ONLY, OPT_FORMAT, OPT_FOR, OPT_AGAINST, OPT_HTML };

struct options {
	bool quick;
	const char *only, *format, *for_file, *against, *output, *html;
};

static const struct argp_option argp_options[] = {
	{ "quick", OPT_QUICK, NULL, 0, "Fewer pressures and repetitions", 0 },
	{ "only", OPT_ONLY, "GLOB", 0, "Only the cliffs whose name matches, such as 'f*-latency'", 0 },
	{ "for", OPT_FOR, "FILE", 0, "Which cliffs matter for the program of this recording; measure nothing",
	  0 },
	{ "against", OPT_AGAINST, "CORE", 0,
	  "The simulated core that is fitted: a name or a file (default: as record's)", 0 },
	{ "output", 'o', "FILE", 0, "Write the fitted core, for record --core", 0 },
	{ "html", OPT_HTML, "FILE", 0, "Write a page with a plot of every cliff", 0 },
	{ "format", OPT_FORMAT, "WORD", 0, "text (default), json or csv", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_QUICK:
		o->quick = true;
		return 0;
	case OPT_ONLY:
		o->only = arg;
		return 0;
	case OPT_FOR:
		o->for_file = arg;
		return 0;
	case OPT_AGAINST:
		o->against = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_HTML:
		o->html = arg;
		return 0;
	case OPT_FORMAT:
		o->format = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct format {
	const char *name;
	int (*write)(const struct calibration *c, FILE *f);
};

static int find_format(const char *name, const struct format **out)
{
	static const struct format formats[] = { { "text", calibration_text },
		                                 { "json", calibration_json },
		                                 { "csv", calibration_csv } };

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name)) {
			*out = &formats[i];
			return 0;
		}
	return sp_fail(SP_EUSAGE, "--format: '%s' is none of text, json, csv", name);
}

static int calibrate(const struct options *o, struct calibration *c)
{
	struct cliff_native *n = NULL;
	int err = calibration_against(o->against, c);

	if (err == 0)
		err = cliff_native_open(&n);
	if (err == 0)
		err = calibration_measure(n, o->quick, c);
	if (err == 0)
		err = calibration_fit(cliff_native_arena(n), c);
	cliff_native_close(n);
	return err;
}

int cmd_calibrate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.doc = "Measure what this processor's core is, by microbenchmarks that each "
		       "expose one feature, and fit a simulated core to it."
	};
	struct options o = { .format = "text" };
	const struct format *format = NULL;
	struct calibration c = { 0 };
	int first, err;

	if ((err = cmd_parse(&argp, argc, argv, 0, &first, &o)) < 0)
		return err;
	if (first < argc)
		return sp_fail(SP_EUSAGE, "%s takes no '%s'", argv[0], argv[first]);
	if (o.for_file)
		return matter_report(o.for_file, o.against, stdout);
	if ((err = find_format(o.format, &format)) < 0 || (err = calibration_choose(o.only, &c)) < 0)
		return err;
	err = path_check_file(o.output, "-o");
	if (err == 0)
		err = path_check_file(o.html, "--html");
	if (err == 0)
		err = calibrate(&o, &c);
	/* What took minutes to measure is shown also where a file can't be written after all. */
	if (err == 0) {
		int shown = format->write(&c, stdout);

		err = o.output ? calibration_write_core(&c, o.output) : 0;
		if (err == 0 && o.html)
			err = calibration_html(&c, o.html);
		err = err < 0 ? err : shown;
	}
	calibration_fini(&c);
	return err;
}
