/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_HTML_H
#define SKIDPROF_REPORT_LIFT_HTML_H

/*
 * What was lifted as one page that needs nothing else: a box plot of each
 * tool's errors, a scatter of predicted against measured cycles, and both
 * tables.  No script, no address of anything outside.
 */
#include <stdio.h>

#include "report/lift/lift.h"

/* Text in HTML: names of symbols are the binary's, and may hold anything. */
void html_text(FILE *f, const char *text);

/* The page.  The file is replaced whole or not at all.  -SP_EIO with it named. */
int lift_html(const struct lift *l, const char *path);

#endif
