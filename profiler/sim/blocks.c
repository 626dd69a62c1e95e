/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/blocks.h"

#include "profiler/base/err.h"

enum { FIRST_BUCKETS = 1 << 12 };

int sim_blocks_init(struct sim_blocks *t)
{
	memset(t, 0, sizeof(*t));
	t->n_buckets = FIRST_BUCKETS;
	t->bucket = calloc(t->n_buckets, sizeof(*t->bucket));
	return t->bucket ? 0 : sp_fail(SP_ENOMEM, "out of memory for the table of blocks");
}

void sim_blocks_fini(struct sim_blocks *t)
{
	for (size_t i = 0; i < t->all.n; i++)
		sim_code_free(t->all.v[i]);
	vec_fini(&t->all);
	free(t->bucket);
	t->bucket = NULL;
}

static size_t bucket_of(uint64_t ip, size_t n_buckets)
{
	return (size_t)(ip * 0x9e3779b97f4a7c15u >> 20) & (n_buckets - 1);
}

struct sim_code *sim_blocks_at(const struct sim_blocks *t, uint64_t ip)
{
	struct sim_code *c = t->bucket[bucket_of(ip, t->n_buckets)];

	while (c && c->block.ip != ip)
		c = c->next;
	return c;
}

struct sim_code *sim_blocks_next(const struct sim_code *c)
{
	uint64_t ip = c->block.ip;

	do
		c = c->next;
	while (c && c->block.ip != ip);
	return (struct sim_code *)c;
}

static int grow(struct sim_blocks *t)
{
	size_t n = t->n_buckets * 4;
	struct sim_code **bucket = calloc(n, sizeof(*bucket));

	if (!bucket)
		return sp_fail(SP_ENOMEM, "out of memory for the table of blocks");
	for (size_t i = 0; i < t->all.n; i++) {
		struct sim_code *c = t->all.v[i];
		size_t b = bucket_of(c->block.ip, n);

		c->next = bucket[b];
		bucket[b] = c;
	}
	free(t->bucket);
	t->bucket = bucket;
	t->n_buckets = n;
	return 0;
}

int sim_blocks_add(struct sim_blocks *t, struct sim_code *c)
{
	size_t b;
	int err;

	if (t->all.n > t->n_buckets && (err = grow(t)) < 0)
		return err;
	c->block.id = (uint32_t)t->all.n;
	if ((err = vec_push(&t->all, c)) < 0)
		return err;
	b = bucket_of(c->block.ip, t->n_buckets);
	c->next = t->bucket[b];
	t->bucket[b] = c;
	return 0;
}

struct sim_code *sim_code_new(uint64_t ip, uint32_t n_insn)
{
	struct sim_code *c = calloc(1, sizeof(*c) + n_insn * sizeof(c->block.insn[0]));

	if (!c)
		return NULL;
	c->block.ip = ip;
	c->block.n_insn = (uint16_t)n_insn;
	return c;
}

void sim_code_free(struct sim_code *c)
{
	free(c->other);
	free(c);
}
