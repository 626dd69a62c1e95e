/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/binary/text_pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10 };

struct text_block {
	struct text_block *older;
	size_t used, size;
	char text[];
};

uint64_t text_hash(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3;
	return hash ^ hash >> 32;
}

static char *room_for(struct text_pool *pool, size_t size)
{
	struct text_block *block = pool->blocks;

	if (!block || block->size - block->used < size) {
		size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		block = malloc(sizeof(*block) + block_size);
		if (!block)
			return NULL;
		block->older = pool->blocks;
		block->used = 0;
		block->size = block_size;
		pool->blocks = block;
	}
	block->used += size;
	return block->text + block->used - size;
}

/* Where text is in the table, or the free place it belongs to. */
static const char **find(const struct text_pool *pool, const char *text, size_t len)
{
	size_t i = text_hash(text, len) & (pool->n_table - 1);

	while (pool->table[i] && (strncmp(pool->table[i], text, len) != 0 || pool->table[i][len]))
		i = (i + 1) & (pool->n_table - 1);
	return &pool->table[i];
}

static int grow(struct text_pool *pool)
{
	size_t n_old = pool->n_table, n = n_old ? n_old * 2 : 256;
	const char **old = pool->table, **table = calloc(n, sizeof(*table));

	if (!table)
		return -1;
	pool->table = table;
	pool->n_table = n;
	for (size_t i = 0; i < n_old; i++)
		if (old[i])
			*find(pool, old[i], strlen(old[i])) = old[i];
	free(old);
	return 0;
}

const char *text_pool_add(struct text_pool *pool, const char *text, size_t len)
{
	const char **place;
	char *copy;

	if (pool->n_texts >= pool->n_table / 2 && grow(pool) < 0)
		return NULL;
	len = strnlen(text, len);
	place = find(pool, text, len);
	if (*place)
		return *place;
	copy = room_for(pool, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = 0;
	pool->n_texts++;
	*place = copy;
	return copy;
}

const char *text_pool_printf(struct text_pool *pool, const char *fmt, ...)
{
	const char *kept = NULL;
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len >= 0) {
		kept = text_pool_add(pool, text, (size_t)len);
		free(text);
	}
	return kept;
}

void text_pool_fini(struct text_pool *pool)
{
	while (pool->blocks) {
		struct text_block *older = pool->blocks->older;

		free(pool->blocks);
		pool->blocks = older;
	}
	free(pool->table);
	memset(pool, 0, sizeof(*pool));
}
