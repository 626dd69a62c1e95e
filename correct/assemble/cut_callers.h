/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_ASSEMBLE_CUT_CALLERS_H
#define SKIDPROF_CORRECT_ASSEMBLE_CUT_CALLERS_H

/*
 * What functions may have more than stacks show, for some end before the
 * outermost caller.  Who called the first function of such a stack is taken
 * to be as on stacks where that function has callers.
 */
#include "correct/profile.h"

/*
 * weight: [p->n_frames] instructions, or time, of each frame by itself.  out, malloc'd: [p->n_funcs] of each function.
 * Returns 0, -SP_ENOMEM.
 */
int cut_callers(const struct profile *p, const double *weight, double **out);

#endif
