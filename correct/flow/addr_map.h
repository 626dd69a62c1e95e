/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_ADDR_MAP_H
#define SKIDPROF_CORRECT_FLOW_ADDR_MAP_H

/* A hash table from (module, vaddr) to a number.  All zero when empty. */
#include <stddef.h>
#include <stdint.h>

#define ADDR_NONE UINT32_MAX

struct addr_slot {
	uint64_t vaddr;
	uint32_t module;
	uint32_t value; /* ADDR_NONE = free */
};

struct addr_map {
	struct addr_slot *v;
	size_t n, cap; /* cap: a power of two, or 0 */
};

/* The number of an address, ADDR_NONE if it has none. */
uint32_t addr_map_get(const struct addr_map *m, uint32_t module, uint64_t vaddr);
/* Adds an address that is not there yet.  0 or -SP_ENOMEM. */
int addr_map_add(struct addr_map *m, uint32_t module, uint64_t vaddr, uint32_t value);
void addr_map_fini(struct addr_map *m);

#endif
