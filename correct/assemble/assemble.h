/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_ASSEMBLE_ASSEMBLE_H
#define SKIDPROF_CORRECT_ASSEMBLE_ASSEMBLE_H

#include "correct/work.h"

/* The last step: everything worked out becomes a profile. */
int assemble(const struct work *w, struct profile **out);

#endif
