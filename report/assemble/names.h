/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_NAMES_H
#define SKIDPROF_REPORT_ASSEMBLE_NAMES_H

#include "report/profile.h"

/*
 * Give functions of one name what tells them apart: those from p->funcs[first] on, so that the names of others stay.
 * entry: [n_funcs] where the code of each begins, 0 = all of it is inlined; NULL = not known.
 */
void names_tell_apart(struct profile *p, size_t first, const uint64_t *entry);

#endif
