/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_TRUTH_EMIT_H
#define SKIDPROF_CORRECT_TRUTH_EMIT_H

#include "correct/binary/module.h"
#include "correct/truth/truth.h"

/* Where code outside any file (JIT, signal trampolines) is booked: one instruction at 0. */
#define TRUTH_ANONYMOUS "[anonymous]"

/*
 * truth_write for a caller who has the objects open already.
 *
 * modules  [t->n_objects], NULL where an object is no file.
 */
int truth_emit(const char *path, const struct truth *t, struct module *const *modules);

#endif
