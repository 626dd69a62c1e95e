/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_TEXTS_H
#define SKIDPROF_BASE_TEXTS_H

/*
 * Texts kept once each, numbered 0, 1, 2 ... in the order they are first
 * seen: names and files recur thousands of times in debug information.  All
 * die together.  All zero is empty.  Where there is no memory for one the program ends (mem.h).
 */
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

struct texts {
	VEC(const char *) v;
	struct text_block *blocks; /* newest first */
	struct pairs index;        /* (hash, how many of that hash came before) */
};

/* The number of text[0..len), given out now if it is new. */
long texts_number(struct texts *t, const char *text, size_t len);
/* The number of a text, -1 if it has none. */
long texts_find(const struct texts *t, const char *text);

/* The copy of text[0..len), the same pointer for the same text. */
const char *texts_add(struct texts *t, const char *text, size_t len);
/* A copy beside them, without a number: for texts that seldom recur.  Its cost is its bytes. */
const char *texts_keep(struct texts *t, const char *text, size_t len);

/* texts_add() of what printf(3) would print. */
const char *texts_printf(struct texts *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void texts_fini(struct texts *t);

#endif
