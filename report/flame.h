/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_FLAME_H
#define SKIDPROF_REPORT_FLAME_H

/* The flame graph's data, and the same stacks for other tools. */
#include <jansson.h>

#include "report/profile.h"

/* A function below its caller, or below the one that it is inlined in.  Counts are of this very stack. */
struct flame_frame {
	uint32_t parent;        /* 0: the first frame, which is the whole and its own parent */
	uint32_t func;          /* profile->funcs; from flame_first_special on it is no function's */
	double raw, fixed, cyc; /* instructions as sampled and corrected, cycles */
	bool guess;             /* several callers, and nothing tells their parts */
};

extern const uint32_t flame_first_special;

/*
 * Of call stacks where there are some; else of bursts' stacks, or of the code's flow, a function below each of its callers, divided as
 * their calls are, which is a guess where they are several.  Parents stand before their children.  *out is the caller's to free; *note says what
 * they are of.  Returns 0, -SP_ENOMEM.
 */
int flame_frames(const struct profile *p, struct flame_frame **out, size_t *n, const char **note);

/* What a frame is called, that of no function too. */
const char *flame_name(const struct profile *p, uint32_t func);

/*
 * Set "flame" of doc: {has_insn, note, functions: [...], frames: [[parent, function, raw, fixed, cycles, guess], ...]}, of
 * flame_frames().  Returns 0, -SP_ENOMEM.
 */
int flame_json(const struct profile *p, json_t *doc);

#endif
