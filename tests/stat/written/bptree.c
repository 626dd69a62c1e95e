/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In-memory B+-tree with linked leaves: insert, lookup, range scan, delete with borrow/merge. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline)) /* keep the stages apart in profiles */

enum { FANOUT = 32, MINKEYS = FANOUT / 2 - 1, MAXKEYS = FANOUT - 1 };

typedef uint32_t bkey_t;

struct page {
	uint16_t n;
	uint16_t leaf;
	bkey_t key[MAXKEYS + 1];
	union {
		struct page *kid[FANOUT + 1];
		struct {
			uint64_t val[MAXKEYS + 1];
			struct page *next;
		};
	};
};

struct btree {
	struct page *root;
	size_t size;
	unsigned height, pages;
};

static uint64_t seed = 88172645463325252ull;

static uint32_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed * 0x2545F4914F6CDD1Dull >> 32);
}

static struct page *page_alloc(struct btree *t, int leaf)
{
	struct page *p = malloc(sizeof *p);
	p->n = 0;
	p->leaf = (uint16_t)leaf;
	p->next = NULL;
	t->pages++;
	return p;
}

static void page_free(struct btree *t, struct page *p)
{
	t->pages--;
	free(p);
}

/* First index whose key is >= k. */
static NOINLINE unsigned lower_bound(const struct page *p, bkey_t k)
{
	unsigned lo = 0, hi = p->n;
	while (lo < hi) {
		unsigned mid = (lo + hi) >> 1;
		if (p->key[mid] < k)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Interior pages: key[i] is the smallest key below kid[i + 1]. */
static unsigned child_index(const struct page *p, bkey_t k)
{
	unsigned i = lower_bound(p, k);
	return i < p->n && p->key[i] == k ? i + 1 : i;
}

static NOINLINE const struct page *find_leaf(const struct btree *t, bkey_t k)
{
	const struct page *p = t->root;
	while (!p->leaf)
		p = p->kid[child_index(p, k)];
	return p;
}

static NOINLINE int lookup(const struct btree *t, bkey_t k, uint64_t *out)
{
	const struct page *p = find_leaf(t, k);
	unsigned i = lower_bound(p, k);
	if (i == p->n || p->key[i] != k)
		return 0;
	*out = p->val[i];
	return 1;
}

static struct page *split(struct btree *t, struct page *p, bkey_t *sep)
{
	struct page *q = page_alloc(t, p->leaf);
	unsigned half = p->n / 2;

	if (p->leaf) {
		q->n = (uint16_t)(p->n - half);
		memcpy(q->key, p->key + half, q->n * sizeof *q->key);
		memcpy(q->val, p->val + half, q->n * sizeof *q->val);
		q->next = p->next;
		p->next = q;
		*sep = q->key[0];
	} else {
		q->n = (uint16_t)(p->n - half - 1);
		*sep = p->key[half];
		memcpy(q->key, p->key + half + 1, q->n * sizeof *q->key);
		memcpy(q->kid, p->kid + half + 1, (q->n + 1u) * sizeof *q->kid);
	}
	p->n = (uint16_t)half;
	return q;
}

static struct page *insert_rec(struct btree *t, struct page *p, bkey_t k, uint64_t v, bkey_t *sep)
{
	if (p->leaf) {
		unsigned i = lower_bound(p, k);
		if (i < p->n && p->key[i] == k) {
			p->val[i] += v;
			return NULL;
		}
		memmove(p->key + i + 1, p->key + i, (p->n - i) * sizeof *p->key);
		memmove(p->val + i + 1, p->val + i, (p->n - i) * sizeof *p->val);
		p->key[i] = k;
		p->val[i] = v;
		p->n++;
		t->size++;
	} else {
		bkey_t up;
		unsigned i = child_index(p, k);
		struct page *fresh = insert_rec(t, p->kid[i], k, v, &up);
		if (!fresh)
			return NULL;
		memmove(p->key + i + 1, p->key + i, (p->n - i) * sizeof *p->key);
		memmove(p->kid + i + 2, p->kid + i + 1, (p->n - i) * sizeof *p->kid);
		p->key[i] = up;
		p->kid[i + 1] = fresh;
		p->n++;
	}
	return p->n > MAXKEYS ? split(t, p, sep) : NULL;
}

static void insert(struct btree *t, bkey_t k, uint64_t v)
{
	bkey_t sep;
	struct page *q = insert_rec(t, t->root, k, v, &sep);
	if (q) {
		struct page *r = page_alloc(t, 0);
		r->n = 1;
		r->key[0] = sep;
		r->kid[0] = t->root;
		r->kid[1] = q;
		t->root = r;
		t->height++;
	}
}

static void borrow_left(struct page *up, unsigned i)
{
	struct page *l = up->kid[i - 1], *p = up->kid[i];
	memmove(p->key + 1, p->key, p->n * sizeof *p->key);
	if (p->leaf) {
		memmove(p->val + 1, p->val, p->n * sizeof *p->val);
		p->key[0] = l->key[l->n - 1];
		p->val[0] = l->val[l->n - 1];
		up->key[i - 1] = p->key[0];
	} else {
		memmove(p->kid + 1, p->kid, (p->n + 1u) * sizeof *p->kid);
		p->key[0] = up->key[i - 1];
		p->kid[0] = l->kid[l->n];
		up->key[i - 1] = l->key[l->n - 1];
	}
	l->n--;
	p->n++;
}

static void borrow_right(struct page *up, unsigned i)
{
	struct page *p = up->kid[i], *r = up->kid[i + 1];
	if (p->leaf) {
		p->key[p->n] = r->key[0];
		p->val[p->n] = r->val[0];
		memmove(r->val, r->val + 1, (r->n - 1u) * sizeof *r->val);
		up->key[i] = r->key[1];
	} else {
		p->key[p->n] = up->key[i];
		p->kid[p->n + 1] = r->kid[0];
		up->key[i] = r->key[0];
		memmove(r->kid, r->kid + 1, r->n * sizeof *r->kid);
	}
	memmove(r->key, r->key + 1, (r->n - 1u) * sizeof *r->key);
	r->n--;
	p->n++;
}

/* Fold kid[i + 1] into kid[i]. */
static void merge(struct btree *t, struct page *up, unsigned i)
{
	struct page *p = up->kid[i], *r = up->kid[i + 1];
	if (p->leaf) {
		memcpy(p->key + p->n, r->key, r->n * sizeof *r->key);
		memcpy(p->val + p->n, r->val, r->n * sizeof *r->val);
		p->n = (uint16_t)(p->n + r->n);
		p->next = r->next;
	} else {
		p->key[p->n] = up->key[i];
		memcpy(p->key + p->n + 1, r->key, r->n * sizeof *r->key);
		memcpy(p->kid + p->n + 1, r->kid, (r->n + 1u) * sizeof *r->kid);
		p->n = (uint16_t)(p->n + r->n + 1);
	}
	memmove(up->key + i, up->key + i + 1, (up->n - i - 1u) * sizeof *up->key);
	memmove(up->kid + i + 1, up->kid + i + 2, (up->n - i - 1u) * sizeof *up->kid);
	up->n--;
	page_free(t, r);
}

static int delete_rec(struct btree *t, struct page *p, bkey_t k)
{
	if (p->leaf) {
		unsigned i = lower_bound(p, k);
		if (i == p->n || p->key[i] != k)
			return 0;
		p->n--;
		memmove(p->key + i, p->key + i + 1, (p->n - i) * sizeof *p->key);
		memmove(p->val + i, p->val + i + 1, (p->n - i) * sizeof *p->val);
		t->size--;
		return 1;
	}
	unsigned i = child_index(p, k);
	if (!delete_rec(t, p->kid[i], k))
		return 0;
	if (p->kid[i]->n < MINKEYS) {
		if (i > 0 && p->kid[i - 1]->n > MINKEYS)
			borrow_left(p, i);
		else if (i < p->n && p->kid[i + 1]->n > MINKEYS)
			borrow_right(p, i);
		else
			merge(t, p, i > 0 ? i - 1 : i);
	}
	return 1;
}

static int delete (struct btree *t, bkey_t k)
{
	int hit = delete_rec(t, t->root, k);
	if (!t->root->leaf && t->root->n == 0) {
		struct page *old = t->root;
		t->root = old->kid[0];
		t->height--;
		page_free(t, old);
	}
	return hit;
}

typedef int (*visit_fn)(bkey_t k, uint64_t v, void *arg);

static NOINLINE size_t range_scan(const struct btree *t, bkey_t lo, bkey_t hi, visit_fn visit, void *arg)
{
	const struct page *p = find_leaf(t, lo);
	size_t seen = 0;
	for (unsigned i = lower_bound(p, lo); p; p = p->next, i = 0)
		for (; i < p->n; i++) {
			if (p->key[i] > hi)
				return seen;
			seen++;
			if (visit(p->key[i], p->val[i], arg))
				return seen;
		}
	return seen;
}

struct agg {
	uint64_t sum, max;
	unsigned limit;
};

static int aggregate(bkey_t k, uint64_t v, void *arg)
{
	struct agg *a = arg;
	a->sum += v ^ k;
	if (v > a->max)
		a->max = v;
	return --a->limit == 0;
}

static size_t check(const struct page *p, uint64_t lo, uint64_t hi, int is_root)
{
	size_t total = 0;
	assert(is_root || p->n >= MINKEYS);
	for (unsigned i = 0; i < p->n; i++) {
		assert(p->key[i] >= lo && p->key[i] < hi);
		assert(i == 0 || p->key[i - 1] < p->key[i]);
	}
	if (p->leaf)
		return p->n;
	for (unsigned i = 0; i <= p->n; i++)
		total += check(p->kid[i], i ? p->key[i - 1] : lo, i < p->n ? p->key[i] : hi, 0);
	return total;
}

int main(void)
{
	enum { SPACE = 400000, LOAD = 150000, OPS = 240000 };
	struct btree t = { 0 };
	uint64_t sum = 0, v;
	size_t hits = 0, scanned = 0, gone = 0;

	t.root = page_alloc(&t, 1);
	for (int i = 0; i < LOAD; i++)
		insert(&t, next_random() % SPACE, (uint64_t)i);
	if (check(t.root, 0, UINT32_MAX, 1) != t.size)
		return 1;

	for (int i = 0; i < OPS; i++) {
		uint32_t r = next_random(), k = next_random() % SPACE;
		switch (r % 16) {
		case 0:
		case 1:
		case 2:
		case 3:
			insert(&t, k, r);
			break;
		case 4:
		case 5:
		case 6:
		case 7:
		case 8:
			gone += (size_t) delete (&t, k);
			break;
		case 9:
		case 10: {
			struct agg a = { 0, 0, 1 + r / 16 % 200 };
			scanned += range_scan(&t, k, k + 2000, aggregate, &a);
			sum = sum * 31 + a.sum + a.max;
			break;
		}
		default:
			if (lookup(&t, k, &v)) {
				hits++;
				sum ^= v;
			}
		}
	}
	if (check(t.root, 0, UINT32_MAX, 1) != t.size)
		return 1;
	for (uint32_t k = 0; k < SPACE; k += 1 + (k & 1))
		gone += (size_t) delete (&t, k);
	if (check(t.root, 0, UINT32_MAX, 1) != t.size)
		return 1;
	printf("bptree size=%zu pages=%u height=%u hits=%zu scanned=%zu gone=%zu sum=%016llx\n", t.size,
	       t.pages, t.height, hits, scanned, gone, (unsigned long long)sum);
	return 0;
}
