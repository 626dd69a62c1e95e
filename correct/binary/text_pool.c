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

struct text_entry {
	const char *text; /* NULL = free */
	uint64_t hash;
	size_t len;
};

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t len)
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
static struct text_entry *find(const struct text_pool *pool, const struct text_entry *wanted)
{
	size_t i = wanted->hash & (pool->n_table - 1);

	for (; pool->table[i].text; i = (i + 1) & (pool->n_table - 1))
		if (pool->table[i].hash == wanted->hash && pool->table[i].len == wanted->len &&
		    !memcmp(pool->table[i].text, wanted->text, wanted->len))
			break;
	return &pool->table[i];
}

static int grow(struct text_pool *pool)
{
	struct text_pool larger = *pool;

	larger.n_table = pool->n_table ? pool->n_table * 2 : 256;
	larger.table = calloc(larger.n_table, sizeof(*larger.table));
	if (!larger.table)
		return -1;
	for (size_t i = 0; i < pool->n_table; i++)
		if (pool->table[i].text)
			*find(&larger, &pool->table[i]) = pool->table[i];
	free(pool->table);
	pool->table = larger.table;
	pool->n_table = larger.n_table;
	return 0;
}

const char *text_pool_add(struct text_pool *pool, const char *text, size_t len)
{
	struct text_entry wanted = { .text = text, .len = strnlen(text, len) }, *place;
	char *copy;

	if (pool->n_texts >= pool->n_table / 2 && grow(pool) < 0)
		return NULL;
	wanted.hash = hash_of(text, wanted.len);
	place = find(pool, &wanted);
	if (place->text)
		return place->text;
	copy = room_for(pool, wanted.len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, wanted.len);
	copy[wanted.len] = 0;
	*place = wanted;
	pool->n_texts++;
	return place->text = copy;
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
