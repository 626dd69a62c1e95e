/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_HTML_H
#define SKIDPROF_REPORT_HTML_H

/*
 * A profile as one page that needs nothing else: functions, a flame graph,
 * source and assembly of the hot ones, regions with their loops, and time.
 */
#include "profiler/binary/module.h"
#include "report/report.h"
#include "report/source.h"

struct html_opts {
	const struct module_options *modules;
	const struct source_opts *sources;
};

/*
 * Appended: what meta_print says, as lines without "# "; and what speaks against the numbers; of: a word for which
 * recording's, where a page is of several and says itself what was not counted, else NULL.
 */
int html_facts(const struct profile *p, json_t *lines);
void html_doubts(const struct profile *p, const char *of, json_t *doubts);

/* The file is replaced whole or not at all.  -SP_EIO with it named. */
int html_write(const struct profile *p, const struct html_opts *o, const char *path);

#endif
