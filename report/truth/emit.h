/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TRUTH_EMIT_H
#define SKIDPROF_REPORT_TRUTH_EMIT_H

#include "profiler/binary/module.h"
#include "report/truth/truth.h"

/* Where code outside any file (JIT, signal trampolines) is booked: one instruction at 0. */
#define TRUTH_ANONYMOUS "[anonymous]"

/*
 * Write t in callgrind's format with function, file and inlined file (fi=,
 * fe=) and line of every instruction, taken from the objects themselves.
 * Written beside path and renamed: an existing file is lost only to a whole new one.
 *
 * modules  [t->n_objects], NULL where an object is no file.
 */
int truth_emit(const char *path, const struct truth *t, struct module *const *modules);

#endif
