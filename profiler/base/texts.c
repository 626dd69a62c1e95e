/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/texts.h"

#include <stdarg.h>
#include <stdio.h>

#include "profiler/base/mem.h"

enum { BLOCK_BYTES = 64 << 10 };

struct text_block {
	struct text_block *older;
	size_t used, size;
	char text[];
};

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3;
	return hash ^ hash >> 32;
}

/* Texts of one hash are numbered apart: same is how many there are before it. */
static long find(const struct texts *t, const char *text, size_t len, uint64_t hash, uint64_t *same)
{
	long i;

	for (*same = 0; (i = pairs_find(&t->index, hash, *same)) >= 0; (*same)++)
		if (strncmp(t->v.v[i], text, len) == 0 && !t->v.v[i][len])
			break;
	return i;
}

static char *room_for(struct texts *t, size_t size)
{
	struct text_block *block = t->blocks;

	if (!block || block->size - block->used < size) {
		size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		block = mem_malloc(sizeof(*block) + block_size);
		*block = (struct text_block){ .older = t->blocks, .size = block_size };
		t->blocks = block;
	}
	block->used += size;
	return block->text + block->used - size;
}

const char *texts_keep(struct texts *t, const char *text, size_t len)
{
	char *copy = room_for(t, len + 1);

	memcpy(copy, text, len);
	copy[len] = 0;
	return copy;
}

long texts_number(struct texts *t, const char *text, size_t len)
{
	uint64_t hash, same;
	long i;

	len = strnlen(text, len);
	hash = hash_of(text, len);
	i = find(t, text, len, hash, &same);
	if (i >= 0)
		return i;
	vec_add(&t->v, texts_keep(t, text, len));
	return (long)pairs_must(&t->index, hash, same);
}

long texts_find(const struct texts *t, const char *text)
{
	size_t len = strlen(text);
	uint64_t same;

	return find(t, text, len, hash_of(text, len), &same);
}

const char *texts_add(struct texts *t, const char *text, size_t len)
{
	long i = texts_number(t, text, len);

	return t->v.v[i];
}

const char *texts_printf(struct texts *t, const char *fmt, ...)
{
	const char *kept;
	char *text;
	va_list args;

	va_start(args, fmt);
	text = mem_vprintf(fmt, args);
	va_end(args);
	kept = texts_add(t, text, strlen(text));
	free(text);
	return kept;
}

void texts_fini(struct texts *t)
{
	while (t->blocks) {
		struct text_block *older = t->blocks->older;

		free(t->blocks);
		t->blocks = older;
	}
	vec_fini(&t->v);
	pairs_fini(&t->index);
}
