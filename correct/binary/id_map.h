/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_BINARY_ID_MAP_H
#define SKIDPROF_CORRECT_BINARY_ID_MAP_H

/* From a pointer, taken as a number that isn't 0, to a small number.  All zero when empty. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_map_entry {
	uintptr_t key;
	uint32_t id;
};

struct id_map {
	struct id_map_entry *entries; /* open addressing; size is a power of two or 0 */
	size_t size, n;
};

bool id_map_get(const struct id_map *map, const void *key, uint32_t *id);
/* Adds or replaces.  -SP_ENOMEM. */
int id_map_put(struct id_map *map, const void *key, uint32_t id);
void id_map_fini(struct id_map *map);

#endif
