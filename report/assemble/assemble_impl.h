/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_ASSEMBLE_IMPL_H
#define SKIDPROF_REPORT_ASSEMBLE_ASSEMBLE_IMPL_H

/*
 * The parts of assemble() (assemble.h), each filling in its own part of the
 * profile; called in this order.
 */
#include "correct/work.h"
#include "report/assemble/func_index.h"

struct assembly {
	const struct work *w;
	struct profile *p;
	struct func_index *funcs;
	size_t insn_cap; /* room in p->insns */
};

/* What the header of a report says. */
void assemble_meta(struct assembly *a);

/* The modules, and the files that were mapped: once call stacks, which may open more, were gone through. */
void assemble_modules(struct assembly *a);
void assemble_late_modules(struct assembly *a); /* files that were opened since */

/* All instructions in regions, then those elsewhere that have samples; and the functions they are in. */
void assemble_insns(struct assembly *a);

/* The regions.  They take the draws from the work's solutions. */
void assemble_regions(struct assembly *a);

/* Call stacks of the samples, where they are asked for and there. */
int assemble_stacks(struct assembly *a);

/* What was sampled when, where call stacks are asked for. */
int assemble_time(struct assembly *a);

/* Counts, intervals and status of the functions. */
void assemble_funcs(struct assembly *a);

/* Names of functions that others have, too, in full; and their other names. */
void assemble_names(struct assembly *a);

/* Blocks, ways and loops, and what they tell: calls and trip counts. */
int assemble_flow(struct assembly *a);

/*
 * What insns[n], indices of p->insns that are one function's, are of their region, in a profile
 * of shares; out->region -1 where that is not known, and in every other profile.
 */
void assemble_part(const struct assembly *a, const uint32_t *insns, size_t n, struct profile_part *out);

/* What a region's verdict makes its instructions: an enum profile_status. */
uint8_t assemble_status(const struct work *w, size_t region);

#endif
