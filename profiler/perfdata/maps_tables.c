/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/maps_int.h"

static size_t u32_home(uint32_t key, size_t cap)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (cap - 1);
}

static struct u32_slot *u32_slot(const struct u32_table *t, uint32_t key)
{
	size_t i = u32_home(key, t->cap);

	while (t->slots[i].value && t->slots[i].key != key)
		i = (i + 1) & (t->cap - 1);
	return &t->slots[i];
}

void *u32_table_find(const struct u32_table *t, uint32_t key)
{
	return t->cap ? u32_slot(t, key)->value : NULL;
}

static int u32_grow(struct u32_table *t)
{
	struct u32_table big = { .cap = t->cap ? t->cap * 2 : 64, .n = t->n };

	big.slots = calloc(big.cap, sizeof(*big.slots));
	if (!big.slots)
		return -SP_ENOMEM;
	for (size_t i = 0; i < t->cap; i++) {
		if (t->slots[i].value)
			*u32_slot(&big, t->slots[i].key) = t->slots[i];
	}
	free(t->slots);
	*t = big;
	return 0;
}

int u32_table_put(struct u32_table *t, uint32_t key, void *value)
{
	struct u32_slot *s;

	if (t->n * 2 >= t->cap && u32_grow(t) < 0)
		return -SP_ENOMEM;
	s = u32_slot(t, key);
	t->n += !s->value;
	*s = (struct u32_slot){ key, value };
	return 0;
}

/* Open addressing: what was pushed past the free slot moves back into it. */
void u32_table_remove(struct u32_table *t, uint32_t key)
{
	size_t mask = t->cap - 1, hole;

	if (!u32_table_find(t, key))
		return;
	hole = (size_t)(u32_slot(t, key) - t->slots);
	for (size_t i = (hole + 1) & mask; t->slots[i].value; i = (i + 1) & mask) {
		size_t home = u32_home(t->slots[i].key, t->cap);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		t->slots[hole] = t->slots[i];
		hole = i;
	}
	t->slots[hole].value = NULL;
	t->n--;
}

void u32_table_fini(struct u32_table *t, void (*destroy)(void *))
{
	for (size_t i = 0; destroy && i < t->cap; i++) {
		if (t->slots[i].value)
			destroy(t->slots[i].value);
	}
	free(t->slots);
}

static uint64_t file_hash(const char *path, const uint8_t *id, size_t id_bytes)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 0x100000001b3ull;
	for (size_t i = 0; i < id_bytes; i++)
		h = (h ^ id[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static int files_grow(struct file_table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 64;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -SP_ENOMEM;
	for (size_t f = 0; f < t->v.n; f++) {
		size_t i = t->v.v[f]->hash & (cap - 1);

		while (slots[i])
			i = (i + 1) & (cap - 1);
		slots[i] = (uint32_t)f + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return 0;
}

static struct file_entry *file_new(const char *path, const uint8_t *id, size_t id_bytes, uint64_t hash)
{
	struct file_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->hash = hash;
	e->pub.path = strdup(path);
	e->pub.build_id_bytes = id_bytes;
	if (id_bytes)
		memcpy(e->pub.build_id, id, id_bytes);
	if (e->pub.path)
		return e;
	free(e);
	return NULL;
}

static void file_free(struct file_entry *e)
{
	free((char *)e->pub.path);
	free(e);
}

int file_intern(struct file_table *t, const char *path, const uint8_t *id, size_t id_bytes, uint32_t *file)
{
	uint64_t hash = file_hash(path, id, id_bytes);
	struct file_entry *e;
	size_t i;

	if (t->v.n * 2 >= t->cap && files_grow(t) < 0)
		return -SP_ENOMEM;
	for (i = hash & (t->cap - 1); t->slots[i]; i = (i + 1) & (t->cap - 1)) {
		e = t->v.v[t->slots[i] - 1];
		if (e->hash == hash && e->pub.build_id_bytes == id_bytes && !strcmp(e->pub.path, path) &&
		    (!id_bytes || !memcmp(e->pub.build_id, id, id_bytes))) {
			*file = t->slots[i] - 1;
			return 0;
		}
	}
	e = file_new(path, id, id_bytes, hash);
	if (!e || vec_push(&t->v, e) < 0) {
		if (e)
			file_free(e);
		return -SP_ENOMEM;
	}
	*file = (uint32_t)t->v.n - 1;
	t->slots[i] = *file + 1;
	return 0;
}

void file_table_fini(struct file_table *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		file_free(t->v.v[i]);
	vec_fini(&t->v);
	free(t->slots);
}
