/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_EXCHANGE_H
#define SKIDPROF_REPORT_EXCHANGE_H

/*
 * A profile in the formats of other tools.  Where instructions were counted their corrected counts come first; else cycles are all there
 * is, as sampled.
 */
#include <stdio.h>

#include "report/profile.h"

enum exchange {
	EXCHANGE_NONE,
	EXCHANGE_FOLDED, /* a stack and its instructions a line, as flamegraph.pl and speedscope read */
	EXCHANGE_FOLDED_CYCLES, /* and its cycles */
	EXCHANGE_CALLGRIND,     /* by instruction and line, without calls, as KCachegrind reads */
	EXCHANGE_PPROF,         /* stacks, as pprof reads: profile.proto, not compressed */
};

/* 0 or -SP_EUSAGE, with a suggestion. */
int exchange_parse(const char *word, enum exchange *out);

/* raw: folded stacks of raw counts.  0, -SP_ENOMEM, or -SP_ENOTSUP where the profile has no such counts. */
int exchange_write(const struct profile *p, enum exchange format, bool raw, FILE *f);

#endif
