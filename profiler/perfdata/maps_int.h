/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_MAPS_INT_H
#define SKIDPROF_PERFDATA_MAPS_INT_H

/*
 * What maps are made of: a tree of ranges that processes can share, tables
 * by pid, and the list of files.
 */
#include "profiler/base/vec.h"
#include "profiler/perfdata/maps.h"

struct map_range {
	uint64_t start, end; /* ips, end excluded */
	uint64_t off;        /* in the file, of start */
	uint32_t file;
	bool hole; /* mapped, but not code */
};

/*
 * A treap whose nodes are shared between processes: fork takes a reference to
 * the root, and a change copies only the path it touches.
 */
struct map_node {
	struct map_range range;
	uint32_t prio, n_refs;
	struct map_node *left, *right;
};

struct map_seed { /* where the next priority comes from */
	uint64_t state;
};

struct map_node *map_node_get(struct map_node *n);
void map_node_put(struct map_node *n);
const struct map_node *map_find(const struct map_node *root, uint64_t ip);
/* Put a range in, cutting what it covers: 0 or -SP_ENOMEM (the tree is whole then, but lacks ranges). */
int map_insert(struct map_node **root, const struct map_range *range, struct map_seed *seed);

/* Pointers by 32-bit number. */
struct u32_slot {
	uint32_t key;
	void *value; /* NULL = free */
};

struct u32_table {
	struct u32_slot *slots;
	size_t n, cap;
};

void *u32_table_find(const struct u32_table *t, uint32_t key);
int u32_table_put(struct u32_table *t, uint32_t key, void *value);
void u32_table_remove(struct u32_table *t, uint32_t key);
/* destroy may be NULL: values that nothing has to free. */
void u32_table_fini(struct u32_table *t, void (*destroy)(void *));

struct file_entry {
	struct maps_file pub;
	uint64_t hash;
};

struct file_table {
	VEC(struct file_entry *) v;
	uint32_t *slots; /* index + 1 by hash, 0 = free */
	size_t cap;
};

int file_intern(struct file_table *t, const char *path, const uint8_t *id, size_t id_bytes, uint32_t *file);
void file_table_fini(struct file_table *t);

#endif
