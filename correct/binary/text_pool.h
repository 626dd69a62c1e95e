/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_BINARY_TEXT_POOL_H
#define SKIDPROF_CORRECT_BINARY_TEXT_POOL_H

/*
 * Strings kept once each: names and files recur thousands of times in debug
 * information.  All die together with the pool.
 */
#include <stddef.h>
#include <stdint.h>

struct text_block;
struct text_entry;

struct text_pool {
	struct text_block *blocks; /* newest first */
	struct text_entry *table;  /* open addressing; n_table is a power of two or 0 */
	size_t n_table, n_texts;
};

/* The pool's copy of text[0..len), the same pointer for the same text.  NULL when out of memory. */
const char *text_pool_add(struct text_pool *pool, const char *text, size_t len);
/* printf into the pool; NULL when out of memory. */
const char *text_pool_printf(struct text_pool *pool, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
void text_pool_fini(struct text_pool *pool);

#endif
