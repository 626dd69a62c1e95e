/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/binary/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct texts pool = { 0 };
	struct perf_map map;
	/* Exactly as long as it is, so that reading on is seen. */
	char *text = malloc(size ? size : 1);

	if (size)
		memcpy(text, data, size);
	perf_map_parse(text, size, &pool, &map);
	for (size_t i = 0; i < map.entries.n; i++) {
		const struct perf_map_entry *e = &map.entries.v[i];

		if (!e->size_bytes || e->vaddr + e->size_bytes <= e->vaddr || !*e->name)
			abort();
		if (i && map.entries.v[i - 1].vaddr + map.entries.v[i - 1].size_bytes > e->vaddr)
			abort();
	}
	perf_map_fini(&map);
	texts_fini(&pool);
	free(text);
	return 0;
}
