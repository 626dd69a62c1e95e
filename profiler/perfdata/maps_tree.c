/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/maps_int.h"

struct map_node *map_node_get(struct map_node *n)
{
	if (n)
		n->n_refs++;
	return n;
}

/* Depth is the tree's, about 2 log2(n) of random priorities. */
void map_node_put(struct map_node *n)
{
	if (!n || --n->n_refs)
		return;
	map_node_put(n->left);
	map_node_put(n->right);
	free(n);
}

const struct map_node *map_find(const struct map_node *n, uint64_t ip)
{
	while (n) {
		if (ip < n->range.start)
			n = n->left;
		else if (ip >= n->range.end)
			n = n->right;
		else
			return n;
	}
	return NULL;
}

static uint32_t next_prio(struct map_seed *s)
{
	uint64_t z = s->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(z >> 32);
}

/* Trees passed in are owned, and so are those given back.  Out of memory loses nodes, never leaks them. */
struct edit {
	struct map_seed *seed;
	bool failed;
};

static struct map_node *node_new(struct edit *e, const struct map_range *range)
{
	struct map_node *n = malloc(sizeof(*n));

	if (!n) {
		e->failed = true;
		return NULL;
	}
	*n = (struct map_node){ .range = *range, .prio = next_prio(e->seed), .n_refs = 1 };
	return n;
}

/* n for us alone to change: itself, or a copy if others see it. */
static struct map_node *own(struct edit *e, struct map_node *n)
{
	struct map_node *copy;

	if (n->n_refs == 1)
		return n;
	copy = malloc(sizeof(*copy));
	if (copy) {
		*copy = *n;
		copy->n_refs = 1;
		map_node_get(copy->left);
		map_node_get(copy->right);
	} else {
		e->failed = true;
	}
	map_node_put(n);
	return copy;
}

/* All of a lies below all of b. */
static struct map_node *merge(struct edit *e, struct map_node *a, struct map_node *b)
{
	bool a_on_top = !b || (a && a->prio >= b->prio);
	struct map_node *top = a_on_top ? a : b, *other = a_on_top ? b : a;

	if (!other)
		return top;
	top = own(e, top);
	if (!top) {
		map_node_put(other);
		return NULL;
	}
	if (a_on_top)
		top->right = merge(e, top->right, other);
	else
		top->left = merge(e, other, top->left);
	return top;
}

/* *low gets what is below at, *high the rest; a range across it is cut in two. */
static void split(struct edit *e, struct map_node *n, uint64_t at, struct map_node **low,
                  struct map_node **high)
{
	struct map_node *child, *tail;
	struct map_range rest;

	*low = *high = NULL;
	n = n ? own(e, n) : NULL;
	if (!n)
		return;
	if (n->range.start >= at) {
		child = n->left;
		n->left = NULL;
		split(e, child, at, low, &n->left);
		*high = n;
		return;
	}
	child = n->right;
	n->right = NULL;
	*low = n;
	if (n->range.end <= at) {
		split(e, child, at, &n->right, high);
		return;
	}
	rest = n->range;
	rest.off += at - rest.start;
	rest.start = n->range.end = at;
	tail = node_new(e, &rest);
	*high = merge(e, tail, child);
}

int map_insert(struct map_node **root, const struct map_range *range, struct map_seed *seed)
{
	struct edit e = { .seed = seed };
	struct map_node *low, *middle, *high, *n = node_new(&e, range);

	if (!n)
		return -SP_ENOMEM;
	split(&e, *root, range->start, &low, &high);
	split(&e, high, range->end, &middle, &high);
	map_node_put(middle);
	*root = merge(&e, merge(&e, low, n), high);
	return e.failed ? -SP_ENOMEM : 0;
}
