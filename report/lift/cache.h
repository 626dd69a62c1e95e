/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_CACHE_H
#define SKIDPROF_REPORT_LIFT_CACHE_H

/*
 * Predictions kept on disk, one small text file each, under
 * $XDG_CACHE_HOME/skidprof/lift (or ~/.cache).  A file says what it is of
 * (tool, version, bytes of the block) and is believed only when that is what
 * was asked for; one that can't be read or written is as good as none.
 */
#include "report/lift/tool.h"

bool cache_get(const struct tool *t, const struct tool_block *b, double *cyc);
void cache_put(const struct tool *t, const struct tool_block *b, double cyc);

/* A file's text: does it hold the prediction of t on b? */
bool cache_parse(const char *text, const struct tool *t, const struct tool_block *b, double *cyc);

/* The text of a file, malloc'd; NULL when out of memory. */
char *cache_text(const struct tool *t, const struct tool_block *b, double cyc);

#endif
