/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_CALLERS_H
#define SKIDPROF_REPORT_ASSEMBLE_CALLERS_H

/*
 * Who called the code that a sample is in, whichever way the recording tells
 * it: the kernel's chain by frame pointers, a copy of the stack that is
 * unwound here, or the calls in branch records that are not back yet.
 */
#include "correct/recording/recording.h"

struct callers {
	struct unwind *unwind; /* NULL until a sample has a copy of its stack */
	VEC(uint64_t) ips;
	VEC(uint64_t)
	entries; /* by branch records: where the call at each of the last entries.n ips went; else none */
};

/*
 * Before a sample's own place: ips[n] inside c, innermost first, each the
 * address after the call, or after the first byte of an instruction; markers
 * of the kernel's stay.  *whole: it is not known to end before the outermost
 * caller.
 */
void callers_of(struct callers *c, struct recording *rec, const struct pd_record *r, bool *whole);
void callers_fini(struct callers *c);

/* Do any samples tell, bursts aside? */
bool callers_are_recorded(const struct recording *rec);

/* Do bursts tell who had called where they begin? */
bool callers_of_bursts(const struct recording *rec);

/* How: "frame pointers", "copies of the stack, unwound", "branch records"; "" if nobody does. */
const char *callers_source(const struct recording *rec);

#endif
