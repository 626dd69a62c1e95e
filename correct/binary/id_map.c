/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/binary/id_map.h"

#include "profiler/base/err.h"

#include <stdlib.h>
#include <string.h>

static struct id_map_entry *find(const struct id_map *map, uintptr_t key)
{
	size_t i = (size_t)((uint64_t)key * 0x9e3779b97f4a7c15ULL >> 20) & (map->size - 1);

	while (map->entries[i].key && map->entries[i].key != key)
		i = (i + 1) & (map->size - 1);
	return &map->entries[i];
}

bool id_map_get(const struct id_map *map, const void *key, uint32_t *id)
{
	const struct id_map_entry *entry = map->size ? find(map, (uintptr_t)key) : NULL;

	if (!entry || !entry->key)
		return false;
	*id = entry->id;
	return true;
}

static int grow(struct id_map *map)
{
	struct id_map larger = { .size = map->size ? map->size * 2 : 64, .n = map->n };

	larger.entries = calloc(larger.size, sizeof(*larger.entries));
	if (!larger.entries)
		return sp_fail(SP_ENOMEM, "no memory for debug information");
	for (size_t i = 0; i < map->size; i++)
		if (map->entries[i].key)
			*find(&larger, map->entries[i].key) = map->entries[i];
	free(map->entries);
	*map = larger;
	return 0;
}

int id_map_put(struct id_map *map, const void *key, uint32_t id)
{
	struct id_map_entry *entry;

	if (map->n >= map->size / 2 && grow(map) < 0)
		return -SP_ENOMEM;
	entry = find(map, (uintptr_t)key);
	map->n += !entry->key;
	*entry = (struct id_map_entry){ (uintptr_t)key, id };
	return 0;
}

void id_map_fini(struct id_map *map)
{
	free(map->entries);
	memset(map, 0, sizeof(*map));
}
