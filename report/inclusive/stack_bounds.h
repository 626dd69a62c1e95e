/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_INCLUSIVE_STACK_BOUNDS_H
#define SKIDPROF_REPORT_INCLUSIVE_STACK_BOUNDS_H

/* How well call stacks know what functions come to with all that they call. */
#include "report/assemble/own_noise.h"
#include "report/inclusive/inclusive.h"

/*
 * Set lo and hi of out, [p->n_funcs], from what they are by stacks.  insn: [p->n_frames] corrected instructions of each frame;
 * rest: those that are on no stack, and may be of any that calls others; noise: of the functions' own counts.
 */
void stack_bounds(const struct profile *p, const double *insn, double rest, const struct own_noise *noise,
                  struct inclusive *out);

#endif
