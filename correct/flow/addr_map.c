/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/addr_map.h"

#include <stdlib.h>

#include "profiler/base/err.h"

static size_t slot_of(const struct addr_map *m, uint32_t module, uint64_t vaddr)
{
	uint64_t h = (vaddr + ((uint64_t)module << 40)) * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(h >> 20) & (m->cap - 1);

	while (m->v[i].value != ADDR_NONE && (m->v[i].vaddr != vaddr || m->v[i].module != module))
		i = (i + 1) & (m->cap - 1);
	return i;
}

uint32_t addr_map_get(const struct addr_map *m, uint32_t module, uint64_t vaddr)
{
	return m->cap ? m->v[slot_of(m, module, vaddr)].value : (uint32_t)ADDR_NONE;
}

static int grow(struct addr_map *m)
{
	struct addr_map big = { .cap = m->cap ? m->cap * 2 : 256, .n = m->n };

	big.v = calloc(big.cap, sizeof(*big.v));
	if (!big.v)
		return sp_fail(SP_ENOMEM, "out of memory for a table of %zu addresses", big.cap);
	for (size_t i = 0; i < big.cap; i++)
		big.v[i].value = ADDR_NONE;
	for (size_t i = 0; i < m->cap; i++)
		if (m->v[i].value != ADDR_NONE)
			big.v[slot_of(&big, m->v[i].module, m->v[i].vaddr)] = m->v[i];
	free(m->v);
	*m = big;
	return 0;
}

int addr_map_add(struct addr_map *m, uint32_t module, uint64_t vaddr, uint32_t value)
{
	int err;

	if (2 * (m->n + 1) > m->cap && (err = grow(m)) < 0)
		return err;
	m->v[slot_of(m, module, vaddr)] =
	        (struct addr_slot){ .vaddr = vaddr, .module = module, .value = value };
	m->n++;
	return 0;
}

void addr_map_fini(struct addr_map *m)
{
	free(m->v);
	*m = (struct addr_map){ 0 };
}
