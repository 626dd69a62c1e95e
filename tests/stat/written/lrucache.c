/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LRU cache: chained hash table + intrusive doubly linked list, fed by a zipf-like workload. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list_head {
	struct list_head *prev, *next;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(struct list_head *h)
{
	h->prev = h->next = h;
}

static inline void list_del(struct list_head *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

static inline void list_add(struct list_head *e, struct list_head *h)
{
	e->next = h->next;
	e->prev = h;
	h->next->prev = e;
	h->next = e;
}

static inline void list_move_front(struct list_head *e, struct list_head *h)
{
	list_del(e);
	list_add(e, h);
}

#define KEYLEN 24

struct entry {
	struct list_head lru;
	struct entry *hnext;
	uint32_t hash;
	uint16_t klen, vlen;
	char key[KEYLEN];
	unsigned char *val;
};

struct cache {
	struct list_head lru;
	struct entry **tab;
	size_t mask, count, cap;
	size_t bytes, max_bytes;
	unsigned long hits, misses, evictions, expands;
};

uint32_t hash_key(const char *k, size_t n)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < n; i++) {
		h ^= (unsigned char)k[i];
		h *= 16777619u;
	}
	return h ^ h >> 15;
}

static struct cache *cache_new(size_t cap, size_t max_bytes)
{
	struct cache *c = calloc(1, sizeof *c);
	list_init(&c->lru);
	c->mask = 63;
	c->tab = calloc(c->mask + 1, sizeof *c->tab);
	c->cap = cap;
	c->max_bytes = max_bytes;
	return c;
}

static bool key_eq(const struct entry *e, const char *k, size_t n, uint32_t h)
{
	return e->hash == h && e->klen == n && memcmp(e->key, k, n) == 0;
}

static struct entry *lookup(struct cache *c, const char *k, size_t n, uint32_t h)
{
	struct entry *e = c->tab[h & c->mask];
	while (e && !key_eq(e, k, n, h))
		e = e->hnext;
	return e;
}

void table_expand(struct cache *c)
{
	size_t nm = c->mask * 2 + 1;
	struct entry **nt = calloc(nm + 1, sizeof *nt);
	for (size_t i = 0; i <= c->mask; i++) {
		struct entry *e = c->tab[i], *next;
		for (; e; e = next) {
			next = e->hnext;
			e->hnext = nt[e->hash & nm];
			nt[e->hash & nm] = e;
		}
	}
	free(c->tab);
	c->tab = nt;
	c->mask = nm;
	c->expands++;
}

void unlink_entry(struct cache *c, struct entry *e)
{
	struct entry **pp = &c->tab[e->hash & c->mask];
	while (*pp != e)
		pp = &(*pp)->hnext;
	*pp = e->hnext;
	list_del(&e->lru);
	c->count--;
	c->bytes -= e->vlen;
}

static void evict_one(struct cache *c)
{
	struct entry *e = container_of(c->lru.prev, struct entry, lru);
	unlink_entry(c, e);
	free(e->val);
	free(e);
	c->evictions++;
}

static void fill_value(unsigned char *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		p[i] = seed >> 24;
	}
}

struct entry *insert(struct cache *c, const char *k, size_t n, uint32_t h, size_t vlen)
{
	while (c->count && (c->count >= c->cap || c->bytes + vlen > c->max_bytes))
		evict_one(c);
	if (c->count > c->mask + c->mask / 2)
		table_expand(c);
	struct entry *e = malloc(sizeof *e);
	memcpy(e->key, k, n);
	e->klen = n;
	e->vlen = vlen;
	e->hash = h;
	e->val = malloc(vlen);
	fill_value(e->val, vlen, h);
	e->hnext = c->tab[h & c->mask];
	c->tab[h & c->mask] = e;
	list_add(&e->lru, &c->lru);
	c->count++;
	c->bytes += vlen;
	return e;
}

unsigned value_digest(const struct entry *e)
{
	unsigned a = 0;
	for (unsigned i = 0; i < e->vlen; i += 3)
		a = (a << 1 | a >> 31) ^ e->val[i];
	return a;
}

unsigned cache_get(struct cache *c, const char *k, size_t n)
{
	uint32_t h = hash_key(k, n);
	struct entry *e = lookup(c, k, n, h);
	if (e) {
		c->hits++;
		list_move_front(&e->lru, &c->lru);
	} else {
		c->misses++;
		e = insert(c, k, n, h, 16 + (h >> 8) % 96);
	}
	return value_digest(e);
}

static bool cache_del(struct cache *c, const char *k, size_t n)
{
	struct entry *e = lookup(c, k, n, hash_key(k, n));
	if (!e)
		return false;
	unlink_entry(c, e);
	free(e->val);
	free(e);
	return true;
}

/* ---- workload ---- */

#define NKEYS 20000
static double cdf[NKEYS];
static uint64_t rs = 0x2545F4914F6CDD1DULL;

static double frand(void)
{
	rs ^= rs << 13;
	rs ^= rs >> 7;
	rs ^= rs << 17;
	return (rs >> 11) * 0x1p-53;
}

static void zipf_setup(double s)
{
	double acc = 0;
	for (int i = 0; i < NKEYS; i++)
		cdf[i] = acc += pow(i + 1, -s);
	for (int i = 0; i < NKEYS; i++)
		cdf[i] /= acc;
}

int zipf_draw(void)
{
	double u = frand();
	int lo = 0, hi = NKEYS - 1;
	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (cdf[mid] < u)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t make_key(char *buf, unsigned id)
{
	static const char hex[] = "0123456789abcdef";
	char *p = buf;
	*p++ = 'o';
	*p++ = 'b';
	*p++ = 'j';
	*p++ = ':';
	id = id * 2654435761u;
	do
		*p++ = hex[id & 15];
	while (id >>= 4);
	return p - buf;
}

int main(void)
{
	struct cache *c = cache_new(3000, 150000);
	char key[KEYLEN];
	unsigned sum = 0, dels = 0;
	zipf_setup(0.9);
	for (int i = 0; i < 260000; i++) {
		size_t n = make_key(key, zipf_draw());
		if (i % 37 == 36)
			dels += cache_del(c, key, n);
		else
			sum = sum * 17 + cache_get(c, key, n);
	}
	printf("checksum %08x hits %lu misses %lu evict %lu exp %lu del %u\n", sum, c->hits, c->misses,
	       c->evictions, c->expands, dels);
	while (c->count)
		evict_one(c);
	free(c->tab);
	free(c);
	return 0;
}
