/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_HTML_H
#define SKIDPROF_REPORT_HTML_H

/*
 * A profile as one page that needs nothing else: functions, a flame graph,
 * source and assembly of the hot ones, regions with their loops, and time.
 * What it shows is JSON in it, in which no '<' stands; its script (report/html/)
 * makes text of it and nothing else, and its policy lets it load nothing.
 */
#include "correct/binary/module.h"
#include "report/report.h"
#include "report/source.h"

struct html_opts {
	const struct module_options *modules;
	const struct source_opts *sources;
};

/* The file is replaced whole or not at all.  -SP_EIO with it named. */
int html_write(const struct profile *p, const struct html_opts *o, const char *path);

#endif
