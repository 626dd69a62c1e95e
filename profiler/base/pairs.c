/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/pairs.h"

#include <stdlib.h>

#include "profiler/base/err.h"

struct pair {
	uint64_t a, b;
};

/* Keys stand by number, and so without gaps: a slot has the rest of the hash, by which most others are told apart. */
struct pair_slot {
	uint32_t number; /* + 1; 0 = empty */
	uint32_t rest;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;

	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdu;
	return h ^ h >> 29;
}

/* The slot of (a, b), or the empty one where it belongs. */
static struct pair_slot *slot_of(const struct pairs *m, uint64_t hash, uint64_t a, uint64_t b)
{
	size_t i = hash & (m->cap - 1);

	for (; m->slots[i].number; i = (i + 1) & (m->cap - 1)) {
		const struct pair *key = &m->keys[m->slots[i].number - 1];

		if (m->slots[i].rest == (uint32_t)(hash >> 32) && key->a == a && key->b == b)
			break;
	}
	return &m->slots[i];
}

static int grow(struct pairs *m)
{
	struct pairs big = { .cap = m->cap ? 2 * m->cap : 64 };
	struct pair *keys = realloc(m->keys, big.cap / 2 * sizeof(*keys));

	if (keys)
		m->keys = big.keys = keys;
	big.slots = keys ? calloc(big.cap, sizeof(*big.slots)) : NULL;
	if (!big.slots)
		return sp_fail(SP_ENOMEM, "out of memory for %zu keys", big.cap);
	for (; big.n < m->n; big.n++) {
		uint64_t hash = mix(keys[big.n].a, keys[big.n].b);

		*slot_of(&big, hash, keys[big.n].a, keys[big.n].b) =
		        (struct pair_slot){ (uint32_t)big.n + 1, (uint32_t)(hash >> 32) };
	}
	free(m->slots);
	*m = big;
	return 0;
}

long pairs_number(struct pairs *m, uint64_t a, uint64_t b)
{
	uint64_t hash = mix(a, b);
	struct pair_slot *slot;

	if (2 * m->n >= m->cap) {
		int err = grow(m);

		if (err < 0)
			return err;
	}
	slot = slot_of(m, hash, a, b);
	if (!slot->number) {
		m->keys[m->n++] = (struct pair){ a, b };
		*slot = (struct pair_slot){ (uint32_t)m->n, (uint32_t)(hash >> 32) };
	}
	return (long)slot->number - 1;
}

long pairs_find(const struct pairs *m, uint64_t a, uint64_t b)
{
	return m->cap ? (long)slot_of(m, mix(a, b), a, b)->number - 1 : -1;
}

void pairs_fini(struct pairs *m)
{
	free(m->keys);
	free(m->slots);
	*m = (struct pairs){ 0 };
}
