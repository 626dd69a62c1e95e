/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_FLAME_H
#define SKIDPROF_REPORT_FLAME_H

/* The flame graph's data. */
#include <jansson.h>

#include "report/profile.h"

/*
 * Set "flame" of doc: {has_insn, note, functions: [...], frames: [[parent, function, raw, fixed, cycles, guess], ...]}, the
 * root first and parents before children; counts are of the very stack.  Of call stacks where there are some; else of the
 * code's flow, a function below each of its callers, divided as their calls are, which is a guess where they are several.
 * Returns 0, -SP_ENOMEM.
 */
int flame_json(const struct profile *p, json_t *doc);

#endif
