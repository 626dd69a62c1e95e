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
	for (size_t i = 0; i < t->all.n; i++) {
		free(t->all.v[i]->left);
		free(t->all.v[i]->missed);
		free(t->all.v[i]);
	}
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

int sim_code_left(struct sim_code *c, uint32_t index)
{
	if (!c->left && !(c->left = calloc(c->block.n_insn, sizeof(*c->left))))
		return sp_fail(SP_ENOMEM, "out of memory for counts");
	c->left[index]++;
	return 0;
}

int sim_code_missed(struct sim_code *c, uint32_t index)
{
	uint64_t *missed = c->missed;

	if (!missed) {
		missed = calloc(c->block.n_insn, sizeof(*missed));
		if (!missed)
			return sp_fail(SP_ENOMEM, "out of memory for counts");
		__atomic_store_n(&c->missed, missed, __ATOMIC_RELEASE);
	}
	__atomic_add_fetch(&missed[index], 1, __ATOMIC_RELAXED);
	return 0;
}

void sim_blocks_clear(struct sim_blocks *t)
{
	for (size_t i = 0; i < t->all.n; i++) {
		struct sim_code *c = t->all.v[i];

		c->n_runs = c->n_again = 0;
		if (c->left)
			memset(c->left, 0, c->block.n_insn * sizeof(*c->left));
		if (c->missed)
			memset(c->missed, 0, c->block.n_insn * sizeof(*c->missed));
	}
}

static int by_ip(const void *a, const void *b)
{
	const struct sim_count *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static int add_block(const struct sim_code *c, uint64_t runs, struct sim_counts *out)
{
	for (uint32_t i = 0; i < c->block.n_insn; i++) {
		const struct sim_insn *in = &c->block.insn[i];
		bool last = i + 1 == c->block.n_insn;
		struct sim_count count = { .ip = c->block.ip + in->ip_off };
		int err;

		runs -= c->left ? c->left[i] : 0;
		count.n_insn = runs - (last ? c->n_again : 0);
		count.n_load = in->events >> SIM_LOADS & 1 ? count.n_insn : 0;
		count.n_miss = c->missed ? c->missed[i] : 0;
		if (count.n_insn && (err = vec_push(out, count)) < 0)
			return err;
	}
	return 0;
}

int sim_blocks_count(const struct sim_blocks *t, const uint64_t *runs, struct sim_counts *out)
{
	size_t to = 0;
	int err;

	for (size_t i = 0; i < t->all.n; i++) {
		const struct sim_code *c = t->all.v[i];
		uint64_t n = c->n_runs + (runs ? runs[i] : 0);

		if (n && (err = add_block(c, n, out)) < 0)
			return err;
	}
	if (!out->n)
		return 0;
	qsort(out->v, out->n, sizeof(*out->v), by_ip);
	/* Blocks overlap: an instruction may have been counted in several. */
	for (size_t i = 1; i < out->n; i++) {
		if (out->v[i].ip == out->v[to].ip) {
			out->v[to].n_insn += out->v[i].n_insn;
			out->v[to].n_load += out->v[i].n_load;
			out->v[to].n_miss += out->v[i].n_miss;
		} else {
			out->v[++to] = out->v[i];
		}
	}
	out->n = to + 1;
	return 0;
}
