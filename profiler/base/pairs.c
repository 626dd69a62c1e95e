/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/pairs.h"

#include <stdlib.h>

#include "profiler/base/err.h"

struct pair_slot {
	uint64_t a, b;
	size_t number; /* + 1; 0 = empty */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;

	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdu;
	return h ^ h >> 29;
}

/* The slot of (a, b), or the empty one where it belongs. */
static struct pair_slot *slot_of(struct pair_slot *slots, size_t cap, uint64_t a, uint64_t b)
{
	size_t i = mix(a, b) & (cap - 1);

	while (slots[i].number && (slots[i].a != a || slots[i].b != b))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static int grow(struct pairs *m)
{
	size_t cap = m->cap ? 2 * m->cap : 64;
	struct pair_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return sp_fail(SP_ENOMEM, "out of memory for %zu keys", cap);
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].number)
			*slot_of(slots, cap, m->slots[i].a, m->slots[i].b) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	return 0;
}

long pairs_number(struct pairs *m, uint64_t a, uint64_t b)
{
	struct pair_slot *slot;

	if (2 * m->n >= m->cap) {
		int err = grow(m);

		if (err < 0)
			return err;
	}
	slot = slot_of(m->slots, m->cap, a, b);
	if (!slot->number)
		*slot = (struct pair_slot){ a, b, ++m->n };
	return (long)slot->number - 1;
}

long pairs_find(const struct pairs *m, uint64_t a, uint64_t b)
{
	return m->cap ? (long)slot_of(m->slots, m->cap, a, b)->number - 1 : -1;
}

void pairs_fini(struct pairs *m)
{
	free(m->slots);
	*m = (struct pairs){ 0 };
}
